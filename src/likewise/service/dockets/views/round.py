"""A round as its records tell it, and what a panel may say about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from likewise.auditing import MemberObjections, Objections, Pair, exceeds, report
from likewise.events import Audited, Decision, Outcome

__all__ = ["Repeat", "Round"]


@dataclass(frozen=True)
class Repeat:
    """A second review of a round by a member: what they said this time.

    ``said`` holds the digest of each reason, if there is one; until it is ``done`` the member may
    still change their mind.
    """

    said: Mapping[Pair, str | None] = field(default_factory=dict)
    done: bool = False
    at: str = ""


@dataclass(frozen=True)
class Round:
    """All that the ledger says about one round, at one moment: a later record makes another value.

    ``seats`` says of every member that they are still ``asked``, have ``reviewed``, or were
    ``absent``; ``objections`` holds the digest of each reason, if there is one; ``reasons`` has
    all that were ever given, also for objections that were taken back. ``finished`` says how many
    records a member wrote by being done: the last one ends the audit too; ``finishing`` is the
    last record of such a member, (number, time, member). ``repeats`` are second reviews by member.
    ``explanations`` are the digests of the reasons of overrides. ``erased`` says when.
    """

    id: str
    number: int
    opened: str
    sensitivity: int
    people: Mapping[str, str | None] = field(default_factory=dict)
    decisions: Mapping[str, Decision] = field(default_factory=dict)
    sealed: str | None = None
    rule: str = ""
    drawn: bool = False
    due: str | None = None
    seats: Mapping[str, str] = field(default_factory=dict)
    objections: Mapping[str, Mapping[Pair, str | None]] = field(default_factory=dict)
    reasons: Mapping[str, Pair] = field(default_factory=dict)
    finished: Mapping[str, int] = field(default_factory=dict)
    finishing: tuple[int, str, str] = (0, "", "")
    outcome: Outcome | None = None
    pairs: tuple[tuple[str, str], ...] = ()
    audited: str | None = None
    labels: Mapping[str, int] = field(default_factory=dict)
    overrides: Mapping[str, bool] = field(default_factory=dict)
    explanations: Mapping[str, str] = field(default_factory=dict)
    erased: Mapping[str, str] = field(default_factory=dict)
    repeats: Mapping[str, Repeat] = field(default_factory=dict)
    closed: str | None = None

    def changed(self, **changes: Any) -> Round:
        """The same round with other values; every record passes here, so nothing is checked."""
        other = object.__new__(Round)
        other.__dict__.update(self.__dict__, **changes)
        if "decisions" in changes:
            other.__dict__.pop("_reportable", None)
        return other

    @property
    def status(self) -> str:
        """``arriving``, ``in audit``, ``awaiting labels`` or ``closed``."""
        if self.closed:
            return "closed"
        if self.sealed is None:
            return "arriving"
        return "in audit" if self.outcome is None else "awaiting labels"

    def reportable(self) -> list[tuple[str, str, int]]:
        """The pairs that could be reported at all, (over, under, gap), the largest gap first."""
        # Asked for at every look at a round, and the same as long as the decisions are.
        known: list[tuple[str, str, int]] | None = self.__dict__.get("_reportable")
        if known is None:
            known = self.__dict__["_reportable"] = self._ranked()
        return known

    def _ranked(self) -> list[tuple[str, str, int]]:
        ids = list(self.decisions)
        scores = np.array([decision.score for decision in self.decisions.values()], dtype=np.int64)
        gaps = scores[:, None] - scores
        places = np.argwhere(exceeds(gaps, 0, self.sensitivity)).tolist()
        pairs = [(ids[over], ids[under], int(gaps[over, under])) for over, under in places]
        return sorted(pairs, key=lambda pair: (-pair[2], pair[0], pair[1]))

    def can_report(self, pair: Pair) -> bool:
        """Tell if a pair of the round is among them."""
        first, second = (self.decisions[person].score for person in pair)
        return bool(exceeds(abs(first - second), 0, self.sensitivity))

    def favoured_first(self, pair: Pair) -> tuple[str, str]:
        """The person with the higher score, then the other."""
        over, under = sorted(pair, key=lambda person: -self.decisions[person].score)
        return over, under

    @property
    def largest_gap(self) -> int:
        """The largest difference between two scores."""
        scores = [decision.score for decision in self.decisions.values()]
        return max(scores) - min(scores) if scores else 0

    def spoken(self, seats: Mapping[str, str] | None = None) -> Objections:
        """The panel's objections; whoever has not reviewed the round counts as absent."""
        return Objections(
            tuple(self.decisions),
            {
                member: MemberObjections(pairs=self.objections.get(member, {}))
                if seat == "reviewed"
                else MemberObjections(present=False)
                for member, seat in (self.seats if seats is None else seats).items()
            },
        )

    def conclusion(self, quorum: int, seats: Mapping[str, str] | None = None) -> Audited:
        """The end of the audit: the rule over what those present said, if they were enough.

        The docket records it, and replay compares with it.
        """
        seats = self.seats if seats is None else seats
        present = [member for member, seat in seats.items() if seat == "reviewed"]
        if not seats or len(present) < min(quorum, len(seats)):
            return Audited(self.id, "unaudited")
        if not any(self.objections.get(member) for member in present):
            return Audited(self.id, "quiet")  # every rule is silent when nobody objects
        scores = [decision.score for decision in self.decisions.values()]
        pairs = report(self.rule, self.spoken(seats), scores).pairs
        return Audited(self.id, "report" if pairs else "quiet", pairs)
