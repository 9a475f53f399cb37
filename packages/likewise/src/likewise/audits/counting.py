"""Which pairs are counted, and on what: numpy, compiled code, a GPU or a cluster, in blocks.

Up to some thousands of people, all pairs are counted. Beyond that there are three samples. *Pairs*
drawn at random say how many pairs would be reported. *Anchors*, people drawn at random and paired
with everybody, say how many people are touched by a report. The *search* begins with the worst
pairs so far and exchanges one of the two for whoever is worst with the other, until that changes
nothing: it finds bad pairs, though not surely the worst.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np

from likewise.audits.pairs import SIDE, Block, Question, Tally, floor_of
from likewise.audits.plans import Plan, fits
from likewise.errors import MissingGpuError, MissingLibraryError, ParameterError
from likewise.numerics.fixed_point import IntArray

LOG = logging.getLogger("likewise.audits")
SAMPLE_SIDE = 1 << 15
ANCHORS = 64
# The search starts from this many of the worst pairs, at most this often.
STARTS, EXCHANGES = 5, 8

Progress = Callable[[int, int], None]


@contextmanager
def progress_reporter(progress: Any, title: str) -> Iterator[Progress]:
    """A function of (done, total): the caller's own, a progress bar, or one that does nothing."""
    if progress is False or progress is None:
        yield lambda done, total: None  # noqa: ARG005
    elif callable(progress):
        yield progress
    elif progress is True:
        from rich.progress import Progress as Bar

        with Bar(transient=True) as bar:
            task = bar.add_task(title, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)
    else:
        remedy = "Write progress=True."
        raise ParameterError("progress", "must be True, False or a function", progress, remedy)


def all_pairs(people: int, side: int = SIDE) -> list[Block]:
    """Blocks that hold every pair of people once."""
    parts = [np.arange(start, min(start + side, people)) for start in range(0, people, side)]
    return [Block(*both, ordered=True) for both in combinations_with_replacement(parts, 2)]


