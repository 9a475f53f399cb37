"""The counts of a block of pairs in compiled code: the integers of :meth:`pairs.Tally.add`, sooner.

A row of pairs, somebody with up to 256 others, stays in the nearest cache from the differences of
features to the counts. Differences that several auditors weigh are computed once. A rule becomes a
few minima and maxima of distances (:func:`program`). What follows from votes alone (objections,
who decides, other rules) is counted by profile: there are 2^m, and most pairs have the empty one.

Distances other than :class:`~likewise.panel.WeightedL1` and ratings in a column are measured by
numpy, block by block, and counted here.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from likewise.audits.pairs import NEVER, Block, Question, Tally
from likewise.learner.compiled.vectors import compiled
from likewise.numerics.fixed_point import ONE, FloatArray, IntArray
from likewise.panel.metrics import Masked, Ratings, Sides, WeightedL1
from likewise.panel.panels import MetricAuditor
from likewise.panel.rules import AtLeast, Rule
from likewise.people.schema import People

# Pairs of a row that are counted together.
WIDTH = 256
# Profiles of votes are counted in a table, and the other rules that fire are bits.
MOST_MEMBERS, MOST_RULES = 10, 31
MIN, MAX, TOP = 0, 1, 2
NUMBER, CATEGORY = 0, 1
_UNITS, _TWO_52 = float(ONE), 2.0**52

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
    touched: npt.NDArray[np.bool_]


class Worst(NamedTuple):
    """The last of the worst pairs so far, and those of a block that come before it."""

    last: IntArray
    excess: IntArray
    first: IntArray
    second: IntArray


@compiled
def _differences(measures: Measures, i: int, start: int, size: int, differ: Any) -> None:
    """min(1, |x_i − x_j|/scale) in every column; missing values are infinite."""
    for u in range(len(measures.scales)):
        value, scale = measures.columns[u, i], measures.scales[u]
        column, row = measures.columns[u, start : start + size], differ[u]
        if measures.kinds[u] == CATEGORY or value == np.inf:
            for j in range(size):
                row[j] = 1.0 if column[j] != value else 0.0
        else:
            for j in range(size):
                apart = abs(column[j] - value) / scale
                row[j] = apart if apart < 1.0 else 1.0


@compiled
def _keys(
    measures: Measures, tables: Any, i: int, place: int, size: int, bits: int, differ: Any,
    total: Any, keys: Any,
) -> None:  # fmt: skip
    """Distances with the members' places in their low bits; row i, from ``place`` in the tables."""
    for a in range(len(measures.tables)):
        key = keys[a]
        if measures.tables[a] >= 0:
            table = tables[measures.tables[a], i, place : place + size]
            for j in range(size):
                key[j] = (table[j] << bits) | a
            continue
        total[:size] = 0.0
        for t in range(measures.ends[a], measures.ends[a + 1]):
            weight, row = measures.weights[t], differ[measures.terms[t]]
            for j in range(size):
                total[j] += weight * row[j]
        for j in range(size):
            units = (total[j] if total[j] < 1.0 else 1.0) * _UNITS
            # Adding 2^52 rounds to the nearest integer, halves to even.
            key[j] = (np.int32((units + _TWO_52) - _TWO_52) << bits) | a


@compiled
def _run(program: Any, size: int, top: int, keys: Any, members: int) -> None:
    """Minima and maxima of keys, one after the other; the last is the pivot's key."""
    for p in range(len(program)):
        operation = program[p, 0]
        a, b, result = keys[program[p, 1]], keys[program[p, 2]], keys[members + p]
        if operation == MIN:
            for j in range(size):
                result[j] = min(a[j], b[j])
        elif operation == MAX:
            for j in range(size):
                result[j] = max(a[j], b[j])
        else:
            result[:size] = top


@compiled
def _touch(touched: Any, person: int, fired: Any) -> None:
    """Note which of the other rules fired on a pair with somebody."""
    for rule in range(len(touched)):
        if (fired >> np.uint32(rule)) & np.uint32(1):
            touched[rule, person] = True


@compiled
def _sides(case: Case, counts: Counts, i: int, j: int, ordered: bool) -> None:
    """Count a reported pair of i and j by person and by group; of j only in blocks in order."""
    i_is_over = case.scores[i] > case.scores[j]
    over, under = (i, j) if i_is_over else (j, i)
    if i_is_over or ordered:
        counts.over[over] += case.counts[under]
    if not i_is_over or ordered:
        counts.under[under] += case.counts[over]
    for t in range(len(case.groups)):
        place = case.groups[t, over], case.groups[t, under]
        counts.between_groups[t, place[0], place[1]] += case.counts[i] * case.counts[j]


