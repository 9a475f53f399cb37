"""Distances that come from somebody's opinion: ratings of people, or any function of two."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from likewise.auditing.metrics.base import Metric
from likewise.auditing.metrics.differences import by_name, one_missing, signed_difference
from likewise.errors import AuditError, ParameterError, shown
from likewise.fixed_point import FloatArray
from likewise.schema import Feature, People, Value
from likewise.validation import members, real

__all__ = ["FromFunction", "Ratings"]

_ROUNDING = 1e-9
_NUMBERS = (int, float, np.integer, np.floating)


@dataclass(frozen=True, init=False)
class Ratings(Metric):
    """d(x, x′) = |r(x) − r(x′)| / (high − low): people rated alike should be treated likewise.

    Ratings are given by person, or are a column of the features.

    >>> from likewise.schema import Feature, FeatureSchema
    >>> people = FeatureSchema((Feature("income"),)).people([[20.0], [70.0]], ids=["ann", "bo"])
    >>> Ratings({"ann": 2, "bo": 5}, low=0, high=10)(people).tolist()
    [[0.0, 0.3], [0.3, 0.0]]
    """

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

    def spec(self) -> dict[str, Any]:
        """The column, or pairs of a person and their rating; and the bounds."""
        ratings = self.ratings
        given = ratings if isinstance(ratings, str) else [list(pair) for pair in ratings]
        return {"metric": "ratings", "ratings": given, "low": self.low, "high": self.high}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Self:
        """Read the metric from its JSON; pairs, or an object from person to rating."""
        given = members("ratings", spec, ("metric", "ratings"), ("low", "high"))
        return cls(given["ratings"], given.get("low", 0.0), given.get("high", 1.0))

    def __call__(self, people: People) -> FloatArray:
        """The distances of all pairs."""
        r = self._column(people)
        apart = np.abs(signed_difference(r)) / (self.high - self.low)
        return np.minimum(1.0, np.maximum(apart, one_missing(r)))

    def _column(self, people: People) -> FloatArray:
        if isinstance(self.ratings, str):
            column = people.column(self.ratings)
            for person, rating in zip(people.ids, column.tolist(), strict=True):
                if not math.isnan(rating):
                    self._checked(rating, person)
            return column
        known = dict(self.ratings)
        if unrated := [person for person in people.ids if person not in known]:
            raise AuditError(
                f"Ratings must cover everybody; {unrated[0]!r} has none. Rate them, or use a "
                f"column of ratings, which may have missing values."
            )
        return np.array([known[person] for person in people.ids], dtype=np.float64)


def _value(feature: Feature, number: float) -> Value:
    """A value as the person would say it: a level's name, a flag, a number, or None if missing."""
    if math.isnan(number):
        return None
    if feature.kind == "category":
        return feature.levels[int(number)]
    if feature.kind == "flag":
        return bool(number)
    return int(number) if feature.kind == "integer" else number


@dataclass(frozen=True)
class FromFunction:
    """Any function of two people, each a mapping from feature to value; asked in both orders.

    Every value is checked to be within [0, 1] and the same in both orders, up to 1e-9 (the
    larger counts). A person is never compared with themselves: d(x, x) plays no part. Missing
    values are ``None``. For the same bits everywhere the function should keep to + − · / and roots.

    >>> from likewise.schema import Feature, FeatureSchema
    >>> people = FeatureSchema((Feature("age", "integer"),)).people([[20], [70]])
    >>> FromFunction(lambda a, b: 0.0 if a["age"] == b["age"] else 0.5)(people).tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """

    function: Callable[[Mapping[str, Any], Mapping[str, Any]], float]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ParameterError(
                "FromFunction.function", "must be a function of two people", self.function,
                "Write lambda one, other: ….",
            )  # fmt: skip

    def __call__(self, people: People) -> FloatArray:
        """The distances of all pairs."""
        rows = [
            {f.name: _value(f, v) for f, v in zip(people.schema.features, x, strict=True)}
            for x in people.x.tolist()
        ]
        d = np.zeros((len(rows), len(rows)))
        for i, one in enumerate(rows):
            for j, other in enumerate(rows[:i]):
                pair = (people.ids[j], people.ids[i])
                there, back = self._ask(other, one, pair), self._ask(one, other, pair[::-1])
                if abs(there - back) > _ROUNDING:
                    raise AuditError(
                        f"A distance must be symmetric; the function says {there!r} for "
                        f"({pair[0]!r}, {pair[1]!r}) and {back!r} the other way round. Take their "
                        f"mean, or the larger."
                    )
                d[i, j] = d[j, i] = max(there, back)
        return d

    def _ask(
        self, one: Mapping[str, Any], other: Mapping[str, Any], pair: tuple[str, ...]
    ) -> float:
        try:
            value: object = self.function(one, other)
        except Exception as error:  # whatever a function of somebody else's does
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
