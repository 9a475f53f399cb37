"""The archive of a docket in its database: found by an index, folded on demand."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from likewise.service.dockets.views.archive import Archive
from likewise.service.dockets.views.round import Round
from likewise.service.dockets.views.round_fold import folded
from likewise.service.ledger.listings import (
    EndedReview,
    finished_rounds,
    numbers_of,
    reviews_of,
    rounds_after,
)
from likewise.service.ledger.transaction import Transaction
from likewise.service.ledger.view import LedgerView

# The number of closed rounds in the cache, the last used.
CACHED = 256

Looking = Callable[[], AbstractContextManager[LedgerView]]


class StoredArchive(Archive):
    """Closed rounds and ended reviews in the tables that list them.

    ``looking`` opens a view of the docket's rows; ``sensitivity`` returns the gap above which a
    pair can be reported. Only the writer of records lists what they end (``recording``).
    """

    def __init__(self, looking: Looking, sensitivity: Callable[[], int]) -> None:
        self._looking, self._sensitivity = looking, sensitivity
        self._transaction: Transaction | None = None
        self._cache: OrderedDict[str, Round] = OrderedDict()

    @contextmanager
    def recording(self, transaction: Transaction) -> Iterator[None]:
        """List in a transaction what ends within the block."""
        self._transaction = transaction
        try:
            yield
        finally:
            self._transaction = None

    def forget(self) -> None:
        """Empty the cache."""
        self._cache.clear()

    def find(self, round_id: str, until: int) -> Round | None:
        """Return a closed round as its records up to a number describe it, or None."""
        self.prepare([round_id], until)
        if round_id in self._cache:
            self._cache.move_to_end(round_id)
        return self._cache.get(round_id)

    def prepare(self, round_ids: Sequence[str], until: int) -> None:
        """Put several rounds into the cache with one query."""
        missing = [name for name in dict.fromkeys(round_ids) if name not in self._cache]
        if missing:
            with self._looking() as view:
                for round_ in self._folded(view, numbers_of(view, missing), until):
                    self._keep(round_)

    def numbered(self, after: int, limit: int, until: int) -> list[Round]:
        """Return closed rounds with numbers above ``after``, in order."""
        with self._looking() as view:
            numbers = {name: number for number, name in rounds_after(view, after, limit)}
            return self._folded(view, numbers, until)

    def _folded(self, view: LedgerView, numbers: dict[str, int], until: int) -> list[Round]:
        records, rounds = view.records_of(numbers, until), []
        for name, number in numbers.items():
            history = records.get(name, [])
            # A round that closes after the last record to read is not closed yet.
            if any(record.kind == "closed" for record in history):
                begun = Round(name, number, history[0].at, self._sensitivity())
                rounds.append(folded(begun, history))
        return rounds

    def put(self, round_: Round, *, closes: bool) -> None:
        """Keep a round that closes, or that had closed and has changed."""
        self._keep(round_)
        if closes and self._transaction is not None:
            self._transaction.list_round(round_.number, round_.id)

    def _keep(self, round_: Round) -> None:
        self._cache[round_.id] = round_
        self._cache.move_to_end(round_.id)
        if len(self._cache) > CACHED:
            self._cache.popitem(last=False)

    def ended(self, review_ids: Sequence[str]) -> list[EndedReview]:
        """Return the ended reviews of some ids."""
        with self._looking() as view:
            return reviews_of(view, review_ids)

    def end(self, review: EndedReview) -> None:
        """List a review that has ended."""
        if self._transaction is not None:
            self._transaction.list_review(review)

    def finished_rounds(self, member: str, first: int, last: int) -> list[str]:
        """Return the rounds that a member has reviewed, from one of their counts to another."""
        with self._looking() as view:
            return finished_rounds(view, member, first, last)
