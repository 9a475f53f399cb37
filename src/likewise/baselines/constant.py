"""The constant predictor: never unfair, and never learns anything."""

from __future__ import annotations

import math

import numpy as np

from likewise.baselines.base import baseline
from likewise.errors import HypothesisError
from likewise.features import Feature
from likewise.hypotheses import Cut, HypothesisClass, Pool
from likewise.learning import Learner

__all__ = ["constant"]


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
