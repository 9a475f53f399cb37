"""The compiled engine: the reference engine's draws in numba, on all cores.

Noise and costs are the reference engine's integers, and every choice is the one that it makes.
Classes that have no kernel here run on the reference engine.
"""

from __future__ import annotations

import numpy as np

from likewise.fixed_point import IntArray
from likewise.hypotheses import Bits, HypothesisClass, Listed, Points, Segments, Staircases
from likewise.oracles.engines import reference
from likewise.oracles.engines.compiled import lists, segments, staircases
from likewise.oracles.engines.compiled.noise import NoiseOfDraws
from likewise.randomness import Noise

__all__ = ["approvals"]


def approvals(
    hypotheses: HypothesisClass,
    costs: IntArray,
    noise: Noise,
    points: Points,
    first_draw: int,
    draws: int,
) -> Bits:
    """Predictions of some draws of h on each point, shape (draws, points)."""
    if isinstance(hypotheses, Listed):
        return lists.approvals(hypotheses, costs, noise, points, first_draw, draws)
    if isinstance(hypotheses, Segments | Staircases):
        cells = np.ascontiguousarray(points, dtype=np.int64)
        source = NoiseOfDraws.of(noise, first_draw)
        if isinstance(hypotheses, Segments):
            return segments.approvals(hypotheses, costs, source, cells, draws)
        return staircases.approvals(hypotheses, costs, source, cells, draws)
    return reference.approvals(hypotheses, costs, noise, points, first_draw, draws)
