"""Work in several processes, with the same results for any number of them."""

import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from likewise.errors import LikewiseError, SlowEngine
from likewise.learner.oracle import load_engine

T = TypeVar("T")
# Called with the last task that finished, in words, and the number of finished tasks.
Progress = Callable[[str, int], None]


def silent(text: str, count: int) -> None:
    """Progress that nobody watches."""


def all_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class Processes:
    """Processes on this machine; without a number, one for each core.

    With several jobs a script needs ``if __name__ == "__main__":``, as :mod:`multiprocessing` does.

    >>> list(Processes(1).map(max, [(1, 2), (3, 4)]))
    [2, 4]
    """

    jobs: int | None = None

    def map(self, function: Callable[..., T], tasks: Sequence[tuple[Any, ...]]) -> Iterator[T]:
        """Yield function(*task) for every task, in the order in which they finish.

        The function has to be at the top of a module, since it is sent to the processes. A single
        job runs in this process. Others are spawned, not forked: a fork would copy the locks of
        threads that it does not have.
        """
        load_engine("compiled")  # says once, here, if it is missing
        jobs = min(all_cores() if self.jobs is None else self.jobs, len(tasks))
        if jobs <= 1:
            yield from (quietly(function, *task) for task in tasks)
            return
        pool = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))
        try:
            with _threads(max(1, all_cores() // jobs)):
                futures = [pool.submit(quietly, function, *task) for task in tasks]
            for future in as_completed(futures):
                yield future.result()
        except BrokenProcessPool as error:
            raise LikewiseError(
                "A process ended before its work was done, perhaps for want of memory. Take fewer "
                "at a time (jobs)."
            ) from error
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """Limit the threads of processes that are started meanwhile to their share of the cores."""
    names = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    unset = [name for name in names if name not in os.environ]
    os.environ.update(dict.fromkeys(unset, str(count)))
    try:
        yield
    finally:
        for name in unset:
            del os.environ[name]


def quietly(function: Callable[..., T], *task: Any) -> T:
    """Call a function without the warning of a slow engine, which the parent process gave."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowEngine)
        return function(*task)
