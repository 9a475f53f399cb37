"""Anchors: receipts are fixed outside at intervals, where whoever runs the server cannot reach."""
