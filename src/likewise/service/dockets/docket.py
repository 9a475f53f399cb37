"""The docket: one docket at work. What the ledger says, the learner, and the turn to write.

Every command (:mod:`people`, :mod:`panels`, :mod:`feedback`, :mod:`membership`, :mod:`erasure`)
takes the docket's turn in the database, catches up with what other processes wrote, checks itself
against the projection and the fold, appends its records, and gives back a receipt. A command
that is refused leaves no trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from likewise.learning import State
from likewise.service.dockets.learner import advance, digests_needed, surrogates
from likewise.service.dockets.locks import FairLock
from likewise.service.dockets.projection import Projection
from likewise.service.errors import LedgerBroken, ServiceError
from likewise.service.ledger.payloads import Payload
from likewise.service.ledger.records import Receipt, Record, chained
from likewise.service.ledger.store import Store, now
from likewise.service.ledger.transaction import Transaction, head_of

__all__ = ["Docket", "UnitOfWork"]


class Docket:
    """A docket and its learner in memory, as far as the ledger has been read."""

    def __init__(self, store: Store, name: str, clock: Callable[[], str] = now) -> None:
        self.store, self.name, self.clock = store, name, clock
        self._turn = FairLock()
        self.projection = Projection(name)
        secret = store.secret(name)
        if secret is None:
            raise ServiceError("no-docket", 404, f"There is no docket {name!r}.")
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
            self._state = State.start(self.projection.settings.make_learner(self.seed))
        return self._state

    def refresh(self) -> Projection:
        """Catch up with what others wrote, without taking the writer's turn."""
        with self._turn:
            with self.store.reading() as connection:
                head = head_of(connection, self.name)
                self._catch_up(Transaction(connection, self.name, head))
            return self.projection

    def receipt(self) -> Receipt:
        """The ledger's head as far as it was read."""
        return Receipt(self.name, self.projection.head)

    def _catch_up(self, transaction: Transaction) -> None:
        """Take in what the database has more than memory; it must continue what is known."""
        if transaction.head == self.projection.head:
            return
        try:
            self._take(transaction.records(self.projection.head.seq), transaction)
        except BaseException:
            # Half a record is worse than none: the next look begins at the first record.
            self._forget()
            raise
        if transaction.head != self.projection.head:
            raise LedgerBroken(
                self.name, min(transaction.head.seq, self.projection.head.seq),
                f"this process has read {self.projection.head.seq} records that the database does "
                f"not have so any more. If a backup was restored, what was acknowledged since is "
                f"lost.",
            )  # fmt: skip

    def _take(self, records: Sequence[Record], transaction: Transaction) -> None:
        replaced = surrogates(records)
        found = transaction.payloads(digests_needed(records, replaced))
        for digest, payload in found.items():
            if payload.digest != digest:
                why = f"the payload {digest[:12]}… beside the ledger was changed."
                raise LedgerBroken(self.name, records[0].seq, why)
        contents = {digest: payload.content for digest, payload in found.items()}
        for record in chained(self.name, records, self.projection.head):
            self.projection.take(record)
            self._state = advance(self.state, record, contents, replaced)
            self._note(record, self._state)

    def _note(self, record: Record, state: State) -> None:
        """Remember the multiplier that a round was opened with."""
        name = record.body.get("round")
        if record.kind == "arrived" and name in state.open:
            self.lams.setdefault(str(name), state.open[str(name)].lam)

    def _forget(self) -> None:
        self.projection, self._state, self.lams = Projection(self.name), None, {}

    @contextmanager
    def unit_of_work(self) -> Iterator[UnitOfWork]:
        """The docket's turn: what the block adds to the work is recorded as a whole, or not."""
        with self._turn:
            with self.store.transaction(self.name) as transaction:
                self._catch_up(transaction)
                work = UnitOfWork(self, transaction)
                yield work
            # Committed: only now does memory follow.
            try:
                for record in work.records:
                    self.projection.take(record)
                    self._note(record, work.state)
                self._state = work.state
            except BaseException:
                self._forget()
                raise


class UnitOfWork:
    """One command at work: records go to the database at once, to memory when it has committed."""

    def __init__(self, docket: Docket, transaction: Transaction) -> None:
        self.docket, self.transaction = docket, transaction
        self.state = docket.state
        self.records: list[Record] = []
        self._contents: Mapping[str, Mapping[str, object]] = {}
        # Clocks of several machines differ, and are set back; the ledger's time never goes back.
        self._at = max(docket.clock(), docket.projection.at)

    def add(self, kind: str, body: Mapping[str, Any]) -> Record:
        """One more record; the fold has to accept what it stands for."""
        record = Record.following(
            self.transaction.docket, self.transaction.head, self._at, kind, body
        )
        self.state = advance(self.state, record, self._contents, {})
        self.records.append(self.transaction.add(record))
        return record

    def keep(self, payload: Payload) -> str:
        """Keep something personal beside the ledger; its digest is for a record."""
        self._contents = {**self._contents, payload.digest: payload.content}
        return self.transaction.keep(payload)

    @property
    def projection(self) -> Projection:
        """The projection as it was when the command began."""
        return self.docket.projection

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
