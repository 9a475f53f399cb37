"""A Dask cluster on loopback: the same results, also when a worker is killed midway."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from likewise.errors import LikewiseError, ParameterError
from likewise.simulate import parse_delay
from likewise.simulate.parallel import Processes
from studies.cluster import Cluster
from studies.sweep.runs import Results, run_sweep
from studies.sweep.spec import sweep_from_data

pytest.importorskip("distributed")

SWEEP: dict[str, Any] = {
    "title": "shared out",
    "seeds": {"first": 1, "count": 4},
    "horizons": [60],
    "comparators": False,
    "scenarios": [{"world": "loans"}],
    "learners": [{"learner": "exact", "eta": [1.0, 0.25, 0.0625]}],
}


@contextmanager
def process(*command: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of Dask's, ended whatever happens."""
    made = subprocess.Popen(
        [sys.executable, "-m", "dask", *command], env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield made
    finally:
        made.kill()
        made.wait(timeout=60)


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler and two workers, one thread each; its address, and the workers to be killed."""
    about = folder / "scheduler.json"
    start = ("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
    join = ("worker", "--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1")
    here = ("--scheduler-file", str(about))
    local = ("--local-directory", str(folder))
    with process(*start, *here) as scheduler:
        until = time.monotonic() + 120
        while not (about.exists() and about.read_text().endswith("}")):
            assert scheduler.poll() is None
            assert time.monotonic() < until, "The scheduler did not start."
            time.sleep(0.05)
        with process(*join, *local, *here) as one, process(*join, *local, *here) as two:
            yield json.loads(about.read_text())["address"], [one, two]


@pytest.mark.long
def test_a_worker_that_is_killed_midway_changes_nothing(tmp_path: Path) -> None:
    sweep = sweep_from_data(SWEEP)
    run_sweep(sweep, tmp_path / "here", Processes(1))
    killed: list[int] = []
    with cluster(tmp_path) as (address, workers):

        def kill_one(_what: str, done: int) -> None:
            if done == 3 and not killed:
                workers[0].send_signal(signal.SIGKILL)
                killed.append(workers[0].wait(timeout=60))

        run_sweep(sweep, tmp_path / "there", Cluster(address), progress=kill_one)
    assert killed == [-signal.SIGKILL]
    here, there = (tmp_path / name / "results.csv" for name in ("here", "there"))
    assert here.read_bytes() == there.read_bytes()


def test_a_cluster_that_cannot_be_reached_is_named_and_results_are_kept(tmp_path: Path) -> None:
    sweep = sweep_from_data(SWEEP)
    results = Results(tmp_path, sweep)
    rows = run_sweep(sweep_from_data(SWEEP), tmp_path / "other", Processes(1))
    results.append(rows[:1])
    nowhere = Cluster("tcp://127.0.0.1:9", connect_seconds=1.0)
    with pytest.raises(LikewiseError, match=r"tcp://127\.0\.0\.1:9' cannot be reached .* kept"):
        run_sweep(sweep, tmp_path, nowhere)
    assert Results(tmp_path, sweep).rows == rows[:1]


@pytest.mark.parametrize("address", ["", "nonsense", "http//x", "tcp://127.0.0.1:99999"])
def test_an_address_that_is_none_is_refused_in_a_sentence(address: str) -> None:
    with pytest.raises(ParameterError, match="cluster must be an address with a port"):
        Cluster(address)


@pytest.mark.long
def test_what_a_worker_refuses_arrives_as_its_sentence_and_no_worker_is_waited_for_long(
    tmp_path: Path,
) -> None:
    with cluster(tmp_path) as (address, workers):
        with pytest.raises(ParameterError, match=r"^delay must be a number of rounds"):
            list(Cluster(address).map(parse_delay, [("soon",)]))
        for worker in workers:
            worker.kill()
            worker.wait(timeout=60)
        gone = Cluster(address, workers_seconds=2.0)
        with pytest.raises(LikewiseError, match="has had no worker for 2 seconds"):
            list(gone.map(parse_delay, [("3",)]))


@pytest.mark.long
def test_replicates_of_a_second_take_a_cluster_little_longer_than_processes(
    tmp_path: Path,
) -> None:
    """A replicate sleeps for a second, so that it takes that long whatever the machine does."""
    tasks = [(1.0,)] * 40
    with cluster(tmp_path) as (address, _):
        list(Cluster(address).map(time.sleep, tasks[:2]))
        seconds = {}
        for name, workers in (("dask", Cluster(address)), ("processes", Processes(2))):
            began = time.monotonic()
            assert len(list(workers.map(time.sleep, tasks))) == len(tasks)
            seconds[name] = time.monotonic() - began
    print(f"40 replicates of a second by two: {seconds}")
    assert seconds["dask"] <= 1.2 * seconds["processes"]
