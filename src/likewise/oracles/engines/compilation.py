"""Compilation by numba, which is optional: imported here alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from likewise.extras import missing

try:
    from numba import njit
except ImportError as error:
    raise missing("The compiled engine", "numba", "fast", error) from error

__all__ = ["compiled"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def compiled(function: _Function) -> _Function:
    """Compile, keep the result on disk; division as in numpy, or no loop would be vectorised."""
    return cast(_Function, njit(cache=True, nogil=True, error_model="numpy")(function))
