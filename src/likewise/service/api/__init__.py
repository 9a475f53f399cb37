"""The API: routes, strict models of requests, and answers to everything that can go wrong."""
