"""Accuracy only: the same primal player, with a panel that it ignores."""

from __future__ import annotations

from likewise.baselines.base import baseline
from likewise.hypotheses import HypothesisClass
from likewise.learning import Learner, SelfTuned
from likewise.learning.learner import player_named

__all__ = ["accuracy_only"]


@baseline("accuracy-only", "ignores the panel: accurate, unfair in almost every round")
def accuracy_only(
    hypotheses: HypothesisClass, k: int, alpha: float, eps: float, seed: int, *,
    rounds: int | None = None,  # noqa: ARG001
) -> Learner:  # fmt: skip
    """A no-regret learner on the misclassification loss alone (section "On Achieving Simultaneous
    No-Regret Guarantees"): accurate, and unfair in almost every round.
    """
    # A third of the bound's best temperature: nothing but accuracy is at stake, so learn fast.
    player = player_named("auto", hypotheses, "compiled")
    schedule = SelfTuned(eta=1.0, x=player.best_x(hypotheses) / 3)
    return Learner(hypotheses, k, alpha, eps, seed, schedule=schedule, ignores_reports=True)
