"""Keys that sign receipts, who acted with every record, and names for sign-ins.

Records that are there stay as they are: they say of nobody that they acted.
"""

from __future__ import annotations

from alembic import op

revision = "5"
down_revision = "3"


def upgrade() -> None:
    """Make the table of keys and the new columns."""
    connection = op.get_bind()
    private = "BLOB" if connection.dialect.name == "sqlite" else "BYTEA"
    # One key at most is in use, whatever several processes do at once.
    connection.exec_driver_sql(
        "CREATE TABLE keys (id TEXT NOT NULL, public TEXT NOT NULL, created TEXT NOT NULL, "
        f"private {private} NOT NULL, in_use TEXT, retired TEXT, compromised TEXT, "
        "PRIMARY KEY (id), UNIQUE (in_use))"
    )
    connection.exec_driver_sql("ALTER TABLE events ADD COLUMN actor TEXT NOT NULL DEFAULT ''")
    for column in ("id", "issuer", "subject", "provider_session"):
        connection.exec_driver_sql(
            f"ALTER TABLE sessions ADD COLUMN {column} TEXT NOT NULL DEFAULT ''"
        )
    connection.exec_driver_sql("UPDATE sessions SET id = substr(hash, 1, 16)")
