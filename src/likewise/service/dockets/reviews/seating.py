"""The seating of a panel: a fold over the records of panels, and the lottery of repeats.

Reviews that have ended leave memory for the archive; a member is remembered by two counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from likewise.service.clock import due_after
from likewise.service.dockets.reviews.lottery import BETWEEN, ReviewKey
from likewise.service.dockets.reviews.targets import Seat
from likewise.service.dockets.views.projection import Projection
from likewise.service.dockets.views.round import Round
from likewise.service.ledger import bodies
from likewise.service.ledger.listings import EndedReview
from likewise.service.ledger.records import Record

# The number of rounds that are looked up at once, when one of them is to be shown again.
BATCH = 50


@dataclass(frozen=True)
class OpenReview:
    """A review that has not ended; ``number`` is the member's own count.

    Of a repeat, ``due`` is when it ends by itself, and ``finished`` tells if the member has
    finished it.
    """

    id: str
    seat: Seat
    number: int
    due: str | None = None
    finished: bool = False


@dataclass
class Member:
    """A member's counts of reviews and of rounds finished, and the reviews that have not ended."""

    reviews: int = 0
    finished: int = 0
    opened: dict[str, OpenReview] = field(default_factory=dict)


class Seating:
    """The open reviews of all members, as far as the records have been taken in."""

    def __init__(self, key: ReviewKey, projection: Projection) -> None:
        self.key, self.projection = key, projection
        self.members: dict[str, Member] = {}
        self._repeats: dict[str, OpenReview] = {}

    def take(self, record: Record, body: bodies.Body, round_: Round | None) -> None:
        """Take in a record; ``round_`` is the round that it is about, as it is after it."""
        self._end_due(record.at)
        if round_ is None:
            return
        if isinstance(body, bodies.RoundSealed):
            for member in body.members:
                self._ask(Seat(round_.id, member))
        elif isinstance(body, bodies.Audited):
            self._audited(round_, record.at)
        elif isinstance(body, bodies.Repeated):
            self._repeated(body, round_, record.at)
        elif isinstance(body, bodies.Erased):
            # Nobody can judge people whose features are gone.
            for review in list(self._repeats.values()):
                if review.seat.round == round_.id and not review.finished:
                    self._end(review, "missed", record.at)

    def drawn(self, seat: Seat) -> bool:
        """Tell if a member is being shown a round again."""
        member = self.members.get(seat.member)
        return member is not None and self.key.review_id(seat) in member.opened

    def restore(self, members: dict[str, Member]) -> None:
        """Start from the members of a snapshot."""
        self.members = members
        for member in members.values():
            for review in member.opened.values():
                self._put(review)

    # ── Ends ─────────────────────────────────────────────────────────────────────────────────────

    def _end_due(self, at: str) -> None:
        for review in list(self._repeats.values()):
            if review.due is not None and review.due <= at:
                self._end(review, "closed" if review.finished else "missed", review.due)

    def _audited(self, round_: Round, at: str) -> None:
        """End a panel; repeats that are finished end with it."""
        for review in list(self._repeats.values()):
            if review.finished:
                self._end(review, "closed", at)
        ended = at if round_.due is None else min(at, round_.due)
        for name, seat in round_.seats.items():
            member = self.members[name]
            review = member.opened[self.key.review_id(Seat(round_.id, name))]
            if seat == "finished":
                member.finished += 1
                self._end(review, "closed", ended, member.finished)
            else:
                self._end(review, "missed", ended)
        for name, seat in round_.seats.items():
            if seat == "finished":
                self._draw_repeat(name, at)

    def _repeated(self, body: bodies.Repeated, round_: Round, at: str) -> None:
        """A member who ended the panel by finishing last also ends the repeat by finishing."""
        seat = Seat(round_.id, body.member, again=at)
        member = self.members.get(body.member, Member())
        review = member.opened.get(self.key.review_id(seat))
        if review is None:
            return
        changed = replace(review, finished=body.finished)
        self._put(changed)
        if body.finished and round_.finish_records.get(body.member, 1) > 1:
            self._end(changed, "closed", at)

    def _end(
        self, review: OpenReview, status: str, ended: str, finished: int | None = None
    ) -> None:
        seat = review.seat
        del self.members[seat.member].opened[review.id]
        self._repeats.pop(review.id, None)
        self.projection.archive.end(
            EndedReview(
                review.id,
                seat.member,
                review.number,
                seat.round,
                seat.again,
                status,
                ended,
                finished,
            )
        )

    # ── The lottery ──────────────────────────────────────────────────────────────────────────────

    def _ask(self, seat: Seat, due: str | None = None) -> OpenReview:
        member = self.members.setdefault(seat.member, Member())
        member.reviews += 1
        review = OpenReview(self.key.review_id(seat), seat, member.reviews, due)
        self._put(review)
        return review

    def _put(self, review: OpenReview) -> None:
        self.members[review.seat.member].opened[review.id] = review
        if review.seat.again is not None:
            self._repeats[review.id] = review

    def _draw_repeat(self, member: str, at: str) -> None:
        """Draw, after every round that a member finished, whether and which one is shown again.

        The draw depends on the docket's secret, the member and the count of rounds alone.
        """
        settings, count = self.projection.settings, self.members[member].finished
        if not self.key.repeats(member, count, settings.repeat_share):
            return
        last, window = count - BETWEEN - 1, settings.repeat_window
        first = 1 if window is None else max(1, last - window + 1)
        earlier = self.projection.archive.finished_rounds(member, first, last) if last > 0 else []
        for name in self._not_repeated(member, self.key.ranked(member, count, earlier)):
            round_ = self.projection.round(name)
            if round_.reportable():
                due = due_after(at, settings.deadline)
                review = self._ask(Seat(name, member, again=at), due)
                if round_.erased:
                    self._end(review, "missed", at)
                return

    def _not_repeated(self, member: str, ranked: Sequence[str]) -> Iterator[str]:
        """Yield the rounds that were not shown again before; usually the first will do."""
        for start in range(0, len(ranked), BATCH):
            batch = ranked[start : start + BATCH]
            repeated = self._repeated_before(member, batch)
            yield from (name for name in batch if name not in repeated)

    def _repeated_before(self, name: str, round_ids: Sequence[str]) -> set[str]:
        member = self.members[name]
        ids = {self.key.review_id(Seat(id_, name, again="before")): id_ for id_ in round_ids}
        opened = {round_id for review_id, round_id in ids.items() if review_id in member.opened}
        # Another process may have listed reviews that this one has not read yet.
        ended = self.projection.archive.ended(list(ids))
        return opened | {ids[review.id] for review in ended if review.number <= member.reviews}
