"""The API: routes, strict models of requests, and responses to everything that can go wrong."""
