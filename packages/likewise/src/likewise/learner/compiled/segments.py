"""The compiled engine's segments: the best threshold of each, a register of draws at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.hypotheses.base import Bits
from likewise.hypotheses.segments import Segments
from likewise.learner.compiled import vectors
from likewise.learner.compiled.noise import AT_ONCE, LANES, WIDTH, NoiseOfDraws, fill
from likewise.learner.compiled.vectors import compiled
from likewise.numerics.fixed_point import IntArray

# Digests of the files that are built in here: see tests/engines/test_compilation.py.
BUILT_IN = {"noise": "3846d504fcaabbf8", "vectors": "1b40836cdd1b27ff"}

# Draws that a thread takes on at a time.
A_PIECE = 1024


@compiled
def _thresholds(costs: Any, noise: Any, threshold: Any) -> None:
    """The lowest threshold of least cost, for costs[bin] and noise[bin, draw]."""
    bins, draws = noise.shape
    registers = draws // WIDTH
    for r in range(registers):
        total = vectors.everywhere(np.int64(0))
        least, best = total, vectors.everywhere(np.int64(bins))
        for j in range(bins - 1, -1, -1):
            number = vectors.load(noise, j * registers + r)
            total = vectors.plus(total, vectors.plus(vectors.everywhere(costs[j]), number))
            best = vectors.if_less(least, total, best, vectors.everywhere(np.int64(j)))
            least = vectors.if_less(least, total, least, total)
        vectors.store(threshold, r, best)


@compiled
def _draw(
    costs: Any, bins: Any, points: Any, people: Any, source: Any, start: Any, approved: Any
) -> None:
    """approved[person, draw] for the draws from ``start`` on; ``people`` are sorted by segment."""
    draws = approved.shape[1]
    lanes = min(AT_ONCE, (draws + WIDTH - 1) // WIDTH * WIDTH)
    noise = np.empty((bins, lanes), dtype=np.int64)
    threshold = np.empty(lanes, dtype=np.int64)
    words = np.empty((4, LANES), dtype=np.uint64)
    for first in range(0, draws, lanes):
        segment = -1
        for person in people:
            if points[person] // bins != segment:
                segment = points[person] // bins
                fill(source, segment * bins, start + first, words, noise)
                _thresholds(costs[segment * bins : (segment + 1) * bins], noise, threshold)
            place = points[person] % bins
            row = approved[person, first : min(first + lanes, draws)]
            for lane in range(len(row)):
                row[lane] = place >= threshold[lane]


def approvals(
    hypotheses: Segments, costs: IntArray, noise: NoiseOfDraws, points: IntArray, draws: int
) -> Bits:
    """approved[draw, person], from the noise of the segments that the people are in alone."""
    approved = np.empty((len(points), draws), dtype=np.uint8)
    people = np.argsort(points // hypotheses.bins, kind="stable")

    def make(start: int, size: int) -> None:
        block = np.empty((len(points), size), dtype=np.uint8)
        _draw(costs, hypotheses.bins, points, people, noise.source, start, block)
        approved[:, start : start + size] = block

    vectors.share_out(make, vectors.pieces(draws, A_PIECE, AT_ONCE))
    return approved.T
