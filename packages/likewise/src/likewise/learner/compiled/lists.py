"""Draws from a list of hypotheses: integers of 16 bits first, longer ones where in doubt.

A draw is argmin_h c_h + Σ_q n_q·h(q). All of its scores are computed from *short* integers, and
the best is kept with its lead on the second best:

    N_q = rint(f·n_q),   C_h = rint(f·c_h),   V_h = C_h + Σ_q N_q·h(q)

with a factor f that makes every V_h fit. Sums of integers are exact, so the difference of two V is
off from f times that of the scores only by the roundings in it: one for each point on which the two
hypotheses differ, and one for each of their costs, s + 2 at most. Each is off by a half (and by
less than 2^-18, since float64 rounds the product first). So the best is the draw, and the only one,
if its lead on the second best is s/2 + 3/2 or more. The other draws are searched again with 32
bits, and those still in doubt (ties, or nearly so) with the costs and the noise as they are.

**They fit.** Σ_q |n_q| ≤ M for all draws of a block. Two hypotheses' noise differs by at most M,
so a hypothesis that costs M more than the cheapest is never chosen: costs above that are cut off,
or their hypotheses left out. Half of Σ_q N_q is subtracted from all V_h of a draw, and half of
their range C from all costs: |V_h| ≤ f·(M + C)/2 + s/4 + 2.

The choices are those of the reference engine for any costs and noise: where its sums could exceed
63 bits, costs and noise are used as they are, and int64 wraps around the same way in any order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from likewise.hypotheses.base import Bits, Points
from likewise.hypotheses.lists import Listed
from likewise.learner.compiled import vectors
from likewise.learner.compiled.noise import LANES, fill, source_of
from likewise.learner.compiled.vectors import compiled
from likewise.numerics.fixed_point import IntArray
from likewise.numerics.randomness import Noise

# Digests of the files that are built in here: see tests/engines/test_compilation.py.
BUILT_IN = {"vectors": "d620405a0e601aa7"}


@compiled
def spread(noise: Any) -> Any:
    """An upper bound on Σ_q |noise_q| of every draw, for noise[q, draw]."""
    points, draws = noise.shape
    sums = np.zeros(draws, dtype=np.float64)
    for q in range(points):
        row = noise[q]
        for draw in range(draws):
            sums[draw] += np.abs(np.float64(row[draw]))
    largest = 0.0
    for draw in range(draws):
        largest = max(largest, sums[draw])
    # Each of the additions is off by 2^-53 of its sum.
    return largest * (1.0 + 1e-6)


@compiled
def _quantise(noise: Any, start: Any, end: Any, factor: Any, points: Any) -> None:
    """points[q] = rint(factor·noise_q), followed by the row −(their sum)/2, rounded down.

    A factor of 0 means the noise as it is, and no half of a sum.
    """
    s = len(noise)
    lanes = min(points.shape[1], end - start)
    total = np.zeros(lanes, dtype=np.int64)
    points[:, lanes:] = 0
    for q in range(s):
        row = noise[q, start : start + lanes]
        if factor == 0.0:
            for lane in range(lanes):
                points[q, lane] = row[lane]
        else:
            for lane in range(lanes):
                number = np.int64(np.rint(np.float64(row[lane]) * factor))
                points[q, lane] = number
                total[lane] += number
    for lane in range(lanes):
        points[s, lane] = -(total[lane] >> 1)


@compiled
def _sums_of_groups(points: Any, bits: Any, table: Any) -> None:
    """The sums over all subsets of each group of points, those of the first with the last row."""
    s = len(points) - 1
    for first in range(0, s, bits):
        base = (first // bits) << bits
        start = vectors.load(points, s) if first == 0 else vectors.everywhere(table.dtype.type(0))
        vectors.store(table, base, start)
        for i in range(min(bits, s - first)):
            point = vectors.load(points, first + i)
            for code in range(1 << i):
                with_it = vectors.plus(vectors.load(table, base + code), point)
                vectors.store(table, base + (1 << i) + code, with_it)


@compiled
def _keep(best_rows: Any, best: Any, second: Any, place: Any) -> None:
    vectors.store(best_rows, 0, best)
    vectors.store(best_rows, 1, second)
    vectors.store(best_rows, 2, place)


@compiled
def _scan_groups(codes: Any, costs: Any, first: Any, last: Any, table: Any, best_rows: Any) -> None:
    """The best score of the hypotheses first … last, the second best, and the best one's place."""
    kind = table.dtype.type
    best = vectors.everywhere(kind(np.iinfo(kind).max))
    second, place = best, vectors.everywhere(kind(0))
    for h in range(first, last):
        score = vectors.everywhere(costs[h])
        for group in range(codes.shape[1]):
            score = vectors.plus(score, vectors.load(table, codes[h, group]))
        worse = vectors.if_less(best, score, score, best)
        second = vectors.if_less(worse, second, worse, second)
        place = vectors.if_less(score, best, vectors.everywhere(kind(h - first)), place)
        best = vectors.if_less(score, best, score, best)
    _keep(best_rows, best, second, place)


