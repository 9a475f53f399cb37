"""The dyadic grid: costs, noise, distances and scores are integers of 2^-20.

Integers add up to the same sum in any order, on any machine. That is what lets two engines,
two BLAS kernels or two computers take the same decisions. One unit is about one in a million.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["BITS", "ONE", "FloatArray", "IntArray", "from_units", "to_units"]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

BITS = 20
ONE = 1 << BITS


def to_units(value: float) -> int:
    """Round a number to the grid, halves to even: ``round(value * 2^20)``.

    >>> to_units(0.5), to_units(-1.0)
    (524288, -1048576)
    """
    return round(value * ONE)


def from_units(units: int) -> float:
    """Read a number of units as a real number; exact below 2^53 units.

    >>> from_units(524288)
    0.5
    """
    return units / ONE
