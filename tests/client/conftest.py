"""The client is tested against the same servers as the API."""

from tests.service.conftest import postgres, shared

__all__ = ["postgres", "shared"]
