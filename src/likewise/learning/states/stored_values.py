"""Values of a state's JSON, each of its kind; what no state has is refused."""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from likewise.errors import ParameterError
from likewise.fixed_point import FloatArray, IntArray
from likewise.learning.learner import Learner
from likewise.validation import integer, items, real

__all__ = [
    "LARGEST_ACCOUNT",
    "NOT_WRITTEN",
    "amount",
    "amounts",
    "array_of",
    "by_person",
    "contradiction",
    "incurred_costs",
    "numbered",
    "several",
    "signed",
]

LARGEST_ACCOUNT = 1 << 100  # no run comes near it
NOT_WRITTEN = "Likewise writes no such value."
V = TypeVar("V")


def several(name: str, value: Any, count: int) -> list[Any]:
    """A list of so many values."""
    listed = items(name, value, NOT_WRITTEN)
    if len(listed) != count:
        raise ParameterError(name, f"must be {count} values", value, NOT_WRITTEN)
    return listed


def amount(name: str, value: Any) -> float:
    """A number of at least 0; infinite and NaN are none."""
    number = real(name, value, NOT_WRITTEN)
    if not (math.isfinite(number) and number >= 0):
        raise ParameterError(name, "must be a finite number of at least 0", value, NOT_WRITTEN)
    return number


def amounts(name: str, value: Any, count: int) -> FloatArray:
    """A list of so many numbers of at least 0."""
    listed = several(name, value, count)
    return np.array([amount(f"{name}[{n}]", number) for n, number in enumerate(listed)])


def signed(name: str, value: Any) -> int:
    """An integer that may be below 0."""
    return integer(name, value, -LARGEST_ACCOUNT, LARGEST_ACCOUNT, NOT_WRITTEN)


def incurred_costs(name: str, value: Any, learner: Learner) -> tuple[int, ...]:
    """The costs of every expert of the player."""
    count = learner.primal.experts(learner.hypotheses)
    return tuple(signed(name, cost) for cost in several(name, value, count))


def numbered(name: str, value: Any, arrays: Sequence[IntArray]) -> IntArray:
    """An array by its number."""
    return arrays[integer(name, value, 0, len(arrays), NOT_WRITTEN)]


def array_of(text: Any, shape: tuple[int, ...], name: str) -> IntArray:
    """An array of int64 from base64."""
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise ParameterError(name, "must be base64", text, NOT_WRITTEN) from None
    count = math.prod(shape)
    if len(content) != 8 * count:
        rule = f"must be {count} integers of 64 bits, as the class needs"
        raise ParameterError(name, rule, f"{len(content)} bytes", NOT_WRITTEN)
    return np.frombuffer(content, dtype="<i8").astype(np.int64).reshape(shape)


def by_person(name: str, value: Any, read: Callable[[str, Any], V]) -> Mapping[str, V]:
    """Values by the id of a person."""
    if not isinstance(value, Mapping):
        raise ParameterError(name, "must be by person", value, NOT_WRITTEN)
    return MappingProxyType({person: read(f"{name}[{person!r}]", v) for person, v in value.items()})


def contradiction(name: str, rule: str, value: object) -> ParameterError:
    """An error that names what contradicts the rest."""
    return ParameterError(name, rule, value, "The file contradicts itself.")
