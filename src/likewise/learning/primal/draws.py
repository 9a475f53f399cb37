"""Draws of Context-FTPL: the oracle on all costs so far, plus fresh Laplace noise on Q."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from likewise.fixed_point import ONE, FloatArray, IntArray
from likewise.hypotheses import Bits, HypothesisClass, Points
from likewise.oracles import Oracle
from likewise.randomness import Noise, Stream

# Only the paper's own constants ask for more noise than that.
LARGEST_SCALE_BITS = 33


@dataclass(frozen=True)
class Perturbed:
    """The law of argmin_h Σ_tau f_tau(h) + Σ_q noise_q·h(q), known through its draws.

    ``scales`` holds the noise scale, or one for every part of a product class; the draws are then
    those that one array of scales would give, since parts share no noise.
    """

    hypotheses: HypothesisClass
    costs: IntArray
    scales: FloatArray
    copies: int
    engine: str

    def approvals(self, points: Points, stream: Stream, *, first_draw: int, draws: int) -> Bits:
        """The predictions of some draws of h on each point, shape (draws, points)."""
        oracle = Oracle(self.hypotheses, self.engine)
        if len(self.scales) == 1:
            costs, noise = self._perturbation(0, stream)
            return oracle.approvals(costs, noise, points, draws=draws, first_draw=first_draw)
        parts = self.hypotheses.part_of(points)
        predictions = np.empty((draws, len(points)), dtype=np.uint8)
        for part in np.unique(parts).tolist():
            rows = np.flatnonzero(parts == part)
            costs, noise = self._perturbation(part, stream)
            predictions[:, rows] = oracle.approvals(
                costs, noise, points[rows], draws=draws, first_draw=first_draw
            )
        return predictions

    def _perturbation(self, part: int, stream: Stream) -> tuple[IntArray, Noise]:
        """The costs and the noise of a part.

        Beside very large noise the last bits of a cost do not matter, and integers have to stay
        below 2^63: both are then on a coarser grid.
        """
        scale = float(self.scales[part])
        shift = max(0, math.frexp(scale * self.copies)[1] - LARGEST_SCALE_BITS)
        return self.costs >> shift, Noise(stream, math.ldexp(scale, -shift), self.copies)


def first_approvals(tried: Bits) -> list[int]:
    """J of every point: the number of the first draw that approves, in units; at most all of them.

    >>> first_approvals(np.array([[0, 1, 0], [1, 1, 0]], dtype=np.uint8)) == [2 * ONE, ONE, 2 * ONE]
    True
    """
    # A row of approvals at the cap: J = cap where no draw before it approves.
    approved = tried.astype(bool)
    approved[-1] = True
    return [int(j) * ONE for j in approved.argmax(axis=0) + 1]