@compiled
def _scan_steps(
    ends: Any, steps: Any, costs: Any, first: Any, last: Any, table: Any, best_rows: Any
) -> None:
    """The same along a path: each sum is the one before it and a few steps. Row 3: that sum."""
    kind = table.dtype.type
    best = vectors.everywhere(kind(np.iinfo(kind).max))
    second, place = best, vectors.everywhere(kind(0))
    total = vectors.load(best_rows, 3)
    step = ends[first]
    for h in range(first, last):
        end = ends[h + 1]
        while step < end:
            total = vectors.plus(total, vectors.load(table, steps[step]))
            step += 1
        score = vectors.plus(total, vectors.everywhere(costs[h]))
        worse = vectors.if_less(best, score, score, best)
        second = vectors.if_less(worse, second, worse, second)
        place = vectors.if_less(score, best, vectors.everywhere(kind(h - first)), place)
        best = vectors.if_less(score, best, score, best)
    _keep(best_rows, best, second, place)
    vectors.store(best_rows, 3, total)


@compiled
def _merge(best_rows: Any, first: Any, choice: Any, best: Any, gap: Any) -> None:
    """Take the best of some more hypotheses into that of all before them: gap = second − best."""
    for lane in range(len(choice)):
        score, second = np.int64(best_rows[0, lane]), np.int64(best_rows[1, lane])
        if first == 0 or score < best[lane]:
            if first > 0:
                second = min(second, best[lane])
            gap[lane] = second - score
            best[lane] = score
            choice[lane] = first + np.int64(best_rows[2, lane])
        else:
            gap[lane] = min(gap[lane], score - best[lane])


@compiled
def _space(noise: Any, costs: Any) -> Any:
    """Work space of a search: points[q, lane], best[lane], and the hypotheses in a block."""
    lanes = vectors.REGISTER_BYTES // costs.itemsize
    block = int(min(np.int64(np.iinfo(costs.dtype).max), np.int64(1 << 30)))
    points = np.empty((len(noise) + 1, lanes), dtype=costs.dtype)
    return points, np.empty(lanes, dtype=np.int64), block


@compiled
def search_by_groups(
    noise: Any, draws: Any, factor: Any, costs: Any, layout: Any, out: Any
) -> None:
    """choice[draw] = argmin_h costs[h] + Σ_group table[codes[h, group]], for noise[q, draw].

    ``draws`` are (begin, end), ``layout`` is (codes, bits) and ``out`` (choice, gap).
    """
    codes, bits = layout
    points, best, block = _space(noise, costs)
    lanes = len(best)
    table = np.empty((codes.shape[1] << bits, lanes), dtype=costs.dtype)
    best_rows = np.empty((3, lanes), dtype=costs.dtype)
    (begin, end), (choice, gap) = draws, out
    for start in range(begin, end, lanes):
        stop = min(end, start + lanes)
        _quantise(noise, start, end, factor, points)
        _sums_of_groups(points, bits, table)
        for first in range(0, len(costs), block):
            _scan_groups(codes, costs, first, min(len(costs), first + block), table, best_rows)
            _merge(best_rows, first, choice[start:stop], best, gap[start:stop])


@compiled
def search_by_steps(noise: Any, draws: Any, factor: Any, costs: Any, layout: Any, out: Any) -> None:
    """The same along a path, a layout (ends, steps): q puts point q in, s + q takes it out."""
    ends, steps = layout
    points, best, block = _space(noise, costs)
    s, lanes = len(noise), len(best)
    table = np.empty((2 * s, lanes), dtype=costs.dtype)
    best_rows = np.empty((4, lanes), dtype=costs.dtype)
    (begin, end), (choice, gap) = draws, out
    for start in range(begin, end, lanes):
        stop = min(end, start + lanes)
        _quantise(noise, start, end, factor, points)
        for q in range(s):
            for lane in range(lanes):
                table[q, lane] = points[q, lane]
                table[s + q, lane] = -points[q, lane]
        best_rows[3] = points[s]
        for first in range(0, len(costs), block):
            _scan_steps(ends, steps, costs, first, min(len(costs), first + block), table, best_rows)
            _merge(best_rows, first, choice[start:stop], best, gap[start:stop])


Indices = npt.NDArray[Any]

