"""Verification: replay, receipts and exports."""
