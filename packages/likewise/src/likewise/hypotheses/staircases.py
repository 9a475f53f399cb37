"""Staircases: monotone rules on a grid of two ordered features.

With 20 bands of income and 20 of a score there are C(40, 20) = 1.4·10^11 staircases, too many to
list: the oracle is a dynamic program over the rows, and the exponential weights are those of a walk
along the stair.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement, groupby, product

import numpy as np

from likewise.hypotheses.base import WEIGHT_BITS, Bits, GibbsPolicy, Points, integer_weights, pick
from likewise.hypotheses.grids import Groups, NodeRules, NodeWeights, OverCells, threshold_costs
from likewise.numerics.fixed_point import FloatArray, IntArray, exp_negative, log, log_array
from likewise.numerics.randomness import Stream
from likewise.people.schema import FeatureSchema, People
from likewise.validation import require

# There are fewer than 2^(A + B) staircases, and a float64 must be able to count them.
LARGEST_GRID = 1000


class Staircases(OverCells):
    """Approve a cell only together with all that are at least as high in both features.

    The cuts divide two numbers into A and B bands, so each grid has C(A + B, A) staircases; there
    is a grid for every combination of levels of the features ``by``. A code is, for every row a of
    every grid, the first column approved; it never rises with a. If less of a feature is better,
    use its negative.

    A point is a cell (grid, row, column). The separating set is every cell, and none can be left
    out: the cells that are at least (a, b) in both features make a staircase, also without (a, b),
    and the two differ on (a, b) alone. Both constants are inside.

    >>> from likewise.people import Feature
    >>> schema = FeatureSchema((Feature("income", low=0), Feature("score", low=0, high=100)))
    >>> lender = Staircases(schema, first="income", first_cuts=[20, 40],
    ...                     second="score", second_cuts=[50])
    >>> lender.size, lender.separators
    (10, 6)
    >>> lender.locate(schema.people([{"income": 20, "score": 10}])).tolist()
    [2]
    >>> print(lender.describe(np.array([2, 1, 0])))
    all: nobody where income < 20, score ≥ 50 where 20 ≤ income < 40, everybody where income ≥ 40
    """

    name = "staircases"

    def __init__(
        self, schema: FeatureSchema, *, first: str, first_cuts: Sequence[float], second: str,
        second_cuts: Sequence[float], by: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.schema, self.first, self.second = schema, first, second
        self.groups = Groups(schema, by, "Staircases")
        self.by = self.groups.by
        names = (schema[first].name, schema[second].name, *self.by)
        different, owner = len(set(names)) == len(names), "Staircases.first, second and by"
        require(different, owner, "must be different features", names, "Drop one.")
        self.first_cuts = self.groups.bands(first, first_cuts, ("first", "first_cuts"))
        self.second_cuts = self.groups.bands(second, second_cuts, ("second", "second_cuts"))
        self.rows, self.columns = len(self.first_cuts) + 1, len(self.second_cuts) + 1
        bands, rule = self.rows + self.columns, f"must make at most {LARGEST_GRID} bands together"
        owner = "Staircases.first_cuts and second_cuts"
        require(bands <= LARGEST_GRID, owner, rule, bands, "Take fewer cuts.")
        self.grids = self.groups.count

    def __repr__(self) -> str:
        by = f", by={list(self.by)}" if self.by else ""
        features = f"first={self.first!r}, second={self.second!r}"
        return f"Staircases({features}, {self.separators} cells{by})"

    @property
    def cells(self) -> int:
        return self.rows * self.columns

    @property
    def size(self) -> int:
        return int(math.comb(self.rows + self.columns, self.rows) ** self.grids)

    def locate(self, people: People) -> Points:
        """The cell of every person: (grid·A + row)·B + column."""
        grid = self.groups.of(people)
        row = np.searchsorted(self.first_cuts, people.column(self.first), side="right")
        column = np.searchsorted(self.second_cuts, people.column(self.second), side="right")
        return (grid * self.rows + row) * self.columns + column

    def minimise(self, costs: IntArray, noise: IntArray) -> IntArray:
        """The staircases of least cost, of the smallest code, shape (draws, grids·A).

        Row after row, the lowest threshold that still allows the least cost of all.
        """
        cells = (costs + noise).reshape(len(noise), self.grids, self.rows, self.columns)
        stop, least = costs_of_rows(cells)
        codes = np.empty((len(noise), self.grids, self.rows), dtype=np.int64)
        above = np.full((len(noise), self.grids, 1), self.columns)
        for a in range(self.rows):
            best = np.take_along_axis(least[:, :, a], above, axis=-1)
            above = np.argmax(stop[:, :, a] == best, axis=-1, keepdims=True)
            codes[:, :, a] = above[:, :, 0]
        return codes.reshape(len(noise), -1)

    def predict(self, codes: IntArray, points: Points) -> Bits:
        return (points % self.columns >= codes[:, points // self.columns]).astype(np.uint8)

    def codes(self) -> IntArray:
        """All combinations of thresholds that never rise, if there are at most 2^20."""
        self.check_listable(f"C({self.rows + self.columns}, {self.rows})^{self.grids}")
        stairs = sorted(combinations_with_replacement(range(self.columns, -1, -1), self.rows))
        codes = np.array(list(product(stairs, repeat=self.grids)), dtype=np.int64)
        return codes.reshape(self.size, -1)

    def describe(self, code: IntArray) -> str:
        """The least second feature that is approved, for every run of bands that share it."""
        lines, stairs = [], code.reshape(self.grids, self.rows).tolist()
        for names, steps in zip(self.groups.names, stairs, strict=True):
            parts = []
            for threshold, run in groupby(range(self.rows), steps.__getitem__):
                bands = list(run)
                parts.append(self._rule(threshold) + self._where(bands[0], bands[-1] + 1))
            lines.append(f"{' · '.join(names) or 'all'}: {', '.join(parts)}")
        return "; ".join(lines)

    def _rule(self, threshold: int) -> str:
        if threshold in (0, self.columns):
            return "nobody" if threshold else "everybody"
        return f"{self.second} ≥ {self.second_cuts[threshold - 1]:.12g}"

    def _where(self, start: int, end: int) -> str:
        if (start, end) == (0, self.rows):
            return ""
        low = f"{self.first_cuts[start - 1]:.12g}"
        high = f"{self.first_cuts[end - 1]:.12g}" if end < self.rows else ""
        if start and high:
            return f" where {low} ≤ {self.first} < {high}"
        return f" where {self.first} ≥ {low}" if start else f" where {self.first} < {high}"

    @cached_property
    def rules(self) -> NodeRules:
        """One staircase, on this grid or a coarser one."""
        return StaircaseRules(self.rows, self.columns, self.cells)

    def flat(self, costs: IntArray, temperature: float | FloatArray) -> GibbsPolicy:
        """A walk along the stair of every grid; only the person's own matters."""
        cells = costs.reshape(self.grids, self.rows, self.columns)
        return FlatStaircases(cells, temperature)


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
    rows = cells.shape[-2]
    stop = threshold_costs(cells)
    least = np.empty_like(stop)
    for a in range(rows - 1, -1, -1):
        if a + 1 < rows:
            stop[..., a, :] += least[..., a + 1, :]
        np.minimum.accumulate(stop[..., a, :], axis=-1, out=least[..., a, :])
    return stop, least


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


