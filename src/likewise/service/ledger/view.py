"""One docket's rows at one moment: records, payloads, its secret, earlier requests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, TypeVar

import sqlalchemy as sa

from likewise.errors import LikewiseError
from likewise.service.ledger.canonical_json import canonical, canonical_text, read_json
from likewise.service.ledger.payloads import Payload
from likewise.service.ledger.records import Head, LedgerBroken, Record
from likewise.service.ledger.schema import events, payloads, secrets

__all__ = ["PLACEHOLDERS", "LedgerView", "head_of", "json_text", "portions", "read_row"]

T = TypeVar("T")
# Asked with every command, so in the driver's own words: nothing has to be put together.
_HEAD = "SELECT seq, hash FROM events WHERE docket = {} ORDER BY seq DESC LIMIT 1"
_REQUEST = "SELECT fingerprint, round FROM requests WHERE docket = {} AND key = {}"
PLACEHOLDERS = {"sqlite": "?", "postgresql": "%s"}
# The round that a body names, as the index has it (migrations, revision 3).
_ROUND: dict[str, sa.ColumnElement[str]] = {
    "sqlite": sa.literal_column("(body -> '$.round')", sa.Text),
    "postgresql": sa.literal_column(
        r"""md5(substring(body from '"round":("(?:[^"\\]|\\.)*")'))""", sa.Text
    ),
}
# So many values are asked for at once.
PORTION = 500


def json_text(text: str) -> str:
    """Text as a JSON string: both databases can keep that, whatever the text holds.

    >>> json_text("a\\x00b")
    '"a\\\\u0000b"'
    """
    return canonical(text).decode()


def portions(values: Iterable[T]) -> Iterator[Sequence[T]]:
    """The same values, some at a time."""
    listed = list(values)
    return (listed[start : start + PORTION] for start in range(0, len(listed), PORTION))


class LedgerView:
    """A docket's records, payloads and secret, at one moment."""

    def __init__(self, connection: sa.Connection, docket: str) -> None:
        self.connection, self.docket = connection, docket

    @cached_property
    def head(self) -> Head:
        """The docket's last record."""
        return head_of(self.connection, self.docket)

    def flush(self) -> None:
        """Let the database know all that was gathered; there is nothing to tell by looking."""

    def rows(
        self, after: int = 0, until: int | None = None, limit: int | None = None
    ) -> Iterable[sa.Row[Any]]:
        """The rows of records with numbers above one and up to another."""
        query = sa.select(events).where(events.c.docket == self.docket, events.c.seq > after)
        if until is not None:
            query = query.where(events.c.seq <= until)
        found = self.connection.execute(query.order_by(events.c.seq).limit(limit))
        # One by one, most of the time would go into asking for the next.
        return (row for some in found.partitions(PORTION) for row in some)

    def records(
        self, after: int = 0, until: int | None = None, limit: int | None = None
    ) -> list[Record]:
        """The same as records; their bodies have to be written exactly as records are."""
        return [read_row(self.docket, row) for row in self.rows(after, until, limit)]

    def records_of_kind(self, kind: str, after: int = 0) -> list[Record]:
        """The records of one kind with numbers above one; all of those have to be looked at."""
        query = sa.select(events).where(
            events.c.docket == self.docket, events.c.seq > after, events.c.kind == kind
        )
        rows = self.connection.execute(query.order_by(events.c.seq))
        return [read_row(self.docket, row) for row in rows]

    def records_of(self, rounds: Iterable[str], until: int) -> dict[str, list[Record]]:
        """The records of some rounds up to a number, by round, found by the index."""
        self.flush()
        found: dict[str, list[Record]] = {}
        for some in portions(rounds):
            for row in self.connection.execute(self.round_query(some, until)):
                record = read_row(self.docket, row)
                found.setdefault(str(record.body.get("round")), []).append(record)
        return found

    def round_query(self, rounds: Iterable[str], until: int) -> sa.Select[Any]:
        """The question for the records of some rounds, in the words of the index."""
        name = _ROUND[self.connection.dialect.name]
        keys = [self.indexed(json_text(one)) for one in rounds]
        query = sa.select(events).where(
            events.c.docket == self.docket, name.in_(keys), events.c.seq <= until
        )
        return query.order_by(events.c.seq)

    def indexed(self, text: str | sa.ColumnElement[str]) -> Any:
        """Text as an index has it: PostgreSQL can index its hash only, where it is long."""
        return sa.func.md5(text) if self.connection.dialect.name == "postgresql" else text

    def payloads(self, digests: Iterable[str] | None = None) -> dict[str, Payload]:
        """Payloads by digest, those that have not been erased; without digests, all of them."""
        query = sa.select(payloads).where(payloads.c.docket == self.docket)
        if digests is None:
            return {row.digest: _payload(row) for row in self.connection.execute(query)}
        found: dict[str, Payload] = {}
        for some in portions(digests):
            asked = query.where(payloads.c.digest.in_(some))
            found.update({row.digest: _payload(row) for row in self.connection.execute(asked)})
        return found

    def secret(self) -> tuple[int, bytes] | None:
        """The docket's seed and the salt of its commitment."""
        query = sa.select(secrets).where(secrets.c.docket == self.docket)
        row = self.connection.execute(query).first()
        return None if row is None else (int(row.seed), bytes(row.salt))

    def request(self, key: str) -> tuple[str, str] | None:
        """The fingerprint and the round of an earlier request with that key."""
        row = _asked(self.connection, _REQUEST, self.docket, key)
        return None if row is None else (row.fingerprint, row.round)


def head_of(connection: sa.Connection, docket: str) -> Head:
    """A docket's last record."""
    row = _asked(connection, _HEAD, docket)
    return Head() if row is None else Head(row.seq, row.hash)


def _asked(connection: sa.Connection, statement: str, *values: str) -> sa.Row[Any] | None:
    place = PLACEHOLDERS[connection.dialect.name]
    text = statement.format(*(place for _ in values))
    return connection.exec_driver_sql(text, values).first()


def read_row(docket: str, row: Any) -> Record:
    """A row of ``events`` as a record, once every byte of it is what would have been written."""
    name, at, kind, text, nonce, prev, found, actor, seq = row
    try:
        body = read_json(text)
        exact = isinstance(body, dict) and canonical_text(body) == text
        "".join((text, name, at, kind, nonce, prev, found, actor)).encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise LedgerBroken(docket, seq, f"it cannot be read ({error}).") from error
    if not exact:
        raise LedgerBroken(docket, seq, "its body is not written as bodies are.")
    return Record.of_text(name, seq, at, kind, body, text, nonce, prev, found, actor)


def _payload(row: Any) -> Payload:
    """A payload; one that cannot be read becomes one that does not have its digest."""
    try:
        made = Payload(bytes(row.salt), json.loads(row.content))
        made.text  # noqa: B018 - written here once, so that what cannot be written is found here
    except (ValueError, TypeError, RecursionError, LikewiseError):
        return Payload(b"", {"unreadable": ascii(row.content)})
    return made
