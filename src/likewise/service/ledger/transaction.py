"""A docket's writer: what is added becomes visible together, or not at all.

Several commands may share a transaction. Each gathers what it writes in a :class:`Stage` of its
own, which the transaction accepts as a whole or never sees; the database is told in as few words
as possible, when the transaction ends or somebody has to look.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa

from likewise.service.ledger.listings import Snapshot
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
from likewise.service.ledger.view import PLACEHOLDERS, LedgerView, portions

__all__ = ["Stage", "Transaction"]

Row = Mapping[str, Any]


class Gathered:
    """Writes that have been gathered: records, payloads, requests, and what is to be removed."""

    docket: str
    head: Head

    def __init__(self) -> None:
        self.added: list[Record] = []
        self.kept: dict[str, Payload] = {}
        self.erased: list[str] = []
        self.asked: dict[str, tuple[str, str]] = {}
        self.forgotten: list[str] = []
        self.drops_snapshots = False

    def append(self, kind: str, body: Mapping[str, Any], at: str, actor: str = "") -> Record:
        """One more record."""
        record = Record.following(self.docket, self.head, at, kind, body, actor)
        self.added.append(record)
        self.head = record.head
        return record

    def keep(self, payload: Payload) -> str:
        """Keep something personal beside the ledger; its digest is for the ledger."""
        self.kept[payload.digest] = payload
        return payload.digest

    def erase(self, digest: str) -> None:
        """Remove salt and content for good."""
        if self.kept.pop(digest, None) is None:
            self.erased.append(digest)

    def keep_request(self, key: str, fingerprint: str, round_id: str) -> None:
        """Remember a request, so that it can be repeated safely."""
        self.asked[key] = (fingerprint, round_id)

    def forget_fingerprints(self, round_id: str) -> None:
        """Requests of a round keep their key, but nothing that depends on who arrived."""
        self.asked = {
            key: ("", name) if name == round_id else (fingerprint, name)
            for key, (fingerprint, name) in self.asked.items()
        }
        self.forgotten.append(round_id)

    def drop_snapshots(self) -> None:
        """Remove all states to start from: somebody in them is to be erased."""
        self.drops_snapshots = True


class Transaction(Gathered, LedgerView):
    """A docket's only writer, until it ends."""

    head: Head

    def __init__(self, connection: sa.Connection, docket: str) -> None:
        LedgerView.__init__(self, connection, docket)
        Gathered.__init__(self)
        self._rounds: list[Row] = []
        self._reviews: list[Row] = []
        self._due: str | None = None
        self._numbers: str | None = None

    def accept(self, stage: Stage) -> None:
        """All that a command has written, once nothing in it can be refused any more."""
        self.added += stage.added
        self.kept.update(stage.kept)
        for digest in stage.erased:
            self.erase(digest)
        self.asked.update(stage.asked)
        for round_id in stage.forgotten:
            self.forget_fingerprints(round_id)
        self.drops_snapshots |= stage.drops_snapshots
        self.head = stage.head

    # ── What is found by an index ────────────────────────────────────────────────────────────────

    def list_round(self, row: Row) -> None:
        """A round that has closed."""
        self._rounds.append(row)

    def list_review(self, row: Row) -> None:
        """A review that has ended."""
        self._reviews.append(row)

    def look_at(self, due: str) -> None:
        """Somebody has to look at the docket's panels by then."""
        self._due = due if self._due is None else min(due, self._due)

    def keep_numbers(self, numbers: Mapping[str, float]) -> None:
        """A docket's running numbers, as the transaction leaves them."""
        self._numbers = json.dumps(numbers)

    def begin_listing(self) -> None:
        """From now on rounds and reviews of the docket are listed as they end."""
        for table in (dockets, rounds, reviews, snapshots):
            self.connection.execute(table.delete().where(table.c.docket == self.docket))
        self.connection.execute(dockets.insert().values(docket=self.docket, due=None))

    def set_due(self, due: str | None) -> None:
        """The next time at which somebody has to look, whatever was said before."""
        mine = dockets.c.docket == self.docket
        self.connection.execute(dockets.update().where(mine).values(due=due))

    def keep_snapshot(self, snapshot: Snapshot) -> None:
        """A state to start from; the one before it is kept too, older ones go."""
        self.flush()
        mine = snapshots.c.docket == self.docket
        newest = sa.select(sa.func.max(snapshots.c.seq)).where(mine).scalar_subquery()
        self.connection.execute(snapshots.delete().where(mine, snapshots.c.seq < newest))
        self.connection.execute(
            snapshots.insert().values(
                docket=self.docket, seq=snapshot.seq, hash=snapshot.hash, content=snapshot.content
            )
        )

    # ── To the database ──────────────────────────────────────────────────────────────────────────

    def flush(self) -> None:
        """Give to the database what has been gathered, in as few words as possible."""
        mine = {"docket": self.docket}
        self._insert(payloads, [
            {**mine, "digest": digest, "salt": payload.salt, "content": payload.text}
            for digest, payload in self.kept.items()
        ])  # fmt: skip
        self._remove(self.erased)
        for round_id in self.forgotten:
            same = (requests.c.docket == self.docket) & (requests.c.round == round_id)
            self.connection.execute(requests.update().where(same).values(fingerprint=""))
        self._insert(requests, [
            {**mine, "key": key, "fingerprint": fingerprint, "round": round_id}
            for key, (fingerprint, round_id) in self.asked.items()
        ])  # fmt: skip
        self._insert(
            events, [{**r.to_json(), "body": r.body_text, "actor": r.actor} for r in self.added]
        )
        self._insert(rounds, [{**mine, **row} for row in self._rounds])
        self._insert(reviews, [{**mine, **row} for row in self._reviews])
        self._tell()
        if self.drops_snapshots:
            self.connection.execute(snapshots.delete().where(snapshots.c.docket == self.docket))
        Gathered.__init__(self)
        self._rounds, self._reviews, self._due, self._numbers = [], [], None, None

    def _insert(self, table: sa.Table, rows: list[dict[str, Any]]) -> None:
        if rows:
            # In the driver's own words, which are the same every time. One row alone takes one
            # round trip; several take a pipeline.
            statement, names = _INSERTS[self.connection.dialect.name, table.name]
            values = [tuple(row[name] for name in names) for row in rows]
            self.connection.exec_driver_sql(statement, values if len(rows) > 1 else values[0])

    def _remove(self, digests: Iterable[str]) -> None:
        for some in portions(digests):
            mine = (payloads.c.docket == self.docket) & payloads.c.digest.in_(some)
            self.connection.execute(payloads.delete().where(mine))

    def _tell(self) -> None:
        """An earlier date takes the place of a later one; a later one changes nothing."""
        if self._due is not None or self._numbers is not None:
            told = _TOLD.format(PLACEHOLDERS[self.connection.dialect.name])
            self.connection.exec_driver_sql(told, (self.docket, self._due, self._numbers))

    # ── Now and then ─────────────────────────────────────────────────────────────────────────────

    def payloads(self, digests: Iterable[str] | None = None) -> dict[str, Payload]:
        """Payloads by digest, also those that are about to be written."""
        if digests is None:
            self.flush()
            return super().payloads()
        wanted = dict.fromkeys(digests)
        found = super().payloads([digest for digest in wanted if digest not in self.kept])
        gone = set(self.erased)
        return {
            **{digest: one for digest, one in found.items() if digest not in gone},
            **{digest: self.kept[digest] for digest in wanted if digest in self.kept},
        }

    def request(self, key: str) -> tuple[str, str] | None:
        """The fingerprint and the round of an earlier request with that key."""
        known = self.asked.get(key) or super().request(key)
        return ("", known[1]) if known is not None and known[1] in self.forgotten else known

    def records(
        self, after: int = 0, until: int | None = None, limit: int | None = None
    ) -> list[Record]:
        """Records, also those that are about to be written."""
        self.flush()
        return super().records(after, until, limit)

    def keep_secret(self, seed: int, salt: bytes) -> None:
        """The docket's seed, which its first record only commits to."""
        self.connection.execute(
            secrets.insert().values(docket=self.docket, seed=str(seed), salt=salt)
        )


