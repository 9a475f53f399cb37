"""Migrations of the tables, for alembic; each upgrades from the one before it."""
