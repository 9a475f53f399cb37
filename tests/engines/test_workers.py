"""Draws may be asked for from several threads at once, and in processes that were forked."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from likewise.hypotheses import HypothesisClass, Segments, Staircases
from likewise.learner import compiled
from likewise.learner import reference as reference_engine
from likewise.learner.compiled import vectors as workers
from likewise.numerics.randomness import Noise, Purpose, Stream
from likewise.people import Feature, FeatureSchema
from tests.engines.listed import Table, different_rows

ROOT = Path(__file__).parents[2]
SCHEMA = FeatureSchema(
    (
        Feature("a"),
        Feature("b"),
        Feature("by", "category", levels=("x", "y", "z")),
    )
)
NOISE = Noise(Stream(3, Purpose.ELICIT, 2), 1.0)
DRAWS = 3000


def classes() -> list[tuple[HypothesisClass, np.ndarray]]:
    rng = np.random.default_rng(1)
    table = Table(different_rows(rng, 300, 12))
    points = rng.integers(0, 2, (5, 300), dtype=np.uint8)
    segments = Segments(SCHEMA, score="a", cuts=range(1, 9), by=["by"])
    stairs = Staircases(
        SCHEMA, first="a", first_cuts=range(5), second="b", second_cuts=range(6), by=["by"]
    )
    return [
        (table, points),
        (segments, rng.integers(0, segments.separators, 5)),
        (stairs, rng.integers(0, stairs.separators, 5)),
    ]


def test_draws_from_many_threads_at_once_are_the_draws_from_one() -> None:
    tasks = [
        (
            hypotheses,
            hypotheses.no_costs(),
            NOISE,
            points,
            range(1000 * start, 1000 * start + DRAWS),
        )
        for hypotheses, points in classes()
        for start in range(8)
    ]
    alone = [reference_engine.approvals(*task) for task in tasks]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda task: compiled.approvals(*task), tasks))
    for expected, approved in zip(alone, together, strict=True):
        assert (expected == approved).all()


# In a process of its own: there the threads exist before the fork, and whatever a fork breaks
# breaks there alone.
FORKED = """
import os, sys, threading
sys.path.insert(0, sys.argv[1])
from tests.engines import test_workers as t

classes = t.classes()

def draws():
    return [
        t.compiled.approvals(h, h.no_costs(), t.NOISE, points, range(t.DRAWS)).tobytes()
        for h, points in classes
    ]

expected = draws()
stop = threading.Event()

def keep_drawing():
    while not stop.is_set():
        assert draws() == expected

threads = [threading.Thread(target=keep_drawing) for _ in range(3)]
for thread in threads:
    thread.start()
children = []
for _ in range(6):
    child = os.fork()
    if child == 0:
        os._exit(0 if draws() == expected == draws() else 1)
    children.append(child)
codes = [os.waitpid(child, 0)[1] for child in children]
stop.set()
for thread in threads:
    thread.join()
print(codes)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize("threads", [pytest.param("1", marks=pytest.mark.long), "3"])
def test_a_forked_process_makes_the_same_draws(threads: str) -> None:
    """Forked while other threads are drawing: children are on their own, and none hangs or dies."""
    process = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED, str(ROOT)],
        env={**os.environ, "NUMBA_NUM_THREADS": threads},
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    assert process.stdout.strip() == str([0] * 6), process.stderr


COUNTED = """
import hashlib, sys
sys.path.insert(0, sys.argv[1])
from tests.engines import test_workers as t

digest = hashlib.sha256()
for h, points in t.classes():
    found = t.compiled.approvals(h, h.no_costs(), t.NOISE, points, range(7, 7 + t.DRAWS))
    digest.update(found.tobytes())
print(t.workers.threads(), digest.hexdigest())
"""


@pytest.mark.long
def test_any_number_of_threads_makes_the_same_draws() -> None:
    """NUMBA_NUM_THREADS is what joblib sets, so that its processes do not crowd each other out."""
    digests = []
    for threads in ("1", "2", "5"):
        process = subprocess.run(
            [sys.executable, "-c", COUNTED, str(ROOT)],
            env={**os.environ, "NUMBA_NUM_THREADS": threads},
            capture_output=True, text=True, timeout=240, check=True,
        )  # fmt: skip
        count, digest = process.stdout.split()
        assert count == threads
        digests.append(digest)
    assert len(set(digests)) == 1


@pytest.mark.parametrize("total", [0, 1, 63, 64, 65, 5000, 20000])
def test_pieces_cover_everything_once(total: int) -> None:
    parts = workers.pieces(total, 4096, 64)
    assert [n for start, size in parts for n in range(start, start + size)] == list(range(total))
    assert all(size <= 4096 for _, size in parts)
    assert all(start % 64 == 0 for start, _ in parts)


def test_an_error_in_a_task_is_raised_and_the_threads_stay() -> None:
    def task(start: int, size: int) -> None:
        if start == 6:
            raise ValueError(f"no {start} of {size}")

    parts = [(start, 2) for start in range(0, 20, 2)]
    for _ in range(5):
        with pytest.raises(ValueError, match="no 6 of 2"):
            workers.share_out(task, parts)
    starts: list[int] = []
    workers.share_out(lambda start, _size: starts.append(start), parts)
    assert sorted(starts) == [start for start, _ in parts]
