"""How a panel works, in numbers that do not grow with its rounds: lately, and month by month."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from likewise.auditing.agreement import Consistency
from likewise.auditing.agreement_counts import AgreementCounts
from likewise.service.dockets.views.figures import RoundFigures, figures
from likewise.service.dockets.views.round import Round

# Gaps, agreement and members are counted over this many rounds, the latest.
WINDOW = 1000


@dataclass
class Month:
    """The audits that ended in a month: agreement, and what each member did."""

    rounds: int = 0
    reports: int = 0
    agreement: AgreementCounts = field(default_factory=AgreementCounts)
    members: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, audit: RoundFigures, *, report: bool) -> None:
        """Count an audit."""
        self.rounds += 1
        self.reports += report
        self.agreement += audit.agreement
        for member, seat in audit.seats.items():
            counts = self.members.setdefault(member, Counter())
            counts["asked"] += 1
            counts[seat] += 1
            counts["objections"] += audit.objections.get(member, 0)
            counts["decisive"] += audit.decisive.get(member, 0)


@dataclass
class Tallies:
    """The latest rounds in figures, every month's audits, and consistency by member."""

    window: list[RoundFigures] = field(default_factory=list)
    months: dict[str, Month] = field(default_factory=dict)
    consistency: dict[str, Consistency] = field(default_factory=dict)

    def begin(self, number: int, round_id: str) -> None:
        """Add a round; the oldest leaves a full window."""
        self.window.append(RoundFigures(number, round_id))
        if len(self.window) > WINDOW:
            del self.window[0]

    def audited(self, round_: Round) -> None:
        """Keep the final figures of a round whose audit has ended."""
        audit = figures(round_)
        index = round_.number - self.window[0].number
        if index >= 0:
            self.window[index] = audit
        if round_.seats:
            month = self.months.setdefault((round_.audited or "")[:7], Month())
            month.add(audit, report=round_.outcome == "report")

    def repeated(self, member: str, before: Consistency, now: Consistency) -> None:
        """Replace a member's consistency on one round by another."""
        total = self.consistency.get(member, Consistency())
        self.consistency[member] = Consistency(
            total.repeats + now.repeats - before.repeats,
            total.pairs + now.pairs - before.pairs,
            total.same + now.same - before.same,
            total.both + now.both - before.both,
        )

    def latest(self, opened: Mapping[str, Round]) -> list[RoundFigures]:
        """Return the latest rounds; those under way are counted as they stand."""
        return [
            figures(opened[entry.id]) if entry.id in opened and not entry.seats else entry
            for entry in self.window
        ]


class Untallied(Tallies):
    """Tallies that stay empty, for a replay, which needs no figures."""

    def begin(self, number: int, round_id: str) -> None:
        """Skip a round."""

    def audited(self, round_: Round) -> None:
        """Skip an audit, which would be most of the work."""


def summed(rounds: Iterable[RoundFigures]) -> AgreementCounts:
    """Return the agreement of some rounds together."""
    return sum((entry.agreement for entry in rounds), AgreementCounts())
