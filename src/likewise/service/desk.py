"""The desk: one docket at work. What the ledger says, the learner, and the turn to write.

Every command (:mod:`people`, :mod:`panels`, :mod:`feedback`, :mod:`membership`, :mod:`erasure`)
takes the docket's turn in the database, catches up with what other processes wrote, checks itself
against the book and the fold, appends its records, and gives back a receipt. A command that is
refused leaves no trace.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from likewise.learning import State, apply
from likewise.service.book import Book
from likewise.service.core import core_event, digests_needed, stand_ins
from likewise.service.errors import ServiceError
from likewise.service.personal import Payload
from likewise.service.records import Receipt, Record
from likewise.service.store import Store, Writing, now

__all__ = ["Bench", "Desk"]


class Desk:
    """A docket and its learner in memory, as far as the ledger has been read."""

    def __init__(self, store: Store, docket: str, clock: Callable[[], str] = now) -> None:
        self.store, self.docket, self.clock = store, docket, clock
        self._turn = threading.RLock()
        self.book = Book(docket)
        secret = store.secret(docket)
        if secret is None:
            raise ServiceError("no-docket", 404, f"There is no docket {docket!r}.")
        self.seed, self.salt = secret
        self._state: State | None = None
        # The multiplier that each round was opened with; the state forgets closed rounds.
        self.lams: dict[str, float] = {}
        self.refresh()

    # ── Reading ──────────────────────────────────────────────────────────────────────────────────

    @property
    def state(self) -> State:
        """The learner between two events."""
        if self._state is None:
            self._state = State.start(self.book.settings.make_learner(self.seed))
        return self._state

    def refresh(self) -> Book:
        """Catch up with what others wrote, without taking the writer's turn."""
        with self._turn:
            # One look at both: somebody may be erased between two of them.
            with self.store.reading() as connection:
                reader = Writing(connection, self.docket, self.book.head)
                records = reader.records(self.book.head.seq)
                if records:
                    self._take(records, reader)
            return self.book

    def receipt(self) -> Receipt:
        """The ledger's head as far as it was read."""
        return Receipt(self.docket, self.book.head)

    def _take(self, records: Sequence[Record], writing: Writing) -> None:
        replaced = stand_ins(records)
        found = writing.payloads(digests_needed(records, replaced))
        contents = {digest: payload.content for digest, payload in found.items()}
        # All of them first: if somebody's features are missing, book and learner stay together.
        events = [core_event(record, contents, replaced) for record in records]
        for record, event in zip(records, events, strict=True):
            self.book.take(record)
            if event is not None:
                self._state = apply(self.state, event)
                self.lams.setdefault(event.round, self._state.lam)

    @contextmanager
    def work(self) -> Iterator[Bench]:
        """The docket's turn: what the block adds to the bench is recorded as a whole, or not."""
        with self._turn:
            with self.store.writing(self.docket) as writing:
                behind = writing.records(self.book.head.seq)
                if behind:
                    self._take(behind, writing)
                bench = Bench(self, writing)
                yield bench
            # Committed: only now does memory follow.
            for record in bench.records:
                self.book.take(record)
            self._state = bench.state
            self.lams.update(bench.lams)


class Bench:
    """One command at work: records go to the database at once, to memory when it has committed."""

    def __init__(self, desk: Desk, writing: Writing) -> None:
        self.desk, self.writing = desk, writing
        self.state = desk.state
        self.records: list[Record] = []
        self.lams: dict[str, float] = {}
        self._contents: Mapping[str, Mapping[str, object]] = {}
        self._at = desk.clock()

    def add(self, kind: str, body: Mapping[str, Any]) -> Record:
        """One more record; the fold has to accept what it stands for."""
        record = Record.following(self.writing.docket, self.writing.head, self._at, kind, body)
        event = core_event(record, self._contents, {})
        if event is not None:
            self.state = apply(self.state, event)
            if event.round not in self.desk.lams:
                self.lams.setdefault(event.round, self.state.lam)
        written = self.writing.append(kind, body, self._at)
        self.records.append(written)
        return written

    def keep(self, payload: Payload) -> str:
        """Keep something personal beside the ledger; its digest is for a record."""
        self._contents = {**self._contents, payload.digest: payload.content}
        return self.writing.keep(payload)

    @property
    def book(self) -> Book:
        """The book as it was when the command began."""
        return self.desk.book

    @property
    def at(self) -> str:
        """The command's time: all of its records have the same."""
        return self._at

    def close_if_done(self, round_id: str) -> None:
        """A round of which nothing more can be heard is closed."""
        open_round = self.state.open.get(round_id)
        if open_round is None or open_round.outcome is None:
            return
        if not open_round.awaited(one_sided=self.state.learner.pricing.one_sided):
            self.add("closed", {"round": round_id})
