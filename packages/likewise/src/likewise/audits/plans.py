"""A panel's distances and rule as plain arrays, from which compiled code or a GPU counts pairs.

Differences that several auditors weigh are computed once. A rule becomes a few minima and maxima of
distances (:func:`program`). What follows from votes alone (objections, who decides, other rules) is
counted by profile: there are 2^m, and most pairs have the empty one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from likewise.audits.pairs import Block, Question, Tally
from likewise.numerics.fixed_point import FloatArray, IntArray
from likewise.panel import AtLeast, Masked, MetricAuditor, Ratings, Rule, Sides, WeightedL1
from likewise.panel.rules import BoolArray
from likewise.people import People

# Profiles of votes are counted in a table, and the other rules that fire are bits.
MOST_MEMBERS, MOST_RULES = 10, 31
MIN, MAX, TOP = 0, 1, 2
NUMBER, CATEGORY = 0, 1

Term = tuple[str, float | None, int]
"""A feature, the scale of its differences, and their kind."""


class Measures(NamedTuple):
    """The distances of all auditors: differences of columns, and sums of them with weights.

    ``tables`` has the place of each auditor among the distances that numpy measures, or −1.
    """

    columns: FloatArray
    scales: FloatArray
    kinds: IntArray
    ends: IntArray
    terms: IntArray
    weights: FloatArray
    tables: IntArray


class Case(NamedTuple):
    """The scores of everybody, how many people each row stands for, thresholds, rule and bits."""

    scores: npt.NDArray[np.int32]
    counts: IntArray
    alphas: IntArray
    fires: npt.NDArray[np.uint32]
    program: IntArray
    groups: IntArray
    sensitivity: int
    bits: int


class Counts(NamedTuple):
    """The results of a block: by profile, by alphas passed, by pivot, and everybody's own."""

    profiles: IntArray
    passed: IntArray
    pivots: IntArray
    highest: IntArray
    partner: IntArray
    over: IntArray
    under: IntArray
    between_groups: IntArray
    touched: BoolArray


def program(rule: Rule, members: Sequence[str]) -> IntArray:
    """Minima and maxima that make the pivot's key of the members' keys.

    Each line is an operation and two registers: the members', then those of the lines before. The
    last line makes the pivot's.
    """
    lines: dict[tuple[int, int, int], int] = {}

    def join(operation: int, a: int, b: int) -> int:
        line = (operation, min(a, b), max(a, b))
        return lines.setdefault(line, len(members) + len(lines))

    last = _joined(rule, members, join)
    if last < len(members):  # one member's key is the pivot's
        join(MAX, last, last)
    return np.array(list(lines), dtype=np.int64)


def _joined(rule: Rule, members: Sequence[str], join: Any) -> int:
    """The register of the pivot: by rank where votes are counted, else the least of coalitions."""
    if type(rule) is AtLeast:
        seats = [list(members).index(name) for name in rule.of or members]
        needed = rule.needed(len(seats))
        return int(join(TOP, 0, 0) if needed > len(seats) else _ranked(seats, needed, join))
    pivot = None
    for coalition in _coalitions(rule, members):
        furthest = coalition[0]
        for member in coalition[1:]:
            furthest = join(MAX, furthest, member)
        pivot = furthest if pivot is None else join(MIN, pivot, furthest)
    return int(join(TOP, 0, 0)) if pivot is None else pivot


def _ranked(seats: Sequence[int], rank: int, join: Any) -> int:
    """The register of the key of some rank among those of the seats, the first being the least.

    The r-th of the first n keys is min(a, max(b, x)), where x is the last of them, and a and b are
    the r-th and the one before it of the others.
    """
    before: dict[int, int] = {}
    for n, seat in enumerate(seats, start=1):
        ranks = range(max(1, rank - len(seats) + n), min(n, rank) + 1)  # that the last one needs
        above = {r: join(MAX, before[r - 1], seat) if r > 1 else seat for r in ranks}
        before = {r: join(MIN, before[r], above[r]) if r < n else above[r] for r in ranks}
    return before[rank]


def _coalitions(rule: Rule, members: Sequence[str]) -> list[tuple[int, ...]]:
    """The least sets of members whose objections suffice."""
    fires = rule.fires(profiles(len(members)), members)
    least: list[tuple[int, ...]] = []
    for size in range(1, len(members) + 1):
        for coalition in combinations(range(len(members)), size):
            enough = fires[sum(1 << member for member in coalition)]
            if enough and not any(set(other) <= set(coalition) for other in least):
                least.append(coalition)
    return least


