"""The baseline: an empty database gets the newest tables at once, from ``ledger/database.py``."""

revision = "4"
down_revision = None
