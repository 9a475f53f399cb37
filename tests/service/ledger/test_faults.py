"""Databases that restart, refuse or run full, and clocks that jump: nothing is lost or doubled."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

import httpx
import psycopg
import pytest
import sqlalchemy as sa

from likewise_service import clock
from likewise_service.app import running
from likewise_service.dockets import docket as docket_module
from likewise_service.ledger.store import Store
from likewise_service.settings import Settings
from tests.service.ledger.crashes import check_ledger, own_postgres
from tests.service.ledger.load_clients import LoadClients
from tests.service.live import GENEROUS, fresh_database, furnished

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot after every 40 records."""
    monkeypatch.setattr(docket_module, "EVERY", 40)


def go_through(url: str, fault: Callable[[LoadClients], None]) -> LoadClients:
    """Clients at work before, during and after a fault; what they were told has to hold."""
    tokens = furnished(url)
    settings = Settings(database=url, tick_seconds=0.2, **GENEROUS)
    with running(settings) as address:
        clients = LoadClients(address, tokens)
        with clients.working():
            clients.until(8)
            fault(clients)
            clients.until(8)
    assert not clients.failures, clients.failures
    assert set(clients.statuses) <= {200, 201, 409, 503}, clients.statuses
    store = Store.open(url)
    check_ledger(store, "loans", clients.receipts)
    arrived = [r for r in store.records("loans") if r.kind == "arrived"]
    store.close()
    assert len(arrived) == clients.statuses[201] == clients.lived
    return clients


def test_a_postgresql_that_is_restarted_loses_nothing() -> None:
    with own_postgres() as server:

        def restart(clients: LoadClients) -> None:
            for _ in range(3):
                clients.statuses[503] = 0
                server.stop()
                clients.seen(503)
                server.start()
                clients.until(4)

        go_through(fresh_database(str(server.get_uri())), restart)


def test_a_postgresql_that_turns_read_only_loses_nothing(postgres_url: str) -> None:
    name = sa.make_url(postgres_url).database

    def turn(words: str) -> None:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("SET default_transaction_read_only = off")
            connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = {words}")
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

    def read_only(clients: LoadClients) -> None:
        for _ in range(3):
            clients.statuses[503] = 0
            turn("on")
            clients.seen(503)
            turn("off")
            clients.until(4)

    go_through(postgres_url, read_only)


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """A disk of some size, which only root can make."""
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)],
        capture_output=True, check=False,
    )  # fmt: skip
    if made.returncode:
        pytest.skip(f"no disk can be mounted here: {made.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_disk_that_runs_full_loses_nothing(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "24m") as disk:
        ballast = disk / "ballast"

        def fill(clients: LoadClients) -> None:
            for _ in range(3):
                clients.statuses[503] = 0
                with ballast.open("wb", buffering=0) as file:
                    try:
                        while file.write(b"x" * 4096):
                            pass
                    except OSError:
                        pass  # it is full now
                clients.seen(503)
                ballast.unlink()
                clients.until(4)

        go_through(f"sqlite:///{disk / 'ledger.db'}", fill)


class Shifted(datetime):
    """The machine's clock, set wrong by some hours."""

    hours = 0.0

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override] # a plain one
        return datetime.now(tz or UTC) + timedelta(hours=cls.hours)


def test_a_clock_that_jumps_loses_nothing(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "datetime", Shifted)
    monkeypatch.setattr(Shifted, "hours", 0.0)

    def jump(clients: LoadClients) -> None:
        for hours in (1.0, 0.0, -1.0, 0.0):
            Shifted.hours = hours
            clients.until(4)

    clients = go_through(database, jump)
    assert not clients.statuses[503]


def test_readiness_says_that_a_disk_is_full(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "8m") as disk:
        settings = Settings(database=f"sqlite:///{disk / 'ledger.db'}", **GENEROUS)
        with running(settings) as address, httpx.Client(base_url=address) as http:
            assert http.get("/readyz").status_code == 200
            ballast = disk / "ballast"
            with ballast.open("wb", buffering=0) as file, suppress(OSError):
                while file.write(b"x" * 4096):
                    pass
            assert http.get("/readyz").status_code == 503
            assert http.get("/healthz").status_code == 200
            ballast.unlink()
            assert http.get("/readyz").status_code == 200
