"""Revisions of the tables, for alembic: each knows how to make its tables from the one before."""
