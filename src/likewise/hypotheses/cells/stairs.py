"""One grid of a staircase: its dynamic program, and its exponential weights as a walk."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from likewise.fixed_point import FloatArray, IntArray
from likewise.hypotheses.base import Bits, GibbsPolicy, Points
from likewise.hypotheses.weights import WEIGHT_BITS
from likewise.portable_math import exp_negative
from likewise.randomness import Stream

CERTAIN = 1 << WEIGHT_BITS


def costs_of_rows(cells: IntArray) -> tuple[IntArray, IntArray]:
    """The dynamic program, on costs of cells (…, A, B): two arrays (…, A, B + 1).

    With c_a(j) = Σ_{b ≥ j} cost_ab, the cost of threshold j in row a,

        stop_a(m)  = c_a(m) + least_{a+1}(m)       the threshold of row a is m
        least_a(m) = min_{j ≤ m} stop_a(j)         it is at most m

    where the rows below a take the best thresholds that never rise. least_0(B) is the least of all.

    >>> stop, least = costs_of_rows(np.array([[2, -1], [-3, 1]]))
    >>> least.tolist(), stop[0].tolist()
    ([[-1, -3, -3], [-2, -2, -2]], [-1, -3, -2])
    """
    rows, columns = cells.shape[-2:]
    stop = np.zeros((*cells.shape[:-1], columns + 1), dtype=np.int64)
    stop[..., :-1] = np.cumsum(cells[..., ::-1], axis=-1)[..., ::-1]
    least = np.empty_like(stop)
    for a in range(rows - 1, -1, -1):
        if a + 1 < rows:
            stop[..., a, :] += least[..., a + 1, :]
        np.minimum.accumulate(stop[..., a, :], axis=-1, out=least[..., a, :])
    return stop, least


def walk_of(cells: IntArray, temperature: float) -> list[list[int]]:
    """Exponential weights over the staircases of one grid, (A, B), as a walk along the stair.

    The walk starts at row 0 and threshold B. At (a, m) it stops, which makes m the threshold of
    row a, and goes on from (a + 1, m); or it goes on from (a, m − 1). Every staircase is one such
    walk. Z_a(m), the sum of exp(−cost/temperature) over the thresholds of rows a, a + 1, … that
    never rise and start at m or below, is that of those that stop and of those that do not:

        Z_a(m) = exp(−c_a(m)/temperature)·Z_{a+1}(m) + Z_a(m − 1),

    and stopping has the first summand's share in it: returned as an integer of 2^-40. Those
    numbers *are* the policy: everything else is computed from them without rounding.

    A Z may be beyond any float, so it is stored as n·exp(−least/temperature), with the least cost
    of :func:`costs_of_rows` as an integer and 1 ≤ n ≤ |H|: nothing overflows, and nothing that
    matters underflows, at any temperature. Only + · / of float64 in a fixed order, and
    :mod:`likewise.portable_math`: the same numbers on every machine. A walk has A + B steps, and
    each is off by 2^-41 and a rounding error: no probability is off by more than (A + B)·2^-40.

    >>> half, third = 2**39, round(2**40 / 3)
    >>> walk_of(np.zeros((1, 2), dtype=np.int64), 1.0) == [[2**40, half, third]]
    True
    """
    stop, least = costs_of_rows(cells)
    halt = exp_negative((stop - least) / temperature).tolist()
    drop = exp_negative((least[:, :-1] - least[:, 1:]) / temperature).tolist()
    below = [1.0] * stop.shape[1]
    walk = []
    for halts, drops in zip(reversed(halt), reversed(drop), strict=True):
        count = below[0] * halts[0]
        counts, shares = [count], [CERTAIN]
        for m, onward in enumerate(drops, start=1):
            stops = below[m] * halts[m]
            count = stops + count * onward
            counts.append(count)
            shares.append(round(math.ldexp(stops / count, WEIGHT_BITS)))
        below = counts
        walk.append(shares)
    return walk[::-1]


def approvals_of(walk: list[list[int]], rows: int, first: int) -> list[list[int]]:
    """P(cell (a, b) is approved), for a < rows and b ≥ first, in 2^(−40·(a + B − b)).

    A cell is approved if in its row or an earlier one the walk goes from threshold b + 1 to b.
    After n steps all chances are integers of 2^(−40·n), and they are added up as such.
    """
    columns = len(walk[0]) - 1
    arrive, approved = [0] * columns + [1], [0] * columns
    table = []
    for shares in walk[:rows]:
        onward = 0
        for m in range(columns, first, -1):
            reach = arrive[m] + onward
            arrive[m] = reach * shares[m]
            onward = (reach << WEIGHT_BITS) - arrive[m]
            approved[m - 1] = (approved[m - 1] << WEIGHT_BITS) + onward
        table.append(approved.copy())
    return table


def stair_of(walk: Sequence[Sequence[int]] | IntArray, numbers: Sequence[int]) -> list[int]:
    """The thresholds of one staircase, row by row: a random number below 2^40 decides each step.

    >>> stair_of([[2**40, 2**39, 2**39]], [2**39, 0])
    [1]
    """
    columns = len(walk[0]) - 1
    thresholds, m = [], columns
    for a, shares in enumerate(walk):
        while numbers[a + columns - m] >= shares[m]:
            m -= 1
        thresholds.append(m)
    return thresholds


class FlatStaircases(GibbsPolicy):
    """A flat prior over the staircases of some grids, (grids, A, B).

    There is a temperature for all grids, or one for each.
    """

    def __init__(self, cells: IntArray, temperature: float | FloatArray) -> None:
        self.cells, (self.grids, self.rows, self.columns) = cells, cells.shape
        self.temperature = np.broadcast_to(temperature, self.grids)

    def _walk(self, grid: int) -> list[list[int]]:
        return walk_of(self.cells[grid], float(self.temperature[grid]))

    def approval(self, points: Points) -> list[tuple[int, int]]:
        """The exact chance that the walk passes below the cell, by the cell's own grid."""
        grids, rows = points // (self.rows * self.columns), points // self.columns % self.rows
        columns = points % self.columns
        tables = {}
        for grid in np.unique(grids).tolist():
            inside = grids == grid
            tables[grid] = approvals_of(
                self._walk(grid), int(rows[inside].max()) + 1, int(columns[inside].min())
            )
        places = zip(grids.tolist(), rows.tolist(), columns.tolist(), strict=True)
        return [(tables[g][a][b], 1 << WEIGHT_BITS * (a + self.columns - b)) for g, a, b in places]

    def draw(self, points: Points, stream: Stream, draw: int) -> Bits:
        """Walk in every grid of the points: exactly the policy of :meth:`approval`."""
        steps = self.rows + self.columns
        thresholds = np.zeros(self.grids * self.rows, dtype=np.int64)
        for grid in np.unique(points // (self.rows * self.columns)).tolist():
            walk = self._walk(grid)
            numbers = stream.numbers_below([CERTAIN] * steps, draw, grid * steps + np.arange(steps))
            thresholds[grid * self.rows : (grid + 1) * self.rows] = stair_of(walk, numbers)
        approved = points % self.columns >= thresholds[points // self.columns]
        return np.asarray(approved, dtype=np.uint8)
