"""The limits of features: least and largest values, integers, and what may be missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from likewise.features import Feature
from likewise.fixed_point import FloatArray

__all__ = ["Limits"]

BoolArray = npt.NDArray[np.bool_]
# Up to so many values plain numbers are faster than arrays.
_FEW = 128


@dataclass(frozen=True, eq=False)
class Limits:
    """Least and largest values, which features may be any number, and which may be missing.

    ``any_number`` is None where all may be, ``optional`` where none may be missing. ``each`` has
    the same as plain numbers: low, high, and if it must be whole.

    >>> limits = Limits.of([Feature("age", "integer", 0, 120), Feature("rent", missing="none")])
    >>> limits.admit(np.array([[30, np.nan]])), limits.admit(np.array([[30.5, 1.0]]))
    (True, False)
    """

    low: FloatArray
    high: FloatArray
    any_number: BoolArray | None
    optional: BoolArray | None
    each: tuple[tuple[float, float, bool], ...]

    @classmethod
    def of(cls, features: Sequence[Feature]) -> Limits:
        """The limits of some features, in order."""
        finite = np.finfo(np.float64)
        low = np.maximum([f.limits[0] for f in features], finite.min)
        high = np.minimum([f.limits[1] for f in features], finite.max)
        any_number = np.array([f.kind == "number" for f in features])
        optional = np.array([f.missing is not None for f in features])
        return cls(
            low, high, None if any_number.all() else any_number,
            optional if optional.any() else None,
            tuple(zip(low.tolist(), high.tolist(), (~any_number).tolist(), strict=True)),
        )  # fmt: skip

    def admit(self, x: FloatArray) -> bool:
        """Test whether everything is within its limits; NaN only where it may be missing."""
        if x.size <= _FEW and self._admit_few(x):
            return True
        with np.errstate(invalid="ignore"):
            within = (x >= self.low) & (x <= self.high)
            if self.any_number is not None:
                within &= self.any_number | (np.floor(x) == x)
        if self.optional is not None:
            within |= self.optional & np.isnan(x)
        return bool(within.all())

    def _admit_few(self, x: FloatArray) -> bool:
        """The same for a few values, none of them missing: number by number that is faster."""
        for row in x.tolist():
            for value, (low, high, whole) in zip(row, self.each, strict=True):
                if not low <= value <= high or (whole and value % 1):
                    return False
        return True