CERTAIN = 1 << WEIGHT_BITS


def walk_of(cells: IntArray, temperature: float) -> list[list[int]]:
    """Exponential weights over the staircases of one grid, (A, B), as a walk along the stair.

    The walk starts at row 0 and threshold B. At (a, m) it stops, which makes m the threshold of
    row a, and continues from (a + 1, m); or it continues from (a, m − 1). Every staircase is one
    such walk. Let Z_a(m) be the sum of exp(−cost/temperature) over the thresholds of rows
    a, a + 1, … that never rise and start at m or below; some stop and some do not:

        Z_a(m) = exp(−c_a(m)/temperature)·Z_{a+1}(m) + Z_a(m − 1),

    The chance to stop is the first summand's share, returned as an integer of 2^-40. These integers
    *are* the policy: everything else is computed from them without rounding.

    A Z may be beyond any float, so it is stored as n·exp(−least/temperature), with the least cost
    of :func:`costs_of_rows` as an integer and 1 ≤ n ≤ |H|: nothing overflows, and nothing that
    matters underflows, at any temperature. A walk has A + B steps, each off by 2^-41 and a rounding
    error: no probability is off by more than (A + B)·2^-40.

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


@dataclass(frozen=True)
class StaircaseRules(NodeRules):
    """All staircases on a grid of bands, by rows and columns."""

    rows: int
    columns: int
    cells: int

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
    """Exponential weights over the staircases of one grid, at every node, as :func:`walk_of`."""

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
            # A walk that reaches threshold 0 stops there.
            arrive[0] = arrive[0] + onward
            table[:, a] = approved.T
        return np.minimum(table, 1.0)
