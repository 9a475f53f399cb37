"""The archive of a docket in its database: found by an index, folded when somebody asks."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from likewise.service.dockets.views.archive import Archive
from likewise.service.dockets.views.round import Round
from likewise.service.dockets.views.round_fold import folded
from likewise.service.ledger.listings import (
    EndedReview,
    judged_rounds,
    numbers_of,
    reviews_of,
    rounds_after,
)
from likewise.service.ledger.transaction import Transaction
from likewise.service.ledger.view import LedgerView

__all__ = ["StoredArchive"]

# So many closed rounds are kept at hand: those that somebody asked for lately.
AT_HAND = 256

Looking = Callable[[], AbstractContextManager[LedgerView]]


class StoredArchive(Archive):
    """Rounds and reviews that have ended, in the tables that list them.

    ``looking`` opens a view of the docket's rows; ``sensitivity`` says how large a gap can be
    reported. Only who writes the records lists what they end (``recording``).
    """

    def __init__(self, looking: Looking, sensitivity: Callable[[], int]) -> None:
        self._looking, self._sensitivity = looking, sensitivity
        self._transaction: Transaction | None = None
        self._at_hand: OrderedDict[str, Round] = OrderedDict()

    @contextmanager
    def recording(self, transaction: Transaction) -> Iterator[None]:
        """List in that transaction what ends within the block."""
        self._transaction = transaction
        try:
            yield
        finally:
            self._transaction = None

    def forget(self) -> None:
        """Keep nothing at hand."""
        self._at_hand.clear()

    def find(self, round_id: str, until: int) -> Round | None:
        """The closed round of that id, as its records up to a number tell it."""
        if round_id not in self._at_hand:
            self.prepare([round_id], until)
        found = self._at_hand.get(round_id)
        if found is not None:
            self._at_hand.move_to_end(round_id)
        return found

    def prepare(self, round_ids: Sequence[str], until: int) -> None:
        """Find several rounds at once."""
        wanted = [name for name in dict.fromkeys(round_ids) if name not in self._at_hand]
        if wanted:
            with self._looking() as view:
                for round_ in self._folded(view, numbers_of(view, wanted), until):
                    self._keep(round_)

    def numbered(self, after: int, limit: int, until: int) -> list[Round]:
        """Closed rounds by number."""
        with self._looking() as view:
            numbers = {name: number for number, name in rounds_after(view, after, limit)}
            return self._folded(view, numbers, until)

    def _folded(self, view: LedgerView, numbers: dict[str, int], until: int) -> list[Round]:
        records, found = view.records_of(numbers, until), []
        for name, number in numbers.items():
            mine = records.get(name, [])
            # One that closes after the records that are to be read is not closed yet.
            if any(record.kind == "closed" for record in mine):
                begun = Round(name, number, mine[0].at, self._sensitivity())
                found.append(folded(begun, mine))
        return found

    def put(self, round_: Round, *, closes: bool) -> None:
        """A round has closed, or changed."""
        self._keep(round_)
        if closes and self._transaction is not None:
            self._transaction.list_round(round_.number, round_.id)

    def _keep(self, round_: Round) -> None:
        self._at_hand[round_.id] = round_
        self._at_hand.move_to_end(round_.id)
        if len(self._at_hand) > AT_HAND:
            self._at_hand.popitem(last=False)

    def ended(self, review_ids: Sequence[str]) -> list[EndedReview]:
        """The ended reviews of those ids."""
        with self._looking() as view:
            return reviews_of(view, review_ids)

    def end(self, review: EndedReview) -> None:
        """A review has ended."""
        if self._transaction is not None:
            self._transaction.list_review(review)

    def judged(self, member: str, first: int, last: int) -> list[str]:
        """The rounds that a member has reviewed, from one of their counts to another."""
        with self._looking() as view:
            return judged_rounds(view, member, first, last)
