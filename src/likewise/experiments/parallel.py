"""Work shared out among processes, with the same results for any number of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from likewise.errors import SlowEngine
from likewise.extras import missing
from likewise.oracles import load_engine

try:
    from joblib import Parallel, delayed
except ImportError as error:
    raise missing("Playing games side by side", "joblib", "study", error) from error

__all__ = ["Progress", "in_processes", "silent"]

T = TypeVar("T")
# Told what was done last, and how many things have been done.
Progress = Callable[[str, int], None]


def silent(what: str, done: int) -> None:
    """Progress that nobody watches."""


def in_processes(
    function: Callable[..., T], tasks: Iterable[tuple[Any, ...]], jobs: int
) -> Iterator[T]:
    """function(*task) for every task, by ``jobs`` processes, each as soon as it is there.

    Function and tasks are sent to the processes, so functions have to be at the top of a module.

    >>> sorted(in_processes(max, [(1, 2), (3, 4)], jobs=1))
    [2, 4]
    """
    load_engine("compiled")  # says once, here, if it is missing
    work = (delayed(_quietly)(function, *task) for task in tasks)
    yield from Parallel(n_jobs=jobs, return_as="generator_unordered")(work)


def _quietly(function: Callable[..., T], *task: Any) -> T:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowEngine)
        return function(*task)
