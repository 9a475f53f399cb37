"""The client is tested against the same servers as the API."""

from tests.service.conftest import kind, postgres, shared

__all__ = ["kind", "postgres", "shared"]
