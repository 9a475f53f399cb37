"""The tables of a store, and the triggers that keep the ledger append-only."""

from __future__ import annotations

import sqlalchemy as sa

__all__ = [
    "APPEND_ONLY",
    "SCHEMA_VERSION",
    "events",
    "meta",
    "metadata",
    "payloads",
    "requests",
    "secrets",
    "sessions",
    "tokens",
]

SCHEMA_VERSION = "likewise-store/1"

metadata = sa.MetaData()

meta = sa.Table(
    "meta",
    metadata,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)

# The ledgers. Bodies are canonical JSON as text, so that what was hashed is what is stored.
events = sa.Table(
    "events",
    metadata,
    sa.Column("docket", sa.Text, primary_key=True),
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("at", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("nonce", sa.Text, nullable=False),
    sa.Column("prev", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
)

# What is personal; rows are removed when somebody is erased.
payloads = sa.Table(
    "payloads",
    metadata,
    sa.Column("docket", sa.Text, primary_key=True),
    sa.Column("digest", sa.Text, primary_key=True),
    sa.Column("salt", sa.LargeBinary, nullable=False),
    sa.Column("content", sa.Text, nullable=False),
)

secrets = sa.Table(
    "secrets",
    metadata,
    sa.Column("docket", sa.Text, primary_key=True),
    sa.Column("seed", sa.Text, nullable=False),
    sa.Column("salt", sa.LargeBinary, nullable=False),
)

# Requests that carried an idempotency key, by a keyed hash of their content.
requests = sa.Table(
    "requests",
    metadata,
    sa.Column("docket", sa.Text, primary_key=True),
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("round", sa.Text, nullable=False),
)

tokens = sa.Table(
    "tokens",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("hash", sa.Text, nullable=False, unique=True),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("docket", sa.Text),
    sa.Column("created", sa.Text, nullable=False),
    sa.Column("revoked", sa.Text),
)

sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("hash", sa.Text, primary_key=True),
    sa.Column("token", sa.Text, nullable=False),
    sa.Column("csrf", sa.Text, nullable=False),
    sa.Column("expires", sa.Text, nullable=False),
)

APPEND_ONLY = {
    "sqlite": [
        f"CREATE TRIGGER events_no_{action.lower()} BEFORE {action} ON events "
        f"BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
        for action in ("UPDATE", "DELETE")
    ]
    + [
        # INSERT OR REPLACE would remove a row without asking the trigger above.
        "CREATE TRIGGER events_follow BEFORE INSERT ON events WHEN NEW.seq IS NOT "
        "(SELECT coalesce(max(seq), 0) + 1 FROM events WHERE docket = NEW.docket) "
        "OR NEW.prev IS NOT coalesce((SELECT hash FROM events WHERE docket = NEW.docket "
        "ORDER BY seq DESC LIMIT 1), '" + "0" * 64 + "') "
        "BEGIN SELECT RAISE(ABORT, 'a record must follow the last one of its ledger'); END"
    ],
    "postgresql": [
        "CREATE FUNCTION likewise_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        "$$BEGIN RAISE EXCEPTION 'the ledger is append-only'; END$$",
        "CREATE TRIGGER events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON events "
        "FOR EACH STATEMENT EXECUTE FUNCTION likewise_append_only()",
        "CREATE FUNCTION likewise_follow() RETURNS trigger LANGUAGE plpgsql AS "
        "$$DECLARE last record; BEGIN "
        "SELECT seq, hash INTO last FROM events WHERE docket = NEW.docket "
        "ORDER BY seq DESC LIMIT 1; "
        "IF NEW.seq IS DISTINCT FROM coalesce(last.seq, 0) + 1 "
        "OR NEW.prev IS DISTINCT FROM coalesce(last.hash, '" + "0" * 64 + "') THEN "
        "RAISE EXCEPTION 'a record must follow the last one of its ledger'; END IF; "
        "RETURN NEW; END$$",
        "CREATE TRIGGER events_follow BEFORE INSERT ON events "
        "FOR EACH ROW EXECUTE FUNCTION likewise_follow()",
    ],
}
