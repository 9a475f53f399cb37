"""Dockets, people and servers to test with: on loopback, with somebody of every role."""

from __future__ import annotations

import secrets
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
import psycopg
import sqlalchemy as sa

from likewise import Feature, FeatureSchema, Learner, Segments, SelfTuned
from likewise_client.client import Client
from likewise_service.auth.tokens import create_token
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.reviews import ENDED, OPEN, Review, listed
from likewise_service.dockets.rounds import Applicant, open_docket
from likewise_service.dockets.seating import Seat
from likewise_service.dockets.spec import DocketSpec
from likewise_service.ledger.notes import Checkpoint
from likewise_service.ledger.store import Store
from likewise_service.settings import Settings
from likewise_service.verify.evidence import Evidence, Replayed, evidence_of
from likewise_service.verify.receipts import KnownKeys, Verified, verify_all
from likewise_service.verify.replay import replay_evidence

PATIENCE = 60.0
GENEROUS: dict[str, Any] = {
    "rate": 1e6, "burst": 10**6, "anonymous_rate": 1e6, "anonymous_burst": 10**6,
}  # fmt: skip

SCHEMA = FeatureSchema(
    (
        Feature("score", "integer", 300, 850),
        Feature("debt", "integer", 0, 100),
        Feature("purpose", "category", levels=("car", "home")),
    )
)
# A flat prior tells people apart from the first round on, so that panels have pairs to judge.
OUTSPOKEN = SelfTuned(eta=0.25, kappa=0.15, outstanding=0.0, waiting=0.0)
LENDER = Segments(SCHEMA, score="score", cuts=range(400, 800, 100), by=["purpose"]).with_prior(
    "flat"
)


def until(fact: Callable[[], bool]) -> None:
    """Wait until something is the case, however busy the machine is."""
    ends = time.monotonic() + PATIENCE
    while not fact():
        assert time.monotonic() < ends, "it never came about"
        time.sleep(0.02)


def free_port() -> int:
    """A port of loopback at which nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Clock:
    """A clock that stands still until it is told otherwise."""

    def __init__(self) -> None:
        self.at = "2026-03-01T12:00:00.000000Z"

    def __call__(self) -> str:
        return self.at


def small_spec(members: tuple[str, ...] = ("ada", "bob"), **more: Any) -> DocketSpec:
    """A docket of a tiny class."""
    names = ("feedback", "attention", "k", "schedule")
    learner: dict[str, Any] = {"k": 3, "schedule": OUTSPOKEN}
    learner |= {name: more.pop(name) for name in names if name in more}
    made = Learner(LENDER, alpha=0.3, eps=0.3, seed=1, **learner)
    return DocketSpec.of("Small loans", made, members, **more)


def some_people(prefix: str = "p", k: int = 3) -> list[Applicant]:
    """Somebody with a good score, somebody with a bad one, and others between."""
    scores = [790, 310, 510, 640, 450]
    return [
        Applicant(f"{prefix}{i}", {"score": scores[i], "debt": 37 + i, "purpose": "car"})
        for i in range(k)
    ]


def spec(**more: Any) -> DocketSpec:
    """A docket with a hidden feature, as the servers of the tests have it."""
    schema = FeatureSchema(
        (
            Feature("score", "integer", 300, 850, label="Bureau score"),
            Feature("debt", "integer", 0, 100, unit="% of income"),
            Feature("purpose", "category", levels=("car", "home")),
            Feature("secret", "flag", visible=False, missing="not stated"),
        )
    )
    lender = Segments(schema, score="score", cuts=range(350, 800, 50), by=["purpose"])
    learner = Learner(
        lender.with_prior("flat"), alpha=0.3, eps=0.3, seed=7, schedule=OUTSPOKEN,
        **{"k": 4, **more.pop("learner", {})},
    )  # fmt: skip
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


def shown_again(docket: Docket, member: str) -> list[Seat]:
    """The rounds that a member is being shown again by now."""
    opened = docket.seating.members[member].opened.values()
    return [review.seat for review in opened if review.seat.again is not None]


def every_review(docket: Docket, member: str) -> list[Review]:
    """All reviews of a member, in the order in which they were asked for."""
    return listed(docket, member, (*OPEN, *ENDED), 10**6)


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


def fresh_database(server: str) -> str:
    """An empty database on a PostgreSQL server."""
    name = f"likewise_{secrets.token_hex(6)}"
    url = sa.make_url(server).set(drivername="postgresql+psycopg")
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    plain = url.set(database=name, drivername="postgresql")
    return plain.render_as_string(hide_password=False)


def empty(database: str) -> None:
    """Leave nothing in a PostgreSQL database, and nobody connected to it."""
    others = "datname = current_database() AND pid <> pg_backend_pid()"
    with psycopg.connect(database, autocommit=True) as connection:
        for statement in (
            "SET default_transaction_read_only = off",
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}",
            f"ALTER DATABASE {connection.info.dbname} RESET ALL",
            "DROP SCHEMA public CASCADE",
            "CREATE SCHEMA public",
        ):
            connection.execute(statement.encode())


def replay_store(store: Store, docket: str) -> Replayed:
    """Replay a docket of a store."""
    return replay_evidence(evidence_of(store, docket))


def verify(evidence: Evidence, receipt: Checkpoint, keys: KnownKeys | None = None) -> Verified:
    """Check a ledger against one receipt."""
    return verify_all(evidence, [receipt], keys)[0]