@compiled
def _keep(worst: Worst, kept: int, i: int, start: int, size: int, excess: Any) -> int:
    """Write down the pairs that come before the last of the worst."""
    least, first, second = worst.last[0], worst.last[1], worst.last[2]
    for j in range(size):
        if excess[j] >= least:
            low, high = min(i, start + j), max(i, start + j)
            if excess[j] > least or low < first or (low == first and high < second):
                worst.excess[kept], worst.first[kept], worst.second[kept] = excess[j], low, high
                kept += 1
    return kept


@compiled
def count_block(
    left: Any, start: int, stop: int, ordered: bool, measures: Measures, tables: Any, case: Case,
    counts: Counts, worst: Worst,
) -> int:  # fmt: skip
    """Count the pairs of some people with those from start to stop; return how many are kept."""
    members, bits = len(measures.tables), case.bits
    differ = np.empty((len(measures.scales), WIDTH))
    total = np.empty(WIDTH)
    keys = np.empty((members + len(case.program), WIDTH), dtype=np.int32)
    gap, excess, votes = np.empty((3, WIDTH), dtype=np.int32)
    top = np.int32((ONE + 1) << bits)
    pivot = keys[members + len(case.program) - 1]
    kept = 0
    for row in range(len(left)):
        i = left[row]
        best, mate, fired = np.int64(NEVER), np.int64(len(case.scores)), np.uint32(0)
        place = max(i + 1, start) if ordered else start
        while place < stop:
            # Nobody is compared with themselves.
            end = i if place < i < stop else stop
            size = min(WIDTH, end - place)
            if place == i:
                place += 1
                continue
            _differences(measures, i, place, size, differ)
            _keys(measures, tables, row, place - start, size, bits, differ, total, keys)
            for j in range(size):
                gap[j] = abs(case.scores[place + j] - case.scores[i])
                votes[j] = 0
            for a in range(members):
                key, vote = keys[a], np.int32(1) << np.int32(a)
                for j in range(size):
                    votes[j] |= vote if gap[j] - (key[j] >> bits) > case.sensitivity else 0
            _run(case.program, size, top, keys, members)
            highest = counts.highest[place : place + size]
            partner = counts.partner[place : place + size]
            most = np.int32(NEVER)
            for j in range(size):
                excess[j] = gap[j] - (pivot[j] >> bits)
                most = max(most, excess[j])
            for j in range(size):
                higher = excess[j] > highest[j] or (excess[j] == highest[j] and i < partner[j])
                highest[j] = excess[j] if higher else highest[j]
                partner[j] = i if higher else partner[j]
            if most > best:  # the first of equals
                best, j = np.int64(most), 0
                while excess[j] < most:
                    j += 1
                mate = np.int64(place + j)
            for j in range(size):
                if votes[j] != 0 or excess[j] > case.alphas[0]:
                    weight = case.counts[i] * case.counts[place + j]
                    counts.profiles[votes[j]] += weight
                    fired |= case.fires[votes[j]]
                    _touch(counts.touched, place + j, case.fires[votes[j]])
                    passed = 0
                    while passed < len(case.alphas) and excess[j] > case.alphas[passed]:
                        passed += 1
                    counts.passed[passed] += weight
                    if excess[j] > case.sensitivity:
                        counts.pivots[pivot[j] & ((1 << bits) - 1)] += weight
                        _sides(case, counts, i, place + j, ordered)
            if most >= worst.last[0]:
                kept = _keep(worst, kept, i, place, size, excess)
            place += size
        if best > counts.highest[i] or (best == counts.highest[i] and mate < counts.partner[i]):
            counts.highest[i], counts.partner[i] = best, mate
        _touch(counts.touched, i, fired)
    return kept


