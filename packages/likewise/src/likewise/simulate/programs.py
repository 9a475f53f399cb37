"""One linear program for policies in hindsight, by cutting planes and column generation.

    min_π  Σ_x c_x·π(x)   over ΔH,   |π(l) − π(r)| ≤ b_lr for some pairs (l, r).

Far more rows exist than bind, so the program is solved with few of them, and the violated ones are
added (cutting planes). A program with rows left out has a value that is at most the true one; when
its solution violates none of them, it is the true one. Where a class cannot be listed, hypotheses
enter as columns in the same way (:class:`~likewise.simulate.programs.Columns`): the multipliers
price the points, and the oracle finds the hypothesis of least reduced cost.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from likewise.errors import LikewiseError, foreign_code, missing
from likewise.hypotheses.base import Bits
from likewise.numerics.fixed_point import FloatArray, IntArray

try:
    from scipy import sparse as sp
    from scipy.optimize import linprog
except ImportError as error:
    raise missing("The best fair policy in hindsight", "scipy", "study", error) from error

Rows = Any  # scipy.sparse.csr_array of floats; its stubs are generic where it is not
Search = Callable[[FloatArray], Bits]
"""From signed costs on the points to the predictions there of a hypothesis of small cost."""

_CHUNK = 4096
# A column enters if it saves more than this for each person.
_SAVES = 1e-7


class ComparatorError(LikewiseError, RuntimeError):
    """The best fair policy was not found: the solver gave up, or its policy did not check."""


class Form(ABC):
    """Variables v with scores that are linear in them, and the constraints that make them ΔH.

    Variables are in [0, ``upper``].
    """

    upper: float | None = 1.0

    @property
    @abstractmethod
    def points(self) -> int:
        """The number of points that have a score."""

    @property
    @abstractmethod
    def variables(self) -> int: ...

    @abstractmethod
    def scores(self, policy: FloatArray) -> FloatArray:
        """Return the score of every point."""

    @abstractmethod
    def objective(self, costs: FloatArray) -> FloatArray:
        """Turn costs of points into costs of variables."""

    @abstractmethod
    def differences(self, left: IntArray, right: IntArray) -> Rows:
        """Return a row for every pair: the score of the left less the score of the right."""

    @abstractmethod
    def settle(self, policy: FloatArray) -> FloatArray:
        """Return the nearby policy that is in ΔH exactly, not only up to the solver's tolerance."""

    @abstractmethod
    def least(self, costs: FloatArray) -> float:
        """Return the least cost over all of H, with costs on points: min_h Σ_x c_x·h(x)."""

    def order(self) -> Rows:
        """Return rows of which each must be at most 0."""
        return sp.csr_array((0, self.variables))

    def total(self) -> Rows | None:
        """Return a row that must be 1, if there is one."""
        return None

    def generate(self, costs: FloatArray, level: float) -> bool:  # noqa: ARG002
        """Add a variable whose cost is below ``level``, if one is missing; say if one was added."""
        return False


@dataclass(frozen=True)
class Grids(Form):
    """A probability for every cell of grids, in [0, 1] and non-decreasing in row and column.

    Each of the ``grids`` has ``rows`` of ``columns`` cells. These are exactly the mixtures of
    staircases: a mixture of monotone functions is monotone; and a monotone v is the mixture, over a
    level u that is uniform in [0, 1], of the cells {v ≥ u}, which is a staircase in every grid,
    since whoever is higher in both features has at least as large a v. In a grid of one row, a
    staircase is a threshold.

    >>> Grids(1, 1, 3).settle(np.array([-1e-12, 0.5, 0.4])).tolist()
    [0.0, 0.5, 0.5]
    >>> Grids(1, 2, 2).settle(np.array([0.5, 0.4, 0.3, 0.6])).tolist()
    [0.5, 0.5, 0.5, 0.6]
    >>> Grids(2, 1, 2).least(np.array([-1.0, 3.0, 4.0, -2.0]))
    -2.0
    >>> Grids(1, 2, 2).least(np.array([2.0, -1.0, -3.0, 1.0]))
    -3.0
    """

    grids: int
    rows: int
    columns: int

    @property
    def points(self) -> int:
        return self.grids * self.rows * self.columns

    @property
    def variables(self) -> int:
        return self.points

    def _tables(self, cells: Any) -> Any:
        return cells.reshape(self.grids, self.rows, self.columns)

    def scores(self, policy: FloatArray) -> FloatArray:
        return policy

    def objective(self, costs: FloatArray) -> FloatArray:
        return costs

    def differences(self, left: IntArray, right: IntArray) -> Rows:
        row = np.arange(len(left))
        return sp.csr_array(
            (np.repeat([1.0, -1.0], len(left)), (np.r_[row, row], np.r_[left, right])),
            shape=(len(left), self.variables),
        )

    def order(self) -> Rows:
        """v_ab − v_{a,b+1} ≤ 0 and v_ab − v_{a+1,b} ≤ 0 within every grid."""
        cells = self._tables(np.arange(self.variables))
        left = np.r_[cells[:, :, :-1].ravel(), cells[:, :-1].ravel()]
        return self.differences(left, np.r_[cells[:, :, 1:].ravel(), cells[:, 1:].ravel()])

    def settle(self, policy: FloatArray) -> FloatArray:
        """Clip to [0, 1], and take the running maximum along both axes of every grid."""
        tables = np.maximum.accumulate(self._tables(np.clip(policy, 0.0, 1.0)), axis=1)
        return np.asarray(np.maximum.accumulate(tables, axis=2).ravel() + 0.0)  # no −0.0

    def least(self, costs: FloatArray) -> float:
        """The best staircase of every grid: least_a(m) = min_{j ≤ m} Σ_{b≥j} c_ab + least_{a+1}(j).

        The program of :func:`likewise.hypotheses.staircases.costs_of_rows`, on real numbers.
        """
        tables = self._tables(costs)
        least = np.zeros((self.grids, self.columns + 1))
        for a in range(self.rows - 1, -1, -1):
            least[:, :-1] += np.cumsum(tables[:, a, ::-1], axis=1)[:, ::-1]
            least = np.minimum.accumulate(least, axis=1)
        return float(least[:, -1].sum())


