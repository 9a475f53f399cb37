"""A typed client of the Likewise API; it needs httpx alone (and likewise-service, to sign)."""

from likewise_client import errors, responses
from likewise_client.client import Client

__all__ = ["Client", "errors", "responses"]

__version__ = "0.1.0"
