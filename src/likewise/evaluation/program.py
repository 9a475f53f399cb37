"""One linear program for policies in hindsight, by cutting planes and column generation.

    min_π  Σ_x c_x·π(x) + price·Σ_t e_t   over ΔH,
    |π(l) − π(r)| ≤ b_lr + e_t            for the pairs (l, r) of every round t,   e_t ≥ 0,

without e where violations have no price. Far more rows exist than bind, so the program is solved
with few of them, and the violated ones are added (cutting planes). A program with rows left out has
a value that is at most the true one; when its solution violates none of them, it is the true one.
Where a class cannot be listed, hypotheses enter as columns in the same way
(:class:`~likewise.evaluation.forms.Columns`): the multipliers price the points, and the oracle
finds the hypothesis of least reduced cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise.evaluation.forms import ComparatorError, Form, Rows
from likewise.fixed_point import FloatArray, IntArray
from likewise.linear_programs import linprog
from likewise.linear_programs import sparse as sp

VIOLATED_BY = 1e-9
"""A row that is left out is added when it is violated by more than this."""
ROWS_AT_ONCE = 200
"""The most violated rows are added, this many at once. For a pool of 1000 and 64000 people, 50 take
6.8 s, 100 take 5.7 s, 200 take 5.4 s, 500 take 9.2 s and 3000 take 42 s: a program with few rows
is solved so much faster that more of them are worth it."""
MOST_ITERATIONS = 10_000


@dataclass(frozen=True, eq=False)
class Constraints:
    """Costs on points, and pairs (left, right) with |π(left) − π(right)| ≤ bound.

    The error of a policy is ``ones`` + Σ_x cost_x·π(x). ``round`` is the round of every pair, where
    the pairs of a round share a price for their largest excess.
    """

    costs: FloatArray
    ones: int
    left: IntArray
    right: IntArray
    bounds: FloatArray
    round: IntArray | None = None


@dataclass(frozen=True, eq=False)
class Solution:
    """A policy, the value of the last program, and a lower bound on the value of the full one."""

    policy: FloatArray
    value: float
    bound: float
    pairs: int
    rows: int
    iterations: int


def solve(form: Form, constraints: Constraints, price: float | None = None) -> Solution:
    """Solve the program, adding rows and columns until none is missing."""
    master = _Master(form, constraints, price)
    for iteration in range(1, MOST_ITERATIONS + 1):
        point = master.solve()
        pairs, sides = master.violated(point)
        reduced = master.reduced_costs(point.multipliers)
        generated = form.generate(reduced, point.level)
        if not generated and not len(pairs):
            dual = form.least(reduced) - float(point.multipliers @ master.bounds)
            ones = constraints.ones
            return Solution(
                point.policy, ones + point.value, ones + dual, len(constraints.bounds),
                len(master.bounds), iteration,
            )  # fmt: skip
        if generated:
            master.rebuild()
        master.add(pairs, sides)
    raise ComparatorError(
        f"The best fair policy was not found in {MOST_ITERATIONS} rounds of columns and rows."
    )


@dataclass(frozen=True, eq=False)
class _Point:
    """A solution of the master program: the policy, e, the value and the multipliers."""

    policy: FloatArray
    excess: FloatArray
    value: float
    multipliers: FloatArray
    level: float


class _Master:
    """The program with the rows and columns that have been generated."""

    def __init__(self, form: Form, constraints: Constraints, price: float | None) -> None:
        self.form, self.constraints, self.price = form, constraints, price
        self.priced = 0 if constraints.round is None else int(constraints.round.max(initial=-1)) + 1
        self.added = np.zeros((2, len(constraints.bounds)), dtype=np.bool_)
        self.pairs = np.empty(0, dtype=np.int64)
        self.sides = np.empty(0, dtype=np.int64)
        self.rebuild()

    @property
    def bounds(self) -> FloatArray:
        """The bounds of the rows."""
        return self.constraints.bounds[self.pairs]

    def rebuild(self) -> None:
        """Compute the objective and all rows again, with a variable that is new."""
        self.costs = self.form.objective(self.constraints.costs)
        self.rows = self._rows(self.pairs, self.sides)

    def _ends(self, pairs: IntArray, sides: IntArray) -> tuple[IntArray, IntArray]:
        left, right = self.constraints.left[pairs], self.constraints.right[pairs]
        return np.where(sides == 0, left, right), np.where(sides == 0, right, left)

    def _rows(self, pairs: IntArray, sides: IntArray) -> Rows:
        differences = self.form.differences(*self._ends(pairs, sides))
        if self.constraints.round is None:
            return differences
        entries = (
            np.full(len(pairs), -1.0),
            (np.arange(len(pairs)), self.constraints.round[pairs]),
        )
        return sp.hstack(
            [differences, sp.csr_array(entries, shape=(len(pairs), self.priced))], format="csr"
        )

    def add(self, pairs: IntArray, sides: IntArray) -> None:
        """Add a row for each pair: of its left less its right, or the other way round."""
        self.added[sides, pairs] = True
        self.pairs = np.concatenate([self.pairs, pairs])
        self.sides = np.concatenate([self.sides, sides])
        self.rows = sp.vstack([self.rows, self._rows(pairs, sides)], format="csr")

    def violated(self, point: _Point) -> tuple[IntArray, IntArray]:
        """Return the most violated pairs whose rows are missing, and their sides."""
        c = self.constraints
        scores = self.form.scores(point.policy)
        gaps = scores[c.left] - scores[c.right]
        sides = (gaps < 0).astype(np.int64)
        excess = np.abs(gaps) - c.bounds
        if c.round is not None:
            excess -= point.excess[c.round]
        new = ~self.added[sides, np.arange(len(gaps))]
        pairs = np.flatnonzero((excess > VIOLATED_BY) & new)
        if c.round is None:
            pairs = pairs[np.argsort(-excess[pairs], kind="stable")[:ROWS_AT_ONCE]]
        else:
            pairs = _worst_of_rounds(pairs, excess[pairs], c.round[pairs])
        return pairs, sides[pairs]

    def reduced_costs(self, multipliers: FloatArray) -> FloatArray:
        """Return the costs of points, with the multipliers of the rows that they are in."""
        costs = self.constraints.costs.copy()
        upper, lower = self._ends(self.pairs, self.sides)
        np.add.at(costs, upper, multipliers)
        np.add.at(costs, lower, -multipliers)
        return costs

    def solve(self) -> _Point:
        """Solve the program with order·v ≤ 0, rows·v ≤ bounds, total·v = 1 and v in [0, upper]."""
        order, total = self._wider(self.form.order()), self.form.total()
        left: Rows = sp.vstack([order, self.rows], format="csr")
        result: Any = linprog(
            np.concatenate([self.costs, np.full(self.priced, self.price or 0.0)]),
            A_ub=left if left.shape[0] else None,
            b_ub=np.concatenate([np.zeros(order.shape[0]), self.bounds]) if left.shape[0] else None,
            A_eq=None if total is None else self._wider(total),
            b_eq=None if total is None else [1.0],
            bounds=(0.0, self.form.upper),
            method="highs-ds",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-9},
        )
        if not result.success:
            raise ComparatorError(
                f"The linear program of a policy in hindsight, with {left.shape[1]} variables and "
                f"{left.shape[0]} rows, was not solved: {result.message} If it is infeasible, no "
                f"member of the class is constant on the people of these rounds."
            )
        multipliers = np.empty(0)
        if len(self.pairs):
            multipliers = -np.asarray(result.ineqlin.marginals)[order.shape[0] :]
        n = self.form.variables
        return _Point(
            self.form.settle(np.asarray(result.x)[:n]), np.asarray(result.x)[n:],
            float(np.asarray(result.fun)), np.maximum(multipliers, 0.0),
            0.0 if total is None else float(np.asarray(result.eqlin.marginals)[0]),
        )  # fmt: skip

    def _wider(self, rows: Rows) -> Rows:
        if not self.priced:
            return rows
        return sp.hstack([rows, sp.csr_array((rows.shape[0], self.priced))], format="csr")


def _worst_of_rounds(pairs: IntArray, excess: FloatArray, round_: IntArray) -> IntArray:
    """Return the pair of largest excess of every round."""
    order = np.lexsort((-excess, round_))
    _, first = np.unique(round_[order], return_index=True)
    return np.asarray(pairs[order[first]])
