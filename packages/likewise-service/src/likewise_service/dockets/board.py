"""Reviews: what a member is asked to look at, under ids that say nothing.

Open ones are in memory, the others are found by an index.

A member knows a round only by a review. Some reviews show a round again that the member has
finished: a lottery draws when and which, and the docket's secret lets others check it afterwards.
Neither ids, nor the order of people, nor times tell these reviews from others.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from likewise_service.dockets.docket import Docket
from likewise_service.dockets.reviews import OpenReview, ReviewKey, ReviewTarget, Seat
from likewise_service.dockets.round import Round
from likewise_service.errors import ServiceError
from likewise_service.language import N_
from likewise_service.ledger import kinds, transaction

# Statuses of reviews that have not ended, and of those that have.
OPEN, ENDED = ("asked", "waiting"), ("closed", "missed")


@dataclass(frozen=True)
class Review:
    """One round before one member, at some moment; ``number`` is the member's own count.

    ``status`` is ``asked``, ``waiting`` (for the others), ``closed`` or ``missed``; ``ended`` is
    the time of its end, if it has ended.
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
        return self.key.aliases(self.id, self.round.shown(self.seat.member))

    @property
    def round(self) -> Round:
        return self.target.round

    @property
    def comments(self) -> list[kinds.Comment]:
        """The comments that the member may see: their own, and all once the panel has closed.

        A comment on a repeat stays with it: in another review it would show that it was a repeat.
        """
        again = self.seat.again is not None and not self.ended
        closed = self.ended is not None and self.round.outcome is not None
        own = self.seat.member
        return [
            comment
            for comment in self.round.comments
            if (closed and not comment.again) or (comment.member, comment.again) == (own, again)
        ]

    def people(self, pair: Sequence[str]) -> tuple[str, str]:
        people = {alias: person for person, alias in self.aliases.items()}
        for alias in pair:
            if alias not in people:
                known = f"its people are p1 to p{len(people)}"
                sentence = f"This review has nobody called {alias!r}; {known}."
                raise ServiceError("no-person", 404, sentence)
        if pair[0] == pair[1]:
            raise ServiceError("no-pair", 422, "A pair must be two different people; name another.")
        return people[pair[0]], people[pair[1]]


def listed(
    docket: Docket, member: str, statuses: Sequence[str], limit: int, after: int | None = None
) -> list[Review]:
    """Return a member's reviews of some statuses: the oldest first, but ended ones the latest.

    ``after`` is the number, by the member's own count, after which they begin.
    """
    entry, moment = docket.seating.member(member), docket.moment()
    latest_first = set(statuses) <= set(ENDED)
    # Those whose end is not recorded, by number.
    unended = (
        review
        for review in entry.opened.values()
        if after is None or (review.number != after and (review.number < after) == latest_first)
    )
    opened = (_open(docket, review, moment) for review in unended)
    reviews = (review for review in opened if review.status in statuses)
    ended = [status for status in statuses if status in ENDED]
    if not ended:
        return list(islice(reviews, limit))
    with docket.looking() as view:
        rows = view.ended_reviews(member, ended, after, limit, entry.reviews)
    everything = [*reviews, *_ended(docket, rows)]
    return sorted(everything, key=lambda r: r.number, reverse=latest_first)[:limit]


def find(docket: Docket, member: str, review_id: str) -> Review:
    entry = docket.seating.member(member)
    if review_id in entry.opened:
        return _open(docket, entry.opened[review_id], docket.moment())
    rows = docket.archive.ended([review_id])
    if not rows or rows[0].member != member or rows[0].number > entry.reviews:
        sentence = N_("You have no such review. Take one from your list.")
        raise ServiceError("no-review", 404, sentence)
    return _ended(docket, rows)[0]


def _open(docket: Docket, review: OpenReview, moment: str) -> Review:
    target, key = review.seat.target(docket.projection), docket.seating.key
    status = target.status(moment)
    ended = target.due if status in ENDED else None
    return Review(review.id, target, review.number, review.seat, status, ended, key)


def _ended(docket: Docket, rows: Sequence[transaction.EndedReview]) -> list[Review]:
    projection, key = docket.projection, docket.seating.key
    docket.archive.prepare([row.round for row in rows], projection.head.seq)
    seats = [Seat(row.round, row.member, row.again) for row in rows]
    return [
        Review(row.id, seat.target(projection), row.number, seat, row.status, row.ended, key)
        for row, seat in zip(rows, seats, strict=True)
    ]
