"""A package that is installed beside Likewise: its world, class, player and baseline by name.

The package is a folder on PYTHONPATH with a module and the metadata that pip would have written.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

MODULE = '''
"""A world of coin flips, its class, a slower player, and a baseline whose constants need T."""

from dataclasses import dataclass

import numpy as np

from likewise.auditing import MetricAuditor, Panel, WeightedL1
from likewise.baselines import baseline
from likewise.hypotheses import Stumps
from likewise.learning import Learner, SelfTuned
from likewise.learning.primal import ExponentialWeights
from likewise.randomness import Purpose, Stream
from likewise.schema import Feature, FeatureSchema
from likewise.worlds import Encounter, Steady

SCHEMA = FeatureSchema((Feature("height", "integer", 0, 9),))


class Heights(Stumps):
    """Stumps on one feature, under a name of their own."""

    def spec(self):
        return {**super().spec(), "class": "heights"}


@dataclass(frozen=True)
class Coins(Steady):
    """Heights at random; whoever is taller is more often good."""

    seed: int
    k: int = 3
    bias: float = 0.1
    name = "coins"
    summary = "heights at random"
    classes = ("heights",)

    @property
    def schema(self):
        return SCHEMA

    def hypotheses(self, name=None):
        return Heights(SCHEMA, {"height": range(1, 10)})

    def encounter(self, t):
        u = Stream(self.seed, Purpose.WORLD, t).uniforms(0, self.k, 2)
        x = np.floor(10 * u[:, :1])
        people = SCHEMA.people(x, [f"{t}-{i}" for i in range(self.k)])
        labels = (u[:, 1] < x[:, 0] / 10 + self.bias).astype(np.int64)
        auditor = MetricAuditor("one", WeightedL1({"height": 1.0}))
        return Encounter(people, labels, Panel([auditor], "any"))


@dataclass(frozen=True)
class Warm(ExponentialWeights):
    """Exponential weights, warmer than ours."""

    name = "warm"

    def default_x(self, hypotheses, *, estimated=False):
        return 5.0 * self.best_x(hypotheses, estimated=estimated)


@baseline("by-horizon", "noise that grows with T")
def by_horizon(hypotheses, k, alpha, eps, seed, *, rounds=None):
    return Learner(hypotheses, k, alpha, eps, seed, schedule=SelfTuned(x=float(rounds or 1)))
'''
POINTS = """
[likewise.worlds]
coins = coin_flips:Coins
[likewise.hypotheses]
heights = coin_flips:Heights
[likewise.players]
warm = coin_flips:Warm
[likewise.baselines]
by-horizon = coin_flips:by_horizon
"""
SWEEP = """
import json, sys
from pathlib import Path
from likewise.experiments.parallel import Processes
from likewise.experiments.sweep.execute import run_sweep
from likewise.experiments.sweep.views.figures import figure_svg
from likewise.experiments.sweep.points import points_of
from likewise.experiments.sweep.reading import sweep_from_data
from likewise.experiments.sweep.views.tables import sweep_markdown

if __name__ == "__main__":
    sweep = sweep_from_data({
        "title": "coins", "seeds": [1, 2, 3], "horizons": [8, 32],
        "scenarios": [{"world": "coins"}],
        "learners": [
            {"learner": ["warm", "exact"], "eta": [1.0, 0.25]},
            {"learner": ["by-horizon", "untaught"]},
        ],
    })
    rows = run_sweep(sweep, Path(sys.argv[1]), Processes(int(sys.argv[2])))
    print(json.dumps({
        "results": [vars(row) for row in rows],
        "table": sweep_markdown(sweep, rows),
        "picture": figure_svg(points_of(sweep, rows)),
    }))
