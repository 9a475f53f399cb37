"""The dyadic grid: costs, noise, distances and scores are integers of 2^-20.

Integers add up to the same sum in any order, on any machine. That is what lets two engines,
two BLAS kernels or two computers take the same decisions. One unit is about one in a million.
"""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.errors import ParameterError
from likewise.validation import integer, real

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

BITS = 20
ONE = 1 << BITS


def to_units(value: float) -> int:
    """Round a number to the grid, halves to even: ``round(value * 2^20)``.

    >>> to_units(0.5), to_units(-1.0)
    (524288, -1048576)
    """
    scaled = real("value", value, "It becomes an integer of 2^-20.") * ONE
    if not math.isfinite(scaled):
        raise ParameterError("value", "must be finite", value, "It becomes an integer of 2^-20.")
    return round(scaled)


def from_units(units: int) -> float:
    """Read a number of units as a real number; exact below 2^53 units.

    >>> from_units(524288)
    0.5
    """
    return integer("units", units, -(1 << 1000), 1 << 1000, "It is an integer of 2^-20.") / ONE


def read_only(array: IntArray) -> IntArray:
    """A view of an array through which it cannot be changed.

    >>> read_only(np.zeros(3, dtype=np.int64)).flags.writeable
    False
    """
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view


class HoldsArrays:
    """A dataclass with fields that are arrays: equal where their contents are, and not hashable."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        names = [f.name for f in fields(self)]  # type: ignore[arg-type] # a dataclass
        return all(_equal(getattr(self, name), getattr(other, name)) for name in names)

    __hash__ = None  # type: ignore[assignment]


def _equal(left: Any, right: Any) -> bool:
    return np.array_equal(left, right) if isinstance(left, np.ndarray) else bool(left == right)
