"""Reviews: what a member is asked to look at, under ids that say nothing.

A member knows a round only by a review. Some reviews are of rounds that the member has judged
before; a lottery that whoever knows the docket's secret can check afterwards says when and which.
Neither the id nor the order of the people, nor any time, tells them from the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from likewise.service.dockets.docket import Docket
from likewise.service.dockets.review_names import alias_names, draw, review_key, review_name
from likewise.service.dockets.round import Round
from likewise.service.dockets.targets import ReviewTarget, Seat
from likewise.service.errors import ServiceError

__all__ = ["Review", "ReviewBoard"]

# A round is shown again only after the member has judged this many others in between.
BETWEEN = 3


@dataclass(frozen=True)
class Review:
    """One round as it is put before one member, at some moment; ``number`` is their own count."""

    id: str
    target: ReviewTarget = field(compare=False)
    number: int
    seat: Seat
    at: str = field(compare=False)
    key: bytes = field(repr=False)

    @cached_property
    def aliases(self) -> dict[str, str]:
        """A name for everybody in the round that holds for this review only."""
        return alias_names(self.key, self.id, self.round.decisions)

    @property
    def round(self) -> Round:
        """The round that is looked at."""
        return self.target.round

    @property
    def status(self) -> str:
        """``asked``, ``waiting`` (for the others), ``closed``, or ``missed``."""
        return self.target.status(self.at)

    @property
    def ended(self) -> str | None:
        """The time at which it closed, if it has."""
        return self.target.ended(self.at)

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


@dataclass
class _Member:
    """The reviews of one member, as far as the panels of the docket have been counted."""

    panels: int = 0
    judged: list[str] = field(default_factory=list)
    repeated: set[str] = field(default_factory=set)
    seats: list[Seat] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)


class ReviewBoard:
    """The reviews of a docket's members."""

    def __init__(self, docket: Docket) -> None:
        self.docket = docket
        self.key = review_key(docket.seed, docket.salt)
        self._members: dict[str, _Member] = {}

    def of(self, member: str) -> list[Review]:
        """All reviews of a member, in the order in which they were asked for."""
        moment, known = self.docket.clock(), self._caught_up(member)
        return [self._review(known, place, moment) for place in known.places.items()]

    def one(self, member: str, review_id: str) -> Review:
        """The member's review of that id."""
        known = self._caught_up(member)
        if review_id not in known.places:
            raise ServiceError(
                "no-review", 404,
                "You have no review of that id. List yours, and take an id from there.",
            )  # fmt: skip
        return self._review(known, (review_id, known.places[review_id]), self.docket.clock())

    def _review(self, known: _Member, place: tuple[str, int], moment: str) -> Review:
        review_id, index = place
        seat = known.seats[index]
        target = seat.target(self.docket.projection)
        return Review(review_id, target, index + 1, seat, moment, self.key)

    def _caught_up(self, member: str) -> _Member:
        """The member's seats, with those that have come since the last look."""
        known, projection = self._members.setdefault(member, _Member()), self.docket.projection
        for what, round_id in projection.panels[known.panels :]:
            known.panels += 1
            seat = projection.round(round_id).seats.get(member)
            if what == "sealed" and seat is not None:
                self._ask(known, Seat(round_id, member))
            elif what == "audited" and seat == "reviewed":
                known.judged.append(round_id)
                self._draw_repeat(known, member, projection.round(round_id).audited or "")
        return known

    def _ask(self, known: _Member, seat: Seat) -> None:
        again = seat.again is not None
        review_id = review_name(self.key, seat.member, seat.round, again=again)
        known.places[review_id] = len(known.seats)
        known.seats.append(seat)

    def _draw_repeat(self, known: _Member, member: str, at: str) -> None:
        """After every round that the member judged there is a draw for one to be shown again.

        It depends on the docket's secret, the member and the number of rounds judged, so it never
        changes.
        """
        count, projection = str(len(known.judged)), self.docket.projection
        if _uniform(self.key, "repeat", member, count) >= projection.settings.repeat_share:
            return
        earlier = [r for r in known.judged[: -BETWEEN - 1] if r not in known.repeated]
        ranked = sorted(earlier, key=lambda r: draw(self.key, "which", member, count, r))
        chosen = next((r for r in ranked if projection.round(r).reportable()), None)
        if chosen is not None:
            known.repeated.add(chosen)
            self._ask(known, Seat(chosen, member, again=at))


def _uniform(key: bytes, *parts: str) -> float:
    return int(draw(key, *parts)[:13], 16) / 16**13
