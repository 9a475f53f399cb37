"""The tables of a store; ``migrations`` makes them, and the triggers that guard the ledger."""

from __future__ import annotations

import sqlalchemy as sa

# The revision of the tables that this code reads and writes: the newest in ``migrations``.
REVISION = 1

metadata = sa.MetaData()


def _table(
    name: str, key: tuple[str, ...], texts: tuple[str, ...], *others: sa.schema.SchemaItem
) -> sa.Table:
    """A table whose columns are text, but for some."""
    keys = [sa.Column(column, sa.Text, primary_key=True) for column in key]
    plain = [sa.Column(column, sa.Text, nullable=False) for column in texts]
    return sa.Table(name, metadata, *keys, *plain, *others)


# The ledgers. Bodies are canonical JSON as text, so that what was hashed is what is stored.
events = _table(
    "events", ("docket",), ("at", "kind", "body", "nonce", "prev", "hash", "actor"),
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
)  # fmt: skip

# Features and reasons; rows are removed when somebody is erased.
payloads = _table(
    "payloads", ("docket", "digest"), ("content",),
    sa.Column("salt", sa.LargeBinary, nullable=False),
)  # fmt: skip

secrets = _table(
    "secrets", ("docket",), ("seed",), sa.Column("salt", sa.LargeBinary, nullable=False)
)

# Requests that carried an idempotency key, by a keyed hash of their content.
requests = _table("requests", ("docket", "key"), ("fingerprint", "round"))

tokens = _table(
    "tokens", ("id",), ("role", "name", "created"),
    sa.Column("hash", sa.Text, nullable=False, unique=True),
    sa.Column("docket", sa.Text),
    sa.Column("revoked", sa.Text),
)  # fmt: skip

# ``id`` is what a ledger calls a sign-in; issuer, subject and provider_session are those of the
# organisation's sign-on, and empty for somebody who signed in with a token.
sessions = _table(
    "sessions", ("hash",),
    ("token", "csrf", "expires", "id", "issuer", "subject", "provider_session"),
)  # fmt: skip

# The installation's keys, which sign receipts; one of them is ``in_use``.
keys = _table(
    "keys", ("id",), ("public", "created"),
    sa.Column("private", sa.LargeBinary, nullable=False),
    sa.Column("in_use", sa.Text, unique=True),
    sa.Column("retired", sa.Text),
    sa.Column("compromised", sa.Text),
)  # fmt: skip
# Further seats of whoever signed in: the tokens that they added to a session.
seats = _table("seats", ("hash", "token"), ())

# ── Found by an index, instead of being held in memory; all of it follows from the ledgers ──────

# One row a docket; ``due`` is when to look at its panels, ``numbers`` are its running numbers as
# JSON.
dockets = _table(
    "dockets", ("docket",), (), sa.Column("due", sa.Text), sa.Column("numbers", sa.Text)
)

# Rounds that have closed, by number. Ids of rounds and members are JSON strings here: whatever
# they hold, both databases can keep that.
rounds = _table(
    "rounds", ("docket",), ("id",),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
)  # fmt: skip

# Reviews that have ended, by the member's own count; ``finished`` counts the rounds they reviewed.
reviews = _table(
    "reviews", ("docket", "id"), ("member", "round", "status", "ended"),
    sa.Column("number", sa.BigInteger, nullable=False),
    sa.Column("again", sa.Text),
    sa.Column("finished", sa.BigInteger),
    sa.Index("reviews_status", "docket", "member", "status", "number"),
    sa.Index("reviews_finished", "docket", "member", "finished"),
)  # fmt: skip

# States to start from; features of people in open rounds are among them.
snapshots = _table(
    "snapshots", ("docket",), ("hash",),
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("content", sa.LargeBinary, nullable=False),
)  # fmt: skip

# ── Beside the ledgers: what a member has looked at, and how they want to be told ────────────────

marks = _table("marks", ("docket", "review", "pair"), ("mark", "at"))
contacts = _table("contacts", ("docket", "member"), ("email",), sa.Column("told", sa.Text))
# What is said of the database as a whole: the manifest of a backup.
meta = _table("meta", ("key",), ("value",))
