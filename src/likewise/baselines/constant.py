"""The constant predictor: never unfair, and never learns anything."""

from __future__ import annotations

from likewise.hypotheses import Pool
from likewise.learning import Learner
from likewise.schema import FeatureSchema

__all__ = ["constant"]


def constant(
    schema: FeatureSchema, k: int, alpha: float, eps: float, seed: int, *, approve: bool = True
) -> Learner:
    """Everybody is treated alike, all the same (section "On Achieving Simultaneous No-Regret
    Guarantees"): a class of one hypothesis.
    """
    alone = Pool.constant(schema, approve=approve)
    return Learner(alone, k, alpha, eps, seed, ignores_reports=True)
