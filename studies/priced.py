"""The best fixed policies in hindsight at a price of violations: a frontier to compare with."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from likewise.hypotheses.base import HypothesisClass
from likewise.numerics.fixed_point import FloatArray, IntArray
from likewise.simulate.hindsight import Faced, all_pairs, form_of, replayed
from likewise.simulate.programs import VIOLATED_BY, Constraints, Form, Rows, solve_program
from likewise.validation import within

COUNTED = 1e-7
"""An excess above this is a violation; the solver's own tolerance is far below."""


class PricedPolicy(NamedTuple):
    """A fixed policy that is best at a price: its errors, rounds in violation, and their excess."""

    error: float
    violations: int
    excess: float


def priced_policy(
    hypotheses: HypothesisClass, rounds: Sequence[Faced], alpha: float, price: float
) -> PricedPolicy:
    """Find the best fixed policy at a price of violations.

    A learner has some violations; here a fixed policy pays for the largest excess of every round,

        min_π  Σ_t Error^t(π) + price·Σ_t e_t,
        e_t ≥ 0,   e_t ≥ π(x_l) − π(x_r) − d_pivot(l, r) − alpha for all pairs of round t,

    over ΔH. Over the prices, its error and its rounds in violation draw a frontier.
    """
    alpha = within("alpha", alpha, 0, 1, "It is the size of a violation.")
    price = within("price", price, 0, 1e9, "0 charges nothing.", ends="[)")
    form, place = form_of(hypotheses, [faced.points for faced in rounds])
    ends = np.cumsum([len(faced.labels) for faced in rounds])[:-1]
    pairs = [
        all_pairs(form.points, people, [faced], alpha)
        for people, faced in zip(np.split(place, ends), rounds, strict=True)
    ]
    error, excess = replayed(_best_policy(form, pairs, price), rounds, alpha)
    return PricedPolicy(error, int((excess > COUNTED).sum()), float(sum(excess)))


def _best_policy(form: Form, rounds: Sequence[Constraints], price: float) -> FloatArray:
    """Solve the program by cutting planes: the most violated pair of every round is added."""
    left, right, bounds = (
        np.concatenate([getattr(pairs, name) for pairs in rounds])
        for name in ("left", "right", "bounds")
    )
    round_ = np.repeat(np.arange(len(rounds)), [len(pairs.bounds) for pairs in rounds])
    width = int(round_.max(initial=-1)) + 1  # an e for every round up to the last with a pair
    costs = np.concatenate(
        [form.objective(np.sum([p.costs for p in rounds], axis=0)), np.full(width, price)]
    )
    order, total = form.order(), form.total()
    rows = _with_excess(order, np.empty(0, dtype=np.int64), width)
    limits = np.zeros(order.shape[0])
    added = np.zeros((2, len(bounds)), dtype=np.bool_)
    if total is not None:
        total = _with_excess(total, np.empty(0, dtype=np.int64), width)
    while True:
        solution = np.asarray(solve_program(costs, rows, limits, total, form.upper).x)
        policy = form.settle(solution[: form.variables])
        scores = form.scores(policy)
        gaps = scores[left] - scores[right]
        sides = (gaps < 0).astype(np.int64)
        beyond = np.abs(gaps) - bounds - solution[form.variables :][round_]
        new = ~added[sides, np.arange(len(gaps))]
        pairs = np.flatnonzero((beyond > VIOLATED_BY) & new)
        if not len(pairs):
            return policy
        worst = pairs[np.lexsort((-beyond[pairs], round_[pairs]))]
        pairs = worst[np.unique(round_[worst], return_index=True)[1]]
        added[sides[pairs], pairs] = True
        upper = np.where(sides[pairs] == 0, left[pairs], right[pairs])
        lower = np.where(sides[pairs] == 0, right[pairs], left[pairs])
        differences = _with_excess(form.differences(upper, lower), round_[pairs], width)
        rows = sparse.vstack([rows, differences], format="csr")
        limits = np.concatenate([limits, bounds[pairs]])


def _with_excess(rows: Rows, round_: IntArray, width: int) -> Rows:
    """The rows with columns for e: −1 in the round of each row, where rows have one."""
    entries = (np.full(len(round_), -1.0), (np.arange(len(round_)), round_))
    excess = sparse.csr_array(entries, shape=(rows.shape[0], width))
    return sparse.hstack([rows, excess], format="csr")
