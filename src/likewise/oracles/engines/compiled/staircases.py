"""The compiled engine's staircases: the dynamic program over rows, a register of draws at a time.

A grid's program needs the noise of all of its cells, and that of no other grid.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.fixed_point import IntArray
from likewise.hypotheses import Bits, Staircases
from likewise.oracles.engines.compiled.compilation import compiled
from likewise.oracles.engines.compiled.noise import LANES, NoiseOfDraws
from likewise.oracles.engines.compiled.vectors import (
    REGISTER_BYTES,
    everywhere,
    if_less,
    load,
    minus,
    plus,
    store,
    store_short,
)
from likewise.oracles.engines.compiled.workers import pieces, share_out

__all__ = ["approvals"]

# The digest of vectors.py, which is built in here: see there.
VECTORS = "4af228587d35e8b9"

WIDTH = REGISTER_BYTES // 8
# Noise is made for this many cells at once, or for one row: 256 kB with 256 lanes.
CELLS = 128


@compiled
def _rows(costs: Any, noise: Any, least: Any, choice: Any) -> None:  # pragma: no cover
    """Some rows of the program, the last first: least[m, draw] and choice[row, m, draw].

    ``least[m]`` is that of the row below on entry, and of the first row here on return;
    ``choice[a, m]`` is the lowest threshold of least cost among 0 … m. Thresholds are compared by
    −Σ_{b < j} cost_b, which is their cost less that of the whole row.
    """
    rows, columns = costs.shape
    registers = least.shape[1] // WIDTH
    for r in range(registers):
        for a in range(rows - 1, -1, -1):
            total = everywhere(np.int64(0))
            lowest, best = load(least, r), total
            place = a * (columns + 1) * registers + r
            store_short(choice, place, best)
            for b in range(columns):
                there = load(noise, (a * columns + b) * registers + r)
                total = plus(total, plus(everywhere(costs[a, b]), there))
                stop = minus(load(least, (b + 1) * registers + r), total)
                best = if_less(stop, lowest, everywhere(np.int64(b + 1)), best)
                lowest = if_less(stop, lowest, stop, lowest)
                store(least, (b + 1) * registers + r, lowest)
                place += registers
                store_short(choice, place, best)


@compiled
def _read(choice: Any, cells: Any, threshold: Any, approved: Any) -> None:  # pragma: no cover
    """Follow the choices from the first row on, and note who is approved: [cell, draw]."""
    columns = choice.shape[1] - 1
    threshold[:] = columns
    for a in range(cells.max() // columns + 1):
        for lane in range(len(threshold)):
            threshold[lane] = choice[a, threshold[lane], lane]
        for i in range(len(cells)):
            if cells[i] // columns == a:
                column = cells[i] % columns
                for lane in range(approved.shape[1]):
                    approved[i, lane] = column >= threshold[lane]


class _Lanes:
    """The work space of some draws at a time, on grids of one shape."""

    def __init__(self, rows: int, columns: int, draws: int) -> None:
        self.rows, self.columns, self.draws = rows, columns, draws
        self.at_once = min(rows, max(1, CELLS // columns))
        lanes = -(-draws // WIDTH) * WIDTH
        self.noise = np.empty((self.at_once * columns, lanes), dtype=np.int64)
        self.least = np.empty((columns + 1, lanes), dtype=np.int64)
        self.choice = np.empty((rows, columns + 1, lanes), dtype=np.int16)
        self.threshold = np.empty(lanes, dtype=np.int64)

    def approvals(
        self, costs: IntArray, noise: NoiseOfDraws, grid: int, draw: int, cells: IntArray
    ) -> Bits:
        """Predictions of these draws on some cells of one grid, shape (cells, draws)."""
        first = grid * self.rows * self.columns
        self.least[:] = 0
        for end in range(self.rows, 0, -self.at_once):
            start = max(0, end - self.at_once)
            numbers = self.noise[: (end - start) * self.columns]
            noise.fill(first + start * self.columns, draw, numbers)
            _rows(costs[start:end], numbers, self.least, self.choice[start:end])
        approved = np.empty((len(cells), self.draws), dtype=np.uint8)
        _read(self.choice, cells, self.threshold, approved)
        return approved


def approvals(
    hypotheses: Staircases, costs: IntArray, noise: NoiseOfDraws, points: IntArray, draws: int
) -> Bits:
    """approved[draw, person], for the grids that the people are in and no others."""
    rows, columns = hypotheses.rows, hypotheses.columns
    tables = np.ascontiguousarray(costs).reshape(hypotheses.grids, rows, columns)
    grids, cells = points // hypotheses.cells, points % hypotheses.cells
    approved = np.empty((len(points), draws), dtype=np.uint8)

    def make(start: int, size: int) -> None:
        space = _Lanes(rows, columns, size)
        for grid in np.unique(grids).tolist():
            there = np.flatnonzero(grids == grid)
            found = space.approvals(tables[grid], noise, grid, start, cells[there])
            approved[there, start : start + size] = found

    share_out(make, pieces(draws, LANES, LANES))
    return approved.T