LARGEST_GROUP = 8
# Rows of the table of sums: half a megabyte, which the second cache of a core holds.
MOST_ROWS = 4096
# What else a hypothesis takes, in additions: to keep the best, the second best and the place; and,
# where the number of steps changes, the processor's wrong guess.
THE_REST = 5.0
WRONG_GUESS = 3.0
# A subset of the hypotheses has a layout of its own if that takes at most this share of additions.
WORTH_IT = 0.8


@dataclass(frozen=True, eq=False)
class Layout:
    """Some hypotheses of a list, in an order of their own, and how their noise is added up.

    ``members`` are the hypotheses by place, ``work`` the additions of a draw; ``kernel`` searches
    ``parts``.
    """

    members: IntArray
    work: float
    kernel: Any
    parts: tuple[Any, ...]

    def search(
        self, costs: Indices, noise: IntArray, draws: tuple[int, int], factor: float,
        choice: IntArray, gap: IntArray,
    ) -> None:  # fmt: skip
        """Write the best place of the draws in a range, and its lead on the second best.

        ``costs``, one for every place, have the type of the integers. The noise is multiplied by
        the factor and rounded; with a factor of 0 it is used as it is.
        """
        self.kernel(noise, draws, factor, costs, self.parts, (choice, gap))


def _indices(numbers: npt.NDArray[Any], largest: int) -> Indices:
    """The numbers in the shortest type, since they are read once for every draw."""
    return numbers.astype(np.uint16 if largest < 1 << 16 else np.int32)


