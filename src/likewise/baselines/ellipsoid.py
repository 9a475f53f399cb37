"""An ellipsoid that contains unknown parameters, and is cut by what becomes known of them.

A surrogate for the estimator of Lobel, Paes Leme and Vladu (2017), whose mistake bound is
O(m·log(m/eps)): guess by the centre, and cut through it (the ellipsoid method's update). A cut
shrinks the volume by exp(−1/(2(m+1))), and cuts in directions narrower than eps are skipped, so
there are at most O(m²·log(1/eps)) of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from likewise.fixed_point import FloatArray

__all__ = ["Ellipsoid"]


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """All w with (w − centre)ᵀ shape⁻¹ (w − centre) ≤ 1."""

    centre: FloatArray
    shape: FloatArray

    @classmethod
    def ball(cls, dimension: int, radius: float) -> Ellipsoid:
        """A ball around 0."""
        return cls(np.zeros(dimension), np.eye(dimension) * radius * radius)

    def guess(self, features: FloatArray) -> float:
        """⟨centre, features⟩."""
        return float(_dot(self.centre, features))

    def width(self, features: FloatArray) -> float:
        """Half of the range of ⟨w, features⟩ over the ellipsoid.

        >>> Ellipsoid.ball(2, 3.0).width(np.array([0.0, 2.0]))
        6.0
        """
        return math.sqrt(max(0.0, _dot(features, _times(self.shape, features))))

    def cut(self, features: FloatArray, *, smaller: bool) -> Ellipsoid:
        """The least ellipsoid around the half in which ⟨w, features⟩ is at most the guess.

        With ``smaller`` false, at least the guess.

        >>> half = Ellipsoid.ball(2, 1.0).cut(np.array([1.0, 0.0]), smaller=True)
        >>> half.centre.round(3).tolist(), np.diag(half.shape).round(3).tolist()
        ([-0.333, 0.0], [0.444, 1.333])
        """
        n = len(self.centre)
        step = _times(self.shape, features) / self.width(features)
        centre = self.centre - step / (n + 1) if smaller else self.centre + step / (n + 1)
        shape = self.shape - step[:, None] * step * (2.0 / (n + 1))
        return Ellipsoid(centre, shape * (n * n / (n * n - 1.0)))

    def contains(self, w: FloatArray, slack: float = 1e-9) -> bool:
        """Test whether some parameters are inside."""
        apart = w - self.centre
        solved: FloatArray = np.linalg.solve(self.shape, apart).astype(np.float64)
        return _dot(apart, solved) <= 1 + slack


def _dot(one: FloatArray, other: FloatArray) -> float:
    return math.fsum((one * other).tolist())


def _times(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    return np.array([_dot(row, vector) for row in matrix])
