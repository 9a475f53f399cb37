"""A process uses numpy until compiled code pays off, and nobody notices the change."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from likewise.learner import Learner, oracle
from likewise.learner.oracle import COMPILES_AFTER, LOADS_AFTER, Engine, Oracle, engine_for
from likewise.numerics.randomness import Noise, Purpose, Stream
from likewise.simulate import Loans
from likewise.simulate.counts import trace_csv
from likewise.simulate.rounds import play
from tests.engines.listed import Table, different_rows

NOISE = Noise(Stream(3, Purpose.ELICIT, 2), 1.0)
SEGMENTS = Loans(1).hypotheses()
FIRST_RUN = """
import sys
from likewise.cli import main
main(["simulate", "--rounds", "5", *sys.argv[1:]], standalone_mode=False)
assert "numba" not in sys.modules
"""


@pytest.fixture(autouse=True)
def fresh_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracle, "WORKLOAD", oracle._Workload())
    monkeypatch.setattr(oracle, "_kernels_are_on_disk", lambda: False)


def engine_in_use() -> str:
    """The engine of segments, by the name of its module."""
    name: str = engine_for("compiled", SEGMENTS).__name__  # type: ignore[attr-defined]
    return name.removeprefix("likewise.learner.")


@pytest.mark.parametrize(
    "options",
    [
        ("--learner", "self-tuned"),
        pytest.param((), marks=pytest.mark.long),
        pytest.param(("--hypotheses", "pool"), marks=pytest.mark.long),
        pytest.param(("--world", "drift"), marks=pytest.mark.long),
    ],
)
def test_a_five_round_game_on_a_fresh_machine_compiles_nothing(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    fresh = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", FIRST_RUN, *options], env=fresh, check=True)
    assert not list(tmp_path.iterdir())


def test_work_is_added_up_until_compiling_pays_off() -> None:
    uses = 0
    while engine_in_use() == "reference":
        uses += 1
    assert oracle.WORKLOAD.seconds >= COMPILES_AFTER
    assert uses > 1000


def test_kernels_that_are_on_disk_are_loaded_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracle, "_kernels_are_on_disk", lambda: True)
    while engine_in_use() == "reference":
        pass
    assert LOADS_AFTER <= oracle.WORKLOAD.seconds < COMPILES_AFTER


def test_an_index_file_of_numba_is_a_kernel_on_disk(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    search = oracle._kernels_are_on_disk.__wrapped__
    assert not search()
    (tmp_path / "compiled_1f").mkdir()
    (tmp_path / "compiled_1f" / "segments._draw-60.py311.nbi").touch()
    assert search()


def test_a_large_task_is_compiled_before_it_is_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []
    choose = oracle._load_engine

    def load(name: str) -> Engine:
        loaded.append(name)
        return choose(name)

    monkeypatch.setattr(oracle, "_load_engine", load)
    table = Table(different_rows(np.random.default_rng(1), 300, 12))
    points = np.zeros((1, table.size), dtype=np.uint8)
    for draws in (10, 10**6):
        Oracle(table).approvals(table.no_costs(), NOISE, points, draws=draws)
    assert loaded == ["reference", "compiled"]


@pytest.mark.parametrize("player", ["exponential-weights", "context-ftpl"])
def test_a_change_in_the_middle_of_a_game_changes_no_decision(
    player: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = Loans(3)
    learner = Learner(world.hypotheses(), world.k, 0.3, 0.3, 9, player=player)
    expected = trace_csv(play(world, learner, 12, evaluation_draws=100))
    seconds = oracle.WORKLOAD.seconds
    assert engine_in_use() == "reference"
    monkeypatch.setattr(oracle, "WORKLOAD", oracle._Workload(COMPILES_AFTER - seconds / 2))
    assert trace_csv(play(world, learner, 12, evaluation_draws=100)) == expected
    assert engine_in_use() == "compiled"
