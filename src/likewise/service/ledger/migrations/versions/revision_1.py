"""The tables of the first stores ("likewise-store/1"), and the triggers that guard the ledger."""

from __future__ import annotations

from alembic import op

revision = "1"
down_revision = None

# Table: its columns (BYTES is the dialect's word), and its key.
TABLES = {
    "meta": ("key TEXT, value TEXT", "key"),
    "events": (
        "docket TEXT, seq BIGINT, at TEXT, kind TEXT, body TEXT, nonce TEXT, prev TEXT, hash TEXT",
        "docket, seq",
    ),
    "payloads": ("docket TEXT, digest TEXT, salt BYTES, content TEXT", "docket, digest"),
    "secrets": ("docket TEXT, seed TEXT, salt BYTES", "docket"),
    "requests": ("docket TEXT, key TEXT, fingerprint TEXT, round TEXT", "docket, key"),
    "tokens": (
        "id TEXT, hash TEXT, role TEXT, name TEXT, docket TEXT NULL, created TEXT, "
        "revoked TEXT NULL",
        "id",
    ),
    "sessions": ("hash TEXT, token TEXT, csrf TEXT, expires TEXT", "hash"),
}
GENESIS = "0" * 64

SQLITE = [
    *(
        f"CREATE TRIGGER events_no_{action.lower()} BEFORE {action} ON events "
        f"BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
        for action in ("UPDATE", "DELETE")
    ),
    # INSERT OR REPLACE would remove a row without asking the triggers above.
    "CREATE TRIGGER events_follow BEFORE INSERT ON events WHEN NEW.seq IS NOT "
    "(SELECT coalesce(max(seq), 0) + 1 FROM events WHERE docket = NEW.docket) "
    "OR NEW.prev IS NOT coalesce((SELECT hash FROM events WHERE docket = NEW.docket "
    f"ORDER BY seq DESC LIMIT 1), '{GENESIS}') "
    "BEGIN SELECT RAISE(ABORT, 'a record must follow the last one of its ledger'); END",
]
POSTGRESQL = [
    "CREATE FUNCTION likewise_append_only() RETURNS trigger LANGUAGE plpgsql AS "
    "$$BEGIN RAISE EXCEPTION 'the ledger is append-only'; END$$",
    "CREATE TRIGGER events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON events "
    "FOR EACH STATEMENT EXECUTE FUNCTION likewise_append_only()",
    "CREATE FUNCTION likewise_follow() RETURNS trigger LANGUAGE plpgsql AS "
    "$$DECLARE last record; BEGIN "
    "SELECT seq, hash INTO last FROM events WHERE docket = NEW.docket "
    "ORDER BY seq DESC LIMIT 1; "
    "IF NEW.seq IS DISTINCT FROM coalesce(last.seq, 0) + 1 "
    f"OR NEW.prev IS DISTINCT FROM coalesce(last.hash, '{GENESIS}') THEN "
    "RAISE EXCEPTION 'a record must follow the last one of its ledger'; END IF; "
    "RETURN NEW; END$$",
    "CREATE TRIGGER events_follow BEFORE INSERT ON events "
    "FOR EACH ROW EXECUTE FUNCTION likewise_follow()",
]


def upgrade() -> None:
    """Make the tables."""
    connection = op.get_bind()
    on_sqlite = connection.dialect.name == "sqlite"
    for table, (listed, key) in TABLES.items():
        columns = [
            column.removesuffix(" NULL") + ("" if column.endswith(" NULL") else " NOT NULL")
            for column in listed.replace("BYTES", "BLOB" if on_sqlite else "BYTEA").split(", ")
        ]
        more = ", UNIQUE (hash)" if table == "tokens" else ""
        connection.exec_driver_sql(
            f"CREATE TABLE {table} ({', '.join(columns)}, PRIMARY KEY ({key}){more})"
        )
    for statement in SQLITE if on_sqlite else POSTGRESQL:
        connection.exec_driver_sql(statement)
    connection.exec_driver_sql("INSERT INTO meta VALUES ('schema', 'likewise-store/1')")
