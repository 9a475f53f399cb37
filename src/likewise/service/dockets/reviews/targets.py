"""Review targets: a round before one member, for the first time or again without being told.

Both kinds are objected to, finished and taken back by the same commands. They differ in what is
recorded, never in how many records: nothing that a member sees tells one kind from the other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from likewise.auditing import Pair
from likewise.events import Audited
from likewise.service.clock import due_after, passed
from likewise.service.dockets.views.projection import Projection
from likewise.service.dockets.views.round import Repeat, Round
from likewise.service.errors import ServiceError
from likewise.service.ledger.bodies import (
    Body,
    Objected,
    Reopened,
    Repeated,
    RepeatedObjection,
    Reviewed,
    Withdrawn,
)

__all__ = ["FirstReview", "RepeatedReview", "ReviewTarget", "Seat"]

Said = Mapping[Pair, str | None]


@dataclass(frozen=True)
class Seat:
    """A member's seat at a round; ``again`` is the time at which they were asked once more."""

    round: str
    member: str
    again: str | None = None

    def target(self, projection: Projection) -> ReviewTarget:
        """The review as it stands; refused to those who were never asked."""
        round_ = projection.round(self.round)
        if self.again is None:
            if self.member not in round_.seats:
                raise ServiceError(
                    "not-seated", 403,
                    f"{self.member!r} does not sit on the panel of round {self.round!r}.",
                )  # fmt: skip
            return FirstReview(projection, round_, self.member)
        if round_.seats.get(self.member) != "reviewed" or round_.outcome is None:
            raise ServiceError(
                "not-repeatable", 409,
                f"{self.member!r} has not reviewed the round {self.round!r} before.",
            )  # fmt: skip
        return RepeatedReview(projection, round_, self.member, self.again)


class ReviewTarget(ABC):
    """One round before one member: what they have said, and if they are done.

    ``said`` are the pairs objected to, with the digests of reasons.
    """

    said: Said
    done: bool

    def __init__(
        self, projection: Projection, round_: Round, member: str, asked: str, due: str | None
    ) -> None:
        self.projection, self.round, self.member = projection, round_, member
        self.asked, self.due = asked, due

    @property
    @abstractmethod
    def outcome(self) -> Audited:
        """How the audit ended, for a target that has."""

    @abstractmethod
    def objecting(self, pair: Pair, reason: str | None) -> Body:
        """The record of an objection."""

    @abstractmethod
    def withdrawing(self, pair: Pair) -> Body:
        """The record of an objection that is taken back."""

    @abstractmethod
    def finishing(self) -> list[Body]:
        """The records of a member who is done."""

    @abstractmethod
    def reopening(self) -> Body:
        """The record of a member who is not done after all."""

    def status(self, at: str) -> str:
        """``asked``, ``waiting`` (for the others), ``closed``, or ``missed``.

        Of a review whose end is not recorded: the time may be over all the same.
        """
        if passed(self.due, at):
            return "closed" if self.done else "missed"
        return "waiting" if self.done else "asked"


class FirstReview(ReviewTarget):
    """A round that is under audit."""

    def __init__(self, projection: Projection, round_: Round, member: str) -> None:
        super().__init__(projection, round_, member, round_.sealed or round_.opened, round_.due)
        self.said = round_.objections.get(member, {})
        self.done = round_.seats[member] == "reviewed"

    @property
    def outcome(self) -> Audited:
        """The outcome on record; after the deadline, the one that is about to be recorded."""
        if self.round.outcome is not None:
            return Audited(self.round.id, self.round.outcome, self.round.pairs)
        return self.round.conclusion(self.projection.settings.quorum)

    def objecting(self, pair: Pair, reason: str | None) -> Body:
        """An objection."""
        return Objected(self.round.id, self.member, (pair.first, pair.second), reason)

    def withdrawing(self, pair: Pair) -> Body:
        """An objection that is taken back."""
        return Withdrawn(self.round.id, self.member, (pair.first, pair.second))

    def finishing(self) -> list[Body]:
        """A review; the last one ends the audit."""
        seats = {**self.round.seats, self.member: "reviewed"}
        review = Reviewed(self.round.id, self.member)
        if "asked" in seats.values():
            return [review]
        return [review, self.round.conclusion(self.projection.settings.quorum, seats)]

    def reopening(self) -> Body:
        """A review that is taken back."""
        return Reopened(self.round.id, self.member)


class RepeatedReview(ReviewTarget):
    """An earlier round that is shown again; only a measure of consistency follows from it."""

    def __init__(self, projection: Projection, round_: Round, member: str, asked: str) -> None:
        due = due_after(asked, projection.settings.deadline)
        super().__init__(projection, round_, member, asked, due)
        self.repeat = round_.repeats.get(member, Repeat())
        self.said, self.done = self.repeat.said, self.repeat.done
        self.records = round_.finished.get(member, 1)

    @property
    def outcome(self) -> Audited:
        """The outcome of then."""
        return Audited(self.round.id, self.round.outcome or "unaudited", self.round.pairs)

    def objecting(self, pair: Pair, reason: str | None) -> Body:
        """Everything said so far, with an objection."""
        return self._repeated({**self.said, pair: reason}, done=self.done)

    def withdrawing(self, pair: Pair) -> Body:
        """Everything said so far, without an objection."""
        rest = {other: reason for other, reason in self.said.items() if other != pair}
        return self._repeated(rest, done=self.done)

    def finishing(self) -> list[Body]:
        """Everything said, in as many records as the member wrote by being done then."""
        return [self._repeated(self.said, done=True)] * self.records

    def reopening(self) -> Body:
        """Everything said so far, and not done."""
        return self._repeated(self.said, done=False)

    def _repeated(self, said: Said, *, done: bool) -> Body:
        listed = tuple(
            RepeatedObjection((pair.first, pair.second), said[pair]) for pair in sorted(said)
        )
        return Repeated(self.member, self.round.id, listed, done)