def profiles(members: int) -> BoolArray:
    """Every way to vote, (m, 2^m): member a objects in the profiles whose bit a is set."""
    return (np.arange(1 << members) >> np.arange(members)[:, None] & 1).astype(np.bool_)


def _weighted(auditor: MetricAuditor, people: People) -> list[tuple[Term, float]] | None:
    """Features with scales and weights, where the distance is a sum of their differences."""
    distance = auditor.distance
    if type(auditor) is not MetricAuditor:
        return None
    if type(distance) is Masked and distance._bare is not None:
        distance = distance._bare
    if type(distance) is Ratings and isinstance(distance.ratings, str):
        distance._column(people)  # refuses ratings that are out of range
        return [((distance.ratings, distance.high - distance.low, NUMBER), 1.0)]
    if type(distance) is not WeightedL1:
        return None
    scales = dict(distance.scales)
    return [(_term(people, name, scales.get(name)), weight) for name, weight in distance.weights]


def _term(people: People, name: str, scale: float | None) -> Term:
    feature = people.schema[name]
    if feature.kind == "category":
        return name, None, CATEGORY
    whole = 1.0 if feature.kind == "flag" else feature.high - feature.low
    return name, whole if scale is None else scale, NUMBER


class Plan:
    """A question as arrays. Distances that are no weighted sums are ``measured`` by numpy."""

    def __init__(self, question: Question) -> None:
        self.question = question
        people, panel = question.people, question.panel
        nobody = people.take([0])
        for auditor in panel.auditors:  # which refuses a distance that is wrong
            auditor.between(Sides(nobody, nobody))
        sums = [_weighted(auditor, people) for auditor in panel.auditors]
        self.measured = [a for a, terms in zip(panel.auditors, sums, strict=True) if terms is None]
        self.measures = _measures(people, sums)
        self.profiles = profiles(len(panel.members))
        fires = np.zeros(1 << len(panel.members), dtype=np.uint32)
        for place, rule in enumerate(question.rules):
            fired = rule.fires(self.profiles, panel.members)
            fires |= fired.astype(np.uint32) << np.uint32(place)
        self.decisive = panel.rule.decisive(self.profiles, panel.members).astype(np.int64)
        self.case = Case(
            question.scores.astype(np.int32), question.counts, question.alphas.astype(np.int64),
            fires, program(panel.rule, panel.members), question.groups, question.sensitivity,
            question.place_bits,
        )  # fmt: skip

    def sum_up(
        self, tally: Tally, block: Block, profiles: IntArray, passed: IntArray, pivots: IntArray
    ) -> None:
        """Add what follows from the profiles, of which the empty one was not counted."""
        pairs = self.question.pairs_of(block)
        profiles[0] += pairs - int(profiles.sum())
        tally.pairs += pairs
        tally.above += np.cumsum(passed[::-1])[::-1][1:]
        tally.pivots += pivots
        tally.objections += self.profiles.astype(np.int64) @ profiles
        tally.decisive += self.decisive @ profiles
        np.add.at(tally.objectors, self.profiles.sum(axis=0), profiles)
        for place in range(len(self.question.rules)):
            bit = np.uint32(1 << place)
            tally.by_rule[place] += profiles[(self.case.fires & bit) != 0].sum()


def _measures(people: People, sums: Sequence[list[tuple[Term, float]] | None]) -> Measures:
    places: dict[Term, int] = {}
    for term, _ in (pair for terms in sums for pair in terms or ()):
        places.setdefault(term, len(places))
    columns = np.empty((len(places), len(people)))
    for (name, _, _), place in places.items():
        column = people.column(name)
        columns[place] = np.where(np.isnan(column), np.inf, column)
    lengths = [len(terms or ()) for terms in sums]
    measured = np.array([terms is None for terms in sums])
    return Measures(
        columns,
        np.array([1.0 if scale is None else scale for _, scale, _ in places], dtype=np.float64),
        np.array([kind for _, _, kind in places], dtype=np.int64),
        np.cumsum([0, *lengths]),
        np.array([places[term] for terms in sums for term, _ in terms or ()], dtype=np.int64),
        np.array([weight for terms in sums for _, weight in terms or ()], dtype=np.float64),
        np.where(measured, np.cumsum(measured) - 1, -1),
    )


def fits(question: Question) -> bool:
    """Test whether profiles of votes and other rules are few enough for a kernel."""
    return len(question.panel.members) <= MOST_MEMBERS and len(question.rules) <= MOST_RULES
