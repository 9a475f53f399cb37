"""The operator's kit: the page from nothing to a first audited round, run as it is; its unit."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from likewise.cli.main import main
from likewise.errors import LikewiseError
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.rounds import open_docket, open_round
from likewise_service.language import keep, kept
from likewise_service.ledger.backups import backup, opened_backup, restore
from likewise_service.ledger.store import Store
from tests.service.live import Live, free_port, people, replay_store, small_spec, some_people

PAGE = Path(__file__).parents[2] / "docs/reference/running.md"
KIT = Path(__file__).parents[2] / "packages/likewise-service/src/likewise_service/kit"


@pytest.mark.long
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_the_page_is_run_as_it_is(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    blocks = re.findall(r"^```bash\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    script = "set -euo pipefail\n" + "".join(blocks)
    script = script.replace(":8000", f":{(port := free_port())}").replace(
        "--port 8000", f"--port {port}"
    )
    if kind == "postgresql":
        url = request.getfixturevalue("postgres_url")
        script = script.replace("init lending", f"init lending --database '{url}'")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=240,
        env={**os.environ, "PATH": path, "LIKEWISE_BURST": "1000"}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert '"outcome":"quiet"' in done.stdout
    assert "THE LEDGER HOLDS." in done.stdout
    assert "loans: " in done.stdout.splitlines()[-1]
    settings = tmp_path / "lending/likewise.env"
    assert settings.stat().st_mode & 0o777 == 0o600
    assert "lw_operator_" in (tmp_path / "lending/serve.log").read_text()


def test_init_overwrites_nothing(tmp_path: Path) -> None:
    first = CliRunner().invoke(main, ["init", str(tmp_path)])
    assert first.exit_code == 0, first.output
    again = CliRunner().invoke(main, ["init", str(tmp_path)])
    assert (again.exit_code != 0, "already" in again.output) == (True, True)


@pytest.mark.parametrize(
    "secret",
    [
        "postgresql://likewise:hunter2@localhost/likewise",
        "postgresql://likewise@localhost/likewise?connect_timeout=3&password=hunter2",
    ],
)
@pytest.mark.parametrize(
    "command",
    [["serve"], ["token", "list"], ["replay", "x"], ["backup", "y"], ["init", "z"]],
    ids=lambda words: words[0],
)
def test_a_password_among_the_arguments_is_refused(command: list[str], secret: str) -> None:
    done = CliRunner().invoke(main, [command[0], "--database", secret, *command[1:]])
    assert done.exit_code == 2
    assert "hunter2" not in done.output
    assert "LIKEWISE_DATABASE" in done.output


# ── Backups ──────────────────────────────────────────────────────────────────────────────────────


def test_a_backup_of_a_server_at_work_is_restored_elsewhere(
    live: Live, tmp_path: Path, sqlite_url: str, postgres_url: str
) -> None:
    bank = live.client("client")
    bank.open_round("loans", people(1))
    source = Store.open(live.settings.database)
    keep(source, "ada", "de")
    made = backup(source, tmp_path / "one.backup")
    bank.open_round("loans", people(2))
    source.close()
    with pytest.raises(LikewiseError, match="already"):
        backup(source, tmp_path / "one.backup")
    for url in (f"sqlite:///{tmp_path / 'back.db'}", postgres_url):
        if url == live.settings.database:
            continue
        target = Store.open(url)
        keep(target, "ada", "fr")
        target.keys.current()  # as a server does that was started there
        with opened_backup(tmp_path / "one.backup") as copy:
            assert copy.manifest == made
            restore(copy, target)
        assert kept(target, "ada") == "de"
        for docket, (size, root) in made.trees.items():
            with target.view(docket) as view:
                assert (view.tree.size, view.tree.root.hex()) == (size, root)
            assert replay_store(target, docket).holds
        assert Docket(target, "loans").projection.counts["rounds"] == 1
        with (
            opened_backup(tmp_path / "one.backup") as copy,
            pytest.raises(LikewiseError, match="holds ledgers already"),
        ):
            restore(copy, target)
        target.close()


def test_a_backup_that_cannot_be_read_begins_no_store(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"no backup")
    for name in ("nosuch", "other"):
        words = ["restore", str(tmp_path / name), "--database", str(tmp_path / "new.db")]
        done = CliRunner().invoke(main, words)
        assert done.exit_code == 1
        assert name in done.output
        assert not (tmp_path / "new.db").exists()


def test_a_copy_without_its_log_is_refused(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`cp` of a file in use would hold, with one record of hundreds."""
    monkeypatch.setattr("likewise_service.ledger.database.OPENING", 0.2)
    store = Store.open(sqlite_url)
    open_docket(store, "loans", small_spec(), seed=1)
    docket = Docket(store, "loans")
    for number in range(10):
        open_round(docket, some_people(f"x{number}-"))
    path = Path(sqlite_url.removeprefix("sqlite:///"))
    copy, whole = tmp_path / "copy.db", tmp_path / "whole.db"
    shutil.copy(path, copy)
    for database in (copy, f"sqlite:///{copy}"):
        for command in (["replay", "loans"], ["verify", str(docket.receipt())]):
            done = CliRunner().invoke(main, [*command, "--database", str(database)])
            assert done.exit_code == 2, done.output
            assert "likewise backup" in done.output
    with pytest.raises(LikewiseError, match="lacks the log"):
        Store.read_only(f"sqlite:///{copy}")
    store.close()
    shutil.copy(path, whole)  # closed: all of it is in the file
    done = CliRunner().invoke(main, ["replay", "loans", "--database", str(whole)])
    assert (done.exit_code, "31 records" in done.output) == (0, True), done.output


