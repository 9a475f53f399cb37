"""The reference engine: numpy, any class, plain to read. Faster engines must agree with it."""

from __future__ import annotations

import numpy as np

from likewise.fixed_point import IntArray
from likewise.hypotheses import Bits, HypothesisClass, Points
from likewise.randomness import Noise

__all__ = ["approvals"]

# Draws are made in blocks, so that memory does not grow with their number.
BLOCK = 512


def approvals(
    hypotheses: HypothesisClass,
    costs: IntArray,
    noise: Noise,
    points: Points,
    first_draw: int,
    draws: int,
) -> Bits:
    """Predictions of some draws of h on each point, shape (draws, points)."""
    everywhere = np.arange(hypotheses.separators)
    blocks = [
        hypotheses.predict(
            hypotheses.minimise(costs, noise.sample(start, min(BLOCK, end - start), everywhere)),
            points,
        )
        for end in [first_draw + draws]
        for start in range(first_draw, end, BLOCK)
    ]
    return np.concatenate(blocks) if blocks else np.zeros((0, len(points)), dtype=np.uint8)
