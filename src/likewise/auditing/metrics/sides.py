"""Two lists of people to measure against each other, without a table of all pairs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.fixed_point import FloatArray
from likewise.schema import People

# Single pairs are measured in tables of this many people a side.
_PAIRS_AT_ONCE = 64
# This many differences of a few features fit into the nearest cache.
_FEW_PAIRS = 1 << 12


@dataclass(frozen=True, eq=False)
class Sides:
    """Everybody on the left with everybody on the right; or, ``paired``, the first with the first.

    >>> from likewise.schema import Feature, FeatureSchema
    >>> people = FeatureSchema((Feature("age"),)).people([[20], [30], [50]])
    >>> left, right = Sides(people.take([0]), people.take([1, 2])).columns("age")
    >>> (right - left).tolist()
    [[10.0, 30.0]]
    """

    left: People
    right: People
    paired: bool = False
    _cache: dict[Any, FloatArray] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, people: People) -> Sides:
        """Everybody with everybody."""
        return cls(people, people)

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the distances."""
        return (len(self.left),) if self.paired else (len(self.left), len(self.right))

    def spread(self, left: Any, right: Any) -> tuple[Any, Any]:
        """A value for everybody on the left and on the right, as arrays that broadcast."""
        return (left, right) if self.paired else (left[:, None], right[None, :])

    def columns(self, name: str) -> tuple[FloatArray, FloatArray]:
        """A feature of the left and of the right, as arrays that broadcast."""
        return self.spread(self.left.column(name), self.right.column(name))

    def complete(self, name: str) -> bool:
        """Test whether nobody lacks a feature, nor has a value beyond the floats."""
        sides = (self.left,) if self.right is self.left else (self.left, self.right)
        return all(finite(side.column(name)) for side in sides)

    def once(self, key: Any, make: Callable[[], FloatArray]) -> FloatArray:
        """An array that several auditors need, made once where there are few pairs; read-only.

        Where there are many, memory is slower than making it again.
        """
        if math.prod(self.shape) > _FEW_PAIRS:
            return make()
        array = self._cache.get(key)
        if array is None:
            array = self._cache[key] = make()
            array.flags.writeable = False
        return array


def finite(column: FloatArray) -> bool:
    """Test whether no value is missing, nor beyond the floats: the usual case, and a fast one.

    >>> finite(np.array([1.0, np.nan])), finite(np.array([1e308, 1e308]))
    (False, True)
    """
    with np.errstate(over="ignore", invalid="ignore"):
        # A sum that is finite has no term that is not.
        return math.isfinite(column.sum()) or bool(np.isfinite(column).all())


def joined(distance: Callable[[People], npt.NDArray[Any]], sides: Sides) -> npt.NDArray[Any]:
    """Distances of a function that measures only all pairs of one list of people.

    It is called with everybody on both sides, which measures more pairs than needed.
    """
    if not sides.paired:
        return _of_all(distance, sides.left, sides.right)
    blocks = [
        np.diagonal(
            _of_all(
                distance,
                sides.left.take(places, repeated=True),
                sides.right.take(places, repeated=True),
            )
        )
        for start in range(0, len(sides.left), _PAIRS_AT_ONCE)
        for places in [np.arange(start, min(start + _PAIRS_AT_ONCE, len(sides.left)))]
    ]
    return np.concatenate(blocks) if blocks else np.empty(0)


def _of_all(
    distance: Callable[[People], npt.NDArray[Any]], left: People, right: People
) -> npt.NDArray[Any]:
    """The part of a table of everybody that has the left as rows and the right as columns."""
    first: dict[str, int] = {}
    for name in (*left.ids, *right.ids):
        first.setdefault(name, len(first))
    x = np.empty((len(first), left.x.shape[1]))
    for side in (left, right):
        x[[first[name] for name in side.ids]] = side.x
    everybody = People(tuple(first), x, left.schema)
    rows, columns = ([first[name] for name in side.ids] for side in (left, right))
    return np.asarray(distance(everybody))[np.ix_(rows, columns)]
