"""Untaught: the policy that the exact learner begins with, deployed for ever."""

from __future__ import annotations

from likewise.hypotheses import HypothesisClass
from likewise.learning import Learner, SelfTuned

__all__ = ["untaught"]

# So warm that no cost of any horizon moves the weights.
HOT = 1e9


def untaught(hypotheses: HypothesisClass, k: int, alpha: float, eps: float, seed: int) -> Learner:
    """All hypotheses with equal weights, whatever happens: what learning must be compared with."""
    schedule = SelfTuned(eta=1.0, x=HOT)
    return Learner(
        hypotheses, k, alpha, eps, seed, schedule=schedule, player="exponential-weights",
        ignores_reports=True,
    )  # fmt: skip
