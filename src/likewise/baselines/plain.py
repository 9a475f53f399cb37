"""The plainest learners: accuracy alone, everybody approved, equal weights whatever happens."""

from __future__ import annotations

import math

import numpy as np

from likewise.baselines.base import baseline
from likewise.errors import HypothesisError
from likewise.features import Feature
from likewise.hypotheses import Cut, ExactWeights, HypothesisClass, Pool
from likewise.learning import Learner, SelfTuned
from likewise.learning.learner import player_named

__all__ = ["accuracy_only", "constant", "untaught"]

# So warm that no cost of any horizon moves the weights.
HOT = 1e9


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


@baseline("constant", "approves everybody: never unfair, learns nothing")
def constant(
    hypotheses: HypothesisClass, k: int, alpha: float, eps: float, seed: int, *,
    rounds: int | None = None,  # noqa: ARG001
) -> Learner:  # fmt: skip
    """Everybody is approved (section "On Achieving Simultaneous No-Regret Guarantees"): a class of
    one hypothesis, over the features of the class that others choose from.
    """
    schema = hypotheses.schema
    column = next((f.name for f in schema.features if f.missing is None), None)
    if column is None:
        raise HypothesisError(
            "A constant is a cut on a feature that everybody has; here each of them may be missing "
            "in somebody. Fill one of them in."
        )
    anybody = np.array([[_plain(feature) for feature in schema.features]])
    alone = Pool(schema, [Cut(column, -np.inf)], anybody)
    return Learner(alone, k, alpha, eps, seed, ignores_reports=True)


def _plain(feature: Feature) -> float:
    """The value nearest to 0 that the feature may have."""
    low, high = feature.limits
    value = min(max(0.0, low), high)
    return value if feature.kind == "number" else float(math.ceil(value))
