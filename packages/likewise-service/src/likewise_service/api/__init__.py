"""The API: what can be sent, what comes back, and who may call it."""
