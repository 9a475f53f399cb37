"""The seating of a panel: a fold over the records of panels, and the lottery of repeats.

What has ended leaves memory for the archive; a member is remembered by two counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from likewise.service.clock import due_after
from likewise.service.dockets.reviews.lottery import BETWEEN, ReviewKey
from likewise.service.dockets.reviews.targets import Seat
from likewise.service.dockets.views.projection import Projection
from likewise.service.dockets.views.round import Round
from likewise.service.ledger import bodies
from likewise.service.ledger.listings import EndedReview
from likewise.service.ledger.records import Record

__all__ = ["OpenReview", "Seating"]

# So many rounds are looked up at once, when one of them is to be shown again.
AT_ONCE = 50


@dataclass(frozen=True)
class OpenReview:
    """A review that has not ended; ``number`` is the member's own count.

    Of a round that is shown again, ``due`` is when it ends by itself, and ``done`` says that the
    member is done with it.
    """

    id: str
    seat: Seat
    number: int
    due: str | None = None
    done: bool = False


@dataclass
class Member:
    """A member's counts of reviews and of rounds judged, and their reviews that have not ended."""

    asked: int = 0
    judged: int = 0
    opened: dict[str, OpenReview] = field(default_factory=dict)


class Seating:
    """The open reviews of all members, as far as the records have been taken in."""

    def __init__(self, key: ReviewKey, projection: Projection) -> None:
        self.key, self.projection = key, projection
        self.members: dict[str, Member] = {}
        self._again: dict[str, OpenReview] = {}  # those of rounds that are shown again

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
            for review in list(self._again.values()):
                if review.seat.round == round_.id and not review.done:
                    self._end(review, "missed", record.at)

    def drawn(self, seat: Seat) -> bool:
        """Tell if somebody is being shown a round again by now."""
        known = self.members.get(seat.member, Member())
        return self.key.review_id(seat) in known.opened

    # ── Ends ─────────────────────────────────────────────────────────────────────────────────────

    def _end_due(self, at: str) -> None:
        for review in list(self._again.values()):
            if review.due is not None and review.due <= at:
                self._end(review, "closed" if review.done else "missed", review.due)

    def _audited(self, round_: Round, at: str) -> None:
        """The end of a panel; repeats that wait for the end of some panel end with it."""
        for review in list(self._again.values()):
            if review.done:
                self._end(review, "closed", at)
        ended = at if round_.due is None else min(at, round_.due)
        for member, seat in round_.seats.items():
            known = self.members[member]
            review = known.opened[self.key.review_id(Seat(round_.id, member))]
            reviewed = seat == "reviewed"
            known.judged += reviewed
            judged = known.judged if reviewed else None
            self._end(review, "closed" if reviewed else "missed", ended, judged)
        for member, seat in round_.seats.items():
            if seat == "reviewed":
                self._draw_repeat(member, at)

    def _repeated(self, body: bodies.Repeated, round_: Round, at: str) -> None:
        """The last of a panel ended it by being done; so does the same member a repeat."""
        seat = Seat(round_.id, body.member, again=at)
        known = self.members.get(body.member, Member())
        review = known.opened.get(self.key.review_id(seat))
        if review is None:
            return
        changed = replace(review, done=body.done)
        self._put(changed)
        if body.done and round_.finished.get(body.member, 1) > 1:
            self._end(changed, "closed", at)

    def _end(self, review: OpenReview, status: str, ended: str, judged: int | None = None) -> None:
        seat = review.seat
        del self.members[seat.member].opened[review.id]
        self._again.pop(review.id, None)
        self.projection.archive.end(
            EndedReview(
                review.id, seat.member, review.number, seat.round, seat.again, status, ended, judged
            )
        )

    # ── The lottery ──────────────────────────────────────────────────────────────────────────────

    def _ask(self, seat: Seat, due: str | None = None) -> OpenReview:
        known = self.members.setdefault(seat.member, Member())
        known.asked += 1
        review = OpenReview(self.key.review_id(seat), seat, known.asked, due)
        self._put(review)
        return review

    def _put(self, review: OpenReview) -> None:
        self.members[review.seat.member].opened[review.id] = review
        if review.seat.again is not None:
            self._again[review.id] = review

    def _draw_repeat(self, member: str, at: str) -> None:
        """After every round that the member judged there is a draw for one to be shown again.

        It depends on the docket's secret, the member and the number of rounds judged, so it never
        changes.
        """
        settings, count = self.projection.settings, self.members[member].judged
        if not self.key.repeats(member, count, settings.repeat_share):
            return
        last, window = count - BETWEEN - 1, settings.repeat_window
        first = 1 if window is None else max(1, last - window + 1)
        earlier = self.projection.archive.judged(member, first, last) if last > 0 else []
        for name in self._not_shown_again(member, self.key.ranked(member, count, earlier)):
            round_ = self.projection.round(name)
            if round_.reportable():
                due = due_after(at, settings.deadline)
                review = self._ask(Seat(name, member, again=at), due)
                if round_.erased:
                    self._end(review, "missed", at)
                return

    def _not_shown_again(self, member: str, ranked: Sequence[str]) -> Iterator[str]:
        """The same rounds without those shown again before; as a rule the first will do."""
        for start in range(0, len(ranked), AT_ONCE):
            some = ranked[start : start + AT_ONCE]
            shown = self._shown_again(member, some)
            yield from (name for name in some if name not in shown)

    def _shown_again(self, member: str, round_ids: Sequence[str]) -> set[str]:
        """Those of some rounds that the member has been shown again before."""
        known = self.members[member]
        ids = {self.key.review_id(Seat(name, member, again="before")): name for name in round_ids}
        opened = {name for review_id, name in ids.items() if review_id in known.opened}
        # Another process may have listed what this one has not read yet.
        ended = self.projection.archive.ended(list(ids))
        return opened | {ids[one.id] for one in ended if one.number <= known.asked}

    # ── As JSON ──────────────────────────────────────────────────────────────────────────────────

    def to_json(self) -> dict[str, Any]:
        """The open reviews and counts as JSON."""
        return {
            name: [
                known.asked, known.judged,
                [[r.seat.round, r.seat.again, r.number, r.due, r.done]
                 for r in known.opened.values()],
            ]
            for name, known in self.members.items()
        }  # fmt: skip

    def restore(self, data: dict[str, Any]) -> None:
        """Read them back."""
        for name, (asked, judged, opened) in data.items():
            self.members[name] = Member(asked, judged)
            for round_id, again, number, due, done in opened:
                seat = Seat(round_id, name, again)
                self._put(OpenReview(self.key.review_id(seat), seat, number, due, done))
