"""Ridge regression, for models of respondents: fitted ratings are rounded to hundredths.

Machines differ in the last bits of a regression. Rounded ratings are the same on all of them, but
for one that lies within a rounding error of a half: that is as portable as a fit can be.
"""

from __future__ import annotations

import numpy as np

from likewise.fixed_point import FloatArray

__all__ = ["fitted"]


def fitted(judged: FloatArray, ratings: FloatArray, everybody: FloatArray) -> FloatArray:
    """Ratings of everybody by one ridge regression a respondent, in hundredths within [0, 1].

    >>> x = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> fitted(x, x / 5, np.array([[4.0], [9.0]])).round(2).tolist()
    [[0.7], [1.0]]
    """
    middle, spread = judged.mean(axis=0), judged.std(axis=0)
    spread[spread == 0] = 1.0
    inside, outside = (judged - middle) / spread, (everybody - middle) / spread
    mean = ratings.mean(axis=0)
    gram = inside.T @ inside + np.eye(inside.shape[1])
    weights = np.linalg.solve(gram, inside.T @ (ratings - mean))
    told: FloatArray = np.rint(100 * np.clip(mean + outside @ weights, 0.0, 1.0)) / 100
    return told
