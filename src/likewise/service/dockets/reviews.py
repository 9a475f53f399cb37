"""Reviews: what a member is asked to look at, under ids that say nothing.

A member knows a round only by a review. Some reviews are of rounds that the member has judged
before; a lottery that whoever knows the docket's secret can check afterwards says when and which.
Neither the id nor the order of the people, nor any time, tells them from the others.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta

from likewise.service.dockets.commands.repeats import closed_again
from likewise.service.dockets.docket import Docket
from likewise.service.dockets.projection import Projection, Round, instant
from likewise.service.errors import ServiceError

__all__ = ["Review", "ReviewBoard"]

# A round is shown again only after the member has judged this many others in between.
BETWEEN = 3


@dataclass(frozen=True)
class Review:
    """One round as it is put before one member.

    ``number`` is the member's own count. ``status`` is ``asked``, ``waiting`` (for the others),
    ``closed``, or ``missed``.
    """

    id: str
    number: int
    member: str
    round: Round
    asked: str
    due: str | None
    status: str
    repeat: bool

    def aliases(self, key: bytes) -> dict[str, str]:
        """A name for everybody in the round that holds for this review only."""
        shuffled = sorted(self.round.decisions, key=lambda p: _draw(key, "person", self.id, p))
        return {person: f"p{place}" for place, person in enumerate(shuffled, start=1)}


@dataclass
class _Lottery:
    """What was drawn for one member, as far as their judged rounds have been counted."""

    judged: list[str] = field(default_factory=list)
    audits: int = 0
    drawn: dict[str, str] = field(default_factory=dict)


class ReviewBoard:
    """The reviews of a docket's members."""

    def __init__(self, docket: Docket) -> None:
        self.docket = docket
        self.key = hmac.digest(docket.salt, f"reviews:{docket.seed}".encode(), "sha256")
        self._lotteries: dict[str, _Lottery] = {}
        self._ids: dict[tuple[str, str, bool], str] = {}

    def of(self, member: str) -> list[Review]:
        """All reviews of a member, in the order in which they were asked for."""
        projection = self.docket.projection
        moment = self.docket.clock()
        found: list[tuple[str, Round, str | None, str, bool]] = [
            (r.sealed, r, r.due, _status(r, member), False)
            for r in projection.rounds.values()
            if member in r.seats and r.sealed is not None
        ]
        for name, asked in self._drawn(projection, member).items():
            round_, due = projection.rounds[name], self._due(asked)
            status = _status_again(
                projection, round_, member, late=due is not None and due <= moment
            )
            found.append((asked, round_, due, status, True))
        found.sort(key=lambda one: (one[0], one[1].number))
        return [
            Review(
                self._id(member, round_.id, repeat),
                number, member, round_, asked, due, status, repeat,
            )
            for number, (asked, round_, due, status, repeat) in enumerate(found, start=1)
        ]  # fmt: skip

    def one(self, member: str, review_id: str) -> Review:
        """The member's review of that id."""
        for review in self.of(member):
            if hmac.compare_digest(review.id, review_id):
                return review
        raise ServiceError(
            "no-review", 404,
            "You have no review of that id. List yours, and take an id from there.",
        )  # fmt: skip

    def _id(self, member: str, round_id: str, repeat: bool) -> str:
        """Drawn once: a member may have thousands of reviews."""
        known = self._ids.get((member, round_id, repeat))
        if known is None:
            known = _draw(self.key, "review", member, round_id, str(repeat))[:32]
            self._ids[member, round_id, repeat] = known
        return known

    def _due(self, asked: str) -> str | None:
        deadline = self.docket.projection.settings.deadline
        if deadline is None:
            return None
        moment = instant(asked) + timedelta(seconds=deadline)
        return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")

    def _drawn(self, projection: Projection, member: str) -> dict[str, str]:
        """The rounds to be shown again to a member, with the times at which they were drawn.

        After every round that the member judged there is a draw. It depends on the docket's
        secret, the member and the number of rounds judged, so it never changes.
        """
        lottery = self._lotteries.setdefault(member, _Lottery())
        share = projection.settings.repeat_share
        for name in projection.audits[lottery.audits :]:
            lottery.audits += 1
            if projection.rounds[name].seats.get(member) != "reviewed":
                continue
            lottery.judged.append(name)
            count = str(len(lottery.judged))
            if _uniform(self.key, "repeat", member, count) >= share:
                continue
            earlier = [r for r in lottery.judged[: -BETWEEN - 1] if r not in lottery.drawn]
            ranked = sorted(earlier, key=lambda r: _draw(self.key, "which", member, count, r))
            chosen = next((r for r in ranked if self._worthwhile(projection, r)), None)
            if chosen is not None:
                lottery.drawn[chosen] = projection.rounds[name].audited or ""
        return lottery.drawn

    def _worthwhile(self, projection: Projection, name: str) -> bool:
        return bool(projection.rounds[name].askable(self.docket.state.learner.sensitivity))


def _status(round_: Round, member: str) -> str:
    seat = round_.seats[member]
    if round_.outcome is None and round_.closed is None:
        return "asked" if seat == "asked" else "waiting"
    return "closed" if seat == "reviewed" else "missed"


def _status_again(projection: Projection, round_: Round, member: str, *, late: bool) -> str:
    """As if the panel had been asked for it now."""
    said = projection.repeats.get((member, round_.id))
    if said is not None and said.done:
        return "closed" if late or closed_again(projection, said) else "waiting"
    # Nobody can judge people whose features are gone.
    return "missed" if late or round_.erased else "asked"


def _draw(key: bytes, *parts: str) -> str:
    return hmac.digest(key, _joined(parts), "sha256").hex()


def _uniform(key: bytes, *parts: str) -> float:
    return int(_draw(key, *parts)[:13], 16) / 16**13


def _joined(parts: Iterable[str]) -> bytes:
    """Parts that cannot be mistaken for others: each is preceded by its length."""
    return b"".join(len(p.encode()).to_bytes(4, "big") + p.encode() for p in parts)
