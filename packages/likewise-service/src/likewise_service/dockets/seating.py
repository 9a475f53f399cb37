"""Seats, reviews that have not ended, and the lottery of repeats."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from likewise_service.clock import due_after
from likewise_service.dockets.projection import Projection
from likewise_service.dockets.round import Round
from likewise_service.ledger import kinds, records, transaction


@dataclass(frozen=True)
class Seat:
    """A member's seat at a round; ``again`` is the time at which the round was shown again."""

    round: str
    member: str
    again: str | None = None


# A round is shown again only after the member has finished this many others in between.
BETWEEN = 3


class ReviewKey:
    """The key of a docket's reviews, by which anybody with the seed and its salt can draw again.

    >>> key = ReviewKey(7, b"salt")
    >>> key.review_id(Seat("r1", "ann")) == key.review_id(Seat("r1", "ann"))
    True
    >>> key.review_id(Seat("r1", "ann")) == key.review_id(Seat("r1", "ann", again="later"))
    False
    """

    def __init__(self, seed: int, salt: bytes) -> None:
        self._key = hmac.digest(salt, f"reviews:{seed}".encode(), "sha256")

    def review_id(self, seat: Seat) -> str:
        """Return the id of a review; a repeat has another one than the first review."""
        parts = (seat.member, seat.round, str(seat.again is not None))
        return self._draw("review", *parts)[:32]

    def aliases(self, review_id: str, people: Iterable[str]) -> dict[str, str]:
        """Return p1, p2, … by person: in an order that holds for this review only."""
        shared = _joined("person", review_id)
        order = sorted(people, key=lambda person: self._digest(shared + _joined(person)))
        return {person: f"p{number}" for number, person in enumerate(order, start=1)}

    def repeats(self, member: str, count: int, share: float) -> bool:
        """Tell if a round is shown again after a member has finished ``count`` of them."""
        return int(self._draw("repeat", member, str(count))[:13], 16) / 16**13 < share

    def together(self, number: int, share: float) -> bool:
        """Tell if the round of a number is put before all members at once, not in turn."""
        return int(self._draw("together", str(number))[:13], 16) / 16**13 < share

    def ranked(self, member: str, count: int, rounds: Iterable[str]) -> list[str]:
        """Return rounds in the order in which the lottery would show them again."""
        return sorted(rounds, key=lambda name: self._draw("which", member, str(count), name))

    def _draw(self, *parts: str) -> str:
        return self._digest(_joined(*parts)).hex()

    def _digest(self, content: bytes) -> bytes:
        return hmac.digest(self._key, content, "sha256")


def _joined(*parts: str) -> bytes:
    """Join parts, each preceded by its length, so that no two lists are alike."""
    texts = [part.encode() for part in parts]
    return b"".join([len(text).to_bytes(4, "big") + text for text in texts])


# The number of rounds that are looked up at once to find one to show again.
BATCH = 50


@dataclass(frozen=True)
class OpenReview:
    """A review that has not ended; ``number`` is the member's own count.

    A repeat ends by itself when it is ``due``; it is ``finished`` once the member has finished it.
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

    def take(self, record: records.Record, body: kinds.Body, round_: Round | None) -> None:
        """Take in a record; ``round_`` is the round that it is about, as it is after it."""
        for review in list(self._repeats.values()):
            if review.due is not None and review.due <= record.at:
                self._end(review, "closed" if review.finished else "missed", review.due)
        if round_ is not None and isinstance(body, kinds.RoundBody):
            body.seat(self, round_, record.at)

    def member(self, name: str) -> Member:
        """Return a member's counts and open reviews: none of somebody who was never asked."""
        return self.members.get(name, Member())

    def drawn(self, seat: Seat) -> bool:
        return self.key.review_id(seat) in self.member(seat.member).opened

    def restore(self, members: dict[str, Member]) -> None:
        self.members = members
        for member in members.values():
            for review in member.opened.values():
                self._put(review)

    def audited(self, round_: Round, at: str) -> None:
        """End a panel; repeats that are finished end with it."""
        for review in list(self._repeats.values()):
            if review.finished:
                self._end(review, "closed", at)
        ended = at if round_.due is None else min(at, round_.due)
        for name, seat in round_.seats.items():
            member = self.member(name)
            opened = member.opened.get(self.key.review_id(Seat(round_.id, name)))
            if opened is None:  # they were not asked, or their turn is over
                continue
            if seat == "finished":
                member.finished += 1
                self._end(opened, "closed", ended, member.finished)
            else:
                self._end(opened, "missed", ended)
        for name, seat in round_.seats.items():
            if seat == "finished":
                self._draw_repeat(name, at)

    def miss(self, round_: Round, name: str, at: str) -> None:
        due = round_.turns[name].due
        review = self.members[name].opened[self.key.review_id(Seat(round_.id, name))]
        self._end(review, "missed", at if due is None else min(at, due))

    def repeated(self, body: kinds.Repeated, round_: Round, at: str) -> None:
        """Take in a repeat; finishing it ends it if the member's first review ended the panel."""
        seat = Seat(round_.id, body.member, again=at)
        review = self.member(body.member).opened.get(self.key.review_id(seat))
        if review is None:
            return
        changed = replace(review, finished=body.finished)
        self._put(changed)
        if body.finished and round_.ended_by == body.member:
            self._end(changed, "closed", at)

    def _end(
        self, review: OpenReview, status: str, ended: str, finished: int | None = None
    ) -> None:
        seat = review.seat
        del self.members[seat.member].opened[review.id]
        self._repeats.pop(review.id, None)
        self.projection.archive.end(transaction.EndedReview(
            review.id, seat.member, review.number, seat.round, seat.again, status, ended, finished,
        ))  # fmt: skip

    def end_repeats(self, round_id: str, at: str) -> None:
        for review in list(self._repeats.values()):
            if review.seat.round == round_id and not review.finished:
                self._end(review, "missed", at)

    def ask(
        self, round_id: str, member: str, again: str | None = None, due: str | None = None
    ) -> OpenReview:
        seat, entry = Seat(round_id, member, again), self.members.setdefault(member, Member())
        entry.reviews += 1
        review = OpenReview(self.key.review_id(seat), seat, entry.reviews, due)
        self._put(review)
        return review

    def _put(self, review: OpenReview) -> None:
        self.members[review.seat.member].opened[review.id] = review
        if review.seat.again is not None:
            self._repeats[review.id] = review

    def _draw_repeat(self, member: str, at: str) -> None:
        """Draw whether, and which, earlier round is shown again after one that a member finished.

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
            if round_.asked_of(member):
                review = self.ask(name, member, at, due_after(at, settings.deadline))
                if round_.erased:
                    self._end(review, "missed", at)
                return

    def _not_repeated(self, name: str, ranked: Sequence[str]) -> Iterator[str]:
        """Yield the rounds that were not shown again before; usually the first will do."""
        member = self.members[name]
        for start in range(0, len(ranked), BATCH):
            batch = ranked[start : start + BATCH]
            ids = {id_: self.key.review_id(Seat(id_, name, "before")) for id_ in batch}
            # Another process may have listed reviews that this one has not read yet.
            ended = self.projection.archive.ended(list(ids.values()))
            repeated = {review.id for review in ended if review.number <= member.reviews}
            yield from (r for r in batch if ids[r] not in repeated and ids[r] not in member.opened)
