"""The constant predictor: never unfair, and never learns anything."""

from __future__ import annotations

import numpy as np

from likewise.hypotheses import Cut, Pool
from likewise.learning import Learner
from likewise.schema import FeatureSchema

__all__ = ["constant"]


def constant(
    schema: FeatureSchema, k: int, alpha: float, eps: float, seed: int, *, approve: bool = True
) -> Learner:
    """Everybody is treated alike, all the same (section "On Achieving Simultaneous No-Regret
    Guarantees"): a class of one hypothesis.
    """
    cut = Cut(schema.names[0], -np.inf if approve else np.inf)
    alone = Pool(schema, [cut], np.zeros((1, len(schema))))
    return Learner(alone, k, alpha, eps, seed, ignores_reports=True)
