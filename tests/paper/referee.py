"""Policies by integration, the schedule's memory with a single scale, and delays.

Context-FTPL's policy is an integral over its noise. For classes with one or two separators it is
computed here; for every function on some points (a product of coins) it is known in closed form.
"""

from __future__ import annotations

import numpy as np

from likewise.learner.state import Tuning
from likewise.numerics.fixed_point import ONE, FloatArray

# The noise on the first point is cut into slices of equal probability.
SLICES = 1000
# What the integral may be off by, for a cost of 1.
OFF = 3.0 / SLICES


def laplace_cdf(v: FloatArray) -> FloatArray:
    tail = 0.5 * np.exp(-np.abs(v))
    return np.where(v < 0, tail, 1.0 - tail)


def quantiles(slices: int = 400) -> FloatArray:
    """Unit Laplace noise as values of equal probability."""
    u = (np.arange(slices) + 0.5) / slices
    return np.where(u < 0.5, np.log(2 * u), -np.log(2 - 2 * u))


def perturbed_leader(table: FloatArray, totals: FloatArray) -> FloatArray:
    """The law of argmin_h totals(h) + Z(h) for unit Laplace noise on one or two points."""
    z = quantiles(SLICES)
    costs = totals[:, None] + (table[:, :1] if table.shape[1] == 2 else 0.0) * z
    zero, first = (np.where(table[:, -1:] == side, costs, np.inf) for side in (0.0, 1.0))
    d = zero.min(axis=0) - first.min(axis=0)  # 1 on the last point iff its noise is below d
    chance = np.where(d < 0, 0.5 * np.exp(-np.abs(d)), 1 - 0.5 * np.exp(-np.abs(d)))
    law = np.bincount(first.argmin(axis=0), chance, len(table))
    law += np.bincount(zero.argmin(axis=0), 1 - chance, len(table))
    return np.asarray(law / SLICES)


def perturbed_coins(costs: FloatArray, scales: FloatArray | float) -> FloatArray:
    """π(q) of Context-FTPL over all functions on some points: 1 iff cost + scale·z < 0."""
    return laplace_cdf(-costs / scales)


def opened(tuning: Tuning, largest: float, *weights: float) -> Tuning:
    """A round opens whose costs have at most this range; weights are those of late costs."""
    return tuning.opened(largest, largest * largest, *weights)


def charged(tuning: Tuning, size: float, scale: int = 0) -> Tuning:
    """Costs of this size come in, for one scale."""
    return tuning.charged(np.array([[scale]]), np.array([round(size * ONE)]))


def delays_of(kind: str, d: int, rounds: int, rng: np.random.Generator) -> list[int]:
    """At any time, always the latest, or all at once every d + 1 rounds."""
    return {
        "random": [int(v) for v in rng.integers(0, d + 1, rounds)],
        "constant": [d] * rounds,
        "bunched": [d - t % (d + 1) for t in range(rounds)],
    }[kind]
