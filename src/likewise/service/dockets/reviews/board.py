"""Reviews: what a member is asked to look at, under ids that say nothing.

A member knows a round only by a review. Some reviews are of rounds that the member has judged
before; a lottery that whoever knows the docket's secret can check afterwards says when and which.
Neither the id nor the order of the people, nor any time, tells them from the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from likewise.service.dockets.docket import Docket
from likewise.service.dockets.reviews.lottery import ReviewKey
from likewise.service.dockets.reviews.seating import Member, OpenReview
from likewise.service.dockets.reviews.targets import ReviewTarget, Seat
from likewise.service.dockets.views.round import Round
from likewise.service.errors import ServiceError
from likewise.service.ledger.listings import EndedReview, ended_reviews

__all__ = ["ENDED", "OPEN", "Review", "ReviewBoard"]

# Statuses of reviews that have not ended, and of those that have.
OPEN, ENDED = ("asked", "waiting"), ("closed", "missed")
MOST = 10**6


@dataclass(frozen=True)
class Review:
    """One round as it is put before one member, at some moment; ``number`` is their own count.

    ``status`` is ``asked``, ``waiting`` (for the others), ``closed``, or ``missed``; ``ended`` is
    the time after which nothing could be said any more, if that has come.
    """

    id: str
    target: ReviewTarget = field(compare=False)
    number: int
    seat: Seat
    status: str = field(compare=False)
    ended: str | None = field(compare=False)
    key: ReviewKey = field(repr=False, compare=False)

    @cached_property
    def aliases(self) -> dict[str, str]:
        """A name for everybody in the round that holds for this review only."""
        shuffled = self.key.shuffled(self.id, self.round.decisions)
        return {person: f"p{place}" for place, person in enumerate(shuffled, start=1)}

    @property
    def round(self) -> Round:
        """The round that is looked at."""
        return self.target.round

    def people(self, pair: Sequence[str]) -> tuple[str, str]:
        """The people who are meant by two names of the review."""
        known = {alias: person for person, alias in self.aliases.items()}
        for alias in pair:
            if alias not in known:
                raise ServiceError(
                    "no-person", 404,
                    f"This review has nobody called {alias!r}. Its people are p1 to p{len(known)}.",
                )  # fmt: skip
        if pair[0] == pair[1]:
            raise ServiceError("no-pair", 422, "A pair must be two different people; name another.")
        return known[pair[0]], known[pair[1]]


class ReviewBoard:
    """The reviews of a docket's members: open ones from memory, the others by an index."""

    def __init__(self, docket: Docket) -> None:
        self.docket = docket

    def listed(
        self, member: str, statuses: Sequence[str], limit: int, before: int | None = None
    ) -> list[Review]:
        """A member's reviews of some statuses: open ones first asked first, ended ones last first.

        ``before`` leaves out those with that number of the member's own count, or above.
        """
        known = self._member(member)
        past = [status for status in statuses if status in ENDED]
        found: list[Review] = []
        for review in self._unended(known, statuses):
            if before is None or review.number < before:
                found.append(review)
            if not past and len(found) == limit:
                return found
        if past:
            with self.docket.looking() as view:
                rows = ended_reviews(view, member, past, before, limit, known.asked)
            found += self._ended(rows)
        if set(statuses) <= set(ENDED):
            found.sort(key=lambda review: -review.number)
        else:
            found.sort(key=lambda review: review.number)
        return found[:limit]

    def of(self, member: str) -> list[Review]:
        """All reviews of a member, in the order in which they were asked for."""
        return self.listed(member, (*OPEN, *ENDED), MOST)

    def one(self, member: str, review_id: str) -> Review:
        """The member's review of that id."""
        known = self._member(member)
        review = known.opened.get(review_id)
        if review is not None:
            return self._open(review, self.docket.moment())
        rows = self.docket.projection.archive.ended([review_id])
        if not rows or rows[0].member != member or rows[0].number > known.asked:
            raise ServiceError(
                "no-review", 404,
                "You have no review of that id. List yours, and take an id from there.",
            )  # fmt: skip
        return self._ended(rows)[0]

    def _member(self, member: str) -> Member:
        return self.docket.seating.members.get(member, Member())

    def _unended(self, known: Member, statuses: Sequence[str]) -> Iterator[Review]:
        """Reviews whose end is not recorded, by number, of some statuses."""
        moment = self.docket.moment()
        for one in known.opened.values():
            review = self._open(one, moment)
            if review.status in statuses:
                yield review

    def _open(self, review: OpenReview, moment: str) -> Review:
        target = review.seat.target(self.docket.projection)
        status = target.status(moment)
        ended = target.due if status in ENDED else None
        return self._made(review.id, target, review.number, review.seat, status, ended)

    def _ended(self, rows: Sequence[EndedReview]) -> list[Review]:
        projection = self.docket.projection
        projection.archive.prepare([row.round for row in rows], projection.head.seq)
        found = []
        for row in rows:
            seat = Seat(row.round, row.member, row.again)
            target = seat.target(projection)
            found.append(self._made(row.id, target, row.number, seat, row.status, row.ended))
        return found

    def _made(
        self, review_id: str, target: ReviewTarget, number: int, seat: Seat, status: str,
        ended: str | None,
    ) -> Review:  # fmt: skip
        return Review(review_id, target, number, seat, status, ended, self.docket.seating.key)
