"""Parquet and Arrow files of odd types: read as the CSV file of the same cells, or refused."""

from __future__ import annotations

import datetime as dt
import json
import warnings
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner, Result
from pyarrow import feather, parquet

from likewise import Feature, FeatureSchema, MetricAuditor, Panel, audit
from likewise.cli.main import main
from likewise.errors import LikewiseError
from likewise.panel import WeightedL1

N = 40
RNG = np.random.default_rng(1)
INCOME = RNG.integers(10, 90, N).tolist()
PURPOSE = RNG.choice(["car", "home"], N).tolist()
BASE: dict[str, Any] = {
    "id": [f"c{i}" for i in range(N)], "income": INCOME, "purpose": PURPOSE,
    "score": RNG.random(N).round(3),
}  # fmt: skip
PANEL = """rule = "any"
[[auditors]]
name = "b"
distance = { metric = "weighted-l1", weights = { income = 1.0 } }
"""
AS_EVER = ["income", "purpose"]


def gaps(values: list[Any], gap: Any) -> list[Any]:
    return [gap if i % 7 == 0 else value for i, value in enumerate(values)]


# By what is odd: the columns, and the features that are proposed or the words of the refusal.
FILES: dict[str, tuple[dict[str, Any], list[str] | str]] = {
    "levels as a dictionary": ({"purpose": pa.array(PURPOSE).dictionary_encode()}, AS_EVER),
    "a dictionary with gaps": ({"purpose": pa.array(gaps(PURPOSE, None)).dictionary_encode()},
                               AS_EVER),
    "integers as a dictionary": ({"income": pa.array(INCOME).dictionary_encode()}, AS_EVER),
    "decimals": ({"income": [Decimal(v) / 4 for v in INCOME]}, AS_EVER),
    "wide decimals": ({"income": pa.array(map(Decimal, INCOME), pa.decimal256(40, 3))}, AS_EVER),
    "decimal scores": ({"score": [Decimal("0.5")] * N}, AS_EVER),
    "half floats": ({"income": np.array(INCOME, np.float16)}, AS_EVER),
    "float scores of 32 bits": ({"score": pa.array(BASE["score"], pa.float32())}, AS_EVER),
    "decisions as truth values": ({"score": [i % 3 == 0 for i in range(N)]}, AS_EVER),
    "long text": ({"purpose": pa.array(PURPOSE, pa.large_string())}, AS_EVER),
    "views of text": ({"purpose": pa.array(PURPOSE, pa.string_view())}, AS_EVER),
    "truth values": ({"owner": [i % 2 == 0 for i in range(N)]}, [*AS_EVER, "owner"]),
    "truth values with gaps": ({"owner": gaps([True, False] * 20, None)}, [*AS_EVER, "owner"]),
    "times": ({"at": [dt.datetime(2020, 1, 1 + i % 28) for i in range(N)]}, AS_EVER),
    "times of nanoseconds": ({"at": pa.array(range(N), pa.timestamp("ns", "UTC"))}, AS_EVER),
    "days": ({"at": [dt.date(2020, 1, 1 + i % 28) for i in range(N)]}, AS_EVER),
    "times of day": ({"at": [dt.time(9, i) for i in range(N)]}, AS_EVER),
    "spans of time": ({"at": [dt.timedelta(days=i) for i in range(N)]}, AS_EVER),
    "months and days": ({"at": pa.array([pa.MonthDayNano([1, 2, 3])] * N)}, AS_EVER),
    "seconds since 1970": ({"at": [1_700_000_000 + 86_400 * i for i in range(N)]}, AS_EVER),
    "milliseconds since 1970": ({"x": [1_700_000_000_000 + 10**7 * i for i in range(N)]}, AS_EVER),
    "days of a spreadsheet": ({"start_date": [45_000 + i for i in range(N)]}, AS_EVER),
    "amounts as large as such days": ({"rent": [45_000 + i for i in range(N)]},
                                      [*AS_EVER, "rent"]),
    "lists": ({"tags": [[1, 2]] * N}, AS_EVER),
    "structures": ({"tags": [{"a": 1}] * N}, AS_EVER),
    "maps": ({"tags": pa.array([[("a", 1)]] * N, pa.map_(pa.string(), pa.int64()))}, AS_EVER),
    "bytes": ({"tags": [b"x"] * N}, AS_EVER),
    "bytes of one length": ({"tags": pa.array([b"ab"] * N, pa.binary(2))}, AS_EVER),
    "a list for a score": ({"score": [[0.5]] * N}, "has no column 'score'"),
    "no value at all": ({"nothing": pa.nulls(N)}, AS_EVER),
    "gaps": ({"income": gaps(INCOME, None)}, AS_EVER),
    "NaN": ({"income": gaps([float(v) for v in INCOME], np.nan)}, AS_EVER),
    "an infinite number": ({"income": gaps([float(v) for v in INCOME], np.inf)}, "'inf'"),
    "a score that is missing": ({"score": gaps([0.5] * N, None)}, "row 1: score must be a number"),
    "a score above 1": ({"score": [i / 10 for i in range(N)]}, "must be within"),
    "identities of 64 bits": ({"big": pa.array([2**60 + i for i in range(N)], pa.uint64())},
                              AS_EVER),
    "integers that no float holds": ({"income": pa.array([2**63 + 999 * i for i in range(N)],
                                                         pa.uint64())}, "holds exactly"),
    "large integers as ids": ({"id": [2**60 + i for i in range(N)]}, AS_EVER),
    "an id that is missing": ({"id": [None, *BASE["id"][1:]]}, "that of row 1 is"),
    "an id twice": ({"id": ["a", "a", *BASE["id"][2:]]}, "'a' (rows 1 and 2)"),
    "numbers as text": ({"income": list(map(str, INCOME))}, AS_EVER),
    "amounts as text": ({"income": [f"${v}" for v in INCOME]}, "Write a plain number"),
    "marks of gaps": ({"purpose": gaps(PURPOSE, "NA")}, AS_EVER),
    "a name with spaces": ({" debt ": INCOME}, [*AS_EVER, "debt"]),
    "a name twice but for spaces": ({" income": INCOME}, "'income' twice"),
    "a column without a name": ({"": INCOME}, "without a name"),
    "the index of pandas": ({"__index_level_0__": range(N)}, AS_EVER),
}  # fmt: skip


