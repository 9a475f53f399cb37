"""A docket at work: what its ledger says, the learner, and the turn to write.

Every command takes the docket's turn in the database, catches up with what other processes wrote,
checks itself against the projection and the fold, adds its records, and gives back a receipt. A
command that is refused leaves no trace. Commands of a group share one transaction.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

from likewise.errors import LikewiseError
from likewise.schema import FeatureSchema
from likewise.service.clock import Clock, LedgerClock, now
from likewise.service.dockets.learner import State, advance, digests_needed, start, surrogates_in
from likewise.service.dockets.reviews.lottery import ReviewKey
from likewise.service.dockets.reviews.seating import Seating
from likewise.service.dockets.snapshots import EVERY, numbers_of, restore, write_snapshot
from likewise.service.dockets.unit_of_work import Receipts, UnitOfWork
from likewise.service.dockets.views.projection import Projection
from likewise.service.dockets.views.stored import StoredArchive
from likewise.service.errors import ServiceError
from likewise.service.ledger.bodies import Body, Erased, RoundSealed, read_body
from likewise.service.ledger.payloads import Payload
from likewise.service.ledger.records import Head, LedgerBroken, Receipt, Record, chained
from likewise.service.ledger.store import Store
from likewise.service.ledger.transaction import Transaction
from likewise.service.ledger.view import LedgerView
from likewise.service.settings import REASON_LIMIT

# The number of records that are read at once.
PAGE = 2000


class Docket:
    """A docket and its learner in memory, as far as the ledger has been read."""

    def __init__(
        self, store: Store, name: str, clock: Clock = now, reason_limit: int = REASON_LIMIT
    ) -> None:
        self.store, self.name, self.reason_limit = store, name, reason_limit
        self._clock = LedgerClock(clock)
        self._turn = threading.RLock()
        self._view: LedgerView | None = None
        self._transaction: Transaction | None = None
        self._group: ExitStack | None = None
        self._receipts = Receipts(store.keys, name)
        with store.view(name) as view:
            secret = view.secret()
        if secret is None:
            raise ServiceError("no-docket", 404, f"There is no docket {name!r}.")
        self.seed, self.salt = secret
        store.keys.public()  # there has to be one before anything is written
        self.archive = StoredArchive(self.looking, lambda: self.projection.settings.sensitivity)
        self._forget()
        self.refresh()

    def _forget(self) -> None:
        """Reset: the next read starts from a snapshot, or from the first record."""
        self.archive.forget()
        self.projection = Projection(self.name, self.archive)
        self.seating = Seating(ReviewKey(self.seed, self.salt), self.projection)
        self._state: State | None = None
        self._snapshot = 0
        self._committed = Head()

    @property
    def state(self) -> State:
        """The learner between two events."""
        if self._state is None:
            self._state = start(self.projection.settings, self.seed)
        return self._state

    @property
    def schema(self) -> FeatureSchema:
        """The features of people in this docket."""
        return self.state.learner.hypotheses.schema

    @property
    def clock(self) -> Clock:
        """The clock of the machine."""
        return self._clock.clock

    @clock.setter
    def clock(self, clock: Clock) -> None:
        self._clock = LedgerClock(clock)

    def moment(self) -> str:
        """Return the time, which is never before the ledger's last record."""
        return self._clock.after(self.projection.at, self.name)

    @property
    def seconds_ahead(self) -> float:
        """How far the ledger's time is ahead of the machine's; 0 where it is not."""
        return self._clock.seconds_ahead(self.projection.at)

    def refresh(self) -> Projection:
        """Read the records of other processes, without taking the writer's turn."""
        with self._turn:
            if self._transaction is None and self.store.head(self.name) != self.projection.head:
                with self.looking() as view:
                    self._catch_up(view)
            return self.projection

    def receipt(self) -> Receipt:
        """Return a signed receipt of the last record that was read."""
        return self._receipts.of(self.projection.head)

    def payloads(self, digests: Iterable[str | None]) -> dict[str, Payload]:
        """Return payloads by digest, as far as they have not been erased."""
        stored = [digest for digest in digests if digest is not None]
        if not stored:
            return {}
        with self.looking() as view:
            return view.payloads(stored)

    @contextmanager
    def looking(self) -> Iterator[LedgerView]:
        """Yield the docket's rows: within the transaction under way, or at this moment."""
        if self._view is not None:
            yield self._view
            return
        with self.store.view(self.name) as view, self._through(view):
            yield view

    @contextmanager
    def _through(self, view: LedgerView) -> Iterator[None]:
        before, self._view = self._view, view
        try:
            yield
        finally:
            self._view = before

    # ── Writing ──────────────────────────────────────────────────────────────────────────────────

    @contextmanager
    def unit_of_work(self) -> Iterator[UnitOfWork]:
        """Take the docket's turn; all that the block adds is recorded, or nothing."""
        with self._turn, ExitStack() as alone:
            if self._transaction is None:
                (self._group or alone).enter_context(self._writing())
            transaction = self._transaction
            assert transaction is not None  # noqa: S101 - it has just begun
            with transaction.savepoint():
                work = UnitOfWork(transaction, self.projection, self.state, self.moment())
                yield work
            self._accept(transaction, work)

    @contextmanager
    def group(self) -> Iterator[None]:
        """Let the units of work within the block share one transaction, which ends with it.

        Nobody may be told of them before that.
        """
        with self._turn, ExitStack() as stack:
            self._group = stack
            try:
                yield
            finally:
                self._group = None

    @property
    def grouped(self) -> bool:
        """Tell if units of work wait for the end of a group."""
        return self._group is not None

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Open a transaction; if it does not commit, memory forgets what it has taken in since."""
        try:
            with self.store.transaction(self.name) as transaction, self._through(transaction):
                self._catch_up(transaction)
                self._transaction = transaction
                yield
                if self.projection.head.seq - self._snapshot >= self._interval():
                    write_snapshot(transaction, self.projection, self.seating, self.state)
                    self._snapshot = self.projection.head.seq
                transaction.keep_numbers(numbers_of(self.projection, self.state))
            self._committed = self.projection.head
        except BaseException:
            if self.projection.head != self._committed:
                self._forget()
            raise
        finally:
            self._transaction = None

    def _interval(self) -> int:
        """Return the records between two snapshots: more where many open rounds make them large."""
        return max(EVERY, 2 * len(self.projection.opened))

    def _accept(self, transaction: Transaction, work: UnitOfWork) -> None:
        """Take in a command's records, now that none of them can be refused any more."""
        try:
            with self.archive.recording(transaction):
                for record, body in work.added:
                    self._take(record, body, work.state)
                    if isinstance(body, RoundSealed) and body.due is not None and body.members:
                        transaction.look_at(body.due)
        except LikewiseError as error:
            # Not a refusal: half of it is in memory. The transaction must not commit.
            raise RuntimeError(f"A command of {self.name!r} cannot be taken in.") from error
        self._state = work.state
        if any(isinstance(body, Erased) for _, body in work.added):
            transaction.drop_snapshots()
            self._snapshot = 0

    def _take(self, record: Record, body: Body, state: State) -> None:
        round_id = getattr(body, "round", None)
        opened = state.open.get(round_id) if round_id is not None else None
        lam = 0.0 if self.projection.audit_only else state.lam if opened is None else opened.lam
        round_ = self.projection.take(record, body, lam)
        self.seating.take(record, body, round_)

    def settle_due(self) -> None:
        """Record the earliest deadline of an open panel, for the tick."""
        with self.unit_of_work() as work:
            dues = [r.due for r in self.projection.open_rounds() if r.outcome is None and r.due]
            work.transaction.set_due(min(dues, default=None))

    # ── Reading ──────────────────────────────────────────────────────────────────────────────────

    def _catch_up(self, view: LedgerView) -> None:
        """Take in the records that memory lacks; they must continue the chain."""
        if view.head == self.projection.head:
            return
        try:
            if not self.projection.head.seq:
                self._start(view)
            self._read(view)
        except BaseException:
            # Half a record is worse than none.
            self._forget()
            raise
        if view.head != self.projection.head:
            raise LedgerBroken(
                self.name, min(view.head.seq, self.projection.head.seq),
                f"this process has read {self.projection.head.seq} records that the database no "
                f"longer has. If a backup was restored, what was acknowledged since is lost.",
            )  # fmt: skip
        self._committed = self.projection.head

    def _start(self, view: LedgerView) -> None:
        """Start from a snapshot, if one fits."""
        self._state = restore(view, self.projection, self.seating)
        if self._state is None:
            self._forget()
        self._snapshot = self.projection.head.seq

    def _read(self, view: LedgerView) -> None:
        erased = view.records_of_kind("erased", self.projection.head.seq)
        surrogates = surrogates_in(read_body(record) for record in erased)
        while records := list(self._page(view)):
            bodies = [read_body(record) for record in records]
            payloads = view.payloads(digests_needed(bodies, surrogates))
            for digest, payload in payloads.items():
                if payload.digest != digest:
                    message = f"the payload {digest[:12]}… beside the ledger was changed."
                    raise LedgerBroken(self.name, records[0].seq, message)
            contents = {digest: payload.content for digest, payload in payloads.items()}
            for record, body in zip(records, bodies, strict=True):
                if self.projection.spec is None:  # the first record, from which the state starts
                    self.projection.take(record, body)
                    continue
                try:
                    self._state = advance(self.state, body, contents, surrogates)
                except LikewiseError as error:
                    message = f"the learner refuses it ({error})."
                    raise LedgerBroken(self.name, record.seq, message) from error
                self._take(record, body, self._state)

    def _page(self, view: LedgerView) -> Iterator[Record]:
        head = self.projection.head
        return chained(self.name, view.records(head.seq, limit=PAGE), head)
