"""A client of the Likewise API; it needs httpx, and nothing else that Likewise needs."""

from likewise_client.client import Client

__all__ = ["Client"]
