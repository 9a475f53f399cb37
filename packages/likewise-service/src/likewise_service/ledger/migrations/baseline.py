"""The baseline: every table and index, and the triggers that guard the ledger."""

from alembic import op

revision = "1"
down_revision = None

# Each table's columns, and its key. BYTES is the dialect's word; "?" marks what may be NULL.
TABLES = {
    "meta": ("key TEXT, value TEXT", "key"),
    "events": (
        "docket TEXT, seq BIGINT, at TEXT, kind TEXT, body TEXT, nonce TEXT, prev TEXT, hash TEXT, "
        "actor TEXT",
        "docket, seq",
    ),
    "payloads": ("docket TEXT, digest TEXT, salt BYTES, content TEXT", "docket, digest"),
    "secrets": ("docket TEXT, seed TEXT, salt BYTES", "docket"),
    "requests": ("docket TEXT, key TEXT, fingerprint TEXT, round TEXT", "docket, key"),
    "tokens": (
        "id TEXT, hash TEXT UNIQUE, role TEXT, name TEXT, docket TEXT?, created TEXT, "
        "revoked TEXT?",
        "id",
    ),
    "sessions": (
        "hash TEXT, token TEXT, csrf TEXT, expires TEXT, id TEXT, issuer TEXT, subject TEXT, "
        "provider_session TEXT",
        "hash",
    ),
    # UNIQUE: at most one key is in use, whatever several processes do at once.
    "keys": (
        "id TEXT, public TEXT, created TEXT, private BYTES, in_use TEXT UNIQUE?, retired TEXT?, "
        "compromised TEXT?",
        "id",
    ),
    "seats": ("hash TEXT, token TEXT", "hash, token"),
    "dockets": ("docket TEXT, due TEXT?, numbers TEXT?", "docket"),
    "rounds": ("docket TEXT, number BIGINT, id TEXT", "docket, number"),
    "reviews": (
        "docket TEXT, id TEXT, member TEXT, round TEXT, status TEXT, ended TEXT, number BIGINT, "
        "again TEXT?, finished BIGINT?",
        "docket, id",
    ),
    "snapshots": ("docket TEXT, seq BIGINT, hash TEXT, content BYTES", "docket, seq"),
    "marks": ("docket TEXT, review TEXT, pair TEXT, mark TEXT, at TEXT", "docket, review, pair"),
    "contacts": ("docket TEXT, member TEXT, email TEXT, told TEXT?", "docket, member"),
}
GENESIS = "0" * 64
# PostgreSQL refuses to parse JSON that holds a zero character, and to index long text. In
# canonical JSON a quotation mark within text is escaped, so the pattern matches the key alone.
ROUND = r"""substring(body from '"round":("(?:[^"\\]|\\.)*")')"""

INDEXES = (
    "CREATE INDEX reviews_status ON reviews (docket, member, status, number)",
    "CREATE INDEX reviews_finished ON reviews (docket, member, finished)",
)
SQLITE = (
    "CREATE INDEX events_round ON events (docket, (body -> '$.round'), seq)",
    "CREATE UNIQUE INDEX rounds_id ON rounds (docket, id)",
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
)
POSTGRESQL = (
    f"CREATE INDEX events_round ON events (docket, md5({ROUND}), seq)",
    "CREATE UNIQUE INDEX rounds_id ON rounds (docket, md5(id))",
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
)


def upgrade() -> None:
    """Create the tables, their indexes and the triggers."""
    connection = op.get_bind()
    on_sqlite = connection.dialect.name == "sqlite"
    for table, (listed, key) in TABLES.items():
        columns = [
            column.removesuffix("?") + ("" if column.endswith("?") else " NOT NULL")
            for column in listed.replace("BYTES", "BLOB" if on_sqlite else "BYTEA").split(", ")
        ]
        connection.exec_driver_sql(
            f"CREATE TABLE {table} ({', '.join(columns)}, PRIMARY KEY ({key}))"
        )
    for statement in (*INDEXES, *(SQLITE if on_sqlite else POSTGRESQL)):
        connection.exec_driver_sql(statement)
