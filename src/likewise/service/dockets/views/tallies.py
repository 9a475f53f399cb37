"""How a panel works, in numbers that do not grow with its rounds: lately, and month by month."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from likewise.auditing import Agreement, Consistency
from likewise.service.dockets.views.figures import (
    RoundFigures,
    counts_from_json,
    counts_to_json,
    figures,
)
from likewise.service.dockets.views.round import Round

__all__ = ["WINDOW", "MemberCounts", "Tallies", "Untallied"]

# Gaps, agreement and members are told of so many rounds, the latest.
WINDOW = 1000

MemberCounts = Counter[str]


@dataclass
class Month:
    """The audits that ended in a month: agreement, and what each member did."""

    rounds: int = 0
    reports: int = 0
    agreement: Agreement = field(default_factory=Agreement)
    members: dict[str, MemberCounts] = field(default_factory=dict)

    def add(self, one: RoundFigures, *, report: bool) -> None:
        """One more audit."""
        self.rounds += 1
        self.reports += report
        self.agreement += one.agreement
        for member, seat in one.seats.items():
            counts = self.members.setdefault(member, Counter())
            counts["asked"] += 1
            counts[seat] += 1
            counts["objections"] += one.objections.get(member, 0)
            counts["decisive"] += one.decisive.get(member, 0)


class Tallies:
    """The latest rounds in figures, every month's audits, and consistency by member."""

    def __init__(self) -> None:
        self._latest: deque[RoundFigures] = deque(maxlen=WINDOW)
        self.months: dict[str, Month] = {}
        self.consistency: dict[str, Consistency] = {}

    def begin(self, number: int, round_id: str) -> None:
        """One more round; after so many, the first of them is not told of any more."""
        self._latest.append(RoundFigures(number, round_id))

    def audited(self, round_: Round) -> None:
        """The audit of a round has ended: its figures are final."""
        one = figures(round_)
        place = self._place(round_.number)
        if place is not None:
            self._latest[place] = one
        if round_.seats:
            month = self.months.setdefault((round_.audited or "")[:7], Month())
            month.add(one, report=round_.outcome == "report")

    def repeated(self, member: str, before: Consistency, now: Consistency) -> None:
        """Somebody has said more about a round that they were shown again."""
        sums = self.consistency.get(member, Consistency())
        changed = (
            getattr(sums, name) + getattr(now, name) - getattr(before, name)
            for name in ("repeats", "pairs", "same", "both")
        )
        self.consistency[member] = Consistency(*changed)

    def latest(self, opened: Mapping[str, Round]) -> list[RoundFigures]:
        """The latest rounds; those that are under way are counted as they stand."""
        return [
            figures(opened[one.id]) if one.id in opened and not one.seats else one
            for one in self._latest
        ]

    def _place(self, number: int) -> int | None:
        if not self._latest or number < self._latest[0].number:
            return None
        return number - self._latest[0].number

    def to_json(self) -> dict[str, Any]:
        """The numbers as JSON."""
        return {
            "latest": [one.to_json() for one in self._latest],
            "months": {
                name: [
                    month.rounds, month.reports, counts_to_json(month.agreement),
                    {member: dict(counts) for member, counts in month.members.items()},
                ]
                for name, month in self.months.items()
            },
            "consistency": {
                member: [one.repeats, one.pairs, one.same, one.both]
                for member, one in self.consistency.items()
            },
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Tallies:
        """Read them back."""
        made = cls()
        made._latest.extend(map(RoundFigures.from_json, data["latest"]))
        for name, (rounds, reports, agreement, members) in data["months"].items():
            counts = {member: Counter(numbers) for member, numbers in members.items()}
            made.months[name] = Month(rounds, reports, counts_from_json(agreement), counts)
        made.consistency = {m: Consistency(*one) for m, one in data["consistency"].items()}
        return made


class Untallied(Tallies):
    """Tallies that stay empty, for whoever goes through a ledger and asks for no figures."""

    def begin(self, number: int, round_id: str) -> None:
        """Pass over a round."""

    def audited(self, round_: Round) -> None:
        """Pass over an audit, which would be most of the work."""


def summed(several: Iterable[RoundFigures]) -> Agreement:
    """The agreement of some rounds together."""
    return sum((one.agreement for one in several), Agreement())
