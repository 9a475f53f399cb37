"""Staircases: on a grid of two ordered features, whoever is at least as good is approved too.

With 20 bands of income and 20 of a score there are C(40, 20) = 1.4·10^11 staircases, too many to
list: the oracle is a dynamic program over the rows, and the exponential weights are those of a walk
along the stair (:mod:`likewise.hypotheses.cells.stairs`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from itertools import combinations_with_replacement, groupby, product

import numpy as np

from likewise.errors import ParameterError
from likewise.fixed_point import FloatArray, IntArray
from likewise.hypotheses.base import Bits, GibbsPolicy, Points
from likewise.hypotheses.cells.base import OverCells
from likewise.hypotheses.cells.coarse_to_fine import NodeRules
from likewise.hypotheses.cells.groups import Groups, bands, grouping
from likewise.hypotheses.cells.staircase_rules import StaircaseRules
from likewise.hypotheses.cells.stairs import FlatStaircases, costs_of_rows
from likewise.schema import FeatureSchema, People

# There are fewer than 2^(A + B) staircases, and a float64 must be able to count them.
LARGEST_GRID = 1000


class Staircases(OverCells):
    """Approve a cell only together with all that are at least as high in both features.

    The cuts divide two numbers into A and B bands, so that each grid has C(A + B, A) staircases;
    there is a grid for every combination of levels of the features ``by``. A code is, for every
    row a of every grid, the first column approved; it never rises with a. A feature of which less
    is better enters as its negative.

    A point is a cell (grid, row, column). The separating set is every cell, and none can be left
    out. The cells that are at least (a, b) in both features make a staircase; without (a, b) they
    still do, since no cell that is left lies below it; and the two differ on (a, b) alone. Both
    constants are inside.

    >>> from likewise.schema import Feature
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

    kind = "staircases"
    parameters = ("first", "first_cuts", "second", "second_cuts", "by")

    def __init__(
        self,
        schema: FeatureSchema,
        *,
        first: str,
        first_cuts: Sequence[float],
        second: str,
        second_cuts: Sequence[float],
        by: Sequence[str] = (),
    ) -> None:
        self.schema, self.first, self.second = schema, first, second
        self.groups = Groups(schema, grouping("Staircases", by), "Staircases")
        self.by = self.groups.by
        names = (schema[first].name, schema[second].name, *self.by)
        if len(set(names)) != len(names):
            raise ParameterError(
                "Staircases.first, second and by", "must be different features", names, "Drop one."
            )
        self.first_cuts = bands(
            schema, first, first_cuts, ("Staircases.first", "Staircases.first_cuts")
        )
        self.second_cuts = bands(
            schema, second, second_cuts, ("Staircases.second", "Staircases.second_cuts")
        )
        self.rows, self.columns = len(self.first_cuts) + 1, len(self.second_cuts) + 1
        if self.rows + self.columns > LARGEST_GRID:
            raise ParameterError(
                "Staircases.first_cuts and second_cuts",
                f"must make at most {LARGEST_GRID} bands together",
                self.rows + self.columns,
                "Take fewer cuts.",
            )
        self.grids = self.groups.count

    def __repr__(self) -> str:
        by = f", by={list(self.by)}" if self.by else ""
        return (
            f"Staircases(first={self.first!r}, second={self.second!r}, {self.separators} cells{by})"
        )

    @property
    def cells(self) -> int:
        """A·B, the cells of one grid."""
        return self.rows * self.columns

    @property
    def size(self) -> int:
        """C(A + B, A)^grids."""
        return int(math.comb(self.rows + self.columns, self.rows) ** self.grids)

    @property
    def separators(self) -> int:
        """Every cell."""
        return self.grids * self.cells

    def locate(self, people: People) -> Points:
        """The cell of every person: (grid·A + row)·B + column."""
        grid = self.groups.of(people)
        row = np.searchsorted(np.array(self.first_cuts), people.column(self.first), side="right")
        column = np.searchsorted(
            np.array(self.second_cuts), people.column(self.second), side="right"
        )
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
        """Compare each column with the threshold of its row."""
        return (points % self.columns >= codes[:, points // self.columns]).astype(np.uint8)

    def codes(self) -> IntArray:
        """All combinations of thresholds that never rise, if there are at most 2^20."""
        self.check_listable(f"C({self.rows + self.columns}, {self.rows})^{self.grids}")
        stairs = sorted(combinations_with_replacement(range(self.columns, -1, -1), self.rows))
        codes = np.array(list(product(stairs, repeat=self.grids)), dtype=np.int64)
        return codes.reshape(self.size, -1)

    def describe(self, code: IntArray) -> str:
        """The least second feature for every run of bands of the first that have the same."""
        lines = []
        for names, steps in zip(
            self.groups.names, code.reshape(self.grids, self.rows).tolist(), strict=True
        ):
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
        return StaircaseRules(self.rows, self.columns)

    def flat(self, costs: IntArray, temperature: float | FloatArray) -> GibbsPolicy:
        """A walk along the stair of every grid; only the person's own matters."""
        cells = costs.reshape(self.grids, self.rows, self.columns)
        return FlatStaircases(cells, temperature)
