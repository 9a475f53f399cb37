"""The best fixed policies in hindsight at a price of violations: a frontier to compare with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from likewise.errors import ParameterError
from likewise.hypotheses.base import HypothesisClass
from likewise.simulate.hindsight import Faced, all_pairs, checked_rounds, form_of, replayed
from likewise.simulate.programs import solve
from likewise.validation import real, reals

PRICES = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)
"""Errors that one unit of excess costs; at the last, hardly any excess remains."""
COUNTED = 1e-7
"""An excess above this is a violation; the solver's own tolerance is far below."""


@dataclass(frozen=True)
class PricedPolicy:
    """A fixed policy that is best at one price: its error rate and its rounds in violation."""

    price: float
    error_rate: float
    violations: int
    excess: float


def priced_policies(
    hypotheses: HypothesisClass,
    rounds: Sequence[Faced],
    alpha: float,
    prices: Sequence[float] = PRICES,
) -> list[PricedPolicy]:
    """Find the best fixed policy at every price of violations, in the order of the prices.

    A learner has some violations, and a policy that has none at all is no fair measure for it. Here
    a fixed policy pays for the largest excess of every round,

        min_π  Σ_t Error^t(π) + price·Σ_t e_t,
        e_t ≥ 0,   e_t ≥ π(x_l) − π(x_r) − d_pivot(l, r) − alpha for all pairs of round t,

    over ΔH. Over the prices, its error and its rounds in violation draw a frontier.

    Two people whom the panel holds equal, one of whom should be approved: unequal treatment saves
    an error. At a price below 1 the policy takes it and pays; above 1 it treats them alike.

    >>> import numpy as np
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
    pairs = all_pairs(form.points, place, rounds, alpha)
    policies = []
    for price in prices:
        error, excess = replayed(solve(form, pairs, price).policy, rounds, alpha)
        violations = int((excess > COUNTED).sum())
        policies.append(PricedPolicy(price, error / len(place), violations, float(sum(excess))))
    return policies
