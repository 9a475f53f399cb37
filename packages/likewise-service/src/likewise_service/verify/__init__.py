"""Verification: replay, receipts, exports and packets, without trust in the server."""
