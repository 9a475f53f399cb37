"""Rounds in figures: what their panels did, in a few numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, field
from functools import lru_cache
from itertools import accumulate
from operator import sub

import numpy as np

from likewise.learner.attention import Asking
from likewise.numerics.fixed_point import ONE, to_units
from likewise.panel import objections, rule_language
from likewise.panel.agreement import Agreement, Consistency, MemberAgreement, consistency
from likewise.panel.reports import decisive
from likewise_service.dockets.round import Round


def _decisive_votes(round_: Round) -> Counter[str]:
    votes: Counter[str] = Counter()
    for pair in () if round_.in_turn else round_.pairs:
        votes.update(decisive(round_.rule, round_.panel_objections(), pair))
    return votes


def _agreement(round_: Round) -> Agreement:
    """Count agreement among members without a veto: those with one may stop at one pair."""
    if not round_.seats or round_.in_turn or round_.outcome not in ("report", "quiet"):
        return Agreement()
    panel = round_.panel_objections()
    vetoing = _vetoing(round_.rule, tuple(panel.members))
    rest = {name: member for name, member in panel.members.items() if name not in vetoing}
    if len(rest) < 2:
        return Agreement()
    return Agreement.of(objections.Objections(panel.people, rest), _pairs(round_.reportable))


def _pairs(listed: Iterable[tuple[str, str, int]]) -> list[objections.Pair]:
    return [objections.Pair(over, under) for over, under, _ in listed]


@lru_cache(maxsize=256)
def _vetoing(rule: str, members: tuple[str, ...]) -> frozenset[str]:
    alone = rule_language.as_rule(rule).fires(np.eye(len(members), dtype=np.bool_), members)
    return frozenset(m for m, fires in zip(members, alone.tolist(), strict=True) if fires)


def repeat_consistency(round_: Round, member: str) -> Consistency:
    """Compare a member's two reviews of a round (intra-rater), once the second is finished."""
    repeat = round_.repeats.get(member)
    if repeat is None or not repeat.finished:
        return Consistency()
    first = objections.MemberObjections(pairs=round_.objections.get(member, {}))
    second = objections.MemberObjections(pairs=repeat.by_pair)
    return consistency(first, second, _pairs(round_.asked_of(member)))


# The most points; at this number neighbours are merged, so that each covers twice as many rounds.
MOST = 800


@dataclass(slots=True)
class Point:
    """Consecutive rounds: sums over all of them; number, time, multiplier and gap of the last."""

    number: int
    opened: str
    lam: float
    gap: int = 0
    reports: int = 0
    labels: int = 0
    missed: int = 0

    def merged(self, later: Point) -> Point:
        return Point(
            later.number, later.opened, later.lam, later.gap, self.reports + later.reports,
            self.labels + later.labels, self.missed + later.missed,
        )  # fmt: skip


