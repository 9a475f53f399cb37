"""Fixed policies in hindsight that may violate, at a price: the frontier to hold a learner against.

A learner has some violations, and a policy that has none at all is no fair measure for it. Here a
fixed policy pays for the largest excess of every round,

    min_π  Σ_t Error^t(π) + price·Σ_t e_t,
    e_t ≥ 0,   e_t ≥ π(x_l) − π(x_r) − d_pivot(l, r) − alpha for all pairs of round t,

over ΔH. Over a range of prices its error and the number of its rounds in violation draw a frontier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from likewise.errors import ParameterError
from likewise.evaluation.comparator import form_of, policy_scores
from likewise.evaluation.comparator_forms import Form, Rows
from likewise.evaluation.comparator_rows import BROKEN_BY, solve_program
from likewise.evaluation.faced import Faced, checked_rounds
from likewise.fixed_point import ONE, FloatArray, IntArray
from likewise.hypotheses import HypothesisClass
from likewise.linear_programs import sparse as sp
from likewise.validation import real, reals

__all__ = ["PRICES", "PricedPolicy", "priced_policies"]

PRICES = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)
"""Errors that one unit of excess costs; the last is so much that hardly any remains."""
COUNTED = 1e-7
"""An excess above this is a violation; the solver's own tolerance is far below."""


@dataclass(frozen=True)
class PricedPolicy:
    """A fixed policy that is best at one price: its error rate and its rounds in violation."""

    price: float
    error_rate: float
    violations: int
    excess: float


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Every pair of every round: places of the two people, the round, and d_pivot + alpha."""

    left: IntArray
    right: IntArray
    round: IntArray
    bound: FloatArray


def priced_policies(
    hypotheses: HypothesisClass,
    rounds: Sequence[Faced],
    alpha: float,
    prices: Sequence[float] = PRICES,
) -> list[PricedPolicy]:
    """The best fixed policy at every price, in the order of the prices.

    Two people whom the panel holds equal, one of whom should be approved: unequal treatment saves
    an error. At a price below 1 the policy takes it and pays; above 1 it treats them alike.

    >>> from likewise.hypotheses import Pool
    >>> pool = Pool.from_table([[0, 0], [0, 1], [1, 1]])
    >>> alike = np.zeros((2, 2), dtype=np.int64)
    >>> faced = Faced(np.array([[0, 0, 1], [0, 1, 1]]), np.array([0, 1]), alike)
    >>> [(p.error_rate, p.violations) for p in priced_policies(pool, [faced], 0.0, [0.5, 2.0])]
    [(0.0, 1), (0.5, 0)]
    """
    rounds = checked_rounds(rounds)
    alpha = real("alpha", alpha, "It is the size of a violation.")
    if not 0 <= alpha <= 1:
        raise ParameterError("alpha", "must be in [0, 1]", alpha, "It is the size of a violation.")
    prices = reals("prices", prices, "Errors that one unit of excess costs.")
    for price in prices:
        if not 0 <= price < 1e9:
            raise ParameterError("prices", "must be in [0, 10^9)", price, "0 charges nothing.")
    form, place = form_of(hypotheses, [faced.points for faced in rounds])
    labels = np.concatenate([faced.labels for faced in rounds])
    costs: FloatArray = np.zeros(form.points)
    np.add.at(costs, place, 1.0 - 2.0 * labels)
    pairs = _pairs(place, rounds, alpha)
    return [_solve(form, costs, pairs, rounds, alpha, price) for price in prices]


def _pairs(place: IntArray, rounds: Sequence[Faced], alpha: float) -> _Pairs:
    """All pairs that could ever exceed: two points, and a bound below 1."""
    columns: list[list[IntArray]] = [[], [], [], []]
    start = 0
    for t, faced in enumerate(rounds):
        k = len(faced.labels)
        left, right = np.triu_indices(k, 1)
        here = place[start : start + k]
        parts = (here[left], here[right], np.full(len(left), t), faced.pivots[left, right])
        for column, part in zip(columns, parts, strict=True):
            column.append(part)
        start += k
    left, right, round_, distance = (np.concatenate(column) for column in columns)
    bound = distance / ONE + alpha
    asks = (bound < 1) & (left != right)
    return _Pairs(left[asks], right[asks], round_[asks], bound[asks])


def _solve(
    form: Form,
    costs: FloatArray,
    pairs: _Pairs,
    rounds: Sequence[Faced],
    alpha: float,
    price: float,
) -> PricedPolicy:
    """Rows by generation: the worst pair of every round that its e_t does not cover yet."""
    objective = np.concatenate([form.objective(costs), np.full(len(rounds), price)])
    rows: Rows = sp.csr_array((0, len(objective)))
    bounds = np.empty(0)
    while True:
        found = _program(form, objective, rows, bounds, len(rounds))
        policy, excess = form.settle(found[: form.variables]), found[form.variables :]
        scores = form.scores(policy)
        gaps = scores[pairs.left] - scores[pairs.right]
        over = np.abs(gaps) - pairs.bound - excess[pairs.round]
        worst = _worst_of_rounds(over, pairs.round, len(rounds))
        worst = worst[over[worst] > BROKEN_BY * 10]
        if not len(worst):
            break
        upper = np.where(gaps[worst] >= 0, pairs.left[worst], pairs.right[worst])
        lower = np.where(gaps[worst] >= 0, pairs.right[worst], pairs.left[worst])
        covered = sp.csr_array(
            (np.full(len(worst), -1.0), (np.arange(len(worst)), pairs.round[worst])),
            shape=(len(worst), len(rounds)),
        )
        more = sp.hstack([form.differences(upper, lower), covered], format="csr")
        rows = sp.vstack([rows, more], format="csr")
        bounds = np.concatenate([bounds, pairs.bound[worst]])
    return _counted(policy, rounds, alpha, price)


def _worst_of_rounds(over: FloatArray, round_: IntArray, rounds: int) -> IntArray:
    """For every round, which of its pairs is exceeded most."""
    worst: FloatArray = np.full(rounds, -np.inf)
    np.maximum.at(worst, round_, over)
    places = np.flatnonzero(over == worst[round_])
    _, first = np.unique(round_[places], return_index=True)
    return np.asarray(places[first])


def _program(
    form: Form, objective: FloatArray, rows: Rows, bounds: FloatArray, rounds: int
) -> FloatArray:
    order, total = _wider(form.order(), rounds), form.total()
    result = solve_program(
        objective, order, rows, bounds, None if total is None else _wider(total, rounds),
        "of a policy in hindsight with a price on violations",
    )  # fmt: skip
    return np.asarray(result.x, dtype=np.float64)


def _wider(rows: Rows, more: int) -> Rows:
    return sp.hstack([rows, sp.csr_array((rows.shape[0], more))], format="csr")


def _counted(
    policy: FloatArray, rounds: Sequence[Faced], alpha: float, price: float
) -> PricedPolicy:
    """Hold the policy against every round as it was faced."""
    error, people, violations, total = 0.0, 0, 0, 0.0
    for faced in rounds:
        scores = policy_scores(policy, faced.points)
        error += float(np.abs(scores - faced.labels).sum())
        people += len(scores)
        over = scores[:, None] - scores - faced.pivots / ONE - alpha
        np.fill_diagonal(over, 0.0)
        worst = float(over.max(initial=0.0))
        violations += worst > COUNTED
        total += worst
    return PricedPolicy(price, error / people, violations, total)
