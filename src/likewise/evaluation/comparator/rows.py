"""A linear program with far more rows than bind: solved with a few, and those it breaks are added.

Every program with some of the rows left out has a value that is at most the true one. When its
solution breaks none of those left out, the solution is the true one too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise.errors import LikewiseError
from likewise.evaluation.comparator.forms import Form, Rows
from likewise.fixed_point import FloatArray, IntArray
from likewise.linear_programs import linprog
from likewise.linear_programs import sparse as sp

__all__ = [
    "BROKEN_BY",
    "ROWS_AT_ONCE",
    "ComparatorError",
    "Demands",
    "Solution",
    "solve",
    "solve_program",
]

BROKEN_BY = 1e-9
"""A row that is left out is added when it is broken by more than this."""
ROWS_AT_ONCE = 200
"""The most broken rows are added, this many at once. For a pool of 1000 and 64000 people, 50 take
6.8 s, 100 take 5.7 s, 200 take 5.4 s, 500 take 9.2 s and 3000 take 42 s: a program with few rows
is solved so much faster that more of them are worth it."""


class ComparatorError(LikewiseError, RuntimeError):
    """The best fair policy was not found: the solver gave up, or its policy did not check."""


@dataclass(frozen=True, eq=False)
class Demands:
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
    pairs: int
    rows: int
    iterations: int


def solve(form: Form, demands: Demands) -> Solution:
    """Minimise the error over ΔH with every pair's constraint, adding rows as they are broken.

    min ones + Σ_x c_x·π(x) subject to |π(l) − π(r)| ≤ b_lr, each side of which is a row.
    """
    objective = form.objective(demands.costs)
    pairs = len(demands.bounds)
    added = np.zeros((2, pairs), dtype=np.bool_)
    rows: Rows = sp.csr_array((0, form.variables))
    bounds = np.empty(0)
    iterations = 0
    while True:
        iterations += 1
        policy, value, multipliers = _program(form, objective, rows, bounds)
        scores = form.scores(policy)
        gaps = scores[demands.left] - scores[demands.right]
        side = (gaps < 0).astype(np.int64)
        excess = np.abs(gaps) - demands.bounds
        broken = np.flatnonzero((excess > BROKEN_BY) & ~added[side, np.arange(pairs)])
        if not len(broken):
            break
        worst = broken[np.argsort(-excess[broken], kind="stable")[:ROWS_AT_ONCE]]
        added[side[worst], worst] = True
        ends = np.stack([demands.left[worst], demands.right[worst]])
        upper, lower = np.where(side[worst] == 0, ends, ends[::-1])
        rows = sp.vstack([rows, form.differences(upper, lower)], format="csr")
        bounds = np.concatenate([bounds, demands.bounds[worst]])
    priced = form.least(objective + rows.T @ multipliers) - float(multipliers @ bounds)
    return Solution(
        policy=policy,
        value=demands.ones + value,
        bound=demands.ones + priced,
        pairs=pairs,
        rows=len(bounds),
        iterations=iterations,
    )


def solve_program(
    objective: FloatArray, order: Rows, rows: Rows, bounds: FloatArray, total: Rows | None,
    what: str, hint: str = "",
) -> Any:  # fmt: skip
    """The solver's result for order·v ≤ 0, rows·v ≤ bounds, total·v = 1 and v in [0, 1]."""
    left: Rows = sp.vstack([order, rows], format="csr")
    result = linprog(
        objective,
        A_ub=left if left.shape[0] else None,
        b_ub=np.concatenate([np.zeros(order.shape[0]), bounds]) if left.shape[0] else None,
        A_eq=total,
        b_eq=None if total is None else [1.0],
        bounds=(0.0, 1.0),
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-9},
    )
    if not result.success:
        raise ComparatorError(
            f"The linear program {what}, with {len(objective)} variables and {left.shape[0]} "
            f"rows, was not solved: {result.message} {hint}".rstrip()
        )
    return result


def _program(
    form: Form, objective: FloatArray, rows: Rows, bounds: FloatArray
) -> tuple[FloatArray, float, FloatArray]:
    """The solution with these rows, its value, and the multipliers of the rows, at least 0."""
    order = form.order()
    result = solve_program(
        objective, order, rows, bounds, form.total(), "of the best fair policy",
        "If it is infeasible, no member of the class is constant on the people of these rounds.",
    )  # fmt: skip
    multipliers = np.empty(0)
    if order.shape[0] + len(bounds):
        multipliers = np.maximum(-np.asarray(result.ineqlin.marginals)[order.shape[0] :], 0.0)
    return form.settle(np.asarray(result.x)), float(np.asarray(result.fun)), multipliers
