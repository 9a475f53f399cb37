"""The counts of a block of pairs in compiled code: the same as :meth:`pairs.Tally.add`, faster.

A row of pairs, somebody with up to 256 others, stays in the nearest cache from the differences of
features to the counts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from likewise.audits.pairs import NEVER, Block, Tally
from likewise.audits.plans import CATEGORY, MAX, MIN, Case, Counts, Measures, Plan
from likewise.learner.compiled.vectors import compiled
from likewise.numerics.fixed_point import ONE, IntArray

# Pairs of a row that are counted together.
WIDTH = 256
_UNITS, _TWO_52 = float(ONE), 2.0**52


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
def _vote(
    case: Case, i: int, start: int, size: int, keys: Any, members: int, gap: Any, votes: Any
) -> None:
    """The gaps of a row, and who objects to each: bit a is set where member a does."""
    for j in range(size):
        gap[j] = abs(case.scores[start + j] - case.scores[i])
        votes[j] = 0
    for a in range(members):
        key, vote = keys[a], np.int32(1) << np.int32(a)
        for j in range(size):
            votes[j] |= vote if gap[j] - (key[j] >> case.bits) > case.sensitivity else 0


@compiled
def _run(program: Any, size: int, top: Any, keys: Any, members: int) -> None:
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
def _raise(counts: Counts, i: int, start: int, size: int, excess: Any) -> Any:
    """Raise the largest excess of those in a row with i; return that of the row."""
    highest, partner = counts.highest[start : start + size], counts.partner[start : start + size]
    most, raised = np.int32(NEVER), False
    for j in range(size):
        most = max(most, excess[j])
        raised |= excess[j] >= highest[j]
    for j in range(size if raised else 0):
        if excess[j] > highest[j] or (excess[j] == highest[j] and i < partner[j]):
            highest[j], partner[j] = excess[j], i
    return most


@compiled
def _first(excess: Any, most: int) -> int:
    """The first place with that excess."""
    place = 0
    while excess[place] < most:
        place += 1
    return place


@compiled
def _count(
    case: Case, counts: Counts, i: int, start: int, size: int, votes: Any, excess: Any, pivot: Any,
    ordered: bool,
) -> Any:  # fmt: skip
    """Count the pairs of a row that anybody objects to; return the other rules that fired."""
    fired = np.uint32(0)
    for j in range(size):
        if votes[j] != 0 or excess[j] > case.alphas[0]:
            weight = case.counts[i] * case.counts[start + j]
            counts.profiles[votes[j]] += weight
            fired |= case.fires[votes[j]]
            _touch(counts.touched, start + j, case.fires[votes[j]])
            passed = 0
            while passed < len(case.alphas) and excess[j] > case.alphas[passed]:
                passed += 1
            counts.passed[passed] += weight
            if excess[j] > case.sensitivity:
                counts.pivots[pivot[j] & ((1 << case.bits) - 1)] += weight
                _sides(case, counts, i, start + j, ordered)
    return fired


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
            _vote(case, i, place, size, keys, members, gap, votes)
            _run(case.program, size, top, keys, members)
            for j in range(size):
                excess[j] = gap[j] - (pivot[j] >> bits)
            most = _raise(counts, i, place, size, excess)
            if most > best:  # of equals the first
                best, mate = np.int64(most), np.int64(place + _first(excess, most))
            fired |= _count(case, counts, i, place, size, votes, excess, pivot, ordered)
            if most >= worst.last[0]:
                kept = _keep(worst, kept, i, place, size, excess)
            place += size
        if best > counts.highest[i] or (best == counts.highest[i] and mate < counts.partner[i]):
            counts.highest[i], counts.partner[i] = best, mate
        _touch(counts.touched, i, fired)
    return kept


def add(plan: Plan, tally: Tally, block: Block) -> None:
    """Count the pairs of a block of people, none of them ``paired``."""
    start, stop = int(block.right[0]), int(block.right[-1]) + 1
    counts = Counts(
        np.zeros(plan.profiles.shape[1], dtype=np.int64),
        np.zeros(len(plan.case.alphas) + 1, dtype=np.int64),
        np.zeros(len(plan.profiles), dtype=np.int64),
        tally.highest, tally.partner, tally.over, tally.under, tally.between_groups,
        tally.touched_by_rule,
    )  # fmt: skip
    last = np.array(tally.last_kept, dtype=np.int64)
    kept = np.empty((3, block.size if last[0] <= ONE else 0), dtype=np.int64)
    number = count_block(
        block.left, start, stop, block.ordered, plan.measures, _tables(plan, block), plan.case,
        counts, Worst(last, *kept),
    )  # fmt: skip
    plan.sum_up(tally, block, counts.profiles, counts.passed, counts.pivots)
    tally.keep(*kept[:, :number])


def _tables(plan: Plan, block: Block) -> npt.NDArray[np.int32]:
    """The distances that numpy measures."""
    if not plan.measured:
        return np.empty((0, 0, 0), dtype=np.int32)
    sides = plan.question.sides(block)
    return np.stack([auditor.between(sides).astype(np.int32) for auditor in plan.measured])