def with_everybody(left: IntArray, people: int, first: int = 0) -> list[Block]:
    """Blocks that pair some people with everybody, or with those from a first one on."""
    width = max(1, SAMPLE_SIDE // len(left))
    return [
        Block(left, np.arange(start, min(start + width, people)))
        for start in range(first, people, width)
    ]


Counter = tuple[int, Callable[[Tally, Block], None]]
"""How many people blocks have on a side at best, and a function that counts the pairs of one."""


# About how many seconds numpy takes for a pair and a member; and after how many it would have paid
# to load compiled code from disk, to compile it, or to start a GPU.
_PAIR, LOADS_AFTER, COMPILES_AFTER, DEVICE_AFTER = 2.5e-8, 1.0, 6.0, 60.0


def counter(question: Question, pairs: int, workers: int = 1) -> Counter:
    """The fastest way to count that many pairs; numpy, compiled code and a GPU count the same."""
    seconds = pairs * _PAIR * len(question.panel.members)
    if seconds / workers < LOADS_AFTER or not fits(question):
        return SIDE, Tally.add
    plan = Plan(question)
    if seconds > DEVICE_AFTER and not plan.measured and find_spec("torch") is not None:
        try:
            from likewise.audits.device import Device
        except (MissingLibraryError, MissingGpuError):
            LOG.info("pairs are counted on the processors, as there is no GPU")
        else:
            return Device.side, Device(plan).add
    compiles = seconds / workers > COMPILES_AFTER or _kernels_are_on_disk()
    if not compiles or find_spec("numba") is None:
        return SIDE, Tally.add
    from likewise.audits import kernels

    return SIDE, partial(kernels.add, plan)


def _kernels_are_on_disk() -> bool:
    """Look for numba's index files, without importing numba."""
    folder = os.environ.get("NUMBA_CACHE_DIR") or Path(__file__).parent
    return next(Path(folder).rglob("kernels.count_block*.nbi"), None) is not None


def is_cluster(jobs: Any) -> bool:
    """Test for a Dask client or a Spark session."""
    return hasattr(jobs, "scheduler_info") or hasattr(jobs, "sparkContext")


def scan(
    question: Question,
    blocks: Sequence[Block] | None = None,
    jobs: Any = None,
    progress: Progress = lambda done, total: None,  # noqa: ARG005
    pairs: int | None = None,
) -> Tally:
    """The counts over some blocks, or over all pairs of people, on all cores or on a cluster.

    ``pairs`` is the number to come in all, where there are other blocks of the same people.
    """
    people = len(question.people)
    if is_cluster(jobs):
        return _scan_on_cluster(question, all_pairs(people) if blocks is None else blocks, jobs)
    if blocks is None:
        pairs = people * (people - 1) // 2
    elif pairs is None:
        pairs = sum(block.size for block in blocks if not block.paired)
    workers = max(1, jobs or os.cpu_count() or 1)
    side, count = counter(question, pairs, workers)
    if blocks is None:
        blocks = all_pairs(people, side)
    total, finished = len(blocks), 0

    def work(part: Iterable[Block]) -> Tally:
        nonlocal finished
        tally = Tally(question)
        for block in part:
            add = Tally.add if block.paired else count  # numpy takes those drawn one by one
            add(tally, block)
            finished += 1
            progress(finished, total)
        return tally

    if workers == 1 or total <= 1 or side > SIDE:  # a GPU is busy with one block
        return work(blocks)
    with ThreadPoolExecutor(workers) as pool:
        first, *rest = pool.map(work, [blocks[place::workers] for place in range(workers)])
    for tally in rest:
        first.merge(tally)
    return first


def _scan_on_cluster(question: Question, blocks: Sequence[Block], cluster: Any) -> Tally:
    """The counts over all blocks by the workers of a Dask client or a Spark session."""
    spark = getattr(cluster, "sparkContext", None)
    threads = spark.defaultParallelism if spark else sum(cluster.nthreads().values())
    parts = [list(blocks[place::threads]) for place in range(min(threads, len(blocks)))]
    work, total = partial(scan, question, jobs=1), Tally(question)
    if spark:
        tallies = spark.parallelize(parts, len(parts)).map(work).collect()
    else:
        tallies = cluster.gather(cluster.map(work, parts, pure=False))
    for tally in tallies:
        total.merge(tally)
    return total


def sample(
    question: Question, pairs: int, seed: int, jobs: Any, progress: Progress
) -> tuple[Tally, IntArray, Tally]:
    """The counts of pairs drawn at random; anchors, and their counts with the worst pairs."""
    k = len(question.people)
    rng = np.random.Generator(np.random.Philox(seed))
    left = rng.integers(0, k, pairs)
    right = (left + rng.integers(1, k, pairs)) % k  # anybody but oneself
    chosen = np.sort(rng.choice(k, min(ANCHORS, k), replace=False))
    single = [
        Block(left[start : start + SAMPLE_SIDE], right[start : start + SAMPLE_SIDE], paired=True)
        for start in range(0, pairs, SAMPLE_SIDE)
    ]
    wide = with_everybody(chosen, k)
    total = len(single) + len(wide)
    pair_tally = scan(question, single, jobs, lambda n, _: progress(n, total))
    question = replace(question, floor=floor_of(question, pair_tally.worst))
    anchor_tally = scan(question, wide, jobs, lambda n, _: progress(len(single) + n, total))
    anchor_tally.add_worst(pair_tally.worst)
    question = replace(question, rules=())
    search(
        anchor_tally,
        EXCHANGES,
        lambda some: scan(question, with_everybody(np.array(some), k), jobs),
    )
    return pair_tally, chosen, anchor_tally


def search(best: Tally, exchanges: int, scan_with: Callable[[list[Any]], Tally]) -> None:
    """Exchange one of the two for whoever is worst with the other, while that makes it worse.

    ``scan_with`` returns the counts of some people with everybody.
    """
    tried: set[Any] = set()
    for _ in range(exchanges):
        starts = {person for pair in best.worst[:STARTS] for person in pair[1:]} - tried
        if not starts:
            return
        tried |= starts
        best.add_worst(scan_with(sorted(starts)).worst)
