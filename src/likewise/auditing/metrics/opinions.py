"""Distances from opinions: ratings of people, or any function of two."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from likewise.auditing.metrics.base import BySides
from likewise.auditing.metrics.differences import (
    by_name,
    full_where_one_is_missing,
    signed_difference,
)
from likewise.auditing.metrics.sides import Sides, joined
from likewise.errors import AuditError, ParameterError, foreign_code, shown
from likewise.fixed_point import FloatArray
from likewise.schema import Feature, People, Value
from likewise.validation import real

_ROUNDING = 1e-9
_NUMBERS = (int, float, np.integer, np.floating)


@dataclass(frozen=True, init=False)
class Ratings(BySides):
    """d(x, x′) = |r(x) − r(x′)| / (high − low): people rated alike should be treated likewise.

    Ratings are given by person, or are a column of the features.

    >>> from likewise.schema import Feature, FeatureSchema
    >>> people = FeatureSchema((Feature("income"),)).people([[20.0], [70.0]], ids=["ann", "bo"])
    >>> Ratings({"ann": 2, "bo": 5}, low=0, high=10)(people).tolist()
    [[0.0, 0.3], [0.3, 0.0]]
    """

    name = "ratings"

    ratings: tuple[tuple[str, float], ...] | str
    low: float
    high: float

    def __init__(
        self,
        ratings: Mapping[str, float] | Sequence[Sequence[Any]] | str,
        low: float = 0.0,
        high: float = 1.0,
    ) -> None:
        for name, bound in (("low", low), ("high", high)):
            number = real(f"Ratings.{name}", bound, "It is the least or the best rating.")
            object.__setattr__(self, name, number)
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ParameterError(
                "Ratings.low", f"must be below high = {high!r}, both finite", low, "Swap them?"
            )
        if isinstance(ratings, str):
            object.__setattr__(self, "ratings", ratings)
            return
        named = by_name("Ratings.ratings", ratings)
        by_person = tuple((p, self._checked(r, p)) for p, r in named.items())
        object.__setattr__(self, "ratings", by_person)

    def _checked(self, rating: object, person: str) -> float:
        if isinstance(rating, bool | np.timedelta64) or not (
            isinstance(rating, _NUMBERS) and self.low <= rating <= self.high
        ):
            raise ParameterError(
                f"Ratings of {person!r}",
                f"must be a number in [{self.low:g}, {self.high:g}]",
                rating,
                "Correct the rating, or low and high.",
            )
        return float(rating)

    def between(self, sides: Sides) -> FloatArray:
        """The distances of the left to the right."""
        column = self._column(sides.left)
        opposite = column if sides.right is sides.left else self._column(sides.right)
        left, right = sides.spread(column, opposite)
        apart = np.abs(signed_difference(left, right)) / (self.high - self.low)
        return np.minimum(1.0, full_where_one_is_missing(apart, left, right))

    def _column(self, people: People) -> FloatArray:
        if isinstance(self.ratings, str):
            column = people.column(self.ratings)
            outside = (column < self.low) | (column > self.high)
            for place in np.flatnonzero(outside).tolist():
                self._checked(float(column[place]), people.ids[place])
            return column
        rating_by_person = dict(self.ratings)
        if unrated := [person for person in people.ids if person not in rating_by_person]:
            raise AuditError(
                f"Ratings must cover everybody; {unrated[0]!r} has none. Rate them, or use a "
                f"column of ratings, which may have missing values."
            )
        return np.array([rating_by_person[person] for person in people.ids], dtype=np.float64)


def _value(feature: Feature, number: float) -> Value:
    """A value as the person would say it: a level's name, a flag, a number, or None if missing."""
    if math.isnan(number):
        return None
    if feature.kind == "category":
        return feature.levels[int(number)]
    if feature.kind == "flag":
        return bool(number)
    return int(number) if feature.kind == "integer" else number


def _rows(people: People) -> list[dict[str, Value]]:
    features = people.schema.features
    return [
        {f.name: _value(f, v) for f, v in zip(features, x, strict=True)} for x in people.x.tolist()
    ]


@dataclass(frozen=True)
class _OfTwo:
    """A function of two people or sets of columns; subclasses define how it is called."""

    function: Callable[[Mapping[str, Any], Mapping[str, Any]], Any]
    two: ClassVar[str]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ParameterError(
                f"{type(self).__name__}.function", f"must be a function of {self.two}",
                self.function, "Write lambda one, other: ….",
            )  # fmt: skip


