"""The baseline: an empty database gets the newest tables at once, from ``ledger/database.py``."""

revision = "1"
down_revision = None
