"""Review targets: a round before one member, for the first time or as a hidden repeat.

The same commands act on both. They differ in what is recorded, never in how many records: nothing
that a member sees tells one kind from the other.
"""

from __future__ import annotations

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
    Finished,
    Flagged,
    Reopened,
    Repeated,
    RepeatedObjection,
    Withdrawn,
)


@dataclass(frozen=True)
class Seat:
    """A member's seat at a round; ``again`` is the time at which the round was shown again."""

    round: str
    member: str
    again: str | None = None

    def target(self, projection: Projection) -> ReviewTarget:
        """Return the review as it stands; refused to members who were never asked."""
        round_ = projection.round(self.round)
        if self.again is None:
            if self.member not in round_.seats:
                raise ServiceError(
                    "not-seated", 403,
                    f"{self.member!r} does not sit on the panel of round {self.round!r}.",
                )  # fmt: skip
            return ReviewTarget(projection, round_, self.member)
        if round_.seats.get(self.member) != "finished" or round_.outcome is None:
            raise ServiceError(
                "not-repeatable", 409,
                f"{self.member!r} has not reviewed the round {self.round!r} before.",
            )  # fmt: skip
        return RepeatedReview(projection, round_, self.member, self.again)


class ReviewTarget:
    """A round under audit before one member.

    ``objections`` are the member's pairs with the digests of reasons; ``finished`` tells if they
    have finished.
    """

    asked: str
    due: str | None
    objections: Mapping[Pair, str | None]
    finished: bool

    def __init__(self, projection: Projection, round_: Round, member: str) -> None:
        self.quorum, self.round, self.member = projection.settings.quorum, round_, member
        self.asked, self.due = round_.sealed or round_.opened, round_.due
        self.objections = round_.objections.get(member, {})
        self.finished = round_.seats.get(member) == "finished"

    @property
    def outcome(self) -> Audited:
        """The outcome on record; after the deadline, the one that is about to be recorded."""
        if self.round.outcome is None:
            return self.round.conclusion(self.quorum)
        return Audited(self.round.id, self.round.outcome, self.round.pairs)

    def flagging(self, pair: Pair, reason: str | None) -> Body:
        """Return the record of an objection."""
        return Flagged(self.round.id, self.member, (pair.first, pair.second), reason)

    def withdrawing(self, pair: Pair) -> Body:
        """Return the record that withdraws an objection."""
        return Withdrawn(self.round.id, self.member, (pair.first, pair.second))

    def finishing(self) -> list[Body]:
        """Return the records of a member who finishes; the last member also ends the audit."""
        seats = {**self.round.seats, self.member: "finished"}
        review = Finished(self.round.id, self.member)
        if "asked" in seats.values():
            return [review]
        return [review, self.round.conclusion(self.quorum, seats)]

    def reopening(self) -> Body:
        """Return the record of a member who reopens the review."""
        return Reopened(self.round.id, self.member)

    def status(self, at: str) -> str:
        """Return ``asked``, ``waiting`` (for the others), ``closed`` or ``missed``.

        The deadline may have passed although no record has ended the review yet.
        """
        if passed(self.due, at):
            return "closed" if self.finished else "missed"
        return "waiting" if self.finished else "asked"


class RepeatedReview(ReviewTarget):
    """An earlier round shown again: it measures consistency, and changes nothing else.

    Each record holds everything that the member says so far.
    """

    def __init__(self, projection: Projection, round_: Round, member: str, asked: str) -> None:
        super().__init__(projection, round_, member)
        self.asked, self.due = asked, due_after(asked, projection.settings.deadline)
        repeat = round_.repeats.get(member, Repeat())
        self.objections, self.finished = repeat.objections, repeat.finished

    def flagging(self, pair: Pair, reason: str | None) -> Body:
        """Return the record of an objection."""
        return self._repeated({**self.objections, pair: reason}, finished=self.finished)

    def withdrawing(self, pair: Pair) -> Body:
        """Return the record that withdraws an objection."""
        rest = {key: reason for key, reason in self.objections.items() if key != pair}
        return self._repeated(rest, finished=self.finished)

    def finishing(self) -> list[Body]:
        """Return as many records as the member wrote by finishing the first time."""
        records = self.round.finish_records.get(self.member, 1)
        return [self._repeated(self.objections, finished=True)] * records

    def reopening(self) -> Body:
        """Return the record of a member who reopens the review."""
        return self._repeated(self.objections, finished=False)

    def _repeated(self, objections: Mapping[Pair, str | None], *, finished: bool) -> Body:
        pairs = tuple(
            RepeatedObjection((pair.first, pair.second), objections[pair])
            for pair in sorted(objections)
        )
        return Repeated(self.member, self.round.id, pairs, finished)
