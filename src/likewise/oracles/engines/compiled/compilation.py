"""Compilation by numba, which is optional: imported here alone.

Compiled code is kept on disk, beside the source or, where that cannot be written, in the user's
cache folder; ``NUMBA_CACHE_DIR`` names another one. numba notices that a file has changed, but not
that another one has, of which it has built something in. So a compiled function builds in only what
its file names as ``BUILT_IN``, each with the digest that its source had when it was last looked at:
when that changes, so must this, and the code is compiled anew. A test compares, and says what to
write.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

from likewise.errors import SlowEngine
from likewise.extras import missing

try:
    from llvmlite import ir
    from numba import config, extending, njit, types
except ImportError as error:
    raise missing("The compiled engine", "numba", "fast", error) from error

__all__ = ["built_in", "compiled", "extending", "ir", "threads", "types"]

_Function = TypeVar("_Function", bound=Callable[..., Any])
_warned: list[str] = []


def compiled(function: _Function) -> _Function:
    """Compile, keep the result on disk; division as in numpy, or no loop would be vectorised.

    No ``fastmath``: every operation is the one that is written, so every bit is the same.
    """
    options = {"nogil": True, "error_model": "numpy"}
    try:
        return cast(_Function, njit(cache=True, **options)(function))
    except RuntimeError as error:
        # numba finds no folder that it can write: everything works, and is compiled at every start.
        if "cannot cache" not in str(error):
            raise
        if not _warned:
            _warned.append(str(error))
            warnings.warn(
                "Compiled code cannot be kept: neither the package's folder nor the user's cache "
                "folder can be written. Every start compiles anew, which takes some seconds. Name "
                "a folder that can be written in NUMBA_CACHE_DIR.",
                SlowEngine,
                stacklevel=2,
            )
        return cast(_Function, njit(**options)(function))


def built_in(function: Callable[..., Any]) -> Any:
    """Operation of compiled code that is written in the compiler's own language."""
    return extending.intrinsic(function)


def threads() -> int:
    """Number of threads that make draws: the processors of this process, or ``NUMBA_NUM_THREADS``.

    Where games are played side by side, each process has its share of them.
    """
    return int(config.NUMBA_NUM_THREADS)
