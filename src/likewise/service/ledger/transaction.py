"""A docket's writer: what is added becomes visible together, or not at all.

Several commands may share a transaction. Each runs within a savepoint of its own, so that one
which is refused leaves no trace and the others go on.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
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

    New rows are gathered and sent in few statements: when a savepoint or the transaction ends, and
    before anything is read.
    """

    head: Head

    def __init__(self, connection: sa.Connection, docket: str) -> None:
        super().__init__(connection, docket)
        self._rows: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
        self._due: str | None = None

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """Keep all that the block writes, or after an exception nothing of it."""
        self.flush()
        head = self.head
        try:
            with self.connection.begin_nested():
                yield
                self.flush()
        except BaseException:
            self._rows.clear()
            self.head = head
            raise

    def execute(self, statement: sa.Executable) -> sa.CursorResult[Any]:
        """Execute a statement, which sees all that was written before it."""
        self.flush()
        return super().execute(statement)

    # ── The ledger, and what is personal beside it ───────────────────────────────────────────────

    def append(self, kind: str, body: Mapping[str, Any], at: str, actor: str) -> Record:
        """Add a record to the ledger."""
        record = Record.following(self.docket, self.head, at, kind, body, actor)
        self._rows["events"].append({**record.to_json(), "body": record.body_text})
        self.head = record.head
        return record

    def keep(self, payload: Payload) -> str:
        """Keep a payload beside the ledger; return its digest, which is for the ledger."""
        self._rows["payloads"].append(
            {"digest": payload.digest, "salt": payload.salt, "content": payload.text}
        )
        return payload.digest

    def erase(self, digest: str) -> None:
        """Remove a payload, salt and content, for good."""
        self.execute(payloads.delete().where(self.of(payloads), payloads.c.digest == digest))

    def keep_request(self, key: str, fingerprint: str, round_id: str) -> None:
        """Remember a request, so that it can be repeated safely."""
        row = {"key": key, "fingerprint": fingerprint, "round": round_id}
        self._rows["requests"].append(row)

    def forget_fingerprints(self, round_id: str) -> None:
        """Keep the keys of a round's requests, but nothing that depends on who arrived."""
        update = requests.update().where(self.of(requests), requests.c.round == round_id)
        self.execute(update.values(fingerprint=""))

    def keep_secret(self, seed: int, salt: bytes) -> None:
        """Keep the docket's seed, to which its first record only commits."""
        self.execute(secrets.insert().values(docket=self.docket, seed=str(seed), salt=salt))

    # ── What is found by an index ────────────────────────────────────────────────────────────────

    def list_round(self, number: int, round_id: str) -> None:
        """List a round that has closed."""
        self._rows["rounds"].append({"number": number, "id": json_text(round_id)})

    def list_review(self, review: EndedReview) -> None:
        """List a review that has ended."""
        self._rows["reviews"].append(review.row())

    def look_at(self, due: str) -> None:
        """Let somebody look at the docket's panels by then; :meth:`keep_numbers` writes it."""
        self._due = due if self._due is None else min(due, self._due)

    def set_due(self, due: str | None) -> None:
        """Set the next time at which somebody has to look, whatever it was before."""
        self._due = None
        self.execute(dockets.update().where(self.of(dockets)).values(due=due))

    def keep_numbers(self, numbers: Mapping[str, float]) -> None:
        """Write the docket's running numbers, and the earliest time at which to look at it."""
        statement = _DOCKET_ROW.format(PLACEHOLDERS[self.connection.dialect.name])
        values = (self.docket, self._due, json.dumps(numbers))
        self.connection.exec_driver_sql(statement, values)
        self._due = None

    def keep_snapshot(self, snapshot: Snapshot) -> None:
        """Write a state to start from, and keep the one before it; older ones go."""
        newest = sa.select(sa.func.max(snapshots.c.seq)).where(self.of(snapshots)).scalar_subquery()
        self.execute(snapshots.delete().where(self.of(snapshots), snapshots.c.seq < newest))
        self.execute(snapshots.insert().values(docket=self.docket, **vars(snapshot)))

    def drop_snapshots(self) -> None:
        """Remove all states to start from, when somebody in them is erased."""
        self.execute(snapshots.delete().where(self.of(snapshots)))

    # ── To the database ──────────────────────────────────────────────────────────────────────────

    def flush(self) -> None:
        """Send the rows that were gathered to the database."""
        for table, rows in self._rows.items():
            # In the driver's own words, which are the same every time. One row alone takes one
            # round trip; several take a pipeline.
            statement, names = _INSERTS[self.connection.dialect.name, table]
            values = [tuple({**row, "docket": self.docket}[name] for name in names) for row in rows]
            self.connection.exec_driver_sql(statement, values if len(values) > 1 else values[0])
        self._rows.clear()


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
