"""Anchors: receipts are kept outside at intervals, beyond the reach of whoever runs the server."""
