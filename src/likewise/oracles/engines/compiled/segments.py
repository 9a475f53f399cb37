"""The compiled engine's segments: the best threshold of each, a register of draws at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.fixed_point import IntArray
from likewise.hypotheses import Bits, Segments
from likewise.oracles.engines.compiled.compilation import compiled
from likewise.oracles.engines.compiled.noise import LANES, NoiseOfDraws
from likewise.oracles.engines.compiled.vectors import (
    REGISTER_BYTES,
    everywhere,
    if_less,
    load,
    plus,
    store,
)
from likewise.oracles.engines.compiled.workers import pieces, share_out

__all__ = ["approvals"]

# The digest of vectors.py, which is built in here: see there.
VECTORS = "4af228587d35e8b9"

WIDTH = REGISTER_BYTES // 8
# Noise of one segment for so many draws is kept at a time, by each thread: a quarter of a megabyte.
NUMBERS_AT_ONCE = 1 << 15


@compiled
def _thresholds(costs: Any, noise: Any, threshold: Any) -> None:  # pragma: no cover
    """The lowest threshold of least cost, for costs[bin] and noise[bin, draw]."""
    bins, draws = noise.shape
    registers = draws // WIDTH
    for r in range(registers):
        total = everywhere(np.int64(0))
        least, best = total, everywhere(np.int64(bins))
        for j in range(bins - 1, -1, -1):
            there = plus(everywhere(costs[j]), load(noise, j * registers + r))
            total = plus(total, there)
            best = if_less(least, total, best, everywhere(np.int64(j)))
            least = if_less(least, total, least, total)
        store(threshold, r, best)


@compiled
def _approve(bins: Any, people: Any, threshold: Any, approved: Any) -> None:  # pragma: no cover
    """approved[person, draw] for these people, whose bins are of one segment."""
    for i in range(len(people)):
        place, row = bins[i], approved[people[i]]
        for draw in range(len(row)):
            row[draw] = place >= threshold[draw]


def approvals(
    hypotheses: Segments, costs: IntArray, noise: NoiseOfDraws, points: IntArray, draws: int
) -> Bits:
    """approved[draw, person], from the noise of the segments that the people are in alone."""
    bins = hypotheses.bins
    approved = np.empty((len(points), draws), dtype=np.uint8)
    people = {
        segment: np.flatnonzero(points // bins == segment)
        for segment in np.unique(points // bins).tolist()
    }

    def make(start: int, size: int) -> None:
        numbers = np.empty((bins, -(-size // WIDTH) * WIDTH), dtype=np.int64)
        threshold = np.empty(numbers.shape[1], dtype=np.int64)
        mine = np.empty((len(points), size), dtype=np.uint8)
        for segment, places in people.items():
            first = segment * bins
            noise.fill(first, start, numbers)
            _thresholds(costs[first : first + bins], numbers, threshold)
            _approve(points[places] - first, places, threshold, mine)
        approved[:, start : start + size] = mine

    most = max(1, NUMBERS_AT_ONCE // (bins * LANES)) * LANES
    share_out(make, pieces(draws, most, LANES))
    return approved.T