@dataclass(eq=False)
class Members(Form):
    """A weight for every member of a list, of total 1.

    ``bits`` are the members' predictions on the points that differ, (points, members).

    >>> form, point = Members.of(np.array([[0, 1], [1, 1], [0, 1]], dtype=np.uint8))
    >>> form.bits.tolist(), point.tolist()
    ([[0, 1], [1, 1]], [0, 1, 0])
    """

    bits: Bits

    @classmethod
    def of(cls, people: Bits) -> tuple[Self, IntArray]:
        """Merge people on whom all members agree; return the form and everybody's point."""
        bits = np.ascontiguousarray(people, dtype=np.uint8)
        packed = np.ascontiguousarray(np.packbits(bits, axis=1))
        keys = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
        _, first, point = np.unique(keys, return_index=True, return_inverse=True)
        return cls(bits[first]), point.astype(np.int64)

    @property
    def points(self) -> int:
        return len(self.bits)

    @property
    def variables(self) -> int:
        return int(self.bits.shape[1])

    def scores(self, policy: FloatArray) -> FloatArray:
        used = np.flatnonzero(policy)
        parts = [
            self.bits[start : start + _CHUNK, used] @ policy[used]
            for start in range(0, self.points, _CHUNK)
        ]
        return np.concatenate(parts)

    def objective(self, costs: FloatArray) -> FloatArray:
        """The cost of every member: Σ_x c_x·h(x)."""
        total = np.zeros(self.variables)
        for start in range(0, self.points, _CHUNK):
            total += costs[start : start + _CHUNK] @ self.bits[start : start + _CHUNK]
        return total

    def differences(self, left: IntArray, right: IntArray) -> Rows:
        gap = self.bits[left].view(np.int8) - self.bits[right].view(np.int8)
        return sp.csr_array(gap).astype(np.float64)

    def total(self) -> Rows | None:
        return sp.csr_array(np.ones((1, self.variables)))

    def settle(self, policy: FloatArray) -> FloatArray:
        weights = np.maximum(policy, 0.0) + 0.0  # no −0.0
        return np.asarray(weights / weights.sum())

    def least(self, costs: FloatArray) -> float:
        return float(self.objective(costs).min())


