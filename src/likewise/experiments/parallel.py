"""Work shared out among processes or a cluster, with the same results for any number of them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from likewise.errors import SlowEngine
from likewise.extras import missing
from likewise.oracles import load_engine

try:
    from joblib import Parallel, delayed
except ImportError as error:
    raise missing("Playing games side by side", "joblib", "study", error) from error

__all__ = ["Processes", "Progress", "Workers", "all_cores", "in_processes", "quietly", "silent"]

T = TypeVar("T")
# Told what was done last, and how many things have been done.
Progress = Callable[[str, int], None]


def silent(what: str, done: int) -> None:
    """Progress that nobody watches."""


class Workers(Protocol):
    """Somebody who does work; the same results whoever it is, in the order they are there."""

    def map(self, function: Callable[..., T], tasks: Sequence[tuple[Any, ...]]) -> Iterator[T]:
        """function(*task) for every task, each as soon as it is there."""


def all_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class Processes:
    """Processes on this machine, through joblib; without a number, one for each core.

    >>> sorted(Processes(1).map(max, [(1, 2), (3, 4)]))
    [2, 4]
    """

    jobs: int | None = None

    def map(self, function: Callable[..., T], tasks: Sequence[tuple[Any, ...]]) -> Iterator[T]:
        """Function and tasks are sent to the processes, so it has to be at the top of a module."""
        load_engine("compiled")  # says once, here, if it is missing
        work = (delayed(quietly)(function, *task) for task in tasks)
        jobs = all_cores() if self.jobs is None else self.jobs
        # One task at a time: they are long, and what has finished must not wait for a batch.
        pool = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
        yield from pool(work)


def in_processes(
    function: Callable[..., T], tasks: Sequence[tuple[Any, ...]], jobs: int
) -> Iterator[T]:
    """function(*task) for every task, by ``jobs`` processes, each as soon as it is there.

    >>> sorted(in_processes(max, [(1, 2), (3, 4)], jobs=1))
    [2, 4]
    """
    return Processes(jobs).map(function, tasks)


def quietly(function: Callable[..., T], *task: Any) -> T:
    """Call a function; that an engine is slow was said where the work was shared out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowEngine)
        return function(*task)
