"""The compiled engine's staircases: the dynamic program over rows, on lanes of draws.

The noise comes as a function, made by the compiled engine. The two are compiled apart, since
numba's cache does not notice when a function of another file, which it has built in, changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from likewise.fixed_point import IntArray
from likewise.hypotheses import Bits, Staircases
from likewise.oracles.engines.compilation import compiled

__all__ = ["Fill", "approvals"]

# fill(cell, draw, out): noise on the cells from one on, for the draws from one on: out[cell, draw].
Fill = Callable[[int, int, IntArray], None]

# Noise is made for this many cells at once, or for one row: 256 kB with 256 lanes.
CELLS = 128


@compiled
def _threshold(
    j: Any, cost: Any, noise: Any, total: Any, lower: Any, least: Any, before: Any, choice: Any
) -> None:  # pragma: no cover
    """Threshold j of a row. A function of plain lanes, or the loop would not be vectorised."""
    for lane in range(len(total)):
        below = total[lane] + cost + noise[lane]
        stop = least[lane] - below
        better = stop < lower[lane]
        total[lane] = below
        least[lane] = stop if better else lower[lane]
        choice[lane] = j if better else before[lane]


@compiled
def _rows(costs: Any, noise: Any, total: Any, least: Any, choice: Any) -> None:  # pragma: no cover
    """Some rows of the program, the last first: least[m, lane] and choice[row, m, lane].

    ``least[m]`` is that of the row below on entry, and of the first row here on return;
    ``choice[a, m]`` is the lowest threshold of least cost among 0 … m. Thresholds are compared by
    −Σ_{b < j} cost_b, which is their cost less that of the full row.
    """
    rows, columns = costs.shape
    for a in range(rows - 1, -1, -1):
        total[:] = 0
        choice[a, 0, :] = 0
        for b in range(columns):
            _threshold(
                b + 1, costs[a, b], noise[a * columns + b], total,
                least[b], least[b + 1], choice[a, b], choice[a, b + 1],
            )  # fmt: skip


@compiled
def _read(choice: Any, cells: Any, threshold: Any, approved: Any) -> None:  # pragma: no cover
    """Follow the choices from the first row on, and note who is approved: [cell, lane]."""
    columns = choice.shape[1] - 1
    threshold[:] = columns
    for a in range(cells.max() // columns + 1):
        for lane in range(len(threshold)):
            threshold[lane] = choice[a, threshold[lane], lane]
        for i in range(len(cells)):
            if cells[i] // columns == a:
                column = cells[i] % columns
                for lane in range(len(threshold)):
                    approved[i, lane] = column >= threshold[lane]


class _Lanes:
    """The work space of some draws at a time, on grids of one shape."""

    def __init__(self, rows: int, columns: int, lanes: int) -> None:
        self.rows, self.columns, self.lanes = rows, columns, lanes
        self.at_once = min(rows, max(1, CELLS // columns))
        self.noise = np.empty((self.at_once * columns, lanes), dtype=np.int64)
        self.total = np.empty(lanes, dtype=np.int64)
        self.least = np.empty((columns + 1, lanes), dtype=np.int64)
        self.choice = np.empty((rows, columns + 1, lanes), dtype=np.int16)

    def approvals(self, costs: IntArray, fill: Fill, grid: int, draw: int, cells: IntArray) -> Bits:
        """The predictions of these draws on some cells of one grid, shape (cells, lanes)."""
        first = grid * self.rows * self.columns
        self.least[:] = 0
        for end in range(self.rows, 0, -self.at_once):
            start = max(0, end - self.at_once)
            noise = self.noise[: (end - start) * self.columns]
            fill(first + start * self.columns, draw, noise)
            _rows(costs[start:end], noise, self.total, self.least, self.choice[start:end])
        approved = np.empty((len(cells), self.lanes), dtype=np.uint8)
        _read(self.choice, cells, self.total, approved)
        return approved


def approvals(
    hypotheses: Staircases, costs: IntArray, fill: Fill, points: IntArray, draws: int, lanes: int
) -> Bits:
    """approved[draw, person], for the grids that the people are in and no others."""
    rows, columns = hypotheses.rows, hypotheses.columns
    tables = np.ascontiguousarray(costs).reshape(hypotheses.grids, rows, columns)
    grids, cells = points // hypotheses.cells, points % hypotheses.cells
    approved = np.empty((draws, len(points)), dtype=np.uint8)
    space = _Lanes(rows, columns, min(lanes, draws))
    for start in range(0, draws, lanes):
        if draws - start < space.lanes:
            space = _Lanes(rows, columns, draws - start)
        for grid in np.unique(grids).tolist():
            there = np.flatnonzero(grids == grid)
            found = space.approvals(tables[grid], fill, grid, start, cells[there])
            approved[start : start + space.lanes, there] = found.T
    return approved
