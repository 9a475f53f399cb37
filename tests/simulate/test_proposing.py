"""Proposals for eta and kappa: within the budget, the most accurate; bad budgets are refused."""

from __future__ import annotations

import doctest
import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from likewise.cli.main import main
from likewise.errors import LikewiseError, ParameterError
from likewise.hypotheses import Segments
from likewise.people import Feature, FeatureSchema
from likewise.people.tables import Row, parse_people, read_table
from likewise.simulate import Loans, Recorded
from likewise.simulate import propose as proposing
from likewise.simulate.game import Game
from likewise.simulate.propose import Trial, propose
from likewise.simulate.world import draw_round

PANEL = """
rule = "any"
[[auditors]]
name = "banker"
distance = { metric = "weighted-l1", weights = { income = 0.5, debt = 0.25 } }
"""


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Recorded:
    monkeypatch.setattr(proposing, "ETAS", (1.0, 1 / 64))
    monkeypatch.setattr(proposing, "KAPPA_SHARES", (0.5, 1 / 6))
    return Recorded(Loans(3), 150)


def test_the_most_accurate_within_budget_and_limit_is_proposed(small: Recorded) -> None:
    found = propose([small], 1000, Game(rounds=150), limit=1000)
    assert len(found.trials) == 4
    assert found.chosen == min(found.trials, key=lambda one: one.counts)
    least = min(one.looks for one in found.trials)
    tight = propose([small], least, Game(rounds=150), limit=1000)
    assert tight.chosen.looks == least < 1000
    assert tight.chosen.error_rate >= found.chosen.error_rate
    assert set(found.best) <= set(found.trials)


def test_a_delay_is_played(small: Recorded) -> None:
    """With labels and audits 15 of 20 rounds late, hardly a report has changed anything."""
    at_once, late = (propose([small], 1000, Game(rounds=20, delay=delay)) for delay in ("0", "15"))
    pairs = zip(at_once.trials, late.trials, strict=True)
    assert all(one.error_rate != other.error_rate for one, other in pairs)
    assert [one.eta for one in at_once.trials] == [one.eta for one in late.trials]


def test_where_no_setting_is_within_the_limit_the_fewest_violations_are() -> None:
    tried = [
        Trial(1.0, 0.1, 0.3, 90, 7, 40),
        Trial(0.1, 0.1, 0.4, 20, 8, 45),
        Trial(0.1, 0.2, 0.5, 0, 9, 99),
    ]
    found = proposing._choose(tried, 50, 10)
    assert (found.chosen, found.within) == (tried[1], False)
    with pytest.raises(LikewiseError, match="No setting that was tried keeps to a budget of 3"):
        proposing._choose(tried, 3, 10)


@pytest.mark.parametrize(
    ("budget", "settings", "says"),
    [
        (-1, {}, r"budget must be in \[0, 1000\]"),
        (1001, {}, r"budget must be in \[0, 1000\]"),
        (float("nan"), {}, "budget must be"),
        (50, {"limit": -1}, "limit must be in"),
        (50, {"rounds": 3}, "rounds must be"),
        (50, {"delay": "20"}, "delay must be below the number of rounds"),
        (50, {"delay": "soon"}, "delay must be"),
    ],
)
def test_bad_budgets_are_refused(budget: float, settings: dict[str, Any], says: str) -> None:
    limit = {"limit": settings.get("limit", 10.0)}
    fields = {name: value for name, value in settings.items() if name != "limit"}
    with pytest.raises(ParameterError, match=says):
        propose([Recorded(Loans(3), 20)], budget, Game(**{"rounds": 20, **fields}), **limit)


