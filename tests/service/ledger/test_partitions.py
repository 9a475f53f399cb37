"""The ledgers' table in parts by docket: everything is as it was before."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from likewise_service.app import running
from likewise_service.ledger.store import Store
from likewise_service.settings import Settings
from tests.service.ledger.crashes import check_ledger
from tests.service.ledger.load_clients import LoadClients
from tests.service.live import GENEROUS, furnished

SCRIPT = Path("deploy/partitions.sql")
CHANGES = (
    "UPDATE {} SET body = body",
    "DELETE FROM {}",
    "TRUNCATE {}",
    "INSERT INTO {} SELECT docket, at, kind, body, nonce, hash, actor, seq + 2 FROM {}",
)


def lived(database: str, clients: list[LoadClients], tokens: dict[str, str]) -> None:
    with running(Settings(database=database, tick_seconds=0.2, **GENEROUS)) as address:
        clients.append(LoadClients(address, tokens))
        with clients[-1].working():
            clients[-1].until(8)
    assert not clients[-1].failures, clients[-1].failures


@pytest.mark.long
@pytest.mark.timeout(300)
def test_a_ledger_in_parts_goes_on_as_before(postgres_url: str) -> None:
    clients: list[LoadClients] = []
    tokens = furnished(postgres_url)
    lived(postgres_url, clients, tokens)
    indexes = "SELECT indexname FROM pg_indexes WHERE tablename = 'events' ORDER BY indexname"
    with psycopg.connect(postgres_url) as owner:
        before = owner.execute(indexes).fetchall()
        owner.execute(SCRIPT.read_bytes())
        assert owner.execute(indexes).fetchall() == before
    lived(postgres_url, clients, tokens)
    store = Store.open(postgres_url)
    assert store.dockets() == ("loans", "other")
    check_ledger(store, "loans", [receipt for some in clients for receipt in some.receipts])
    store.close()
    with psycopg.connect(postgres_url, autocommit=True) as owner:
        [part] = owner.execute(
            "SELECT tableoid::regclass FROM events WHERE docket = 'loans' LIMIT 1"
        )
        for table in ("events", part[0]):
            for change in CHANGES:
                with pytest.raises(psycopg.errors.RaiseException):
                    owner.execute(change.format(table, table).encode())
