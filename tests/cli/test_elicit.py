"""``likewise init`` and ``likewise elicit``; ``likewise audit --follow``: from files to files."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from likewise.cli.main import main
from likewise.panel import Panel

pytestmark = pytest.mark.filterwarnings("ignore::likewise.errors.SchemaAdvice")

PANEL = """
rule = "any"
[[auditors]]
name = "banker"
distance = { metric = "weighted-l1", weights = { income = 1.0 } }
"""


def run(*arguments: str | Path, text: str | None = None) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)], input=text)


def write_table(path: Path, seed: int, spread: float) -> None:
    rng = np.random.default_rng(seed)
    rows = ["customer,income,purpose,score"]
    for i in range(60):
        score = 0.5 + spread * (i % 2 - 0.5)
        rows.append(f"c{i},{rng.integers(10, 95)},{rng.choice(['car', 'home'])},{score:.3f}")
    path.write_text("\n".join(rows) + "\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_table(tmp_path / "people.csv", 1, 0.5)
    return tmp_path


def test_a_table_gets_a_panel_and_a_schema_that_audit_it(folder: Path) -> None:
    table = folder / "people.csv"
    done = run("init", table)
    assert done.exit_code == 0, done.output
    panel, schema = folder / "panel.toml", folder / "schema.json"
    assert done.stdout.split() == [str(panel), str(schema)]
    assert panel.read_text().startswith("# A panel to begin with")
    assert Panel.from_file(panel).members == ("auditor",)
    names = [feature["name"] for feature in json.loads(schema.read_text())["features"]]
    assert names == ["income", "purpose"]  # neither an identity nor the score
    audited = run("audit", table, "--panel", panel, "--schema", schema, "--ids", "customer")
    assert audited.exit_code == 0, audited.output
    again = run("init", table)
    assert again.exit_code == 1
    assert "has panel.toml and schema.json already" in again.output


def test_what_is_no_feature_is_left_out_of_both_files(folder: Path) -> None:
    table = folder / "people.csv"
    assert run("init", table, "--leave-out", "purpose").exit_code == 0
    assert (
        "purpose" not in (folder / "panel.toml").read_text() + (folder / "schema.json").read_text()
    )
    odd = run("init", table, "--leave-out", "colour")
    assert odd.exit_code == 2
    assert "--leave-out colour is no column" in odd.output


def test_judgements_become_a_panel_and_further_questions(folder: Path) -> None:
    table, page = folder / "people.csv", folder / "judge.html"
    asked = run("elicit", table, "--ids", "customer", "--page", page)
    assert asked.exit_code == 0, asked.output
    assert asked.stdout == ""
    assert page.read_text().count('"ids"') == 25
    rows = ["member,person,other,response"]
    incomes = [int(line.split(",")[1]) for line in table.read_text().splitlines()[1:]]
    for i in range(0, 40, 2):
        apart = abs(incomes[i] - incomes[i + 1])
        response = (
            "alike" if apart < 20 else "a little different" if apart < 50 else "very different"
        )
        rows.append(f"ann,c{i},c{i + 1},{response}")
    (folder / "ann.csv").write_text("\n".join(rows) + "\n")
    done = run("elicit", table, folder / "ann.csv", "--ids", "customer", "--page", page)
    assert done.exit_code == 0, done.output
    assert "Proposed alpha" in done.stderr
    (folder / "fitted.toml").write_text(done.stdout)
    assert Panel.from_file(folder / "fitted.toml").members == ("ann",)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["elicit", "{table}"], "Nothing was judged yet"),
        (["elicit", "{table}", "--page", "{folder}/p.html", "--ids", "id"], "no column 'id'"),
        (["elicit", "{table}", "{table}"], "must have one column 'member'"),
        (["audit", "{table}", "{table}", "--panel", "{panel}"], "Give one file of scores"),
        (["audit", "{folder}", "--panel", "{panel}"], "Give one file of scores"),
        (["audit", "--panel", "{panel}", "--follow", "{table}"], "Missing argument"),
        (["audit", "{table}", "--panel", "{panel}", "--follow", "often"], "Files go before it"),
        (["audit", "{table}", "--panel", "{panel}", "--follow", "1.5"], "baseline must be"),
        (["audit", "{empty}", "--panel", "{panel}", "--follow"], "There is no batch"),
    ],
)
def test_what_cannot_be_done_is_said(folder: Path, arguments: list[str], says: str) -> None:
    (folder / "panel.toml").write_text(PANEL)
    (folder / "empty").mkdir()
    names = {"table": folder / "people.csv", "panel": folder / "panel.toml", "folder": folder,
             "empty": folder / "empty"}  # fmt: skip
    done = run(*(word.format(**names) for word in arguments))
    assert done.exit_code in (1, 2)
    assert says in " ".join(done.output.split())


def test_batches_are_followed_from_a_folder_or_as_their_names_come(folder: Path) -> None:
    panel, months, page = folder / "panel.toml", folder / "months", folder / "page.html"
    panel.write_text(PANEL)
    months.mkdir()
    for number in range(6):
        write_table(months / f"2026-0{number + 1}.csv", number, 0.3 if number < 4 else 0.9)
    # Ranges of one batch are not those of all, and the remedy is named.
    narrow = (months / "2026-01.csv").read_text().splitlines()
    (folder / "first.csv").write_text("\n".join(narrow[:5]) + "\n")
    batches = (folder / "first.csv", months / "2026-02.csv")
    refused = run("audit", *batches, "--panel", panel, "--ids", "customer", "--follow")
    assert refused.exit_code == 1, refused.output
    assert f"were proposed from {batches[0]} alone" in refused.output
    schema = folder / "schema.json"
    schema.write_text(json.dumps({"features": [{"name": "income", "low": 0, "high": 100}]}))
    common = ("--panel", panel, "--schema", schema, "--ids", "customer")
    done = run("audit", months, *common, "--out", page, "--follow")
    assert done.exit_code == 3, done.output
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines[:6]] == [f"2026-0{n}" for n in range(1, 7)]
    assert [("baseline" in line, "ALARM" in line) for line in lines[:4]] == [
        (True, False), (True, False), (True, False), (False, False),
    ]  # fmt: skip
    assert "ALARM" in lines[5]
    assert "<svg" in page.read_text()
    names = "\n".join(map(str, sorted(months.iterdir())[:4]))
    quiet = run("audit", "-", *common, "--follow", "0.3", "--out", "-", text=names + os.linesep)
    assert quiet.exit_code == 0, quiet.output
    assert [b["alarm"] for b in json.loads(quiet.stdout)["batches"]] == [False] * 4