@dataclass(frozen=True)
class FromFunction(_OfTwo):
    """Any function of two people, each a mapping from feature to value; asked in both orders.

    Every value is checked to be within [0, 1] and the same in both orders, up to 1e-9 (the
    larger counts). A person is never compared with themselves: d(x, x) plays no part. Missing
    values are ``None``. For the same bits everywhere the function should keep to + − · / and roots.

    >>> from likewise.schema import Feature, FeatureSchema
    >>> people = FeatureSchema((Feature("age", "integer"),)).people([[20], [70]])
    >>> FromFunction(lambda a, b: 0.0 if a["age"] == b["age"] else 0.5)(people).tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """

    two = "two people"

    def __call__(self, people: People) -> FloatArray:
        """The distances of all pairs."""
        rows = _rows(people)
        d = np.zeros((len(rows), len(rows)))
        for i, first in enumerate(rows):
            for j, second in enumerate(rows[:i]):
                d[i, j] = d[j, i] = self._both(second, first, (people.ids[j], people.ids[i]))
        return d

    def between(self, sides: Sides) -> FloatArray:
        """The distances of the left to the right, a pair after the other."""
        if not sides.paired:
            return joined(self, sides)
        pairs = zip(_rows(sides.left), _rows(sides.right), strict=True)
        names = zip(sides.left.ids, sides.right.ids, strict=True)
        return np.array([self._both(*rows, pair) for rows, pair in zip(pairs, names, strict=True)])

    def _both(
        self, first: Mapping[str, Any], second: Mapping[str, Any], pair: tuple[str, str]
    ) -> float:
        forward, backward = self._ask(first, second, pair), self._ask(second, first, pair[::-1])
        if abs(forward - backward) > _ROUNDING:
            raise AuditError(
                f"A distance must be symmetric; the function says {forward!r} for "
                f"({pair[0]!r}, {pair[1]!r}) and {backward!r} the other way round. Take their "
                f"mean, or the larger."
            )
        return max(forward, backward)

    def _ask(
        self, first: Mapping[str, Any], second: Mapping[str, Any], pair: tuple[str, ...]
    ) -> float:
        try:
            value: object = self.function(first, second)
        except Exception as error:  # the user's own code
            raise AuditError(
                f"The function of two people failed on ({pair[0]!r}, {pair[1]!r}) with "
                f"{type(error).__name__}: {error}. Repair it; a missing value is None."
            ) from error
        if not isinstance(value, _NUMBERS) or not 0 <= value <= 1:
            raise AuditError(
                f"A distance must be a number within [0, 1]; the function says {shown(value)} for "
                f"({pair[0]!r}, {pair[1]!r}). Scale it, or cut it off at 1."
            )
        return float(value)


@dataclass(frozen=True)
class FromColumns(_OfTwo):
    """Any function of two sets of columns, which is asked for blocks of pairs at once.

    Each set is a mapping from feature to an array: numbers, the texts of levels, or truth values.
    The arrays broadcast, so that ``one["age"] - other["age"]`` is the difference of every pair of
    the block. The result must be within [0, 1] and the same in both orders, up to 1e-9 (the larger
    counts). A missing value is NaN, or the text ``""`` for a category.

    >>> from likewise.schema import Feature, FeatureSchema
    >>> people = FeatureSchema((Feature("age", "integer"),)).people([[20], [70]])
    >>> FromColumns(lambda a, b: np.minimum(1, abs(a["age"] - b["age"]) / 100))(people).tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """

    two = "two sets of columns"

    def __call__(self, people: People) -> FloatArray:
        """The distances of all pairs."""
        return self.between(Sides.of(people))

    def between(self, sides: Sides) -> FloatArray:
        """The distances of the left to the right."""
        spread = [
            (name, sides.spread(_texts(sides.left, name), _texts(sides.right, name)))
            for name in sides.left.schema.names
        ]
        first = {name: left for name, (left, _) in spread}
        second = {name: right for name, (_, right) in spread}
        forward, backward = (
            self._ask(first, second, sides.shape),
            self._ask(second, first, sides.shape),
        )
        uneven = np.abs(forward - backward) > _ROUNDING
        if uneven.any():
            place = tuple(np.argwhere(uneven)[0])
            raise AuditError(
                f"A distance must be symmetric; the function says {float(forward[place])!r} for a "
                f"pair and {float(backward[place])!r} the other way round. Take their mean, or the "
                f"larger."
            )
        return np.maximum(forward, backward)

    def _ask(
        self, first: Mapping[str, Any], second: Mapping[str, Any], shape: tuple[int, ...]
    ) -> FloatArray:
        rule = f"It gets arrays that broadcast to the shape {shape}, and returns such an array."
        with foreign_code(AuditError, f"The function of {self.two} failed", rule):
            distances = np.asarray(self.function(first, second))
            return np.broadcast_to(distances, shape).astype(np.float64)


def _texts(people: People, name: str) -> Any:
    """A column as people would write it: texts of levels, truth values, numbers."""
    feature, column = people.schema[name], people.column(name)
    if feature.kind == "category":
        levels = np.array([*feature.levels, ""])
        return levels[np.where(np.isnan(column), len(levels) - 1, column).astype(np.int64)]
    return column.astype(np.bool_) if feature.kind == "flag" and feature.missing is None else column
