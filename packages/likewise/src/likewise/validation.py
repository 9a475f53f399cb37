"""Checks of parameters.

Every function takes the parameter's name, its value and a remedy. It returns a plain Python value,
or raises :class:`~likewise.errors.ParameterError`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from likewise.errors import ParameterError

T = TypeVar("T")


def require(fits: bool, name: str, rule: str, value: Any, remedy: str) -> None:
    """Refuse a parameter's value unless it fits the rule."""
    if not fits:
        raise ParameterError(name, rule, value, remedy)


def assign(owner: Any, /, **values: Any) -> None:
    """Set fields of a frozen dataclass to the plain values that a check returned."""
    for name, value in values.items():
        object.__setattr__(owner, name, value)


def integer(name: str, value: Any, low: int, high: int | None, remedy: str) -> int:
    """Return an integer in [low, high), also from numpy; ``True`` is not one."""
    if type(value) is int and low <= value and (high is None or value < high):
        return value
    try:
        number = operator.index(value)
    except TypeError:
        number = low - 1
    if isinstance(value, bool) or number < low or (high is not None and number >= high):
        rule = f"of at least {low}" if high is None else f"in [{low}, {high})"
        raise ParameterError(name, f"must be an integer {rule}", value, remedy)
    return number


def real(name: str, value: Any, remedy: str) -> float:
    """Return a number as a plain float; neither text nor a truth value nor a list is one."""
    if type(value) is float:
        return value
    if isinstance(value, bool | np.timedelta64) or not isinstance(value, Real | Decimal):
        raise ParameterError(name, "must be a number", value, remedy)
    try:
        return float(value)
    except (OverflowError, ValueError):  # 10**400; Decimal("sNaN")
        raise ParameterError(name, "must be a number that a float holds", value, remedy) from None


def within(name: str, value: Any, low: float, high: float, remedy: str, ends: str = "[]") -> float:
    """Return a number of an interval as a plain float; ``ends`` says whether its ends belong to it.

    >>> within("delta", 1, 0, 1, "Try 0.05.", ends="()")
    Traceback (most recent call last):
    likewise.errors.ParameterError: delta must be in (0, 1); got 1. Try 0.05.
    """
    number = real(name, value, remedy)
    above = low <= number if ends[0] == "[" else low < number
    below = number <= high if ends[1] == "]" else number < high
    if not (above and below):
        raise ParameterError(name, f"must be in {ends[0]}{low:g}, {high:g}{ends[1]}", value, remedy)
    return number


def positive(name: str, value: Any, remedy: str) -> float:
    """Return a finite number above 0, as a plain float."""
    number = real(name, value, remedy)
    fits = math.isfinite(number) and number > 0
    require(fits, name, "must be a positive number", value, remedy)
    return number


def flag(name: str, value: Any, remedy: str) -> bool:
    """Return True or False; text such as "no" is neither."""
    require(isinstance(value, bool | np.bool_), name, "must be True or False", value, remedy)
    return bool(value)


def text(name: str, value: Any, remedy: str) -> str:
    """Return text that can be written to a file, as a plain string."""
    require(isinstance(value, str), name, "must be text", value, remedy)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ParameterError(name, "must be text that can be written", value, remedy) from None
    return str(value)


def choice(name: str, value: Any, options: Collection[str], remedy: str) -> str:
    if not isinstance(value, str) or value not in options:
        raise ParameterError(name, f"must be one of {', '.join(options)}", value, remedy)
    return str(value)


def items(name: str, value: Any, remedy: str) -> list[Any]:
    """Return the items of a list, a tuple or an array; neither text nor a mapping is a list.

    Generators are refused: they can be read once only, and an empty one looks like any other.
    """
    arrays = isinstance(value, np.ndarray) and value.ndim > 0
    if isinstance(value, str | bytes | Mapping) or not (arrays or isinstance(value, Sequence)):
        raise ParameterError(name, "must be a list", value, remedy)
    return list(value)


def names(name: str, value: Any, remedy: str) -> tuple[str, ...]:
    """Return the names of a list: at least one, none blank and none twice.

    A set is refused, since the order of columns and of members decides.
    """
    texts = tuple(text(name, item, remedy) for item in items(name, value, remedy))
    fits = bool(texts) and len(set(texts)) == len(texts) and all(map(str.strip, texts))
    require(fits, name, "must be a list of one or more different names", value, remedy)
    return texts


def reals(name: str, value: Any, remedy: str) -> tuple[float, ...]:
    numbers = items(name, value, remedy)
    return tuple(real(f"{name}[{i}]", number, remedy) for i, number in enumerate(numbers))


def members(
    name: str, value: Any, required: Collection[str], optional: Collection[str] = ()
) -> dict[str, Any]:
    """Return the members of a JSON object: all that are required, and none that is unknown."""
    maybe = f", maybe {', '.join(optional)}" if optional else ""
    rule = f"must have {', '.join(required)}{maybe}, and nothing else"
    if not isinstance(value, Mapping):
        raise ParameterError(name, rule, value, "It is an object, with names and values.")
    missing = [f"{key} is missing" for key in required if key not in value]
    allowed = (*required, *optional)
    unknown = [f"{key} is unknown" for key in map(str, value) if key not in allowed]
    if missing or unknown:
        raise ParameterError(name, rule, list(value), f"Here {', '.join(missing + unknown)}.")
    return dict(value)


def as_array(value: Any) -> npt.NDArray[Any]:
    """Return an array; one of objects, which every check refuses, for lists of unequal lengths."""
    try:
        return np.asarray(value)
    except ValueError:
        return np.asarray(None)


def as_list(value: Any) -> list[Any] | None:
    """Return the items of anything iterable but text; None for anything else."""
    alone = isinstance(value, str | bytes) or (isinstance(value, np.ndarray) and not value.ndim)
    return None if alone or not isinstance(value, Iterable) else list(value)


def instance(name: str, value: Any, kind: type[T], remedy: str) -> T:
    if not isinstance(value, kind):
        raise ParameterError(name, f"must be of the class {kind.__name__}", value, remedy)
    return value
