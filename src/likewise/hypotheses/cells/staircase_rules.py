"""Staircases as rules of a node: on the grid itself, or on a coarser one.

Grid g joins bands in runs of 2^g, up to a single cell. All grids are equally likely, and so are all
staircases of a grid. A staircase of a coarse grid is also one of the fine grid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from likewise.fixed_point import FloatArray, IntArray
from likewise.hypotheses.base import Bits
from likewise.hypotheses.cells.coarse_to_fine import NodeRules, NodeWeights
from likewise.hypotheses.cells.stairs import CERTAIN, costs_of_rows, stair_of
from likewise.hypotheses.weights import WEIGHT_BITS, integer_weights, pick
from likewise.portable_math import exp_negative, log, log_array
from likewise.randomness import Stream


@dataclass(frozen=True)
class StaircaseRules(NodeRules):
    """All staircases on a grid of bands, by rows and columns."""

    rows: int
    columns: int

    @property
    def cells(self) -> int:
        """rows·columns."""
        return self.rows * self.columns

    @cached_property
    def grids(self) -> int:
        """The number of grids, until one run holds every band."""
        return (max(self.rows, self.columns) - 1).bit_length() + 1

    @property
    def log_count(self) -> float:
        """ln(1/prior) of a staircase that only the fine grid has."""
        return log(self.grids * math.comb(self.rows + self.columns, self.rows))

    def log_inverse_priors(self, codes: IntArray) -> FloatArray:
        """A staircase is on a grid if rows of a run agree, and thresholds are where runs begin."""
        likely = np.empty((self.grids, len(codes)))
        for g in range(self.grids):
            run = np.arange(self.rows) >> g << g
            begins = (codes == self.columns) | (codes & ((1 << g) - 1) == 0)
            on_grid = (codes == codes[:, run]).all(axis=1) & begins.all(axis=1)
            rows, columns = ((n - 1 >> g) + 1 for n in (self.rows, self.columns))
            inverse = log(self.grids * math.comb(rows + columns, rows))
            likely[g] = np.where(on_grid, -inverse, -np.inf)
        return -integer_weights(likely)[1]

    def weigh(self, costs: IntArray, temperature: float) -> NodeWeights:
        """Every grid by itself, then the grids against each other."""
        return _StaircaseWeights(self, costs, temperature)


class _StaircaseWeights(NodeWeights):
    def __init__(self, rules: StaircaseRules, costs: IntArray, temperature: float) -> None:
        fine = costs.reshape(-1, rules.rows, rules.columns)
        self._rules = rules
        self._grids = [_Grid(_coarser(fine, g), temperature) for g in range(rules.grids)]
        # A staircase of a coarser grid is one of the fine grid, which has the least of all.
        self.least = self._grids[0].least
        terms = np.stack(
            [grid.log_total - (grid.least - self.least) / temperature for grid in self._grids]
        )
        self._grid_weights, self.log_stop = integer_weights(terms - log(rules.grids))
        self.numbers = 1 + rules.rows + rules.columns

    def chances(self, nodes: IntArray, cells: IntArray) -> FloatArray:
        rows, columns = cells // self._rules.columns, cells % self._rules.columns
        total = self._grid_weights.sum(axis=0)[nodes]
        chances = np.zeros(np.broadcast_shapes(nodes.shape, cells.shape))
        for g, grid in enumerate(self._grids):
            share = self._grid_weights[g, nodes] / total
            chances = chances + share * grid.table[nodes, rows >> g, columns >> g]
        return chances

    def draw(self, node: int, stream: Stream, draw: int, first: int) -> Bits:
        weights = self._grid_weights[:, node]
        limits = [int(weights.sum()), *[CERTAIN] * (self.numbers - 1)]
        numbers = stream.numbers_below(limits, draw, first + np.arange(self.numbers))
        g = pick(weights, numbers[0])
        thresholds = np.array(stair_of(self._grids[g].shares[:, :, node], numbers[1:]))
        rows, columns = np.arange(self._rules.rows), np.arange(self._rules.columns)
        approved = (columns[None, :] >> g) >= thresholds[rows >> g][:, None]
        return np.asarray(approved.reshape(-1), dtype=np.uint8)


def _coarser(cells: IntArray, g: int) -> IntArray:
    """Costs of cells, (nodes, A, B), summed over runs of 2^g bands."""
    for axis in (1, 2):
        starts = np.arange(0, cells.shape[axis], 1 << g)
        cells = np.add.reduceat(cells, starts, axis=axis)
    return cells


class _Grid:
    """Exponential weights over the staircases of one grid, at every node, as ``stairs.walk_of``."""

    def __init__(self, cells: IntArray, temperature: float) -> None:
        nodes, self.rows, self.columns = cells.shape
        stop, least = costs_of_rows(cells)
        halt = exp_negative((stop - least) / temperature)
        drop = exp_negative((least[..., :-1] - least[..., 1:]) / temperature)
        self.shares = np.empty((self.rows, self.columns + 1, nodes), dtype=np.int64)
        below = np.ones((self.columns + 1, nodes))
        for a in range(self.rows - 1, -1, -1):
            counts = np.empty_like(below)
            counts[0], self.shares[a, 0] = below[0] * halt[:, a, 0], CERTAIN
            for m in range(1, self.columns + 1):
                stops = below[m] * halt[:, a, m]
                counts[m] = stops + counts[m - 1] * drop[:, a, m - 1]
                self.shares[a, m] = np.rint(np.ldexp(stops / counts[m], WEIGHT_BITS))
            below = counts
        count = math.comb(self.rows + self.columns, self.rows)
        self.least, self.log_total = least[:, 0, -1], log_array(below[-1]) - log(count)

    @cached_property
    def table(self) -> FloatArray:
        """The chance of approval of every cell, (nodes, A, B)."""
        shares = np.ldexp(self.shares.astype(np.float64), -WEIGHT_BITS)
        nodes = shares.shape[-1]
        arrive = np.zeros((self.columns + 1, nodes))
        arrive[-1] = 1.0
        approved = np.zeros((self.columns, nodes))
        table = np.empty((nodes, self.rows, self.columns))
        for a in range(self.rows):
            onward = np.zeros(nodes)
            for m in range(self.columns, 0, -1):
                reach = arrive[m] + onward
                arrive[m] = reach * shares[a, m]
                onward = reach - arrive[m]
                approved[m - 1] = approved[m - 1] + onward
            # Whoever is left at threshold 0 stops there.
            arrive[0] = arrive[0] + onward
            table[:, a] = approved.T
        return np.minimum(table, 1.0)
