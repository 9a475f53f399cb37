"""``simulate`` with one-sided labels, late feedback and audits of a share."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from likewise.cli.main import main
from likewise.simulate.game import Game
from studies.sweep.spec import Entry, scenario_title


def run(*args: str) -> Any:
    return CliRunner().invoke(main, list(args))


def simulate(*args: str) -> dict[str, Any]:
    result = run("simulate", "--out", "-", "--rounds", "20", "--no-comparator", *args)
    assert result.exit_code == 0, result.output
    data: dict[str, Any] = json.loads(result.stdout)
    return data


def test_feedback_options_reach_the_learner_and_the_game() -> None:
    data = simulate(
        "--feedback", "one-sided", "--delay", "4",
        "--attention", "share:0.5", "--learner", "self-tuned",
    )  # fmt: skip
    assert (data["feedback"], data["delay"]) == ("one-sided", "4")
    assert data["attention"] == {"attention": "share", "share": 0.5}
    assert data["open_rounds"] == 4
    assert 0 < data["looks"] < 20
    assert (data["schedule"]["outstanding"], data["schedule"]["waiting"]) == (1.0, 0.25)


def test_without_them_all_is_heard_at_once() -> None:
    data = simulate("--learner", "self-tuned")
    assert (data["feedback"], data["reports"] <= data["looks"] <= 20) == ("full", True)
    assert (data["delay"], data["open_rounds"]) == ("0", 0)


def test_audits_and_labels_may_be_late_each_in_its_own_way() -> None:
    data = simulate("--delay", "audits:0,labels:5")
    assert (data["delay"], data["open_rounds"]) == ("audits:0,labels:5", 5)


def test_the_papers_one_sided_constants_come_with_a_warning() -> None:
    args = ("simulate", "--learner", "paper", "--rounds", "2", "--no-comparator")
    assert "does not cover its constants" in run(*args, "--feedback", "one-sided").stderr
    assert "does not cover" not in run(*args).stderr


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ("--delay soon", "must be a number of rounds, geometric:P, or audits:…,labels:…"),
        ("--delay geometric:2", "chance of the delay must be in"),
        ("--delay audits:1,audits:2", "must be a number of rounds, geometric:P, or audits:…"),
        ("--delay audits:1,labels:soon", "must be a number of rounds, geometric:P, or audits:…"),
        ("--attention share:0", "share must be in"),
        ("--delay 9 --with open_limit=3", "must be below the learner's open_limit of 3"),
    ],
)
def test_feedback_that_makes_no_sense_is_refused(args: str, says: str) -> None:
    result = run("simulate", "--rounds", "20", *args.split())
    assert result.exit_code != 0
    assert says in result.stderr + result.output


def test_scenarios_that_hear_otherwise_have_runs_of_their_own() -> None:
    kinds = [
        Game("loans"),
        Game("loans", feedback="one-sided"),
        Game("loans", delay="50"),
        Game("loans", delay="audits:0,labels:50"),
        Game("loans", attention="share:0.5"),
        Game("loans", attention="model"),
        Game("loans", selection="all"),
        Game("loans", alpha=0.1),
    ]
    assert len({json.dumps(Entry(game, "", "").key) for game in kinds}) == len(kinds)
    assert len({scenario_title(game) for game in kinds}) == len(kinds)
