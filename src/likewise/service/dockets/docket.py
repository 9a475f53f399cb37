"""A docket at work: what its ledger says, the learner, and the turn to write.

Every command takes the docket's turn in the database, catches up with what other processes wrote,
checks itself against the projection and the fold, adds its records, and gives back a receipt. A
command that is refused leaves no trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from likewise.errors import LikewiseError
from likewise.service.clock import Clock, now
from likewise.service.dockets.learner import (
    State,
    advance,
    digests_needed,
    start,
    surrogates_in,
)
from likewise.service.dockets.locks import FairLock
from likewise.service.dockets.projection import Projection
from likewise.service.dockets.unit_of_work import UnitOfWork
from likewise.service.errors import ServiceError
from likewise.service.ledger.bodies import Body, PeopleArrived, read_body
from likewise.service.ledger.payloads import Payload
from likewise.service.ledger.records import LedgerBroken, Receipt, chained
from likewise.service.ledger.store import Store
from likewise.service.ledger.transaction import LedgerView
from likewise.service.settings import REASON_LIMIT

__all__ = ["Docket"]


class Docket:
    """A docket and its learner in memory, as far as the ledger has been read."""

    def __init__(
        self, store: Store, name: str, clock: Clock = now, reason_limit: int = REASON_LIMIT
    ) -> None:
        self.store, self.name, self.clock, self.reason_limit = store, name, clock, reason_limit
        self._turn = FairLock()
        self._forget()
        with store.view(name) as view:
            secret = view.secret()
        if secret is None:
            raise ServiceError("no-docket", 404, f"There is no docket {name!r}.")
        self.seed, self.salt = secret
        self.refresh()

    def _forget(self) -> None:
        """Begin anew: the next look reads the ledger from its first record."""
        self.projection = Projection(self.name)
        self._state: State | None = None
        # The multiplier that each round was opened with; the state forgets closed rounds.
        self.lams: dict[str, float] = {}

    @property
    def state(self) -> State:
        """The learner between two events."""
        if self._state is None:
            self._state = start(self.projection.settings, self.seed)
        return self._state

    def refresh(self) -> Projection:
        """Catch up with what others wrote, without taking the writer's turn."""
        with self._turn, self.store.view(self.name) as view:
            self._catch_up(view)
            return self.projection

    def receipt(self) -> Receipt:
        """The ledger's head as far as it was read, signed."""
        return self.store.keys.sign(Receipt(self.name, self.projection.head))

    def payloads(self, digests: Iterable[str | None]) -> dict[str, Payload]:
        """Personal content, as far as it has not been erased."""
        with self.store.view(self.name) as view:
            return view.payloads([digest for digest in digests if digest is not None])

    @contextmanager
    def unit_of_work(self) -> Iterator[UnitOfWork]:
        """The docket's turn: what the block adds is recorded as a whole, or not."""
        with self._turn:
            public = self.store.keys.public()
            with self.store.transaction(self.name) as transaction:
                self._catch_up(transaction)
                work = UnitOfWork(transaction, self.projection, self.state, self.clock(), public)
                yield work
            # Committed: only now does memory follow.
            try:
                for record, body in work.added:
                    self.projection.take(record, body)
                    self._note(body, work.state)
                self._state = work.state
            except BaseException:
                self._forget()
                raise

    def _catch_up(self, view: LedgerView) -> None:
        """Take in what the database has more than memory; it must continue what is known."""
        if view.head == self.projection.head:
            return
        try:
            self._read(view)
        except BaseException:
            # Half a record is worse than none.
            self._forget()
            raise
        if view.head != self.projection.head:
            raise LedgerBroken(
                self.name, min(view.head.seq, self.projection.head.seq),
                f"this process has read {self.projection.head.seq} records that the database does "
                f"not have so any more. If a backup was restored, what was acknowledged since is "
                f"lost.",
            )  # fmt: skip

    def _read(self, view: LedgerView) -> None:
        known = self.projection.head
        records = list(chained(self.name, view.records(known.seq), known))
        bodies = [read_body(record) for record in records]
        surrogates = surrogates_in(bodies)
        found = view.payloads(digests_needed(bodies, surrogates))
        for digest, payload in found.items():
            if payload.digest != digest:
                why = f"the payload {digest[:12]}… beside the ledger was changed."
                raise LedgerBroken(self.name, records[0].seq, why)
        contents = {digest: payload.content for digest, payload in found.items()}
        for record, body in zip(records, bodies, strict=True):
            self.projection.take(record, body)
            try:
                self._state = advance(self.state, body, contents, surrogates)
            except LikewiseError as error:
                why = f"the learner refuses it ({error})."
                raise LedgerBroken(self.name, record.seq, why) from error
            self._note(body, self._state)

    def _note(self, body: Body, state: State) -> None:
        """Remember the multiplier that a round was opened with."""
        if isinstance(body, PeopleArrived) and body.round in state.open:
            self.lams.setdefault(body.round, state.open[body.round].lam)
