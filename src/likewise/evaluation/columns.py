"""The best fair policy when the class cannot be listed: hypotheses enter the program as columns.

The linear program begins with the constants alone. Its multipliers say what each point is worth;
the oracle finds the hypothesis that is worth most; it becomes a column, and so on. Pairs become
rows as they are broken. With an exact oracle the end is the optimum, and proves it; with a
heuristic one it is a fair policy, and nobody knows how good.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from likewise.errors import ParameterError, foreign_code
from likewise.evaluation.comparator.rows import BROKEN_BY, ROWS_AT_ONCE, ComparatorError, Demands
from likewise.fixed_point import ONE, FloatArray, IntArray
from likewise.hypotheses import Bits, HypothesisClass, Points
from likewise.linear_programs import linprog
from likewise.validation import flag

__all__ = ["ColumnPolicy", "Search", "best_fair_by_columns", "exact_search"]

Search = Callable[[FloatArray], Bits]
"""Signed costs on the points to the predictions there of a hypothesis of small cost."""
MOST_ITERATIONS = 500
# A column must be worth more than this for each person to be taken in.
WORTH = 1e-7


@dataclass(frozen=True, eq=False)
class ColumnPolicy:
    """A fair mixture of hypotheses, and how it was found.

    ``error`` is the expected number of mistakes; ``bound``, where the search is exact, the least
    that any fair policy makes. ``columns`` are the hypotheses' predictions on the points.
    """

    error: float
    bound: float | None
    weights: FloatArray
    columns: Bits
    calls: int
    rows: int

    @property
    def scores(self) -> FloatArray:
        """π(x) on every point."""
        return np.asarray(self.weights @ self.columns, dtype=np.float64)


def exact_search(hypotheses: HypothesisClass, points: Points) -> Search:
    """The oracle of a class as a search over its points; costs are put on the grid of 2^-20."""

    def search(costs: FloatArray) -> Bits:
        units = np.rint(costs * ONE).astype(np.int64)
        charged = hypotheses.charge(hypotheses.no_costs(), points, units)
        none = np.zeros((1, hypotheses.separators), dtype=np.int64)
        return np.asarray(hypotheses.predict(hypotheses.minimise(charged, none), points)[0])

    return search


def best_fair_by_columns(demands: Demands, search: Search, *, exact: bool) -> ColumnPolicy:
    """The policy of least error that keeps every pair's bound, by columns and rows in turn.

    min ones + Σ_x c_x·π(x) over mixtures π of what ``search`` finds, |π(l) − π(r)| ≤ b_lr.
    ``exact`` says that the search finds the least cost; only then is there a lower bound.

    Two points, one good and one bad, that may be 1/4 apart:

    >>> demands = Demands(np.array([1.0, -1.0]), 1, np.array([0]), np.array([1]), np.array([0.25]))
    >>> found = best_fair_by_columns(demands, lambda costs: costs < 0, exact=True)
    >>> found.error, round(found.bound, 6)
    (0.75, 0.75)
    """
    if not isinstance(demands, Demands) or not callable(search):
        raise ParameterError(
            "demands", "must be demands, and a search", demands, "Write Demands(…)."
        )
    exact = flag("exact", exact, "Say whether the search finds the least cost.")
    costs, n = demands.costs, len(demands.costs)
    columns = np.stack([np.zeros(n), np.ones(n)])
    rows: IntArray = np.empty(0, dtype=np.int64)
    signs: FloatArray = np.empty(0)
    people = max(1.0, float(np.abs(costs).sum()))
    for calls in range(1, MOST_ITERATIONS + 1):
        weights, value, prices, level = _master(columns, costs, demands, rows, signs)
        scores = weights @ columns
        gaps = scores[demands.left] - scores[demands.right]
        excess = np.abs(gaps) - demands.bounds
        broken = np.flatnonzero(excess > BROKEN_BY)
        worst = broken[np.argsort(-excess[broken], kind="stable")[:ROWS_AT_ONCE]]
        worth = costs.copy()
        np.add.at(worth, demands.left[rows], prices * signs)
        np.add.at(worth, demands.right[rows], -prices * signs)
        found = _searched(search, worth)
        least = float(worth @ found)
        improves = least < level - WORTH * people
        if not improves and not len(worst):
            bound = demands.ones + min(least, level) - float(prices @ demands.bounds[rows])
            return ColumnPolicy(
                demands.ones + value, bound if exact else None, weights,
                columns.astype(np.uint8), calls, len(rows),
            )  # fmt: skip
        if improves:
            columns = np.vstack([columns, found])
        rows = np.concatenate([rows, worst])
        signs = np.concatenate([signs, np.where(gaps[worst] < 0, -1.0, 1.0)])
    raise ComparatorError(
        f"The best fair policy was not found in {MOST_ITERATIONS} rounds of columns and rows."
    )


def _searched(search: Search, costs: FloatArray) -> FloatArray:
    """The predictions that a search finds, checked."""
    rule = f"It gets a cost for each of {len(costs)} points, and returns a prediction for each."
    with foreign_code(ComparatorError, "The search failed", rule):
        found = np.asarray(search(costs), dtype=np.float64)
    if found.shape != costs.shape or not np.isin(found, (0, 1)).all():
        raise ComparatorError(
            f"The search must return 0 or 1 for each of {len(costs)} points; got shape "
            f"{found.shape}."
        )
    return found


def _master(
    columns: FloatArray, costs: FloatArray, demands: Demands, rows: IntArray, signs: FloatArray
) -> tuple[FloatArray, float, FloatArray, float]:
    """Weights of the columns, the value, the prices of the rows, and the price of a weight."""
    differences = (columns[:, demands.left[rows]] - columns[:, demands.right[rows]]) * signs
    result = linprog(
        columns @ costs,
        A_ub=differences.T if len(rows) else None,
        b_ub=demands.bounds[rows] if len(rows) else None,
        A_eq=np.ones((1, len(columns))),
        b_eq=[1.0],
        bounds=(0.0, None),
        method="highs",
    )
    if not result.success:
        raise ComparatorError(f"The program of columns was not solved: {result.message}")
    weights = np.maximum(np.asarray(result.x), 0.0)
    prices = np.maximum(-np.asarray(result.ineqlin.marginals), 0.0) if len(rows) else np.empty(0)
    level = float(np.asarray(result.eqlin.marginals)[0])
    return weights / weights.sum(), float(np.asarray(result.fun)), prices, level
