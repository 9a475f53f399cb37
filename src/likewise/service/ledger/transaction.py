"""A docket's writer: what is added becomes visible together, or not at all.

Several commands may share a transaction. Each runs within a savepoint of its own, so that one
which is refused leaves no trace and the others go on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import sqlalchemy as sa

from likewise.service.ledger.listings import EndedReview, Snapshot
from likewise.service.ledger.payloads import Payload
from likewise.service.ledger.records import Head, Record
from likewise.service.ledger.schema import (
    dockets,
    events,
    payloads,
    requests,
    reviews,
    rounds,
    secrets,
    snapshots,
)
from likewise.service.ledger.view import PLACEHOLDERS, LedgerView, json_text


class Transaction(LedgerView):
    """A docket's only writer, until it ends.

    New rows are gathered and sent in few statements, when the transaction ends or before anything
    is read. A savepoint is begun in the database once something is sent within it.
    """

    head: Head

    def __init__(self, connection: sa.Connection, docket: str) -> None:
        super().__init__(connection, docket)
        self._rows: list[tuple[str, Mapping[str, Any]]] = []
        self._due: str | None = None
        # Within a savepoint: how many of the rows came before it, and if the database has one.
        self._before: int | None = None
        self._begun, self._stack = False, ExitStack()

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """Keep all that the block writes, or after an exception nothing of it."""
        self._before, head = len(self._rows), self.head
        try:
            with self._stack:
                yield
                if self._begun:
                    self.flush()
        except BaseException:
            del self._rows[self._before :]
            self.head = head
            raise
        finally:
            self._before, self._begun = None, False

    def execute(self, statement: sa.Executable) -> sa.CursorResult[Any]:
        """Execute a query, which sees all that was written before it."""
        self.flush()
        return super().execute(statement)

    def _change(self, statement: sa.Executable) -> None:
        self.flush()
        self._begin_savepoint()
        super().execute(statement)

    def _begin_savepoint(self) -> None:
        if self._before is not None and not self._begun:
            self._stack.enter_context(self.connection.begin_nested())
            self._begun = True

    def flush(self) -> None:
        """Send the rows that were gathered to the database."""
        rows, self._rows = self._rows, []
        before = len(rows) if self._before is None else self._before
        self._insert(rows[:before])
        if self._before is not None:
            self._before = 0
        if rows[before:]:
            self._begin_savepoint()
            self._insert(rows[before:])

    def _insert(self, rows: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        by_table: dict[str, list[Mapping[str, Any]]] = {}
        for table, row in rows:
            by_table.setdefault(table, []).append({**row, "docket": self.docket})
        for table, columns in by_table.items():
            # In the driver's own words, which are the same every time. One row alone takes one
            # round trip; several take a pipeline.
            statement, names = _INSERTS[self.connection.dialect.name, table]
            values = [tuple(row[name] for name in names) for row in columns]
            self.connection.exec_driver_sql(statement, values if len(values) > 1 else values[0])

    # ── The ledger, and what is personal beside it ───────────────────────────────────────────────

    def append(self, kind: str, body: Mapping[str, Any], at: str, actor: str) -> Record:
        """Add a record to the ledger."""
        record = Record.following(self.docket, self.head, at, kind, body, actor)
        self._rows.append(("events", {**record.to_json(), "body": record.body_text}))
        self.head = record.head
        return record

    def keep(self, payload: Payload) -> str:
        """Keep a payload beside the ledger; return its digest, which is for the ledger."""
        self._rows.append(
            ("payloads", {"digest": payload.digest, "salt": payload.salt, "content": payload.text})
        )
        return payload.digest

    def erase(self, digest: str) -> None:
        """Remove a payload, salt and content, for good."""
        self._change(payloads.delete().where(self.of(payloads), payloads.c.digest == digest))

    def keep_request(self, key: str, fingerprint: str, round_id: str) -> None:
        """Remember a request, so that it can be repeated safely."""
        row = {"key": key, "fingerprint": fingerprint, "round": round_id}
        self._rows.append(("requests", row))

    def request(self, key: str) -> tuple[str, str] | None:
        """Return the fingerprint and the round of an earlier request with that key."""
        for table, row in self._rows:
            if table == "requests" and row["key"] == key:
                return row["fingerprint"], row["round"]
        return super().request(key)

    def forget_fingerprints(self, round_id: str) -> None:
        """Keep the keys of a round's requests, but nothing that depends on who arrived."""
        update = requests.update().where(self.of(requests), requests.c.round == round_id)
        self._change(update.values(fingerprint=""))

    def keep_secret(self, seed: int, salt: bytes) -> None:
        """Keep the docket's seed, to which its first record only commits."""
        self._change(secrets.insert().values(docket=self.docket, seed=str(seed), salt=salt))

    # ── What is found by an index ────────────────────────────────────────────────────────────────

    def list_round(self, number: int, round_id: str) -> None:
        """List a round that has closed."""
        self._rows.append(("rounds", {"number": number, "id": json_text(round_id)}))

    def list_review(self, review: EndedReview) -> None:
        """List a review that has ended."""
        self._rows.append(("reviews", review.row()))

    def look_at(self, due: str) -> None:
        """Let somebody look at the docket's panels by then; :meth:`keep_numbers` writes it."""
        self._due = due if self._due is None else min(due, self._due)

    def set_due(self, due: str | None) -> None:
        """Set the next time at which somebody has to look, whatever it was before."""
        self._due = None
        self._change(dockets.update().where(self.of(dockets)).values(due=due))

    def keep_numbers(self, numbers: Mapping[str, float]) -> None:
        """Write the docket's running numbers, and the earliest time at which to look at it."""
        statement = _DOCKET_ROW.format(PLACEHOLDERS[self.connection.dialect.name])
        values = (self.docket, self._due, json.dumps(numbers))
        self.connection.exec_driver_sql(statement, values)
        self._due = None

    def keep_snapshot(self, snapshot: Snapshot) -> None:
        """Write a state to start from, and keep the one before it; older ones go."""
        newest = sa.select(sa.func.max(snapshots.c.seq)).where(self.of(snapshots)).scalar_subquery()
        self._change(snapshots.delete().where(self.of(snapshots), snapshots.c.seq < newest))
        self._change(snapshots.insert().values(docket=self.docket, **vars(snapshot)))

    def drop_snapshots(self) -> None:
        """Remove all states to start from, when somebody in them is erased."""
        self._change(snapshots.delete().where(self.of(snapshots)))


def _insertion(table: sa.Table, placeholder: str) -> tuple[str, tuple[str, ...]]:
    """Return the statement that adds a row, and the columns in its order."""
    names = tuple(table.columns.keys())
    columns, places = ", ".join(names), ", ".join(placeholder for _ in names)
    return f"INSERT INTO {table.name} ({columns}) VALUES ({places})", names


_INSERTS = {
    (dialect, table.name): _insertion(table, placeholder)
    for dialect, placeholder in PLACEHOLDERS.items()
    for table in (events, payloads, requests, rounds, reviews)
}
# An earlier date takes the place of a later one; a later one changes nothing.
_DOCKET_ROW = (
    "INSERT INTO dockets (docket, due, numbers) VALUES ({0}, {0}, {0}) ON CONFLICT (docket) DO "
    "UPDATE SET numbers = excluded.numbers, "
    "due = CASE WHEN dockets.due IS NULL OR dockets.due > excluded.due "
    "THEN COALESCE(excluded.due, dockets.due) ELSE dockets.due END"
)
