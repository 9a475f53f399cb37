"""A package outside Likewise adds one of each, and everything knows it by name.

It is installed by pip into a folder of its own, and used by processes that have the folder on their
path: so nothing but its entry points tells them of it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PACKAGE = Path(__file__).parent / "package"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the package is installed in; built from a copy, as building leaves files."""
    folder = tmp_path_factory.mktemp("extension")
    shutil.copytree(PACKAGE, folder / "source")
    command = [
        sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
        "--no-index", "--no-deps", "--no-build-isolation", "--target", str(folder / "site"),
        str(folder / "source"),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "site"


def run(folder: Path | None, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A process of its own, with the folder on its path."""
    root = str(Path(__file__).parents[2])  # where the studies are
    path = os.pathsep.join([str(folder or ""), root, os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path.rstrip(os.pathsep)}
    return subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        env=environment, capture_output=True, text=True, timeout=250, check=False,
    )  # fmt: skip


def python(folder: Path | None, code: str, *arguments: str) -> Any:
    """What a short program prints as JSON."""
    done = run(folder, "-c", code, *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_everything_that_it_adds_keeps_its_contract(installed: Path) -> None:
    code = """
import json
from likewise.registry import REGISTRIES, BASELINES, HYPOTHESES, METRICS, PLAYERS, WORLDS
from likewise.testing import *
world = WORLDS["village"].make(3)
intervals = world.hypotheses()
check_world(world)
for seed in range(2):
    check_hypotheses(intervals, seed=seed)
    check_player(PLAYERS["two-temperatures"](), intervals, seed=seed)
check_player(PLAYERS["two-temperatures"]())
check_metric(METRICS["years-apart"]("age", 30), world.encounter(1).people)
check_baseline(BASELINES["cautious"], intervals)
print(json.dumps([intervals.size, intervals.separators, intervals.describe([12])]))
"""
    assert python(installed, code) == [56, 10, "approve if 10 ≤ savings < 40"]


STORY = """
import hashlib, json, sys
from likewise.learner import (
    Learner, SelfTuned, State, asking, deploy, dump_state, learn, load_state, save_state,
)
from likewise.registry import WORLDS

def go_on(state, world, first, last):
    decided = []
    for t in range(first, last):
        met = world.encounter(t)
        state, made = deploy(state, met.people)
        report = None
        if asking(state, made.round).looked_at:
            report = met.panel.audit(met.people, made.units, state.learner.sensitivity)
        labels = {p: int(y) for p, y, ok in zip(made.ids, met.labels, made.approved) if ok}
        state = learn(state, made, labels=labels, report=report)
        decided.append([made.units.tolist(), made.approved.tolist()])
    return state, decided

world = WORLDS["village"].make(5)
learner = Learner(
    world.hypotheses(), world.k, 0.3, 0.2, 9, player="two-temperatures", feedback="one-sided",
    attention="share:0.5", schedule=SelfTuned(eta=0.5),
)
"""


def test_a_state_that_uses_it_is_loaded_and_continued_by_another_process(
    installed: Path, tmp_path: Path
) -> None:
    path = str(tmp_path / "village.state")
    whole = python(installed, STORY + """
state, _ = go_on(State.start(learner), world, 1, 16)
save_state(state, sys.argv[1])
state, decided = go_on(state, world, 16, 31)
print(json.dumps([decided, hashlib.sha256(dump_state(state)).hexdigest(), state.lam]))
""", path)  # fmt: skip
    rest = python(installed, STORY + """
state, decided = go_on(load_state(sys.argv[1], learner=learner), world, 16, 31)
print(json.dumps([decided, hashlib.sha256(dump_state(state)).hexdigest(), state.lam]))
""", path)  # fmt: skip
    assert rest == whole
    assert whole[2] > 0  # there were reports

    load = "import sys; from likewise import load_state; load_state(sys.argv[1])"
    without = run(None, "-c", load, path)
    assert without.returncode == 1
    assert "got 'intervals'. Check the spelling; a package adds one with an entry point" in (
        without.stderr
    )


def test_a_panel_and_a_docket_that_use_it_are_read_by_another_process(
    installed: Path, tmp_path: Path
) -> None:
    path = tmp_path / "village.json"
    python(installed, STORY + """
from likewise_service.dockets.spec import DocketSpec
docket = DocketSpec.of("The village", learner, ("elder", "teller"), rule="any")
found = {"panel": world.panel.spec(), "docket": docket.to_json()}
open(sys.argv[1], "w").write(json.dumps(found, sort_keys=True))
print("1")
""", str(path))  # fmt: skip
    found = python(installed, STORY + """
from likewise.panel import Panel
from likewise_service.dockets.spec import DocketSpec
given = json.load(open(sys.argv[1]))
panel, docket = Panel.from_spec(given["panel"]), DocketSpec.from_json(given["docket"])
again = docket.make_learner(9)
people = world.encounter(1).people
same = (panel.pivots(people).distance == world.panel.pivots(people).distance).all()
print(json.dumps([panel.name, bool(same), again.spec() == learner.spec()]))
""", str(path))  # fmt: skip
    assert found == ["elder, teller: any", True, True]


@pytest.mark.long
def test_a_sweep_of_two_processes_runs_it(installed: Path, tmp_path: Path) -> None:
    script = tmp_path / "sweep.py"
    script.write_text("""
import json, sys
from pathlib import Path
from likewise.simulate.parallel import Processes
from studies.sweep.runs import run_sweep
from studies.sweep.spec import sweep_from_data

if __name__ == "__main__":
    sweep = sweep_from_data({
        "title": "village", "seeds": [1, 2], "horizons": [8, 24],
        "scenarios": [{"world": "village"}],
        "learners": [{"learner": ["two-temperatures", "cautious", "untaught"]}],
    })
    for jobs in (1, 2):
        rows = run_sweep(sweep, Path(sys.argv[1]) / f"runs{jobs}", Processes(jobs))
        print(json.dumps([vars(row) for row in rows]))
""")
    done = run(installed, str(script), str(tmp_path))
    assert done.returncode == 0, done.stderr
    alone, together = map(json.loads, done.stdout.splitlines())
    assert alone == together
    assert len(together) == 2 * 2 * 3
    assert {row["learner"] for row in together} == {"two-temperatures", "cautious", "untaught"}


@pytest.mark.parametrize("learner", ["two-temperatures", "cautious"])
def test_the_command_line_plays_it(installed: Path, learner: str) -> None:
    done = run(
        installed, "-m", "likewise", "simulate", "--world", "village", "--hypotheses", "intervals",
        "--learner", learner, "--set", "luck=0.2", "--rounds", "20", "--out", "-",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert (data["world"], data["learner"], data["hypotheses"]) == ("village", learner, 56)
    assert data["regret"] is not None


def test_the_command_line_lists_it(installed: Path) -> None:
    done = run(installed, "-m", "likewise", "list")
    assert done.returncode == 0, done.stderr
    said = [" ".join(line.split()) for line in done.stdout.splitlines()]
    for line in (
        "village villagers ask for loans; those with middling savings repay",
        "cautious self-tuned, but errors weigh next to nothing",
    ):
        assert line in said
    for name in ("two-temperatures", "intervals", "years-apart"):
        assert any(line.startswith(f"{name} ") for line in said), name