def test_a_store_is_verified_on_a_medium_that_cannot_be_written(
    sqlite_url: str, tmp_path: Path
) -> None:
    store = Store.open(sqlite_url)
    receipt = open_docket(store, "loans", small_spec(), seed=1)
    store.close()
    path = Path(sqlite_url.removeprefix("sqlite:///"))
    before = {one: one.read_bytes() for one in path.parent.iterdir() if one.is_file()}
    done = CliRunner().invoke(main, ["verify", str(receipt), "--database", str(path)])
    assert done.exit_code == 0, done.output
    assert {one: one.read_bytes() for one in path.parent.iterdir() if one.is_file()} == before
    with sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    connection.close()


def test_an_exports_own_receipt_is_looked_at(sqlite_url: str, tmp_path: Path) -> None:
    store = Store.open(sqlite_url)
    open_docket(store, "loans", small_spec(), seed=1)
    open_round(Docket(store, "loans"), some_people())
    store.close()
    folder = tmp_path / "export"
    database = sqlite_url.removeprefix("sqlite:///")
    CliRunner().invoke(main, ["export", "loans", "--database", database, "--to", str(folder)])
    assert CliRunner().invoke(main, ["replay", "--export", str(folder)]).exit_code == 0
    lines = (folder / "ledger.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "ledger.jsonl").write_bytes(b"".join(lines[:-1]))
    done = CliRunner().invoke(main, ["replay", "--export", str(folder)])
    assert (done.exit_code, "own receipt" in done.output) == (1, True), done.output


# ── systemd ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here")
def test_the_unit_is_one_that_systemd_understands(tmp_path: Path) -> None:
    unit = (KIT / "likewise.service").read_text()
    unit = unit.replace("/opt/likewise/bin/likewise", sys.executable)
    (tmp_path / "likewise.service").write_text(unit)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(tmp_path / "likewise.service")],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    ours = [line for line in done.stderr.splitlines() if "likewise.service" in line]
    assert (done.returncode, ours) == (0, []), done.stderr


def test_an_address_with_signs_of_the_shell_survives_the_settings_file(tmp_path: Path) -> None:
    address = "postgresql://likewise@/likewise?host=/tmp/it's&connect_timeout=5"
    done = CliRunner().invoke(main, ["init", str(tmp_path / "x"), "--database", address])
    assert done.exit_code == 0, done.output
    script = 'set -a; . ./likewise.env; set +a; printf %s "$LIKEWISE_DATABASE"'
    read = subprocess.run(["bash", "-c", script], cwd=tmp_path / "x", capture_output=True,
                          text=True, timeout=30, check=True)  # fmt: skip
    assert read.stdout == address.replace("'", "%27")
    assert read.stderr == ""


def test_no_password_of_an_address_is_said() -> None:
    for address in (
        "postgresql://likewise:a;b@localhost/likewise",
        "postgresql://likewise@localhost:hunter2/likewise",
        "postgresql://likewise@127.0.0.1:1/likewise?password=hunter2&connect_timeout=1",
    ):
        done = CliRunner().invoke(main, ["replay", "x"], env={"LIKEWISE_DATABASE": address})
        assert done.exit_code != 0, done.output
        assert not isinstance(done.exception, ValueError), done.exception
        assert "hunter2" not in done.output
        assert "a;b" not in done.output