@dataclass
class Curves:
    """Points of ``length`` rounds each; a label that comes late counts for its own round.

    >>> curves = Curves()
    >>> for number in range(1, 4):
    ...     curves.begin(number, "2026-03-01T12:00:00Z", 0.0)
    >>> curves.add(2, reports=1)
    >>> [(point.number, point.reports) for point in curves.cumulative()]
    [(1, 0), (2, 1), (3, 1)]
    """

    length: int = 1
    points: list[Point] = field(default_factory=list)

    def begin(self, number: int, opened: str, lam: float) -> None:
        fresh = Point(number, opened, lam)
        if (number - 1) // self.length < len(self.points):
            self.points[-1] = self.points[-1].merged(fresh)
            return
        if len(self.points) == MOST:
            pairs = zip(self.points[::2], self.points[1::2], strict=True)
            self.points = [first.merged(second) for first, second in pairs]
            self.length *= 2
        self.points.append(fresh)

    def _point(self, number: int) -> Point:
        return self.points[(number - 1) // self.length]

    def add(self, number: int, *, reports: int = 0, labels: int = 0, missed: int = 0) -> None:
        point = self._point(number)
        point.reports += reports
        point.labels += labels
        point.missed += missed

    def set_gap(self, number: int, gap: int) -> None:
        """Keep the largest gap of a round, if it is the last of its point."""
        point = self._point(number)
        if point.number == number:
            point.gap = gap

    def cumulative(self) -> Iterator[Point]:
        return accumulate(self.points, Point.merged)


# Gaps, agreement and members are counted over the latest WINDOW rounds, in sums of BLOCK of them:
# rounds one by one would be most of what a docket has in memory.
WINDOW, BLOCK = 1000, 100
# The largest gaps that are kept.
LARGEST = 10


@dataclass(slots=True)
class MemberCounts:
    """A member's reviews in some rounds: asked for, finished, missed; what they objected to."""

    asked: int = 0
    finished: int = 0
    absent: int = 0
    objections: int = 0
    decisive: int = 0

    def __iadd__(self, other: MemberCounts) -> MemberCounts:
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self


@dataclass
class Audits:
    """Audits of some rounds: agreement, what each member did, and the largest gaps.

    Agreement and decisive votes are of rounds that were put before all members at once: turns
    depend on what the others said. ``gaps`` are (units, round's number, its id, over, under), the
    largest first.
    """

    rounds: int = 0
    reports: int = 0
    agreement: Agreement = field(default_factory=Agreement)
    members: dict[str, MemberCounts] = field(default_factory=dict)
    gaps: list[tuple[int, int, str, str, str]] = field(default_factory=list)

    @classmethod
    def of(cls, round_: Round) -> Audits:
        """Return those of one round as it stands; its audit may be under way."""
        votes, reports = _decisive_votes(round_), int(round_.outcome == "report")
        largest = round_.possible[:1]
        gaps = [(units, round_.number, round_.id, over, under) for over, under, units in largest]
        audits = cls(1, reports, _agreement(round_), gaps=gaps)
        for member, seat in round_.seats.items():
            if seat != "unasked":
                objections, done = len(round_.objections.get(member, {})), int(seat == "finished")
                absent = int(seat == "absent")
                audits.members[member] = MemberCounts(1, done, absent, objections, votes[member])
        return audits

    def __iadd__(self, other: Audits) -> Audits:
        self.rounds += other.rounds
        self.reports += other.reports
        self.agreement += other.agreement
        self.gaps = sorted([*self.gaps, *other.gaps], reverse=True)[:LARGEST]
        for member, counts in other.members.items():
            total = self.members.setdefault(member, MemberCounts())
            total += counts
        return self


# Smallest chances of being shown whole that the docket's own is compared with.
LEASTS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


def chance_at(least: float, chance: int, own: int) -> int:
    """Return a round's chance of being shown whole, in units, at another smallest chance.

    ``chance`` is the recorded one, ``own`` the docket's smallest; above that, an attention is on
    probation.

    >>> [chance_at(least, 100, own) for least, own in ((0.5, 100), (0.5, 50), (0.00001, 50))]
    [524288, 524288, 100]
    """
    return to_units(least) if chance <= own else max(to_units(least), chance)


@dataclass
class Tallies:
    """Audits that ended, in sums: of the latest rounds by hundreds, and by months.

    ``consistency`` is by member. ``shown`` and ``unseen`` are the cost of all rounds at other
    smallest chances, in the order of LEASTS: pairs put before the panel, and reports that nobody
    would have seen, both in units and in expectation, had the attention known the same. A report of
    a pair that the panel saw only by chance counts one over the chance.
    """

    latest: dict[int, Audits] = field(default_factory=dict)
    shown: list[int] = field(default_factory=lambda: [0] * len(LEASTS))
    unseen: list[int] = field(default_factory=lambda: [0] * len(LEASTS))
    months: dict[str, Audits] = field(default_factory=dict)
    consistency: dict[str, Consistency] = field(default_factory=dict)

    def sealed(self, asking: Asking, own: int) -> None:
        """Count what a panel is asked about; ``own`` is the docket's smallest chance."""
        asked = asking.possible if asking.pairs is None else len(asking.pairs)
        for place, least in enumerate(LEASTS):
            by_chance = chance_at(least, asking.chance, own) * (asking.possible - asked)
            self.shown[place] += ONE * asked + by_chance

    def audited(self, round_: Round, own: int) -> None:
        """Add a round whose audit has ended; the oldest hundred leaves a full window."""
        asking = round_.asking
        if asking is not None and not all(map(asking.expected, round_.pairs)):
            for place, least in enumerate(LEASTS):
                missed = ONE - chance_at(least, asking.chance, own)
                self.unseen[place] += missed * ONE // asking.chance
        audit, block = Audits.of(round_), (round_.number - 1) // BLOCK
        hundred = self.latest.setdefault(block, Audits())
        hundred += audit
        oldest = max(self.latest) - WINDOW // BLOCK + 1
        self.latest = {place: sums for place, sums in self.latest.items() if place >= oldest}
        if round_.seats:
            month = self.months.setdefault((round_.audited or "")[:7], Audits())
            month += audit

    def repeated(self, member: str, before: Round, now: Round) -> None:
        """Replace a member's consistency on a round, as it was, by what it is now."""
        total = self.consistency.get(member, Consistency()) + repeat_consistency(now, member)
        replaced = repeat_consistency(before, member)
        self.consistency[member] = Consistency(*map(sub, astuple(total), astuple(replaced)))

    def agreement(self, member: str) -> MemberAgreement:
        """Return how often a member and the others responded the same, in audits that ended."""
        months = (month.agreement.members.get(member) for month in self.months.values())
        return sum((month for month in months if month), MemberAgreement())

    def recent(self, opened: Iterable[Round]) -> Audits:
        """Return the latest rounds together; those under way are counted as they stand."""
        audits = Audits()
        for block in self.latest.values():
            audits += block
        for round_ in opened:
            if round_.outcome is None:
                audits += Audits.of(round_)
        return audits


class Untallied(Tallies):
    """Tallies that stay empty, for a replay, which needs no figures."""

    def sealed(self, asking: Asking, own: int) -> None:
        """Skip what is asked."""

    def audited(self, round_: Round, own: int) -> None:
        """Skip an audit, which would be most of the work."""
