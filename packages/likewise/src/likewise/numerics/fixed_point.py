"""The dyadic grid: costs, noise, distances and scores are integers of 2^-20.

Integers add up to the same sum in any order, on any machine, so that two engines, two BLAS kernels
or two computers take the same decisions. One unit is about one in a million.
"""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from likewise.errors import ParameterError
from likewise.validation import integer, real

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
Number = TypeVar("Number", np.int64, np.float64)

BITS = 20
ONE = 1 << BITS


def to_units(value: float) -> int:
    """Round a number to the grid, halves to even: ``round(value * 2^20)``.

    >>> to_units(0.5), from_units(524288)
    (524288, 0.5)
    """
    if type(value) is int and -ONE < value < ONE:  # most labels; no rounding, no check of its kind
        return value << BITS
    scaled = real("value", value, "It becomes an integer of 2^-20.") * ONE
    if not math.isfinite(scaled):
        raise ParameterError("value", "must be finite", value, "It becomes an integer of 2^-20.")
    return round(scaled)


def from_units(units: int) -> float:
    """Read a number of units as a real number; exact below 2^53 units."""
    return integer("units", units, -(1 << 1000), 1 << 1000, "It is an integer of 2^-20.") / ONE


def read_only(array: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """A view of an array through which it cannot be changed."""
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view


class HoldsArrays:
    """A dataclass with arrays as fields: equal if their contents are, and not hashable."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        for field in fields(self):  # type: ignore[arg-type] # a dataclass
            left, right = getattr(self, field.name), getattr(other, field.name)
            arrays = isinstance(left, np.ndarray)
            if not (np.array_equal(left, right) if arrays else left == right):
                return False
        return True

    __hash__ = None  # type: ignore[assignment]


LN2 = 0.6931471805599453
_SQRT_HALF = 0.7071067811865476
_ODD = (15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0)
# Beyond this e^(−x) is 0 in every float.
_NOTHING = 1000.0


def log_array(x: FloatArray) -> FloatArray:
    """Natural logarithm of positive numbers: x = m·2^e, ln m = 2·artanh((m−1)/(m+1)).

    >>> bool(np.all(np.abs(log_array(np.array([0.5, 1.0, 10.0])) - np.log([0.5, 1, 10])) < 1e-12))
    True
    """
    mantissa, exponent = np.frexp(x)
    low = mantissa < _SQRT_HALF
    mantissa = np.where(low, mantissa * 2.0, mantissa)
    power = (exponent - low).astype(np.float64)
    s = (mantissa - 1.0) / (mantissa + 1.0)
    q = s * s
    series = np.full_like(s, 1.0 / 17.0)
    for odd in _ODD:
        series *= q
        series += 1.0 / odd
    return power * LN2 + 2.0 * s * series


def log(x: float) -> float:
    """Natural logarithm of one positive number, also of integers too large for a float.

    It takes the steps of :func:`log_array`, hence gives the same bits, and is quicker for one.

    >>> round(log(21**50), 6)
    152.226122
    """
    shift = max(0, int(x).bit_length() - 1000) if isinstance(x, int) else 0
    mantissa, exponent = math.frexp(float(x >> shift) if isinstance(x, int) else x)
    if mantissa < _SQRT_HALF:
        mantissa, exponent = mantissa * 2.0, exponent - 1
    s = (mantissa - 1.0) / (mantissa + 1.0)
    q, series = s * s, 1.0 / 17.0
    for odd in _ODD:
        series = series * q + 1.0 / odd
    return float(exponent) * LN2 + 2.0 * s * series + shift * LN2


def exp_negative(x: FloatArray) -> FloatArray:
    """e^(−x) for x ≥ 0: 2^(−n)·e^(−f) with x = n·ln 2 + f and a Taylor series for e^(−f).

    >>> off = exp_negative(np.array([0.0, 1.0, 30.0])) - np.exp([0, -1, -30])
    >>> bool(np.all(np.abs(off) < 1e-13))
    True
    """
    x = np.minimum(x, _NOTHING)
    halvings = np.rint(x / LN2)
    rest = halvings * LN2 - x
    series = np.ones_like(rest)
    for n in range(14, 0, -1):
        series *= rest
        series /= float(n)
        series += 1.0
    return np.ldexp(series, -halvings.astype(np.int64))


def exp_of_negative(x: float) -> float:
    """e^(−x) of one number x ≥ 0, by the steps of :func:`exp_negative`, hence the same bits.

    >>> exp_of_negative(2.0) == float(exp_negative(np.array([2.0]))[0])
    True
    """
    x = min(x, _NOTHING)
    halvings = float(round(x / LN2))
    rest, series = halvings * LN2 - x, 1.0
    for n in range(14, 0, -1):
        series = series * rest / float(n) + 1.0
    return math.ldexp(series, -int(halvings))
