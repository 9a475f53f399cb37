"""The commands of the live system: a server from nothing, tokens and dockets at the machine."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from importlib.metadata import EntryPoints
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from prometheus_client.parser import text_string_to_metric_families as families

from likewise import Feature, FeatureSchema, Segments
from likewise.cli.main import main
from likewise_client.client import Client

SCHEMA = FeatureSchema((Feature("score", "integer", 300, 850),))
SPEC = {
    "title": "Loans",
    "members": ["ann"],
    "learner": {
        "hypotheses": Segments(SCHEMA, score="score", cuts=range(350, 800, 50), by=[]).spec(),
        "k": 2,
        "alpha": 0.3,
        "eps": 0.3,
    },
}


def run(*args: str) -> Any:
    return CliRunner().invoke(main, list(args))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Served:
    """``likewise serve`` in a process of its own."""

    def __init__(self, folder: Path, *more: str) -> None:
        self.port, self.logs = free_port(), folder / "log.jsonl"
        self.out = folder / "out.txt"
        command = [sys.executable, "-m", "likewise", "serve", "--port", str(self.port), *more]
        with self.logs.open("wb") as logs, self.out.open("wb") as out:
            self.process = subprocess.Popen(
                command, cwd=folder, stdout=out, stderr=logs,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )  # fmt: skip
        self.address = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Served:
        ends = time.monotonic() + 90
        while True:
            assert self.process.poll() is None, self.logs.read_text()
            assert time.monotonic() < ends
            try:
                if httpx.get(f"{self.address}/readyz", timeout=60).status_code == 200:
                    return self
            except httpx.TransportError:
                time.sleep(0.1)

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait(30)

    @property
    def token(self) -> str | None:
        found = re.search(r"lw_operator_[\w-]{43}", self.out.read_text())
        return None if found is None else found.group()


def test_a_server_from_nothing(tmp_path: Path) -> None:
    with Served(tmp_path) as first:
        token = first.token
        assert token is not None
        assert first.address in first.out.read_text()
        with Client(first.address, token) as operator:
            operator.create_docket("loans", SPEC)
            operator.open_round("loans", {"a": {"score": 500}})
    lines = [json.loads(line) for line in first.logs.read_text().splitlines()]
    requests = [line for line in lines if line.get("event") == "request"]
    assert {line["route"] for line in requests} >= {"/readyz", "/v1/dockets/{docket}/rounds"}
    assert requests[-1]["role"] == "operator"
    assert token not in first.logs.read_text()


@pytest.mark.long
def test_a_server_of_two_processes_on_a_store_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "spec.json").write_text(json.dumps(SPEC))
    at = ("--database", str(tmp_path / "a.db"))
    run("docket", *at, "create", "loans", "--spec", str(tmp_path / "spec.json"))
    token = run("token", *at, "create", "operator", "olga").stdout.strip()
    with Served(tmp_path, "--workers", "2", *at) as served:
        assert served.token is None
        with Client(served.address, token) as operator:
            for number in range(6):
                operator.open_round("loans", {f"b{number}": {"score": 500}})
            assert len(operator.rounds("loans").rounds) == 6
        headers = {"Authorization": f"Bearer {token}", "Connection": "close"}
        for _ in range(40):
            listed = httpx.get(f"{served.address}/v1/dockets", headers=headers, timeout=60)
            assert listed.status_code == 200
        for _ in range(4):
            text = httpx.get(f"{served.address}/metrics", headers=headers, timeout=60).text
            assert _counted(text, "/v1/dockets") == 40, "whichever process is asked"


def _counted(text: str, route: str) -> float:
    """The requests for a route that /metrics knows of."""
    samples = [sample for family in families(text) for sample in family.samples]
    mine = [one for one in samples if one.labels.get("route") == route]
    return sum(one.value for one in mine if one.name == "likewise_requests_total")


def test_tokens_and_dockets_at_the_machine(tmp_path: Path) -> None:
    database, spec = str(tmp_path / "a.db"), tmp_path / "spec.json"
    spec.write_text(json.dumps(SPEC))
    at = ("--database", database)
    made = run("docket", *at, "create", "loans", "--spec", str(spec))
    assert re.match(r"likewise/[0-9a-f]{16}/loans\n1\n", made.stdout)
    assert "was empty; a new store begins there" in made.stderr
    token = run("token", *at, "create", "auditor", "ann", "--docket", "loans")
    assert re.match(r"lw_auditor_[\w-]{43}\n", token.stdout)
    listed = run("token", *at, "list").output
    assert "auditor" in listed
    assert "in use" in listed
    assert token.stdout.strip() not in listed
    assert "was revoked" in run("token", *at, "revoke", listed.split()[0]).output
    assert "revoked" in run("token", *at, "list").output


@pytest.mark.parametrize(
    "args",
    [
        ("token", "list"), ("token", "revoke", "a"), ("key",), ("docket", "scrub"),
        ("docket", "change", "loans", "--join", "dee"),
        ("token", "create", "client", "bank", "--docket", "loans"),
    ],
)  # fmt: skip
def test_a_misspelt_address_begins_no_store(tmp_path: Path, args: tuple[str, ...]) -> None:
    result = run(args[0], "--database", str(tmp_path / "misspelt.db"), *args[1:])
    assert result.exit_code == 1
    assert "misspelt.db is not there. Correct the address" in result.stderr
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("docket", "create", "loans", "--spec", "SPEC"), "There is a docket"),
        (("docket", "create", "Bad Name", "--spec", "SPEC"), "small letters"),
        (("docket", "create", "bad", "--spec", "BROKEN"), "is not JSON"),
        (("docket", "create", "bad", "--spec", "LIST"), "one JSON object"),
        (("token", "create", "client", "bank"), "Name one docket"),
        (("token", "create", "client", "bank", "--docket", "none"), "There is no docket"),
        (("token", "revoke", "none"), "There is no token"),
    ],
)
def test_what_is_refused(tmp_path: Path, args: tuple[str, ...], said: str) -> None:
    files = {"SPEC": json.dumps(SPEC), "BROKEN": "{", "LIST": "[]"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    at = ("--database", str(tmp_path / "a.db"))
    run("docket", *at, "create", "loans", "--spec", str(tmp_path / "SPEC"))
    words = [str(tmp_path / arg) if arg in files else arg for arg in args]
    result = run(words[0], *at, *words[1:])
    assert result.exit_code == 1
    assert said in result.output


def test_the_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["likewise.cli.main"], "_installed", EntryPoints)
    assert "serve" not in run("--help").output.partition("Commands:")[2]
    for args in (("serve",), ("docket", "create", "loans"), ("replay",)):
        result = run(*args)
        assert result.exit_code == 1
        assert f"likewise {args[0]} needs likewise-service" in result.output
        assert "pip install likewise-service" in result.output
    assert "No such command" in run("nonsense").output


def test_a_docket_is_changed_at_the_machine(tmp_path: Path) -> None:
    (tmp_path / "spec.json").write_text(json.dumps(SPEC))
    (tmp_path / "text").write_text("Look at debts.")
    at = ("--database", str(tmp_path / "a.db"))
    run("docket", *at, "create", "loans", "--spec", str(tmp_path / "spec.json"))
    changed = run(
        "docket", *at, "change", "loans", "--join", "bob", "--rule", "any", "--guidelines",
        str(tmp_path / "text"), "--contact", "bob", "bob@example.org",
    )  # fmt: skip
    assert changed.exit_code == 0, changed.output
    *lines, message = changed.stdout.splitlines()
    assert [line.partition("/")[0] for line in lines].count("likewise") == 3
    assert message == "bob is told at bob@example.org."
    assert "Say what to change" in run("docket", *at, "change", "loans").output
    unknown = run("docket", *at, "change", "loans", "--contact", "eve", "e@example.org")
    assert "does not sit on the panel" in unknown.output


def test_the_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for args in (("serve",), ("token", "list"), ("upgrade",)):
        result = run(args[0], "--database", "postgresql://nowhere/x", *args[1:])
        assert result.exit_code == 1
        assert "pip install 'likewise-service[postgres]'" in result.output


@pytest.mark.parametrize("database", ["NOWHERE/a.db", "postgresql://127.0.0.1:1/x", "nonsense://"])
def test_a_database_that_cannot_be_opened(tmp_path: Path, database: str) -> None:
    where = database.replace("NOWHERE", str(tmp_path / "none"))
    for args in (("serve",), ("token", "list")):
        result = run(args[0], "--database", where, *args[1:])
        assert result.exit_code == 1
        assert "database" in result.output
        assert "Traceback" not in result.output