class Stage(Gathered):
    """The writes of one command: the transaction gets all of it, or nothing."""

    def __init__(self, transaction: Transaction) -> None:
        super().__init__()
        self.transaction = transaction
        self.docket, self.head = transaction.docket, transaction.head

    def payloads(self, digests: Iterable[str]) -> dict[str, Payload]:
        """Payloads by digest, as the command will leave them."""
        wanted = list(digests)
        found = {**self.transaction.payloads(wanted), **self.kept}
        return {digest: found[digest] for digest in wanted if digest in found}

    def request(self, key: str) -> tuple[str, str] | None:
        """The fingerprint and the round of an earlier request with that key."""
        return self.asked.get(key) or self.transaction.request(key)


def _inserting(table: sa.Table, place: str) -> tuple[str, tuple[str, ...]]:
    """The statement that adds a row, and the columns in its order."""
    names = tuple(table.columns.keys())
    columns, places = ", ".join(names), ", ".join(place for _ in names)
    return f"INSERT INTO {table.name} ({columns}) VALUES ({places})", names


_INSERTS = {
    (dialect, table.name): _inserting(table, place)
    for dialect, place in PLACEHOLDERS.items()
    for table in (events, payloads, requests, rounds, reviews)
}

_TOLD = (
    "INSERT INTO dockets (docket, due, numbers) VALUES ({0}, {0}, {0}) ON CONFLICT (docket) DO "
    "UPDATE SET numbers = COALESCE(excluded.numbers, dockets.numbers), "
    "due = CASE WHEN dockets.due IS NULL OR dockets.due > excluded.due "
    "THEN COALESCE(excluded.due, dockets.due) ELSE dockets.due END"
)
