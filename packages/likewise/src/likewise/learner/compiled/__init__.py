"""The compiled engine: the reference engine's draws and weights in numba, on all cores.

Noise, costs and weights are the reference engine's integers, and every choice is its own.
Classes that have no kernel here run on the reference engine.
"""

from __future__ import annotations

import numpy as np

from likewise.hypotheses.base import FLAT, Bits, ExactWeights, GibbsPolicy, HypothesisClass, Points
from likewise.hypotheses.lists import Listed
from likewise.hypotheses.segments import Segments
from likewise.hypotheses.staircases import Staircases
from likewise.learner import reference
from likewise.learner.compiled import cells, lists, weights
from likewise.learner.compiled.noise import source_of
from likewise.numerics.fixed_point import FloatArray, IntArray
from likewise.numerics.randomness import Noise


def approvals(
    hypotheses: HypothesisClass, costs: IntArray, noise: Noise, points: Points, draws: range
) -> Bits:
    if isinstance(hypotheses, Listed):
        return lists.approvals(hypotheses, costs, noise, points, draws)
    if isinstance(hypotheses, Segments | Staircases):
        places = np.ascontiguousarray(points, dtype=np.int64)
        source = source_of(noise, draws.start)
        if isinstance(hypotheses, Segments):
            return cells.segment_approvals(hypotheses, costs, source, places, len(draws))
        return cells.staircase_approvals(hypotheses, costs, source, places, len(draws))
    return reference.approvals(hypotheses, costs, noise, points, draws)


def weigh(
    hypotheses: ExactWeights, costs: IntArray, temperature: float | FloatArray
) -> GibbsPolicy:
    """Exponential weights over a list or a tree of segments; other classes weigh themselves."""
    if isinstance(hypotheses, Listed) and type(hypotheses).weigh is Listed.weigh:
        short = len(costs) <= weights.PIECE
        kind = weights.ShortListPolicy if short else weights.ListPolicy
        return kind(costs, float(temperature), hypotheses.log_inverse)
    overridden = type(hypotheses).weigh is not Segments.weigh
    if isinstance(hypotheses, Segments) and not overridden and hypotheses.prior != FLAT:
        return cells.SegmentTreePolicy(hypotheses, costs, float(temperature))
    return reference.weigh(hypotheses, costs, temperature)


def charge(
    hypotheses: HypothesisClass, costs: IntArray, points: Points, amounts: IntArray
) -> IntArray:
    """The costs of a list after charges on points; other classes charge themselves."""
    if isinstance(hypotheses, Listed) and type(hypotheses).charge is Listed.charge:
        return weights.charge(costs, points, amounts)
    return reference.charge(hypotheses, costs, points, amounts)
