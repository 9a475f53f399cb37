"""A client of the Likewise API."""