"""


def install(folder: Path, points: str, module: str = MODULE) -> None:
    (folder / "coin_flips.py").write_text(module)
    metadata = folder / "coin_flips-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: coin-flips\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(points)


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, *arguments],
        env=environment, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    install(folder, POINTS)
    return folder


def test_the_command_line_knows_what_a_package_adds(installed: Path) -> None:
    listed = python(installed, "-m", "likewise", "list")
    assert listed.returncode == 0, listed.stderr
    said = [" ".join(line.split()) for line in listed.stdout.splitlines()]
    assert "coins heights at random" in said
    assert "bias=0.1" in said
    assert "warm Exponential weights, warmer than ours." in said
    assert "by-horizon noise that grows with T" in said
    assert "heights Stumps on one feature, under a name of their own." in said


@pytest.mark.parametrize("learner", ["warm", "by-horizon", "exact"])
def test_a_package_can_be_played(installed: Path, learner: str) -> None:
    done = python(
        installed, "-m", "likewise", "simulate", "--world", "coins", "--hypotheses", "heights",
        "--learner", learner, "--set", "bias=0.3", "--rounds", "30", "--json", "-",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert (data["world"], data["learner"], data["k"]) == ("coins", learner, 3)
    assert data["regret"] is not None


@pytest.fixture(scope="module")
def swept(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A sweep of the package, by one process and by two."""
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "sweep.py").write_text(SWEEP)
    found = {}
    for jobs in ("1", "2"):
        done = python(installed, str(folder / "sweep.py"), str(folder / f"runs{jobs}"), jobs)
        assert done.returncode == 0, done.stderr
        found[jobs] = json.loads(done.stdout)
    return found


def test_a_package_takes_part_in_a_sweep_of_two_processes(swept: dict[str, Any]) -> None:
    assert swept["1"] == swept["2"]
    rows = swept["2"]["results"]
    assert {row["learner"] for row in rows} == {"warm", "exact", "by-horizon", "untaught"}
    assert len(rows) == 3 * 2 * (2 + 2 + 1 + 1)
    assert "| warm, eta = 1/4 |" in swept["2"]["table"]
    assert swept["2"]["picture"].count(">by-horizon</text>") == 1


def test_a_learner_that_knows_the_horizon_plays_a_game_for_each(
    installed: Path, swept: dict[str, Any]
) -> None:
    """Its first 8 rounds of 32 are not a game of 8: it would have had less noise."""
    rows = swept["1"]["results"]
    (short,) = (r for r in rows if (r["learner"], r["seed"], r["rounds"]) == ("by-horizon", 1, 8))
    alone = python(
        installed, "-m", "likewise", "simulate", "--world", "coins", "--learner", "by-horizon",
        "--rounds", "8", "--seed", "1", "--json", "-",
    )  # fmt: skip
    assert json.loads(alone.stdout)["error_rate"] == short["error_rate"]


def test_a_package_that_cannot_be_loaded_is_named_and_the_list_goes_on(tmp_path: Path) -> None:
    install(tmp_path, "[likewise.players]\nwarm = coin_flips:Missing\n[likewise.worlds]\n"
                      "coins = nowhere:Coins\n")  # fmt: skip
    listed = python(tmp_path, "-m", "likewise", "list")
    assert listed.returncode == 0, listed.stderr
    assert "The player 'warm' is coin_flips:Missing of the package coin-flips, which cannot be" in (
        listed.stdout
    )
    assert "The world 'coins' is nowhere:Coins" in listed.stdout
    assert "Selections (--selection)" in listed.stdout
    refused = python(tmp_path, "-m", "likewise", "simulate", "--world", "coins")
    assert refused.returncode == 1
    assert "which cannot be loaded" in refused.stderr


def test_a_name_that_could_be_two_things_is_refused(tmp_path: Path) -> None:
    install(tmp_path, "[likewise.players]\nexact = coin_flips:Warm\n")
    done = python(tmp_path, "-m", "likewise", "simulate", "--learner", "exact")
    assert done.returncode == 1
    assert "could be the learner of Likewise itself or the player of that name" in done.stderr