def in_groups(on_set: Bits, members: IntArray) -> Layout:
    """A row of sums for every group of points: codes[place, group].

    ``on_set`` has the predictions of the members on the separating set, shape (members, s).
    """
    size, points = on_set.shape
    bits = _group_size(size, points)
    count = -(-points // bits)
    padded = np.zeros((size, count * bits), dtype=np.int32)
    padded[:, :points] = on_set
    rows = (padded.reshape(size, count, bits) << np.arange(bits)).sum(axis=2)
    codes = _indices(rows + (np.arange(count) << bits), count << bits)
    work = _work_of_groups(size, points, bits)
    return Layout(members, work, search_by_groups, (codes, bits))


def _work_of_groups(size: int, points: int, bits: int) -> float:
    """Additions for one draw: the groups of every hypothesis, and the rows of the table."""
    count = -(-points // bits)
    return size * (count + THE_REST) + (count << bits)


def _group_size(size: int, points: int) -> int:
    """The size of a group with the fewest additions, the table no larger than the cache."""
    fitting = [b for b in range(1, LARGEST_GROUP + 1) if -(-points // b) << b <= MOST_ROWS]
    return min(fitting or [2], key=lambda bits: _work_of_groups(size, points, bits))


def in_steps(on_set: Bits, members: IntArray) -> Layout:
    """Through the members in this order: ends[place] … ends[place + 1] are the steps to a place.

    A step q puts point q in, s + q takes it out.
    """
    points = on_set.shape[1]
    # Before the first row there are only zeros.
    place, point = np.nonzero(np.diff(on_set, axis=0, prepend=np.uint8(0)))
    counts = np.bincount(place, minlength=len(on_set))
    ends = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
    out = on_set[place, point] == 0
    steps = _indices(point + points * out, 2 * points)
    guesses = int(np.count_nonzero(np.diff(counts)))
    work = len(counts) * THE_REST + len(steps) + WRONG_GUESS * guesses
    return Layout(members, work, search_by_steps, (ends, steps))


class Plan:
    """The layouts of one class, made once and kept as long as the class.

    ``in_order`` has all hypotheses as they are listed, so that the first of equals is chosen;
    ``best`` has all of them with the fewest additions.
    """

    def __init__(self, listed: Listed) -> None:
        self.on_set: Bits = np.ascontiguousarray(listed.separating_points().T)
        self.size, self.separators = self.on_set.shape
        places = np.arange(self.size)
        as_listed = in_steps(self.on_set, places)
        bits = _group_size(self.size, self.separators)
        if _work_of_groups(self.size, self.separators, bits) < as_listed.work:
            as_listed = in_groups(self.on_set, places)
        self.in_order = as_listed
        gray = np.bitwise_xor.accumulate(self.on_set, axis=1)
        order = np.lexsort(np.packbits(gray, axis=1).T[::-1])
        along = in_steps(np.ascontiguousarray(self.on_set[order]), order)
        self.best = along if along.work < as_listed.work else as_listed

    def of(self, members: IntArray) -> Layout | None:
        """The layout of some members alone, in order, if that is worth it."""
        bits = _group_size(len(members), self.separators)
        work = _work_of_groups(len(members), self.separators, bits)
        if work > WORTH_IT * self.best.work:
            return None
        return in_groups(self.on_set[members], members)


_PLANS: WeakKeyDictionary[Listed, Plan] = WeakKeyDictionary()

# About how many numbers of noise each thread keeps at a time.
NUMBERS_AT_ONCE = 1 << 17
# Draws are made in multiples of the most that a register holds.
DRAWS_AT_ONCE = vectors.REGISTER_BYTES // 2
# Up to here sums fit into int64, and s + 2 roundings stay below s/2 + 3/2.
LARGEST_SUM = 2.0**62
MOST_SEPARATORS = 1 << 14
# Integers that leave a larger share of draws in doubt waste time.
DOUBTFUL = 0.5

SHORT: tuple[type[Any], ...] = (np.int16, np.int32)


@dataclass(frozen=True, eq=False)
class _Short:
    """Costs in units that are as small as short integers allow, and the noise's factor."""

    costs: Any
    factor: float
    lead: int

    @classmethod
    def of(cls, kind: type[Any], costs: IntArray, spread: float, separators: int) -> _Short:
        """For costs from 0 up, and Σ_q |n_q| up to a spread above 0."""
        span = float(costs.max())
        factor = 2.0 * (np.iinfo(kind).max - separators // 2 - 4) / (spread + span)
        centred = np.rint(costs * factor) - np.rint(span * factor / 2.0)
        return cls(centred.astype(kind), factor, separators // 2 + 2)


@dataclass(frozen=True, eq=False)
class _Search:
    """Draws from hypotheses that are laid out, with costs as they are listed."""

    layout: Layout
    exact: Layout
    costs: IntArray
    spread: float

    def places(self, noise: IntArray, kinds: tuple[type[Any], ...]) -> IntArray:
        separators, draws = noise.shape
        place, gap = np.empty(draws, dtype=np.int64), np.empty(draws, dtype=np.int64)
        if not kinds:
            costs = self.costs[self.exact.members]
            self.exact.search(costs, noise, (0, draws), 0.0, place, gap)
            return self.exact.members[place]
        short = _Short.of(kinds[0], self.costs[self.layout.members], self.spread, separators)
        first = min(draws, DRAWS_AT_ONCE)
        self.layout.search(short.costs, noise, (0, first), short.factor, place, gap)
        if np.count_nonzero(gap[:first] < short.lead) > DOUBTFUL * first:
            return self.places(noise, kinds[1:])
        self.layout.search(short.costs, noise, (first, draws), short.factor, place, gap)
        chosen = self.layout.members[place]
        doubtful = np.flatnonzero(gap < short.lead)
        if len(doubtful):
            chosen[doubtful] = self.places(np.take(noise, doubtful, axis=1), kinds[1:])
        return chosen


def _search(plan: Plan, costs: IntArray, noise: IntArray) -> IntArray:
    """The chosen hypothesis for every column of noise[q, draw]."""
    widest, cheapest = float(spread(noise)), int(costs.min())
    largest = widest + max(abs(cheapest), abs(int(costs.max())))
    if largest >= LARGEST_SUM or plan.separators > MOST_SEPARATORS:
        return _Search(plan.in_order, plan.in_order, costs, widest).places(noise, ())
    above = costs - cheapest
    near = np.flatnonzero(above <= widest)
    if len(near) == 1 or widest == 0:
        return np.full(noise.shape[1], near[0])
    few = plan.of(near)
    layout, exact = (plan.best, plan.in_order) if few is None else (few, few)
    cut = np.minimum(above, int(widest) + 1)
    return _Search(layout, exact, cut, widest).places(noise, SHORT)


def choices(listed: Listed, costs: IntArray, noise: Noise, draws: range) -> IntArray:
    """The places of the draws in the list."""
    chosen = np.zeros(len(draws), dtype=np.int64)
    if listed.size == 1:
        return chosen
    plan = _PLANS.get(listed) or _PLANS.setdefault(listed, Plan(listed))
    source = source_of(noise, draws.start)

    def make(start: int, size: int) -> None:
        numbers = np.empty((plan.separators, size), dtype=np.int64)
        fill(source, 0, start, np.empty((4, LANES), dtype=np.uint64), numbers)
        chosen[start : start + size] = _search(plan, costs, numbers)

    most = max(DRAWS_AT_ONCE, NUMBERS_AT_ONCE // plan.separators)
    vectors.share_out(make, vectors.pieces(len(draws), most, DRAWS_AT_ONCE))
    return chosen


def approvals(listed: Listed, costs: IntArray, noise: Noise, points: Points, draws: range) -> Bits:
    chosen = choices(listed, costs, noise, draws)
    return np.ascontiguousarray(points.T, dtype=np.uint8)[chosen]
