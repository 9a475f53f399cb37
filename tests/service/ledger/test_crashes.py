"""Kill -9 at random moments under load: nothing acknowledged is lost, nothing is there twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from likewise_service.errors import ServiceError
from likewise_service.ledger.database import SILENCE
from likewise_service.ledger.store import Store
from tests.service.conftest import long_on_postgresql
from tests.service.ledger.crashes import Harness, kill_often


def test_nothing_acknowledged_is_lost_when_the_process_is_killed(
    sqlite_url: str, tmp_path: Path
) -> None:
    print(kill_often(sqlite_url, tmp_path, 4))


@pytest.mark.long
@pytest.mark.timeout(600)
def test_nothing_is_lost_in_twenty_kills_on_each_database(database: str, tmp_path: Path) -> None:
    print(kill_often(database, tmp_path, 20))


@long_on_postgresql()
def test_a_killed_writer_does_not_keep_the_turn(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A writer who is silent loses the turn after SILENCE; one who is dead, before that.
    monkeypatch.setattr("likewise_service.ledger.database.PATIENCE", SILENCE - 5)
    store, harness = Store.open(database), Harness()
    try:
        for _ in range(3):
            harness.run_and_kill(database, "turn", tmp_path, 0.1, at_work=True)
            with store.transaction("turn") as transaction:
                assert transaction.head.seq > 0
    except ServiceError as error:
        pytest.fail(str(error))
    finally:
        harness.close()
        store.close()
