"""Context-FTPL's policy by integration, for classes with one or two separators."""

from __future__ import annotations

import numpy as np

from likewise.fixed_point import FloatArray

# The noise on the first point is cut into slices of equal probability.
SLICES = 1000
# What the integral may be off by, for a cost of 1.
OFF = 3.0 / SLICES


def perturbed_leader(table: FloatArray, totals: FloatArray) -> FloatArray:
    """The law of argmin_h totals(h) + Z(h) for unit Laplace noise on one or two points."""
    u = (np.arange(SLICES) + 0.5) / SLICES
    z = np.where(u < 0.5, np.log(2 * u), -np.log(2 - 2 * u))
    costs = totals[:, None] + (table[:, :1] if table.shape[1] == 2 else 0.0) * z
    zero, one = (np.where(table[:, -1:] == side, costs, np.inf) for side in (0.0, 1.0))
    d = zero.min(axis=0) - one.min(axis=0)  # 1 on the last point iff its noise is below d
    chance = np.where(d < 0, 0.5 * np.exp(-np.abs(d)), 1 - 0.5 * np.exp(-np.abs(d)))
    law = np.bincount(one.argmin(axis=0), chance, len(table))
    law += np.bincount(zero.argmin(axis=0), 1 - chance, len(table))
    return np.asarray(law / SLICES)
