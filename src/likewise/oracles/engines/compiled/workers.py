"""Threads that make draws: our own, so that draws may be asked for from anywhere.

numba's threads cannot serve us: its ``omp`` layer ends a process that was forked after its first
use, and its ``workqueue`` layer aborts when two threads enter at once. Compiled functions here let
go of Python's lock, so that plain threads suffice. A forked process has none of its parent's
threads, and makes its own when it first needs them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from threading import Lock

from likewise.oracles.engines.compiled.compilation import threads


@cache
def _helpers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads() - 1, thread_name_prefix="likewise-draws")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_helpers.cache_clear)


def pieces(total: int, most: int, multiple: int) -> list[tuple[int, int]]:
    """Pieces (start, size) of ``total``, of at most ``most``, as even as can be among the threads.

    All sizes but the last are multiples of ``multiple``.

    >>> len(pieces(1000, 100, 10)) >= 10, sum(size for _, size in pieces(1000, 100, 10))
    (True, 1000)
    """
    turns = max(1, -(-total // (most * threads())))
    even = -(-total // (turns * threads()))
    size = max(multiple, min(most, -(-even // multiple) * multiple))
    return [(start, min(size, total - start)) for start in range(0, total, size)]


def share_out(task: Callable[[int, int], None], parts: Sequence[tuple[int, int]]) -> None:
    """Do ``task(start, size)`` for every part, here and on the other threads.

    An exception of a task is raised here, when none is running any more.

    >>> done = []
    >>> share_out(lambda start, size: done.append((start, size)), [(0, 2), (2, 1)])
    >>> sorted(done)
    [(0, 2), (2, 1)]
    """
    left, lock = iter(parts), Lock()

    def work() -> None:
        while True:
            with lock:
                part = next(left, None)
            if part is None:
                return
            task(*part)

    count = min(threads(), len(parts)) - 1
    helping = [_helpers().submit(work) for _ in range(count)]
    try:
        work()
    finally:
        # One that has not begun, since others keep the threads busy, has nothing left to do.
        begun = [job for job in helping if not job.cancel()]
        wait(begun)
    for job in begun:
        job.result()
