"""The compiled engine's staircases: the dynamic program over rows, a register of draws at a time.

A grid's program needs the noise of all of its cells, and that of no other grid.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.hypotheses.base import Bits
from likewise.hypotheses.staircases import Staircases
from likewise.learner.compiled import vectors
from likewise.learner.compiled.noise import AT_ONCE, LANES, WIDTH, NoiseOfDraws, fill
from likewise.learner.compiled.vectors import compiled
from likewise.numerics.fixed_point import IntArray

# Digests of the files that are built in here: see tests/engines/test_compilation.py.
BUILT_IN = {"noise": "3846d504fcaabbf8", "vectors": "1b40836cdd1b27ff"}

# Draws that a thread takes on at a time.
A_PIECE = 512


@compiled
def _row(costs: Any, noise: Any, least: Any, choice: Any) -> None:
    """One row of the program, after those below it: least[m, draw] and choice[m, draw].

    ``least[m]`` is that of the row below on entry, and of this row on return; ``choice[m]`` is the
    lowest threshold of least cost among 0 … m. Thresholds are compared by −Σ_{b < j} cost_b, which
    is their cost less that of the whole row.
    """
    registers = noise.shape[1] // WIDTH
    for r in range(registers):
        total = vectors.everywhere(np.int64(0))
        lowest, best = vectors.load(least, r), total
        vectors.store_short(choice, r, best)
        for b in range(len(costs)):
            number = vectors.load(noise, b * registers + r)
            total = vectors.plus(total, vectors.plus(vectors.everywhere(costs[b]), number))
            place = (b + 1) * registers + r
            stop = vectors.minus(vectors.load(least, place), total)
            best = vectors.if_less(stop, lowest, vectors.everywhere(np.int64(b + 1)), best)
            lowest = vectors.if_less(stop, lowest, stop, lowest)
            vectors.store(least, place, lowest)
            vectors.store_short(choice, place, best)


@compiled
def _read(choice: Any, cells: Any, threshold: Any, first: Any, approved: Any) -> None:
    """Follow the choices from the first row on, and note who is approved: [cell, draw]."""
    columns = choice.shape[1] - 1
    threshold[:] = columns
    for a in range(cells.max() // columns + 1):
        for lane in range(len(threshold)):
            threshold[lane] = choice[a, threshold[lane], lane]
        for i in range(len(cells)):
            if cells[i] // columns == a:
                column = cells[i] % columns
                row = approved[i, first : min(first + len(threshold), approved.shape[1])]
                for lane in range(len(row)):
                    row[lane] = column >= threshold[lane]


@compiled
def _draw(costs: Any, first_cell: Any, cells: Any, source: Any, start: Any, approved: Any) -> None:
    """approved[cell, draw] for the draws from ``start`` on, on some cells of one grid."""
    rows, columns = costs.shape
    draws = approved.shape[1]
    lanes = min(AT_ONCE, (draws + WIDTH - 1) // WIDTH * WIDTH)
    noise = np.empty((columns, lanes), dtype=np.int64)
    least = np.empty((columns + 1, lanes), dtype=np.int64)
    choice = np.empty((rows, columns + 1, lanes), dtype=np.int16)
    threshold = np.empty(lanes, dtype=np.int64)
    words = np.empty((4, LANES), dtype=np.uint64)
    for first in range(0, draws, lanes):
        least[:, :] = 0
        for a in range(rows - 1, -1, -1):
            fill(source, first_cell + a * columns, start + first, words, noise)
            _row(costs[a], noise, least, choice[a])
        _read(choice, cells, threshold, first, approved)


def approvals(
    hypotheses: Staircases, costs: IntArray, noise: NoiseOfDraws, points: IntArray, draws: int
) -> Bits:
    """approved[draw, person], for the grids that the people are in and no others."""
    rows, columns = hypotheses.rows, hypotheses.columns
    tables = np.ascontiguousarray(costs).reshape(hypotheses.grids, rows, columns)
    grids, cells = points // hypotheses.cells, points % hypotheses.cells
    approved = np.empty((len(points), draws), dtype=np.uint8)

    def make(start: int, size: int) -> None:
        for grid in np.unique(grids).tolist():
            inside = np.flatnonzero(grids == grid)
            block = np.empty((len(inside), size), dtype=np.uint8)
            first_cell = grid * hypotheses.cells
            _draw(tables[grid], first_cell, cells[inside], noise.source, start, block)
            approved[inside, start : start + size] = block

    vectors.share_out(make, vectors.pieces(draws, A_PIECE, AT_ONCE))
    return approved.T
