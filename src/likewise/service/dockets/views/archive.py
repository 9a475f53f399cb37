"""Where rounds and reviews go when they have ended."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from likewise.service.dockets.views.round import Round
from likewise.service.ledger.listings import EndedReview


class Archive:
    """Closed rounds and ended reviews, in memory: for a replay, which reads a ledger once."""

    def __init__(self) -> None:
        self._rounds: dict[str, Round] = {}
        self._order: list[tuple[int, str]] = []  # numbers and ids, sorted on demand
        self._reviews: dict[str, EndedReview] = {}
        self._finished: dict[str, list[str]] = {}

    def find(self, round_id: str, until: int) -> Round | None:  # noqa: ARG002 - for the database
        """Return a closed round as its records up to a number describe it, or None."""
        return self._rounds.get(round_id)

    def numbered(self, after: int, limit: int, until: int) -> list[Round]:  # noqa: ARG002
        """Return closed rounds with numbers above ``after``, in order."""
        if len(self._order) != len(self._rounds):
            self._order = sorted((round_.number, name) for name, round_ in self._rounds.items())
        first = bisect_left(self._order, (after + 1, ""))
        return [self._rounds[name] for _, name in self._order[first : first + limit]]

    def put(self, round_: Round, *, closes: bool) -> None:  # noqa: ARG002
        """Keep a round that closes, or that had closed and has changed."""
        self._rounds[round_.id] = round_

    def ended(self, review_ids: Sequence[str]) -> list[EndedReview]:
        """Return the ended reviews of some ids."""
        return [self._reviews[name] for name in review_ids if name in self._reviews]

    def end(self, review: EndedReview) -> None:
        """Keep a review that has ended."""
        self._reviews[review.id] = review
        if review.finished is not None:
            self._finished.setdefault(review.member, []).append(review.round)

    def finished_rounds(self, member: str, first: int, last: int) -> list[str]:
        """Return the rounds that a member has reviewed, from one of their counts to another."""
        return self._finished.get(member, [])[first - 1 : last]
