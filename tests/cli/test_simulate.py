"""``simulate``: a world's settings, classes from files, pipes, and what a game cannot show."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from likewise.cli.main import main
from likewise.hypotheses import Stumps
from likewise.simulate import WORLDS, Loans, settings_of
from studies.people.admissions import Admissions
from tests.files_of_people import HERE

COUNTED = ("error_rate", "violations", "reports")


def run(*args: str) -> Any:
    return CliRunner().invoke(main, ["simulate", "--rounds", "20", *args])


def simulate(*args: str) -> dict[str, Any]:
    result = run("--out", "-", "--no-comparator", *args)
    assert result.exit_code == 0, result.output
    data: dict[str, Any] = json.loads(result.stdout)
    return data


def counts(*args: str) -> tuple[Any, ...]:
    data = simulate(*args)
    return tuple(data[name] for name in COUNTED)


@pytest.mark.parametrize(
    ("world", "setting"),
    [
        ("loans", "luck=0.9"),
        ("loans", "harshness=0"),
        ("loans", "leniency=0.01"),
        ("drift", "spell=3"),
        ("strategic", "reach=0"),
        ("adaptive", "pull=0.1"),
        ("adversarial", "spite=1"),
        ("admissions", "rule=any"),
        ("admissions", "k=3"),
    ],
)
def test_every_worlds_settings_are_on_the_command_line(world: str, setting: str) -> None:
    args = ("--world", world, "--alpha", "0.1")
    assert counts(*args, "--set", setting) != counts(*args)


@pytest.mark.parametrize("world", HERE)
def test_a_setting_given_as_its_default_changes_nothing(world: str) -> None:
    same = [arg for one in settings_of(WORLDS[world]).values() for arg in ("--set", one.text)]
    assert counts("--world", world, *same) == counts("--world", world)


def test_a_shorter_spell_brings_a_recession() -> None:
    args = ("--world", "drift", "--set", "depth=0.5")
    assert counts(*args) == counts("--world", "loans")
    assert counts(*args, "--set", "spell=5")[0] != counts(*args)[0]


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (
            "--world drift --set spel=200",
            1,
            "world drift must be one of its own (k=8, rule=majorit",
        ),
        ("--set spell=200", 1, "world loans must be one of its own"),
        (
            "--world drift --set spell=soon",
            1,
            "spell must be an integer; got 'soon'. Such as spell",
        ),
        ("--world drift --set spell=0", 1, "spell must be an integer in [1, "),
        ("--set luck=nan", 1, "luck must be a finite number"),
        ("--set luck=2", 1, "luck must be in [0, 1]; got 2.0. It is the share of repayment"),
        ("--set rule=magority", 1, "expected a rule"),
        ("--set luck", 2, "'luck' is not of the form NAME=VALUE"),
        ("--set =3", 2, "is not of the form NAME=VALUE"),
        ("--set luck=0.1 --set luck=0.2", 2, "The setting luck is given twice"),
        ("--world adversarial --set rule=any", 1, "world adversarial must be one of its own"),
        ("--world lones", 2, "'lones' is not one of 'loans', 'drift'"),
        ("--learner exactly", 2, "'exactly' is not one of 'auto', 'self-tuned', 'nested'"),
        ("--selection widest", 2, "'widest' is not one of 'largest-gap'"),
        ("--delay 20", 1, "delay must be below the number of rounds, 20; got '20'. Feedback that"),
        ("--delay 50", 1, "never arrives"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(args: str, code: int, says: str) -> None:
    result = run(*args.split())
    assert result.exit_code == code
    assert says in result.stderr
    assert "Traceback" not in result.stderr


def test_feedback_of_the_last_round_may_come_in_the_last() -> None:
    assert simulate("--delay", "19")["open_rounds"] == 19


def test_rounds_go_to_a_file_and_the_json_alone_to_standard_output(tmp_path: Path) -> None:
    result = run("--out", "-", "--out", str(tmp_path / "rounds.csv"), "--no-comparator")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "rounds.csv").read_text())))
    assert [int(row["round"]) for row in rows] == list(range(1, 21))
    assert json.loads(result.stdout)["rounds"] == 20
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ("--world drift", "the first recession begins in round 1,001, so 20 rounds of drift are"),
        ("--delay geometric:0.01", "feedback comes 99 rounds late in the mean, and the game ends"),
        ("--set rule=at_least(6)", "can never fire on a panel of 5"),
    ],
)
def test_what_a_game_cannot_show_is_said(args: str, says: str) -> None:
    result = run(*args.split(), "--no-comparator")
    assert result.exit_code == 0
    assert f"Note: {says}" in result.stderr or says in result.stderr


@pytest.mark.parametrize("args", ["--world drift --set spell=19", "--delay geometric:0.1", ""])
def test_and_not_where_it_can(args: str) -> None:
    assert run(*args.split(), "--no-comparator").stderr == ""


@pytest.fixture
def stumps(tmp_path: Path) -> Path:
    """A class that the world does not offer, as its JSON says it."""
    schema = Loans(1).schema
    made = Stumps(schema, {"income": [20, 40, 80], "debt": [10, 30, 50]})
    path = tmp_path / "stumps.json"
    path.write_text(json.dumps(made.spec()))
    return path


def test_any_registered_class_can_be_played_from_its_file(stumps: Path) -> None:
    data = simulate("--hypotheses", str(stumps), "--learner", "exact")
    assert data["hypotheses"] == 14
    assert json.loads(run("--hypotheses", str(stumps), "--out", "-").stdout)["regret"] is not None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "is not JSON"),
        ("[1]", "must hold one JSON object"),
        ('{"class": "no-such-class"}', "must be one of pool, segments"),
        (json.dumps(Admissions(1).hypotheses().spec()), "is over other features (grades, "),
    ],
)
def test_a_file_that_is_no_class_is_refused(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "class.json").write_text(text)
    result = run("--hypotheses", str(tmp_path / "class.json"))
    assert result.exit_code == 1
    assert says in result.stderr


def test_a_class_file_that_is_not_there_is_named() -> None:
    result = run("--hypotheses", "nowhere.json")
    assert result.exit_code == 1
    assert "nowhere.json cannot be read: No such file" in result.stderr
