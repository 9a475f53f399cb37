"""The reference engine: plain numpy for any class. Faster engines must agree with it."""

from __future__ import annotations

import numpy as np

from likewise.hypotheses.base import Bits, ExactWeights, GibbsPolicy, HypothesisClass, Points
from likewise.numerics.fixed_point import FloatArray, IntArray
from likewise.numerics.randomness import Noise

# Draws are made in blocks, so that memory does not grow with their number.
BLOCK = 512


def approvals(
    hypotheses: HypothesisClass, costs: IntArray, noise: Noise, points: Points, draws: range
) -> Bits:
    """Predictions of some draws of h on each point, shape (draws, points)."""
    everywhere = np.arange(hypotheses.separators)
    blocks = [
        hypotheses.predict(
            hypotheses.minimise(costs, noise.sample(block.start, len(block), everywhere)), points
        )
        for block in (draws[start : start + BLOCK] for start in range(0, len(draws), BLOCK))
    ]
    return np.concatenate(blocks) if blocks else np.zeros((0, len(points)), dtype=np.uint8)


def weigh(
    hypotheses: ExactWeights, costs: IntArray, temperature: float | FloatArray
) -> GibbsPolicy:
    return hypotheses.weigh(costs, temperature)


def charge(
    hypotheses: HypothesisClass, costs: IntArray, points: Points, amounts: IntArray
) -> IntArray:
    return hypotheses.charge(costs, points, amounts)
