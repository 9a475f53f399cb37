"""Tables and indexes by which rounds, reviews and snapshots are found, outside of memory.

The tables are empty at first; a docket that has no row in ``dockets`` is listed when it is opened.
The index on ``events`` is one on an expression of the body, so nothing in a ledger is touched, and
what it says cannot differ from what was hashed.
"""

from __future__ import annotations

from alembic import op

revision = "3"
down_revision = "2"

TABLES = {
    "seats": ("hash TEXT, token TEXT", "hash, token"),
    "dockets": ("docket TEXT, due TEXT NULL", "docket"),
    "rounds": ("docket TEXT, number BIGINT, id TEXT", "docket, number"),
    "reviews": (
        "docket TEXT, id TEXT, member TEXT, round TEXT, status TEXT, ended TEXT, number BIGINT, "
        "again TEXT NULL, finished BIGINT NULL",
        "docket, id",
    ),
    "snapshots": ("docket TEXT, seq BIGINT, hash TEXT, content BYTES", "docket, seq"),
    "marks": ("docket TEXT, review TEXT, pair TEXT, mark TEXT, at TEXT", "docket, review, pair"),
    "contacts": ("docket TEXT, member TEXT, email TEXT, told TEXT NULL", "docket, member"),
}
INDEXES = (
    "CREATE INDEX reviews_status ON reviews (docket, member, status, number)",
    "CREATE INDEX reviews_finished ON reviews (docket, member, finished)",
)
# PostgreSQL refuses to take JSON apart that holds a zero character, and to index long text. In
# canonical JSON a quotation mark within text is escaped, so the pattern finds nothing but the key.
ROUND = r"""substring(body from '"round":("(?:[^"\\]|\\.)*")')"""
BY_ROUND = {
    "sqlite": (
        "CREATE INDEX events_round ON events (docket, (body -> '$.round'), seq)",
        "CREATE UNIQUE INDEX rounds_id ON rounds (docket, id)",
    ),
    "postgresql": (
        f"CREATE INDEX events_round ON events (docket, md5({ROUND}), seq)",
        "CREATE UNIQUE INDEX rounds_id ON rounds (docket, md5(id))",
    ),
}


def upgrade() -> None:
    """Make the tables and indexes."""
    connection = op.get_bind()
    bytes_ = "BLOB" if connection.dialect.name == "sqlite" else "BYTEA"
    for table, (listed, key) in TABLES.items():
        columns = [
            column.removesuffix(" NULL") + ("" if column.endswith(" NULL") else " NOT NULL")
            for column in listed.replace("BYTES", bytes_).split(", ")
        ]
        connection.exec_driver_sql(
            f"CREATE TABLE {table} ({', '.join(columns)}, PRIMARY KEY ({key}))"
        )
    for statement in (*INDEXES, *BY_ROUND[connection.dialect.name]):
        connection.exec_driver_sql(statement)
