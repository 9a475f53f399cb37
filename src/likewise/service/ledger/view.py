"""One docket's rows at one moment: records, payloads, its secret, earlier requests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, TypeVar

import sqlalchemy as sa

from likewise.errors import LikewiseError
from likewise.service.ledger.canonical_json import canonical, canonical_text
from likewise.service.ledger.payloads import Payload
from likewise.service.ledger.records import Head, LedgerBroken, Record
from likewise.service.ledger.schema import events, payloads, secrets

T = TypeVar("T")
# Asked with every command, so in the driver's own words: nothing has to be compiled.
_HEAD = "SELECT seq, hash FROM events WHERE docket = {} ORDER BY seq DESC LIMIT 1"
_REQUEST = "SELECT fingerprint, round FROM requests WHERE docket = {} AND key = {}"
PLACEHOLDERS = {"sqlite": "?", "postgresql": "%s"}
# The round that a body names, as the index has it (migrations/versions/baseline.py).
_ROUND: dict[str, sa.ColumnElement[str]] = {
    "sqlite": sa.literal_column("(body -> '$.round')", sa.Text),
    "postgresql": sa.literal_column(
        r"""md5(substring(body from '"round":("(?:[^"\\]|\\.)*")'))""", sa.Text
    ),
}
# The most values in one query.
PORTION = 500


def json_text(text: str) -> str:
    """Return text as a JSON string: both databases can keep that, whatever the text holds.

    >>> json_text("a\\x00b")
    '"a\\\\u0000b"'
    """
    return canonical(text).decode()


def portions(values: Iterable[T]) -> Iterator[Sequence[T]]:
    """Split values into portions that fit one query."""
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

    def execute(self, statement: sa.Executable) -> sa.CursorResult[Any]:
        """Execute a statement on the view's connection."""
        return self.connection.execute(statement)

    def of(self, table: sa.Table) -> sa.ColumnElement[bool]:
        """Return the condition that a row of a table is one of this docket."""
        return table.c.docket == self.docket

    def rows(
        self, after: int = 0, until: int | None = None, limit: int | None = None
    ) -> Iterable[sa.Row[Any]]:
        """Return the rows of records with numbers above ``after`` and up to ``until``."""
        query = sa.select(events).where(self.of(events), events.c.seq > after)
        if until is not None:
            query = query.where(events.c.seq <= until)
        result = self.execute(query.order_by(events.c.seq).limit(limit))
        # In partitions: asking for row after row would take most of the time.
        return (row for partition in result.partitions(PORTION) for row in partition)

    def records(
        self, after: int = 0, until: int | None = None, limit: int | None = None
    ) -> list[Record]:
        """Return the same as records; their bodies have to be canonical JSON."""
        return [read_row(self.docket, row) for row in self.rows(after, until, limit)]

    def records_of_kind(self, kind: str, after: int = 0) -> list[Record]:
        """Return the records of one kind with numbers above ``after``, by a scan over those."""
        query = sa.select(events).where(
            self.of(events), events.c.seq > after, events.c.kind == kind
        )
        return [read_row(self.docket, row) for row in self.execute(query.order_by(events.c.seq))]

    def records_of(self, rounds: Iterable[str], until: int) -> dict[str, list[Record]]:
        """Return the records of some rounds up to a number, by round, found by the index."""
        by_round: dict[str, list[Record]] = {}
        for portion in portions(rounds):
            for row in self.execute(self.round_query(portion, until)):
                record = read_row(self.docket, row)
                by_round.setdefault(str(record.body.get("round")), []).append(record)
        return by_round

    def round_query(self, rounds: Iterable[str], until: int) -> sa.Select[Any]:
        """Return the query for the records of some rounds, in the words of the index."""
        name = _ROUND[self.connection.dialect.name]
        keys = [self.indexed(json_text(round_id)) for round_id in rounds]
        query = sa.select(events).where(self.of(events), name.in_(keys), events.c.seq <= until)
        return query.order_by(events.c.seq)

    def indexed(self, text: str | sa.ColumnElement[str]) -> Any:
        """Return text as an index has it: on PostgreSQL its hash, as long text has no index."""
        return sa.func.md5(text) if self.connection.dialect.name == "postgresql" else text

    def payloads(self, digests: Iterable[str] | None = None) -> dict[str, Payload]:
        """Return payloads by digest, those that are not erased; without digests, all of them."""
        query = sa.select(payloads).where(self.of(payloads))
        queries = [query]
        if digests is not None:
            queries = [query.where(payloads.c.digest.in_(p)) for p in portions(digests)]
        return {row.digest: _payload(row) for query in queries for row in self.execute(query)}

    def secret(self) -> tuple[int, bytes] | None:
        """Return the docket's seed and the salt of its commitment."""
        row = self.execute(sa.select(secrets).where(self.of(secrets))).first()
        return None if row is None else (int(row.seed), bytes(row.salt))

    def flush(self) -> None:
        """Send what was written to the database; a view writes nothing."""

    def request(self, key: str) -> tuple[str, str] | None:
        """Return the fingerprint and the round of an earlier request with that key."""
        self.flush()
        row = _first(self.connection, _REQUEST, self.docket, key)
        return None if row is None else (row.fingerprint, row.round)


def head_of(connection: sa.Connection, docket: str) -> Head:
    """Return a docket's last record."""
    row = _first(connection, _HEAD, docket)
    return Head() if row is None else Head(row.seq, row.hash)


def _first(connection: sa.Connection, statement: str, *values: str) -> sa.Row[Any] | None:
    placeholder = PLACEHOLDERS[connection.dialect.name]
    text = statement.format(*(placeholder for _ in values))
    return connection.exec_driver_sql(text, values).first()


def read_row(docket: str, row: Any) -> Record:
    """Return a row of ``events`` as a record, if every byte of it is what would be written."""
    name, at, kind, text, nonce, prev, hash_, actor, seq = row
    try:
        body = json.loads(text)
        exact = isinstance(body, dict) and canonical_text(body) == text
        "".join((text, name, at, kind, nonce, prev, hash_, actor)).encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise LedgerBroken(docket, seq, f"it cannot be read ({error}).") from error
    if not exact:
        raise LedgerBroken(docket, seq, "its body is not canonical JSON.")
    return Record.of_text(name, seq, at, kind, body, text, nonce, prev, hash_, actor)


def _payload(row: Any) -> Payload:
    """Return a payload; one that cannot be read becomes one that does not have its digest."""
    try:
        payload = Payload(bytes(row.salt), json.loads(row.content))
        payload.text  # noqa: B018 - cached here, so that what cannot be written is refused here
    except (ValueError, TypeError, RecursionError, LikewiseError):
        return Payload(b"", {"unreadable": ascii(row.content)})
    return payload
