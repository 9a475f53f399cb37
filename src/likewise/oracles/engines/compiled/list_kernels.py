"""Scores of all hypotheses of a list, a register full of draws at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.oracles.engines.compiled.compilation import compiled
from likewise.oracles.engines.compiled.vectors import (
    REGISTER_BYTES,
    everywhere,
    if_less,
    load,
    plus,
    store,
)

# Digests of the files that are built in here: see compilation.py.
BUILT_IN = {"vectors": "abd0799ac6ec5335"}


@compiled
def spread(noise: Any) -> Any:  # pragma: no cover
    """max over draws of Σ_q |noise_q|, from above, for noise[q, draw]."""
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
def _quantise(
    noise: Any, start: Any, end: Any, factor: Any, points: Any
) -> None:  # pragma: no cover
    """points[q] = rint(factor·noise_q), and after these the row −(their sum)/2, rounded down.

    A factor of 0 asks for the noise as it is, and no half of a sum.
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
def _sums_of_groups(points: Any, bits: Any, table: Any) -> None:  # pragma: no cover
    """The sums over all subsets of each group of points, those of the first with the last row."""
    s = len(points) - 1
    for first in range(0, s, bits):
        base = (first // bits) << bits
        start = load(points, s) if first == 0 else everywhere(table.dtype.type(0))
        store(table, base, start)
        for i in range(min(bits, s - first)):
            point = load(points, first + i)
            for code in range(1 << i):
                with_it = plus(load(table, base + code), point)
                store(table, base + (1 << i) + code, with_it)


@compiled
def _keep(best_rows: Any, best: Any, second: Any, place: Any) -> None:  # pragma: no cover
    """The rows of what a scan has found."""
    store(best_rows, 0, best)
    store(best_rows, 1, second)
    store(best_rows, 2, place)


@compiled
def _scan_groups(
    codes: Any, costs: Any, first: Any, last: Any, table: Any, best_rows: Any
) -> None:  # pragma: no cover
    """The best score of the hypotheses first … last, the second best, and the best one's place."""
    kind = table.dtype.type
    best = everywhere(kind(np.iinfo(kind).max))
    second, place = best, everywhere(kind(0))
    for h in range(first, last):
        score = everywhere(costs[h])
        for group in range(codes.shape[1]):
            score = plus(score, load(table, codes[h, group]))
        worse = if_less(best, score, score, best)
        second = if_less(worse, second, worse, second)
        place = if_less(score, best, everywhere(kind(h - first)), place)
        best = if_less(score, best, score, best)
    _keep(best_rows, best, second, place)


@compiled
def _scan_steps(
    ends: Any, steps: Any, costs: Any, first: Any, last: Any, table: Any, best_rows: Any
) -> None:  # pragma: no cover
    """The same along a path: each sum is the one before it and a few steps. Row 3: that sum."""
    kind = table.dtype.type
    best = everywhere(kind(np.iinfo(kind).max))
    second, place = best, everywhere(kind(0))
    total = load(best_rows, 3)
    step = ends[first]
    for h in range(first, last):
        end = ends[h + 1]
        while step < end:
            total = plus(total, load(table, steps[step]))
            step += 1
        score = plus(total, everywhere(costs[h]))
        worse = if_less(best, score, score, best)
        second = if_less(worse, second, worse, second)
        place = if_less(score, best, everywhere(kind(h - first)), place)
        best = if_less(score, best, score, best)
    _keep(best_rows, best, second, place)
    store(best_rows, 3, total)


@compiled
def _merge(
    best_rows: Any, first: Any, choice: Any, best: Any, gap: Any
) -> None:  # pragma: no cover
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
def _space(noise: Any, costs: Any) -> Any:  # pragma: no cover
    """Work space of a search: points[q, lane], best[lane], and how many hypotheses fit a block."""
    lanes = REGISTER_BYTES // costs.itemsize
    block = int(min(np.int64(np.iinfo(costs.dtype).max), np.int64(1 << 30)))
    points = np.empty((len(noise) + 1, lanes), dtype=costs.dtype)
    return points, np.empty(lanes, dtype=np.int64), block


@compiled
def search_by_groups(
    noise: Any, draws: Any, factor: Any, costs: Any, layout: Any, out: Any
) -> None:  # pragma: no cover
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
def search_by_steps(
    noise: Any, draws: Any, factor: Any, costs: Any, layout: Any, out: Any
) -> None:  # pragma: no cover
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
