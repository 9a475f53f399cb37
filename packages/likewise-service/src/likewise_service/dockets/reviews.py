"""Reviews: what a member is asked to look at, under ids that say nothing.

Open ones are in memory, the others are found by an index.

A member knows a round only by a review. Some reviews show a round again that the member has
finished: a lottery draws when and which, and the docket's secret lets others check it afterwards.
Neither ids, nor the order of people, nor times tell these reviews from others.
"""

from collections.abc import Sequence
from functools import cached_property
from itertools import islice

from likewise.panel.objections import Pair
from likewise_service.clock import due_after, passed
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.seating import OpenReview, Seat
from likewise_service.errors import ServiceError
from likewise_service.language import N_
from likewise_service.ledger import kinds, transaction
from likewise_service.ledger.signatures import Act

# Statuses of reviews that have not ended, and of those that have.
OPEN, ENDED = ("asked", "waiting"), ("closed", "missed")


class Review:
    """One round before one member: for the first time or, with ``seat.again``, as a repeat.

    A repeat measures consistency, and changes nothing else. The same commands act on both. They
    differ in what is recorded, never in how many records.

    ``number`` is the member's own count, ``objections`` are theirs by pair, ``finished`` tells if
    they have finished; with ``in_turn`` others follow after them. ``status`` is ``asked``,
    ``waiting`` (for the others), ``closed`` or ``missed``, and ``ended`` the time of the end: those
    at a moment, unless the ``entry`` by which the review is listed has its end.
    """

    def __init__(
        self, docket: Docket, seat: Seat, moment: str,
        entry: OpenReview | transaction.EndedReview | None = None,
    ) -> None:  # fmt: skip
        projection, key = docket.projection, docket.seating.key
        self.seat, self.number, self._key = seat, 0 if entry is None else entry.number, key
        self.id = key.review_id(seat) if entry is None else entry.id
        self.round, self._settings = projection.round(seat.round), projection.settings
        if seat.again is None:
            self._take_first()
        else:
            self._take_repeat(seat.again)
        self.status, self.ended = self._standing(moment)
        if isinstance(entry, transaction.EndedReview):
            self.status, self.ended = entry.status, entry.ended

    def _take_first(self) -> None:
        """Take what the member says of the round; refused to members who were never asked."""
        round_, member = self.round, self.seat.member
        if round_.seats.get(member, "unasked") == "unasked":
            sentence = f"{member!r} is not asked about round {round_.id!r}."
            raise ServiceError("not-seated", 403, sentence)
        self.asked, self.due, self.in_turn = round_.sealed or round_.opened, round_.due, False
        if member in round_.turns:
            turn = round_.turns[member]
            self.asked, self.due, self.in_turn = turn.at, turn.due, True
        self.objections = round_.objections.get(member, {})
        self.finished = round_.seats[member] == "finished"

    def _take_repeat(self, asked: str) -> None:
        round_, member = self.round, self.seat.member
        if round_.seats.get(member) != "finished" or round_.outcome is None:
            sentence = f"{member!r} has not reviewed the round {round_.id!r} before."
            raise ServiceError("not-repeatable", 409, sentence)
        self.asked, self.due = asked, due_after(asked, self._settings.deadline)
        repeat, self.in_turn = round_.repeats.get(member), False
        self.objections = {} if repeat is None else repeat.by_pair
        self.finished = repeat is not None and repeat.finished

    def _standing(self, moment: str) -> tuple[str, str | None]:
        """Return status and end; the deadline may have passed without a record of the end."""
        if passed(self.due, moment) and not (self.in_turn and self.finished):
            return "closed" if self.finished else "missed", self.due
        return "waiting" if self.finished else "asked", None

    @cached_property
    def aliases(self) -> dict[str, str]:
        return self._key.aliases(self.id, self.round.shown(self.seat.member))

    @property
    def pairs(self) -> list[tuple[str, str, int]]:
        """The pairs that the member is asked about."""
        return self.round.asked_of(self.seat.member)

    @property
    def outcome(self) -> kinds.Audited | None:
        """The outcome on record; after the deadline, the one that is about to be recorded."""
        if self.round.outcome is not None:
            return kinds.Audited(self.round.id, self.round.outcome, self.round.pairs)
        return None if self.in_turn else self.round.conclusion(self._settings.quorum)

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

    def bodies(
        self, act: Act, pair: Pair | None = None, objection: kinds.Objection | None = None
    ) -> list[kinds.Body]:
        """Return the records of an act."""
        round_id, member = self.round.id, self.seat.member
        if self.seat.again is not None:
            # A repeat ends with as many records as the member wrote by finishing the first time.
            count = self.round.finish_records.get(member, 1) if act == "finish" else 1
            return [self._repeated(act, pair, objection)] * count
        if pair is None:
            return [(kinds.Finished if act == "finish" else kinds.Reopened)(round_id, member)]
        people = (pair.first, pair.second)
        if objection is None:
            return [kinds.Withdrawn(round_id, member, people)]
        return [kinds.Flagged(round_id, member, people, objection.reason, objection.limit)]

    def _repeated(
        self, act: Act, pair: Pair | None, objection: kinds.Objection | None
    ) -> kinds.Repeated:
        """Return everything that the member says of a repeat, with an act."""
        objections = {p: o for p, o in self.objections.items() if p != pair}
        if pair is not None and objection is not None:
            objections[pair] = objection
        finished = {"finish": True, "reopen": False}.get(act, self.finished)
        listed = tuple(
            kinds.RepeatedObjection((p.first, p.second), o.reason, o.limit)
            for p, o in sorted(objections.items(), key=lambda item: item[0])
        )
        return kinds.Repeated(self.round.id, self.seat.member, listed, finished)


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
        Review(docket, opened.seat, moment, opened)
        for opened in entry.opened.values()
        if after is None or (opened.number != after and (opened.number < after) == latest_first)
    )
    reviews = (review for review in unended if review.status in statuses)
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
        opened = entry.opened[review_id]
        return Review(docket, opened.seat, docket.moment(), opened)
    rows = docket.archive.ended([review_id])
    if not rows or rows[0].member != member or rows[0].number > entry.reviews:
        sentence = N_("You have no such review. Take one from your list.")
        raise ServiceError("no-review", 404, sentence)
    return _ended(docket, rows)[0]


def _ended(docket: Docket, rows: Sequence[transaction.EndedReview]) -> list[Review]:
    docket.archive.prepare([row.round for row in rows], docket.projection.head.seq)
    seats = [Seat(row.round, row.member, row.again) for row in rows]
    return [Review(docket, seat, row.ended, row) for row, seat in zip(rows, seats, strict=True)]
