"""Logistic regression, learnt a Newton step a row (an extended Kalman filter).

It uses only + − · / and our own exp, in a fixed order, so that the same rows give the same bits
everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from likewise.numerics.fixed_point import FloatArray, exp_of_negative


@dataclass(frozen=True, eq=False)
class Logistic:
    """The weights of a regression: their mean, (d), and their covariance, (d, d).

    >>> model = Logistic.start(2, variance=1.0)
    >>> model.after([1.0, 0.0], 1.0).mean.tolist()
    [0.4, 0.0]
    """

    mean: FloatArray
    covariance: FloatArray

    @classmethod
    def start(cls, d: int, variance: float) -> Logistic:
        """Weights of mean 0, before the first row."""
        return cls(np.zeros(d), variance * np.eye(d))

    @classmethod
    def of(cls, numbers: Sequence[float]) -> Logistic:
        """Read the d + d² numbers that :attr:`numbers` returns."""
        d = (math.isqrt(4 * len(numbers) + 1) - 1) // 2
        return cls(np.array(numbers[:d]), np.array(numbers[d:]).reshape(d, d))

    @property
    def numbers(self) -> tuple[float, ...]:
        """Mean and covariance as plain numbers, to be stored."""
        return (*self.mean.tolist(), *self.covariance.ravel().tolist())

    def estimates(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of the log-odds of every row, (n, d)."""
        centre, spread = np.zeros(len(rows)), np.zeros(rows.shape)
        for j, weight in enumerate(self.mean.tolist()):
            centre = centre + rows[:, j] * weight
            spread = spread + rows[:, j, None] * self.covariance[j]
        variance = np.zeros(len(rows))
        for j in range(rows.shape[1]):
            variance = variance + rows[:, j] * spread[:, j]
        return centre, np.maximum(variance, 0.0)

    def after(self, row: Sequence[float], target: float) -> Logistic:
        """The weights after one more row with its target, 0 or 1."""
        direction, centre, variance = np.zeros(len(row)), 0.0, 0.0
        for j, value in enumerate(row):
            direction = direction + self.covariance[j] * value
            centre += value * float(self.mean[j])
        for value, other in zip(row, direction.tolist(), strict=True):
            variance += value * other
        small = exp_of_negative(abs(centre))
        chance = (1.0 if centre >= 0 else small) / (1.0 + small)
        curvature = chance * (1.0 - chance)
        gain = 1.0 + curvature * variance
        covariance = self.covariance - direction[:, None] * direction * (curvature / gain)
        return Logistic(self.mean + direction * ((target - chance) / gain), covariance)