def program(rule: Rule, members: Sequence[str]) -> IntArray:
    """Minima and maxima that make the pivot's key of the members' keys.

    Each line is an operation and two registers: the members', then those of the lines before.

    >>> from likewise.panel import at_least
    >>> program(at_least(2), ["a", "b"]).tolist()
    [[1, 0, 1]]
    """
    lines: dict[tuple[int, int, int], int] = {}

    def join(operation: int, a: int, b: int) -> int:
        line = (operation, min(a, b), max(a, b))
        return lines.setdefault(line, len(members) + len(lines))

    last = _joined(rule, members, join)
    # The pivot's key is that of the last line.
    if not lines or last != len(members) + len(lines) - 1:
        lines[MAX, last, last] = len(members) + len(lines)
    return np.array(list(lines), dtype=np.int64)


def _joined(rule: Rule, members: Sequence[str], join: Any) -> int:
    """The register of the pivot: sorted where votes are counted, else the least of coalitions."""
    if type(rule) is AtLeast:
        seats = [list(members).index(name) for name in rule.of or members]
        needed = rule.needed(len(seats))
        if needed > len(seats):
            return int(join(TOP, 0, 0))
        for done in range(needed):
            for place in range(len(seats) - 1, done, -1):
                below, above = seats[place - 1], seats[place]
                seats[place - 1], seats[place] = join(MIN, below, above), join(MAX, below, above)
        return seats[needed - 1]
    pivot = None
    for coalition in _coalitions(rule, members):
        furthest = coalition[0]
        for member in coalition[1:]:
            furthest = join(MAX, furthest, member)
        pivot = furthest if pivot is None else join(MIN, pivot, furthest)
    return int(join(TOP, 0, 0)) if pivot is None else pivot


def _coalitions(rule: Rule, members: Sequence[str]) -> list[tuple[int, ...]]:
    """The least sets of members whose objections suffice."""
    fires, least = rule.fires(profiles(len(members)), members), []
    for size in range(1, len(members) + 1):
        for coalition in combinations(range(len(members)), size):
            enough = fires[sum(1 << member for member in coalition)]
            if enough and not any(set(other) <= set(coalition) for other in least):
                least.append(coalition)
    return least


def profiles(members: int) -> npt.NDArray[np.bool_]:
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


class Kernel:
    """The compiled counts of a question; made once, and used by any number of threads."""

    def __init__(self, question: Question) -> None:
        self.question = question
        people, panel = question.people, question.panel
        nobody = people.take([0])
        for auditor in panel.auditors:  # whatever is wrong with a distance is said as ever
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

    def add(self, tally: Tally, block: Block) -> None:
        """Count the pairs of a block; those that are drawn one by one are left to numpy."""
        if block.paired:
            tally.add(block)
            return
        start, stop = int(block.right[0]), int(block.right[-1]) + 1
        counts = Counts(
            np.zeros(self.profiles.shape[1], dtype=np.int64),
            np.zeros(len(self.case.alphas) + 1, dtype=np.int64),
            np.zeros(len(self.profiles), dtype=np.int64),
            tally.highest, tally.partner, tally.over, tally.under, tally.between_groups,
            tally.touched_by_rule,
        )  # fmt: skip
        last = np.array(tally.last_kept, dtype=np.int64)
        kept = np.empty((3, block.size if last[0] <= ONE else 0), dtype=np.int64)
        number = count_block(
            block.left, start, stop, block.ordered, self.measures, self._tables(block), self.case,
            counts, Worst(last, *kept),
        )  # fmt: skip
        self._sum_up(tally, block, counts)
        tally.keep(*kept[:, :number])

    def _tables(self, block: Block) -> npt.NDArray[np.int32]:
        """The distances that numpy measures."""
        if not self.measured:
            return np.empty((0, 0, 0), dtype=np.int32)
        sides = self.question.sides(block)
        return np.stack([auditor.between(sides).astype(np.int32) for auditor in self.measured])

    def _sum_up(self, tally: Tally, block: Block, counts: Counts) -> None:
        """Add what follows from the profiles, of which the empty one was not counted."""
        pairs = self.question.pairs_of(block)
        counts.profiles[0] += pairs - int(counts.profiles.sum())
        tally.pairs += pairs
        tally.above += np.cumsum(counts.passed[::-1])[::-1][1:]
        tally.pivots += counts.pivots
        tally.objections += self.profiles.astype(np.int64) @ counts.profiles
        tally.decisive += self.decisive @ counts.profiles
        np.add.at(tally.objectors, self.profiles.sum(axis=0), counts.profiles)
        for place in range(len(self.question.rules)):
            bit = np.uint32(1 << place)
            tally.by_rule[place] += counts.profiles[(self.case.fires & bit) != 0].sum()


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
