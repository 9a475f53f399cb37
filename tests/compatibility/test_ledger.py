"""Ledgers of earlier commits: refused, upgraded, replayed to the same decisions, and continued."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from click.testing import CliRunner
from tests.service.conftest import postgres, postgres_url

from likewise.cli import main
from likewise.events import Decision
from likewise.service.dockets.commands import feedback, reviews
from likewise.service.dockets.commands.rounds import Applicant, open_round
from likewise.service.dockets.docket import Docket
from likewise.service.dockets.reviews.targets import Seat
from likewise.service.dockets.spec import OF_THEN, DocketSpec
from likewise.service.errors import StoreError
from likewise.service.ledger.database import upgrades
from likewise.service.ledger.records import Receipt
from likewise.service.ledger.store import Store
from likewise.service.verification.evidence import evidence_of
from likewise.service.verification.receipts import verify
from likewise.service.verification.replay import replay_store

__all__ = ["postgres", "postgres_url"]

THEN = Path(__file__).parent / "d29bfb5"
EXPECTED: dict[str, Any] = json.loads((THEN / "expected.json").read_text())
SQL = (THEN / "ledger.sql").read_text(encoding="utf-8")


def _into_sqlite(path: Path) -> str:
    with sqlite3.connect(path) as connection:
        connection.executescript(SQL)
    connection.close()
    return f"sqlite:///{path}"


def _into_postgresql(url: str, path: Path) -> str:
    """The same rows in a PostgreSQL of then: its tables, and what SQLite read from the text."""
    _into_sqlite(path)
    store = Store(url)
    with sqlite3.connect(path) as source, store.changing() as connection:
        tables = upgrades._scripts().get_revision("1").module.TABLES
        module = upgrades._scripts().get_revision("1").module
        from alembic.operations import Operations
        from alembic.runtime.migration import MigrationContext

        with Operations.context(MigrationContext.configure(connection)):
            module.upgrade()
        connection.exec_driver_sql("DELETE FROM meta")
        for table in tables:
            order = " ORDER BY docket, seq" if table == "events" else ""
            found = source.execute(f"SELECT * FROM {table}{order}")
            columns = [column[0] for column in found.description]
            named = ", ".join(f":{column}" for column in columns)
            rows = [dict(zip(columns, row, strict=True)) for row in found]
            if rows:
                listed = ", ".join(columns)
                connection.execute(
                    sa.text(f"INSERT INTO {table} ({listed}) VALUES ({named})"), rows
                )
    source.close()
    store.close()
    return url


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The database of then."""
    if request.param == "sqlite":
        return _into_sqlite(tmp_path / "then.db")
    return _into_postgresql(request.getfixturevalue("postgres_url"), tmp_path / "then.db")


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    """The database of then: refused as it is, and upgraded by the command that is named."""
    with pytest.raises(StoreError, match="revision 1") as refused:
        Store.open(database)
    named = re.search(r"likewise (upgrade --database) \S+$", str(refused.value))
    assert named is not None
    done = CliRunner().invoke(main, [*named[1].split(), database])
    assert done.exit_code == 0, done.output
    opened = Store.open(database)
    yield opened
    opened.close()


@pytest.mark.parametrize("docket", EXPECTED["dockets"])
def test_a_ledger_of_then_replays_to_the_same_decisions(store: Store, docket: str) -> None:
    found, expected = replay_store(store, docket), EXPECTED["dockets"][docket]
    assert found.holds, found.text()
    for name in ("decisions", "audits", "draws", "rounds"):
        assert getattr(found, name) == expected[name]
    assert str(found.receipt) == expected["receipt"]
    assert verify(evidence_of(store, docket), Receipt.parse(expected["receipt"])).holds
    assert found.state is not None
    for name in ("lam", "opened", "reports"):
        assert getattr(found.state, name) == expected[name]


@pytest.mark.parametrize("name", EXPECTED["next"])
def test_a_ledger_of_then_is_continued_as_it_would_have_been(store: Store, name: str) -> None:
    docket = Docket(store, name)
    for step in EXPECTED["next"][name]:
        people = [Applicant(person, features) for person, features in step["people"]]
        round_, _ = open_round(docket, people, round_id=step["round"])
        assert list(round_.decisions.values()) == [Decision(*d) for d in step["decisions"]]
        for member in round_.seats:
            seat = Seat(round_.id, member)
            for objector, over, under in step["objections"]:
                if objector == member:
                    reviews.object_to(docket, seat, (over, under))
            reviews.finish(docket, seat)
        if step["labels"]:
            feedback.label(docket, [(name, who, y) for name, who, y in step["labels"]])
        assert docket.projection.round(round_.id).outcome == step["outcome"]
        assert docket.state.lam == step["lam"]
    assert replay_store(store, name).holds


def test_a_setting_that_a_stored_docket_lacks_means_its_value_of_then(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whatever today's defaults become, a docket that was written without them stays as it was."""
    whole: dict[str, Any] = json.loads(
        sqlite3.connect(_into_sqlite(tmp_path / "then.db").removeprefix("sqlite:///"))
        .execute("SELECT body FROM events WHERE docket = 'lending' AND seq = 1")
        .fetchone()[0]
    )["spec"]
    bare = {name: whole[name] for name in ("title", "learner", "members")}
    before = DocketSpec.from_stored(bare)
    later = {"rule": "any", "quorum": 2, "deadline": 60.0, "shadow": False, "repeat_share": 0.25,
             "repeat_window": 7, "audit_only": False}  # fmt: skip
    assert set(later) == set(OF_THEN), "every setting with a default has a value of then"
    monkeypatch.setattr(DocketSpec.__init__, "__defaults__", tuple(later.values()))
    assert DocketSpec.from_hand(bare).repeat_share == 0.25, "the defaults have changed"
    assert DocketSpec.from_stored(bare) == before
    assert {name: getattr(before, name) for name in OF_THEN} == {
        "rule": "majority", "quorum": 1, "deadline": None, "shadow": False, "repeat_share": 0.05,
        "repeat_window": None, "audit_only": False,
    }  # fmt: skip
