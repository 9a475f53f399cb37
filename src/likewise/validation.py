"""One way to check a number: what comes back is plain, what does not fit is named."""

from __future__ import annotations

import operator
from typing import Any

from likewise.errors import ParameterError

__all__ = ["integer", "real"]


def integer(name: str, value: Any, low: int, high: int | None, remedy: str) -> int:
    """An integer in [low, high), also from numpy; ``True`` is not one.

    >>> import numpy as np
    >>> integer("k", np.int64(3), 1, None, "")
    3
    """
    rule = f"must be an integer of at least {low}"
    if high is not None:
        rule = f"must be an integer in [{low}, {high})"
    try:
        number = operator.index(value)
    except TypeError:
        raise ParameterError(name, rule, value, remedy) from None
    if isinstance(value, bool) or number < low or (high is not None and number >= high):
        raise ParameterError(name, rule, value, remedy)
    return number


def real(name: str, value: Any, remedy: str) -> float:
    """A number, as a plain float; text is not one.

    >>> real("alpha", 1, "")
    1.0
    """
    if isinstance(value, str | bytes | bool) or value is None:
        raise ParameterError(name, "must be a number", value, remedy)
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(name, "must be a number", value, remedy) from None