class Columns(Members):
    """The hypotheses that a search has generated so far, beginning with both constants."""

    upper = None  # redundant beside the total, and it would share the total's multiplier

    def __init__(self, costs: FloatArray, search: Search) -> None:
        super().__init__(np.tile(np.array([0, 1], dtype=np.uint8), (len(costs), 1)))
        self._search = search
        self._tolerance = _SAVES * max(1.0, float(np.abs(costs).sum()))
        self._least, self.calls = np.inf, 0

    def generate(self, costs: FloatArray, level: float) -> bool:
        """Search for a hypothesis of reduced cost below ``level``, and make it a column."""
        self.calls += 1
        column = self._column(costs)
        cost = float(costs @ column)
        self._least = min(cost, level)
        if cost >= level - self._tolerance:
            return False
        self.bits = np.column_stack([self.bits, column])
        return True

    def _column(self, costs: FloatArray) -> Bits:
        rule = f"It gets a cost for each of {len(costs)} points, and returns a prediction for each."
        with foreign_code(ComparatorError, "The search failed", rule):
            column = np.asarray(self._search(costs), dtype=np.float64)
        if column.shape != costs.shape or not np.isin(column, (0, 1)).all():
            raise ComparatorError(
                f"The search must return 0 or 1 for each of {len(costs)} points; got shape "
                f"{column.shape}."
            )
        return column.astype(np.uint8)

    def least(self, costs: FloatArray) -> float:  # noqa: ARG002
        """The least cost that the last search has proved, if the search is exact."""
        return float(self._least)


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

    The error of a policy is ``ones`` + Σ_x cost_x·π(x).
    """

    costs: FloatArray
    ones: int
    left: IntArray
    right: IntArray
    bounds: FloatArray


@dataclass(frozen=True, eq=False)
class Solution:
    """A policy, the value of the last program, and a lower bound on the value of the full one."""

    policy: FloatArray
    value: float
    bound: float


def solve(form: Form, constraints: Constraints) -> Solution:
    """Solve the program, adding rows and columns until none is missing."""
    master = _Master(form, constraints)
    for _ in range(MOST_ITERATIONS):
        policy, value, multipliers, level = master.solve()
        pairs, sides = master.violated(policy)
        reduced = master.reduced_costs(multipliers)
        generated = form.generate(reduced, level)
        if not generated and not len(pairs):
            dual = form.least(reduced) - float(multipliers @ master.bounds)
            return Solution(policy, constraints.ones + value, constraints.ones + dual)
        if generated:
            master.rebuild()
        master.add(pairs, sides)
    raise ComparatorError(
        f"The best fair policy was not found in {MOST_ITERATIONS} rounds of columns and rows."
    )


class _Master:
    """The program with the rows and columns that have been generated."""

    def __init__(self, form: Form, constraints: Constraints) -> None:
        self.form, self.constraints = form, constraints
        self.added = np.zeros((2, len(constraints.bounds)), dtype=np.bool_)
        self.pairs = np.empty(0, dtype=np.int64)
        self.sides = np.empty(0, dtype=np.int64)
        self.rebuild()

    @property
    def bounds(self) -> FloatArray:
        return self.constraints.bounds[self.pairs]

    def rebuild(self) -> None:
        """Compute the objective and all rows again, with a variable that is new."""
        self.costs = self.form.objective(self.constraints.costs)
        self.rows = self.form.differences(*self._ends(self.pairs, self.sides))

    def _ends(self, pairs: IntArray, sides: IntArray) -> tuple[IntArray, IntArray]:
        left, right = self.constraints.left[pairs], self.constraints.right[pairs]
        return np.where(sides == 0, left, right), np.where(sides == 0, right, left)

    def add(self, pairs: IntArray, sides: IntArray) -> None:
        """Add a row for each pair: of its left less its right, or the other way round."""
        self.added[sides, pairs] = True
        self.pairs = np.concatenate([self.pairs, pairs])
        self.sides = np.concatenate([self.sides, sides])
        rows = self.form.differences(*self._ends(pairs, sides))
        self.rows = sp.vstack([self.rows, rows], format="csr")

    def violated(self, policy: FloatArray) -> tuple[IntArray, IntArray]:
        """Return the most violated pairs whose rows are missing, and their sides."""
        scores = self.form.scores(policy)
        gaps = scores[self.constraints.left] - scores[self.constraints.right]
        sides = (gaps < 0).astype(np.int64)
        excess = np.abs(gaps) - self.constraints.bounds
        new = ~self.added[sides, np.arange(len(gaps))]
        pairs = np.flatnonzero((excess > VIOLATED_BY) & new)
        pairs = pairs[np.argsort(-excess[pairs], kind="stable")[:ROWS_AT_ONCE]]
        return pairs, sides[pairs]

    def reduced_costs(self, multipliers: FloatArray) -> FloatArray:
        """Return the costs of points, with the multipliers of the rows that they are in."""
        costs = self.constraints.costs.copy()
        upper, lower = self._ends(self.pairs, self.sides)
        np.add.at(costs, upper, multipliers)
        np.add.at(costs, lower, -multipliers)
        return costs

    def solve(self) -> tuple[FloatArray, float, FloatArray, float]:
        """Return the policy, its value, the multipliers of the rows, and that of the total."""
        order, total = self.form.order(), self.form.total()
        rows = sp.vstack([order, self.rows], format="csr")
        limits = np.concatenate([np.zeros(order.shape[0]), self.bounds])
        result = solve_program(self.costs, rows, limits, total, self.form.upper)
        multipliers = np.empty(0)
        if len(self.pairs):
            multipliers = -np.asarray(result.ineqlin.marginals)[order.shape[0] :]
        level = 0.0 if total is None else float(np.asarray(result.eqlin.marginals)[0])
        policy, value = self.form.settle(np.asarray(result.x)), float(np.asarray(result.fun))
        return policy, value, np.maximum(multipliers, 0.0), level


def solve_program(
    costs: FloatArray, rows: Rows, limits: FloatArray, total: Rows | None, upper: float | None
) -> Any:
    """Minimise costs·v with rows·v ≤ limits, total·v = 1 and v in [0, upper]; scipy's result."""
    result: Any = linprog(
        costs,
        A_ub=rows if rows.shape[0] else None,
        b_ub=limits if rows.shape[0] else None,
        A_eq=total,
        b_eq=None if total is None else [1.0],
        bounds=(0.0, upper),
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-9},
    )
    if not result.success:
        raise ComparatorError(
            f"The linear program of a policy in hindsight, with {rows.shape[1]} variables and "
            f"{rows.shape[0]} rows, was not solved: {result.message} If it is infeasible, no "
            f"member of the class is constant on the people of these rounds."
        )
    return result