def test_everybody_is_drawn_equally_often_and_nobody_twice_in_a_round() -> None:
    """Of 10 people 3 are drawn in 2,000 rounds: 600 each, with a standard deviation of 20."""
    drawn = np.array([draw_round(5, t, 10, 3) for t in range(1, 2001)])
    assert all(len(set(row)) == 3 for row in drawn.tolist())
    counts = np.bincount(drawn.reshape(-1), minlength=10)
    assert np.abs(counts - 600).max() < 100, "five standard deviations: less than 1 in 10^5"


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Sixty loan applicants as CSV, a class as JSON, a panel as TOML."""
    world = Loans(1, k=60)
    met = world.encounter(1)
    names = world.schema.names
    rows = [",".join([*names, "repaid"])]
    for values, label in zip(met.people.x.tolist(), met.labels.tolist(), strict=True):
        cells = [
            f.levels[int(value)] if f.kind == "category" else f"{value:g}"
            for f, value in zip(world.schema.features, values, strict=True)
        ]
        rows.append(",".join([*cells, str(label)]))
    paths = {name: tmp_path / name for name in ("people.csv", "class.json", "panel.toml")}
    paths["people.csv"].write_text("\n".join(rows) + "\n")
    made = Segments(world.schema, score="score", cuts=[500, 600, 700])
    paths["class.json"].write_text(json.dumps(made.spec()))
    paths["panel.toml"].write_text(PANEL)
    return paths


def run(files: dict[str, Path], *args: str) -> Any:
    given = ("--people", str(files["people.csv"]), "--hypotheses", str(files["class.json"]))
    more = ("--panel", str(files["panel.toml"]), "--label", "repaid", "--jobs", "1")
    return CliRunner().invoke(main, ["propose", *given, *more, "--rounds", "40", *args])


@pytest.mark.usefixtures("small")
def test_the_command_takes_a_delay_and_a_share(files: dict[str, Path]) -> None:
    late = ("--delay", "audits:0,labels:5", "--attention", "share:0.5")
    refused = run(files, "--budget", "1001", *late)
    assert refused.exit_code == 1
    assert "budget must be in [0, 1000]" in refused.output
    proposed = run(files, "--budget", "700", *late)
    assert "rounds looked at in a thousand" in proposed.output
    unheard = run(files, "--budget", "10", "--delay", "1000")
    assert unheard.exit_code == 1
    assert "Feedback that comes so late never arrives" in unheard.output


def test_the_command_proposes(files: dict[str, Path]) -> None:
    result = run(files, "--budget", "1000", "--k", "4")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("eta = ")
    assert "| eta | kappa | error | violations | reports |" in result.stdout


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("people.csv", "score,repaid\n1,1\n", "must have one column 'income'"),
        ("people.csv", "", "must have one column"),
        ("panel.toml", "rule = ", "is not a TOML file"),
        ("panel.toml", 'rule = "any"\n', "auditors"),
        ("panel.toml", PANEL.replace("weights", "wieghts"), "panel.toml is not a panel. Auditor 1"),
        (
            "panel.toml",
            PANEL.replace("weights", "wieghts"),
            "('banker'): metric 'weighted-l1' must have",
        ),
        ("class.json", "{", "is not JSON"),
    ],
)
def test_a_file_that_is_wrong_is_named(
    files: dict[str, Path], name: str, text: str, says: str
) -> None:
    files[name].write_text(text)
    result = run(files, "--budget", "50")
    assert result.exit_code == 1
    assert says in result.stderr


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (",1\n", ",yes\n", "repaid must be 0 or 1; got 'yes'. Write 1 for"),
        ("\n", "\n1,2\n", "it must have 10 cells"),
    ],
)
def test_a_row_that_is_wrong_is_named_by_its_line(
    files: dict[str, Path], old: str, new: str, says: str
) -> None:
    text = files["people.csv"].read_text()
    files["people.csv"].write_text(text.replace(old, new, 1))
    result = run(files, "--budget", "50")
    assert result.exit_code == 1
    assert says in result.stderr
    assert "line" in result.stderr


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: text.replace(",", ";").encode(), "separated by semicolons (;)"),
        (lambda text: text.replace(",", "\t").encode(), "separated by tabs"),
        (lambda text: text.replace("repaid", "zurück").encode("latin-1"), "Save it as UTF-8"),
    ],
)
def test_a_csv_file_of_another_kind_is_said_to_be_one(
    files: dict[str, Path], change: Any, says: str
) -> None:
    files["people.csv"].write_bytes(change(files["people.csv"].read_text()))
    result = run(files, "--budget", "50")
    assert result.exit_code == 1
    assert says in result.stderr


def test_flags_are_read_as_people_write_them(tmp_path: Path) -> None:
    path, schema = tmp_path / "people.csv", FeatureSchema((Feature("owner", "flag", missing="?"),))
    path.write_text("owner,x\nTrue,1\nfalse,1\nYES,1\nno,1\n1,1\n0,1\n,1\n")
    read = parse_people(path, read_table(path, ["owner"]), schema).column("owner")
    assert np.array_equal(read, [1, 0, 1, 0, 1, 0, np.nan], equal_nan=True)
    with pytest.raises(LikewiseError, match="line 2: owner must be 1 or 0, true or false"):
        parse_people(path, [Row({"owner": "maybe"}, 2)], schema)


def test_the_help_names_no_file_of_the_repository() -> None:
    assert "docs/" not in CliRunner().invoke(main, ["propose", "--help"]).output


@pytest.mark.usefixtures("small")
def test_the_example_of_the_documentation_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "docs/research/sweeps.md").read_text()
    names: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples(page):
        exec(example.source, names)
    [command] = re.findall(r"^likewise (propose .*)$", page, flags=re.MULTILINE)
    monkeypatch.chdir(names["folder"])
    quick = ("--rounds", "40", "--jobs", "1", "--limit", "1000")
    result = CliRunner().invoke(main, [*shlex.split(command), *quick, "--budget", "1000"])
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("eta = ")
