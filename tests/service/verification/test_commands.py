"""The command line: holds (0), does not hold (1), could not be looked at (2)."""

from __future__ import annotations

import csv
import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from likewise.cli.main import main
from likewise_service.dockets import panel
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.erasure import reveal_seed
from likewise_service.dockets.rounds import Applicant, open_docket, open_round
from likewise_service.dockets.seating import Seat
from likewise_service.ledger.store import Store

Run = Callable[..., Result]


@pytest.fixture
def run() -> Run:
    return lambda *words: CliRunner().invoke(main, [str(word) for word in words])


@pytest.fixture
def receipt(database: str, spec: Any, applicants: Any) -> str:
    """A docket with two rounds; the receipt was given after the first."""
    store = Store.open(database)
    open_docket(store, "loans", spec(), seed=5)
    docket = Docket(store, "loans")
    _, given = open_round(docket, applicants("=a"))
    open_round(docket, applicants("b"))
    panel.finish(docket, Seat("r1", "ada"))
    store.close()
    return str(given)


def _tamper(url: str, old: str, new: str) -> None:
    store = Store.open(url)
    with store.changing() as connection:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("DROP TRIGGER events_no_update")
        else:
            connection.exec_driver_sql("ALTER TABLE events DISABLE TRIGGER USER")
        connection.exec_driver_sql(
            f"UPDATE events SET body = replace(body, '{old}', '{new}') WHERE seq = 3"
        )
    store.close()


def test_an_honest_ledger_holds(run: Run, database: str, receipt: str) -> None:
    replayed = run("replay", "loans", "--database", database)
    assert replayed.exit_code == 0, replayed.output
    assert "THE LEDGER HOLDS" in replayed.output
    assert "6 decisions" in replayed.output
    verified = run("verify", receipt, "--database", database)
    assert verified.exit_code == 0, verified.output
    as_json = run("replay", "--database", database, "--json")
    assert json.loads(as_json.output)["holds"] is True


@pytest.mark.parametrize(
    ("old", "new"), [('"approved":true', '"approved":false'), ('{"decisions"', '{ "decisions"')]
)
def test_a_changed_ledger_does_not_hold_and_the_record_is_named(
    run: Run, database: str, receipt: str, old: str, new: str
) -> None:
    _tamper(database, old, new)
    replayed = run("replay", "loans", "--database", database)
    assert replayed.exit_code == 1
    assert "DOES NOT HOLD" in replayed.output
    assert "Record 3 (record)" in replayed.output
    verified = run("verify", receipt, "--database", database)
    assert verified.exit_code == 1
    assert "ecord 3" in verified.output


def test_an_export_proves_the_same_elsewhere(
    run: Run, database: str, receipt: str, tmp_path: Path
) -> None:
    folder = tmp_path / "export"
    words = ("export", "loans", "--database", database, "--to", folder)
    written = run(*words, "--personal", "--seed")
    assert written.exit_code == 0, written.output
    elsewhere = run("replay", "--export", folder).output.splitlines()
    [signed] = [line for line in elsewhere if "The export is complete, and signed" in line]
    here = run("replay", "loans", "--database", database).output.splitlines()
    assert [line for line in elsewhere if line != signed] == here
    assert run("verify", receipt, "--export", folder).exit_code == 0
    last = (folder / "checkpoint.txt").read_text()
    assert run("verify", last, "--export", folder).exit_code == 0
    assert stat.S_IMODE((folder / "payloads.jsonl").stat().st_mode) == 0o600
    assert stat.S_IMODE((folder / "seed.json").stat().st_mode) == 0o600
    assert run(*words).exit_code != 0, "the folder is not empty"


def test_personal_data_and_the_seed_leave_only_when_asked_for(
    run: Run, database: str, receipt: str, tmp_path: Path
) -> None:
    folder = tmp_path / "plain"
    run("export", "loans", "--database", database, "--to", folder)
    names = {path.name for path in folder.iterdir()}
    assert names == {"ledger.jsonl", "events.csv", "checkpoint.txt", "keys.jsonl", "manifest.json"}
    replayed = run("replay", "--export", folder)
    assert replayed.exit_code == 0
    assert "not recomputed" in replayed.output


def test_a_published_seed_is_exported(
    run: Run, database: str, receipt: str, tmp_path: Path
) -> None:
    store = Store.open(database)
    reveal_seed(Docket(store, "loans"))
    store.close()
    run("export", "loans", "--database", database, "--to", tmp_path / "e", "--personal")
    for name in ("seed.json", "manifest.json"):
        (tmp_path / "e" / name).unlink()
    replayed = run("replay", "--export", tmp_path / "e", "--json")
    assert json.loads(replayed.output)["seed"] == "revealed"
    assert json.loads(replayed.output)["decisions"] == 6


def test_a_spreadsheet_carries_out_no_formula(
    run: Run, database: str, receipt: str, tmp_path: Path
) -> None:
    store = Store.open(database)
    features = {"score": 700, "debt": 3, "purpose": "car"}
    docket = Docket(store, "loans")
    open_round(docket, [Applicant("x", features)], round_id="=1+1")
    for member in ("＝1+1", " =1+1"):
        panel.join(docket, member)
    store.close()
    run("export", "loans", "--database", database, "--to", tmp_path / "e")
    with (tmp_path / "e" / "events.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert "'=1+1" in {row["round"] for row in rows}
    assert {"'＝1+1", "' =1+1"} <= {row["member"] for row in rows}
    assert not [cell for row in rows for cell in row.values() if cell.lstrip()[:1] in ("=", "＝")]


def test_an_older_copy_is_told_from_the_ledger(
    run: Run, database: str, receipt: str, tmp_path: Path
) -> None:
    run("export", "loans", "--database", database, "--to", tmp_path / "old")
    store = Store.open(database)
    panel.finish(Docket(store, "loans"), Seat("r1", "bob"))
    given = str(Docket(store, "loans").receipt())
    store.close()
    verified = run("verify", given, "--export", tmp_path / "old")
    assert verified.exit_code == 1
    assert "older copy" in verified.output


@pytest.mark.parametrize(
    "words",
    [
        ("replay",),
        ("replay", "loans", "--database", "sqlite:////nowhere/at/all.db"),
        ("replay", "--database", "nonsense"),
        ("replay", "--export", "/nowhere"),
        ("verify", "not a receipt", "--database", "sqlite:////nowhere.db"),
        ("verify", f"x\n1\n{'A' * 43}=\n\n— x AAAAAAA=\n", "--export", "."),
        ("export", "loans"),
    ],
)
def test_what_cannot_be_looked_at_is_neither_proved_nor_refuted(
    run: Run, words: tuple[str, ...]
) -> None:
    result = run(*words)
    assert result.exit_code == 2, result.output
    assert "Error" in result.output


def test_an_unknown_docket_is_named_with_those_there_are(
    run: Run, database: str, receipt: str
) -> None:
    result = run("replay", "lons", "--database", database)
    assert result.exit_code == 2
    assert "loans" in result.output