def run(path: Path, *more: str) -> Result:
    (path.parent / "panel.toml").write_text(PANEL)
    words = ["audit", str(path), "--panel", str(path.parent / "panel.toml"), "--ids", "id"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = CliRunner().invoke(main, [*words, "--out", "-", *more])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def write(table: Any, path: Path) -> Path:
    try:
        parquet.write_table(table, path)
    except pa.ArrowNotImplementedError:  # Parquet has no such type
        feather.write_feather(table, str(path), compression="uncompressed")
    return path


@pytest.mark.long
@pytest.mark.parametrize("odd", FILES)
def test_a_file_of_odd_types_is_read_in_one_way_or_refused(odd: str, tmp_path: Path) -> None:
    columns, expected = FILES[odd]
    table = pa.table({**BASE, **columns})
    path = write(table, tmp_path / "people.parquet")
    done = run(path)
    if isinstance(expected, str):
        assert done.exit_code == 1
        assert expected in done.stderr
    else:
        assert done.exit_code == 0, done.stderr
        features = json.loads(done.stdout)["basis"]["schema"]["features"]
        assert [feature["name"] for feature in features] == expected
    schema = FeatureSchema((
        Feature("income", low=0, high=100, missing="none"),
        Feature("purpose", "category", levels=("car", "home"), missing="none"),
    ))  # fmt: skip
    panel = Panel([MetricAuditor("b", WeightedL1({"income": 1.0}))], "any")
    # Scanned, it is read or refused too.
    with warnings.catch_warnings(), suppress(LikewiseError):
        warnings.simplefilter("ignore")
        audit(schema.scan(path, ids="id"), "score", panel, alpha=0.2, all_pairs_up_to=20,
              sample_pairs=1000, groups=["purpose"])  # fmt: skip


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"PAR1", "cannot be read as Parquet"), (b"ARROW1\0\0", "cannot be read as Parquet"),
        (b"", "no row below its header"), (b"PAR1 and no more", "cannot be read as Parquet"),
    ],
)  # fmt: skip
def test_a_file_that_is_cut_short_is_refused(content: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / "people.parquet").write_bytes(content)
    done = run(tmp_path / "people.parquet")
    assert done.exit_code == 1
    assert words in done.stderr


def test_truth_values_are_read_alike_in_memory_and_block_by_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = [place % 3 == 0 if place % 5 else None for place in range(N)]
    path = write(pa.table({**BASE, "owner": owner}), tmp_path / "people.parquet")
    found = []
    for block in (1 << 17, N - 1):
        monkeypatch.setattr("likewise.people.scans.BLOCK", block)
        done = run(path)
        assert done.exit_code == 0, done.stderr
        found.append(
            {k: v for k, v in json.loads(done.stdout).items() if k in ("reported", "worst")}
        )
    assert found[0] == found[1]


@pytest.mark.parametrize("word", ["true", "false"])
def test_a_favourable_truth_value_is_read_alike_in_memory_and_block_by_block(
    word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = [place % 3 == 0 for place in range(N)]
    path = write(pa.table({**BASE, "late": late}), tmp_path / "people.parquet")
    errors = []
    for block in (1 << 17, N - 1):
        monkeypatch.setattr("likewise.people.scans.BLOCK", block)
        done = run(path, "--label", "late", "--favourable", word)
        assert done.exit_code == 0, done.stderr
        errors.append(json.loads(done.stdout)["price"]["model"])
    labels = np.array(late) == (word == "true")
    assert errors == pytest.approx([np.abs(labels - BASE["score"]).mean()] * 2, abs=1e-5)


def test_files_of_a_folder_have_the_same_columns_of_one_type(tmp_path: Path) -> None:
    folder = tmp_path / "people"
    folder.mkdir()
    others = {**BASE, "id": [f"d{i}" for i in range(N)]}
    write(pa.table(BASE), folder / "a.parquet")
    write(pa.table({**others, "income": list(map(float, INCOME))}), folder / "b.parquet")
    assert json.loads(run(folder).stdout)["population"] == 2 * N
    write(pa.table({**others, "income": [f"x{v}" for v in INCOME]}), folder / "b.parquet")
    assert "A column is of one type" in run(folder).stderr
    write(pa.table(others).drop_columns(["purpose"]), folder / "b.parquet")
    assert "has no column 'purpose', which other files have" in run(folder).stderr
    write(pa.table(others).slice(0, 0), folder / "a.parquet")
    write(pa.table(others).slice(0, 0), folder / "b.parquet")
    assert "has no row" in run(folder).stderr
    (tmp_path / "nothing").mkdir()
    assert "Give one file of scores" in run(tmp_path / "nothing").stderr
