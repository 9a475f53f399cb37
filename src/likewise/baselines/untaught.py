"""Untaught: all hypotheses with equal weights, deployed in every round."""

from __future__ import annotations

from likewise.baselines.base import baseline
from likewise.hypotheses import ExactWeights, HypothesisClass
from likewise.learning import Learner, SelfTuned

__all__ = ["untaught"]

# So warm that no cost of any horizon moves the weights.
HOT = 1e9


@baseline("untaught", "equal weights in every round, whatever happens")
def untaught(
    hypotheses: HypothesisClass, k: int, alpha: float, eps: float, seed: int, *,
    rounds: int | None = None,  # noqa: ARG001
) -> Learner:  # fmt: skip
    """All hypotheses with equal weights, come what may: learning must do better than that."""
    schedule = SelfTuned(eta=1.0, x=HOT)
    if isinstance(hypotheses, ExactWeights):
        hypotheses = hypotheses.with_prior("flat")
    return Learner(
        hypotheses, k, alpha, eps, seed, schedule=schedule, player="exponential-weights",
        ignores_reports=True,
    )  # fmt: skip
