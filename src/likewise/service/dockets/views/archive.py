"""Where rounds and reviews go when they have ended: out of memory, to be found again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Sequence

from likewise.service.dockets.views.round import Round
from likewise.service.ledger.listings import EndedReview

__all__ = ["Archive", "RememberedArchive"]


class Archive(ABC):
    """Rounds that have closed and reviews that have ended, by id."""

    @abstractmethod
    def find(self, round_id: str, until: int) -> Round | None:
        """The closed round of that id as its records up to a number tell it; None if none is."""

    @abstractmethod
    def numbered(self, after: int, limit: int, until: int) -> list[Round]:
        """Closed rounds by number, from the one after some number on."""

    def prepare(self, round_ids: Sequence[str], until: int) -> None:  # noqa: B027 - a hint
        """Some rounds are about to be asked for; an archive may find them all at once."""

    @abstractmethod
    def put(self, round_: Round, *, closes: bool) -> None:
        """A round has closed, or one that had closed has changed."""

    @abstractmethod
    def ended(self, review_ids: Sequence[str]) -> list[EndedReview]:
        """The ended reviews of those ids."""

    @abstractmethod
    def end(self, review: EndedReview) -> None:
        """A review has ended."""

    @abstractmethod
    def judged(self, member: str, first: int, last: int) -> list[str]:
        """The rounds that a member has reviewed, from one of their counts to another."""


class RememberedArchive(Archive):
    """An archive in memory, for somebody who goes through a whole ledger once."""

    def __init__(self) -> None:
        self.rounds: dict[str, Round] = {}
        self._order: list[tuple[int, str]] = []  # numbers and ids, once they are asked for
        self.reviews: dict[str, EndedReview] = {}
        self._judged: dict[str, list[str]] = {}

    def find(self, round_id: str, until: int) -> Round | None:  # noqa: ARG002 - it is told all
        """The closed round of that id."""
        return self.rounds.get(round_id)

    def put(self, round_: Round, *, closes: bool) -> None:  # noqa: ARG002 - one place for both
        """A round has closed, or changed."""
        self.rounds[round_.id] = round_

    def ended(self, review_ids: Sequence[str]) -> list[EndedReview]:
        """The ended reviews of those ids."""
        return [self.reviews[name] for name in review_ids if name in self.reviews]

    def end(self, review: EndedReview) -> None:
        """A review has ended."""
        self.reviews[review.id] = review
        if review.judged is not None:
            self._judged.setdefault(review.member, []).append(review.round)

    def judged(self, member: str, first: int, last: int) -> list[str]:
        """The rounds that a member has reviewed."""
        return self._judged.get(member, [])[first - 1 : last]

    def numbered(self, after: int, limit: int, until: int) -> list[Round]:  # noqa: ARG002 - told all
        """Closed rounds by number."""
        if len(self._order) != len(self.rounds):
            self._order = sorted((round_.number, name) for name, round_ in self.rounds.items())
        first = bisect_left(self._order, (after + 1, ""))
        return [self.rounds[name] for _, name in self._order[first : first + limit]]
