"""How far apart people are in one feature, the same bits on every machine.

Only ``+ - * /``, the square root, absolute values, minima and maxima are used, elementwise and one
feature after the other: IEEE 754 fixes their results to the last bit. A matrix product would leave
the order of the sum to the processor, and a last bit can decide whether a pair is reported.

A missing value differs fully from every value, and not at all from another missing one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from likewise.auditing.metrics.sides import Sides, finite
from likewise.errors import ParameterError
from likewise.fixed_point import FloatArray
from likewise.validation import items, real, text


def checked_features(features: Iterable[str], where: str) -> tuple[str, ...]:
    """Names of features, at least one and all different."""
    remedy = "Write ['income']."
    listed = [] if isinstance(features, str) else items(where, features, remedy)
    names = tuple(text(where, name, remedy) for name in listed)
    if not names or len(set(names)) != len(names):
        raise ParameterError(
            where, "must be a list of one or more different features", features, remedy
        )
    return names


def by_name(where: str, numbers: Mapping[str, Any] | Sequence[Sequence[Any]]) -> dict[str, Any]:
    """Numbers by name, from a mapping or from pairs, in their order.

    >>> by_name("weights", [["income", 0.5]])
    {'income': 0.5}
    """
    remedy = "Write {'income': 0.5}."
    if not isinstance(numbers, Mapping):
        pairs = [items(where, pair, remedy) for pair in items(where, numbers, remedy)]
        if any(len(pair) != 2 for pair in pairs):
            raise ParameterError(where, "must be pairs of a name and a number", numbers, remedy)
        if len({text(where, pair[0], remedy) for pair in pairs}) != len(pairs):
            raise ParameterError(where, "must have every name once", numbers, remedy)
        return {name: number for name, number in pairs}  # noqa: C416 - dict(pairs) hides the shape
    return {text(where, name, remedy): number for name, number in numbers.items()}


def checked_number(value: object, where: str, positive: bool) -> float:
    """A finite number, not negative, or ``positive``."""
    rule = f"must be a finite number {'above 0' if positive else 'of at least 0'}"
    number = real(where, value, "Correct the number.")
    if not math.isfinite(number) or number < 0 or (positive and number == 0):
        raise ParameterError(where, rule, value, "Correct the number.")
    return number


def signed_difference(left: FloatArray, right: FloatArray) -> FloatArray:
    """x_l − x_r of columns that broadcast; 0 where a value is missing.

    >>> column = np.array([1.0, 3.0])
    >>> signed_difference(column[:, None], column[None, :]).tolist()
    [[0.0, -2.0], [2.0, 0.0]]
    """
    with np.errstate(over="ignore"):  # differences beyond the floats are infinite, hence full
        delta = left - right
    if _complete(left, right):
        return delta
    return np.where(np.isnan(delta), 0.0, delta)


def _complete(left: FloatArray, right: FloatArray) -> bool:
    return finite(left) and finite(right)


def one_missing(left: FloatArray, right: FloatArray) -> FloatArray:
    """1 where exactly one of the two values is missing, else 0.

    >>> column = np.array([math.nan, 3.0, math.nan])
    >>> one_missing(column[:, None], column[None, :]).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    return np.asarray(np.isnan(left) != np.isnan(right), dtype=np.float64)


def full_where_one_is_missing(apart: FloatArray, left: FloatArray, right: FloatArray) -> FloatArray:
    """The distances, but 1 where exactly one of the two values is missing."""
    if _complete(left, right):
        return apart
    return np.maximum(apart, one_missing(left, right))


def difference(sides: Sides, name: str, scale: float | None) -> FloatArray:
    """min(1, |x_l − x_r|/scale) of the pairs; for a category, 0 if equal and 1 if not.

    Without a scale, the width of the feature's bounds in the schema is one.

    >>> from likewise.schema import Feature, FeatureSchema
    >>> people = FeatureSchema((Feature("income", low=0, high=100),)).people([[20.0], [70.0]])
    >>> difference(Sides.of(people), "income", None).tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """
    return sides.once((name, scale), lambda: _difference(sides, name, scale))


def _difference(sides: Sides, name: str, scale: float | None) -> FloatArray:
    feature = sides.left.schema[name]
    left, right = sides.columns(name)
    if feature.kind == "category":
        if scale is not None:
            raise ParameterError(
                f"scales[{name!r}]",
                "must not be given for a category",
                scale,
                "Two levels are either equal (0) or not (1).",
            )
        apart = np.asarray(signed_difference(left, right) != 0, dtype=np.float64)
        return full_where_one_is_missing(apart, left, right)
    if scale is None:
        scale = 1.0 if feature.kind == "flag" else feature.high - feature.low
    if not math.isfinite(scale):
        raise ParameterError(
            f"scales[{name!r}]",
            "must be given for a feature without bounds",
            None,
            f"Say which difference is a full one: scales={{{name!r}: …}}, or bound the feature.",
        )
    complete = sides.complete(name)
    with np.errstate(over="ignore"):  # in place, since tables of pairs are large
        apart = left - right if complete else signed_difference(left, right)
        np.abs(apart, out=apart)
        np.divide(apart, scale, out=apart)
        np.minimum(1.0, apart, out=apart)
    return apart if complete else full_where_one_is_missing(apart, left, right)
