"""The store: append-only, one writer a docket, all or nothing, on both databases."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from likewise_service.clock import now
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.rounds import open_docket, open_round
from likewise_service.errors import ServiceError, StoreError
from likewise_service.ledger.kinds import MemberJoined
from likewise_service.ledger.records import LedgerBroken, Payload, consecutive
from likewise_service.ledger.store import Store
from likewise_service.ledger.transaction import Transaction
from tests.service.conftest import long_on_postgresql

Begin = Callable[..., Docket]


def _append(store: Store, docket: str, times: int, body: dict[str, Any]) -> None:
    for _ in range(times):
        with store.transaction(docket) as transaction:
            transaction.append("first", body, now(), "machine")
            transaction.append("second", body, now(), "machine")


WRITER = """
import sys
from likewise_service.clock import now
from likewise_service.ledger.store import Store
store = Store.open(sys.argv[1])
for _ in range(10):
    with store.transaction("d") as transaction:
        for kind in ("first", "second"):
            transaction.append(kind, {"who": sys.argv[2]}, now(), "machine")
"""


COLUMNS = "docket, seq, at, kind, body, nonce, hash, actor"


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET at = 'never'",
        "DELETE FROM events",
        "DELETE FROM events WHERE seq = 2",
        f"INSERT INTO events ({COLUMNS}) "
        "SELECT docket, seq + 7, at, kind, body, nonce, hash, actor FROM events",
        f"INSERT INTO events ({COLUMNS}) "
        "SELECT docket, 0, at, kind, body, nonce, hash, actor FROM events WHERE seq = 1",
    ],
)
def test_the_database_itself_refuses_to_change_a_ledger(store: Store, statement: str) -> None:
    _append(store, "d", 1, {})
    before = store.records("d")
    with pytest.raises(sa.exc.DBAPIError), store.changing() as connection:
        connection.exec_driver_sql(statement)
    assert store.records("d") == before


def test_sqlite_refuses_to_replace_a_record(sqlite_url: str) -> None:
    store = Store.open(sqlite_url)
    _append(store, "d", 1, {})
    with pytest.raises(sa.exc.DBAPIError), store.changing() as connection:
        connection.exec_driver_sql(
            f"INSERT OR REPLACE INTO events ({COLUMNS}) "
            "SELECT docket, seq, 'x', kind, body, nonce, hash, actor FROM events "
            "WHERE seq = 2"
        )
    store.close()


def test_postgresql_refuses_to_empty_the_ledger(postgres_url: str) -> None:
    store = Store.open(postgres_url)
    _append(store, "d", 1, {})
    with pytest.raises(sa.exc.DBAPIError), store.changing() as connection:
        connection.exec_driver_sql("TRUNCATE events")
    assert store.head("d").seq == 2
    store.close()


def test_looking_at_what_is_not_there_creates_nothing(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="not there"):
        Store.open(f"sqlite:///{tmp_path / 'typo.db'}", create=False)
    assert not list(tmp_path.iterdir())


def test_a_database_that_is_not_a_store_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "text.db"
    path.write_bytes(b"This is not a database, but a text of some length. " * 40)
    with pytest.raises(StoreError, match="not a store"):
        Store.open(f"sqlite:///{path}")
    with pytest.raises(StoreError, match="cannot be opened"):
        Store.open(f"sqlite:///{tmp_path / 'no' / 'folder.db'}")
    for url in ("mysql://somewhere/x", "sqlite://", "nonsense"):
        with pytest.raises(StoreError):
            Store.open(url)


def test_a_folder_that_takes_no_file_is_refused_with_the_reason() -> None:
    with pytest.raises(StoreError, match=r"cannot be opened: .*No such file.*'/proc/likewise.db'"):
        Store.open("sqlite:////proc/likewise.db")


def test_writers_in_threads_never_interleave(store: Store) -> None:
    threads = [
        threading.Thread(target=_append, args=(store, "d", 12, {"who": who})) for who in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    _check_pairs(store, 96)


@long_on_postgresql()
def test_writers_in_processes_never_interleave_even_on_an_empty_database(database: str) -> None:
    workers = [
        subprocess.Popen([sys.executable, "-c", WRITER, database, str(who)]) for who in range(3)
    ]
    assert [worker.wait(120) for worker in workers] == [0, 0, 0]
    store = Store.open(database)
    _check_pairs(store, 60)
    store.close()


def _check_pairs(store: Store, number: int) -> None:
    """Two records a transaction, by the same writer, side by side."""
    records = list(consecutive("d", store.records("d")))
    assert len(records) == number
    for first, second in zip(records[::2], records[1::2], strict=True):
        assert (first.kind, second.kind) == ("first", "second")
        assert first.body == second.body


def test_a_transaction_that_fails_leaves_no_trace(store: Store) -> None:
    _append(store, "d", 1, {})
    payload = Payload.fresh({"text": "why"})

    def fail() -> None:
        with store.transaction("d") as transaction:
            transaction.append("third", {}, now(), "machine")
            transaction.keep(payload)
            transaction.records(0)
            raise KeyError("something else")

    with pytest.raises(KeyError):
        fail()
    assert store.head("d").seq == 2
    with store.view("d") as view:
        assert view.payloads([payload.digest]) == {}


def test_a_savepoint_that_fails_leaves_the_rest_of_the_transaction(store: Store) -> None:
    payload = Payload.fresh({"text": "why"})

    def fail(transaction: Transaction) -> None:
        with transaction.savepoint():
            transaction.append("refused", {}, now(), "machine")
            transaction.keep(payload)
            assert payload.digest in transaction.payloads()
            raise KeyError("something else")

    with store.transaction("d") as transaction:
        transaction.append("first", {}, now(), "machine")
        with pytest.raises(KeyError):
            fail(transaction)
        with transaction.savepoint():
            transaction.append("second", {}, now(), "machine")
    assert [record.kind for record in consecutive("d", store.records("d"))] == ["first", "second"]
    with store.view("d") as view:
        assert view.payloads([payload.digest]) == {}


def test_dockets_do_not_wait_for_each_others_records(store: Store) -> None:
    _append(store, "a", 1, {})
    _append(store, "b", 1, {})
    assert store.head("a").hash != store.head("b").hash
    assert store.dockets() == ("a", "b")


def test_a_lost_commit_does_not_lead_memory_astray(begin: Begin, applicants: Any) -> None:
    """The connection dies as the transaction ends; whether it was recorded is not known."""
    docket = begin()
    engine = docket.store._writers
    lost: list[bool] = []

    def lose(connection: sa.Connection) -> None:
        if lost:
            lost.clear()
            raise sa.exc.OperationalError("COMMIT", {}, Exception("connection lost"))

    sa.event.listen(engine, "commit", lose)
    before = docket.projection.head
    lost.append(True)
    with pytest.raises(ServiceError, match="not known"):
        open_round(docket, applicants("a"), key="one")
    sa.event.remove(engine, "commit", lose)
    assert docket.refresh().head == before
    round_, receipt = open_round(docket, applicants("a"), key="one")
    assert round_.id == "r1"
    assert receipt.size == docket.store.head("loans").seq
    assert Docket(docket.store, "loans").state == docket.state


def test_a_desk_notices_that_its_ledger_is_not_there_any_more(begin: Begin, spec: Any) -> None:
    docket = begin()
    with docket.store.changing() as connection:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("DROP TRIGGER events_no_delete")
        else:
            connection.exec_driver_sql("DROP TRIGGER events_append_only ON events")
        connection.exec_driver_sql("DELETE FROM events")
        connection.exec_driver_sql("DELETE FROM secrets")
    open_docket(docket.store, "loans", spec(), seed=6)
    with pytest.raises(LedgerBroken, match="does not"):
        docket.refresh()


def test_a_desk_does_not_work_on_a_ledger_that_was_changed(begin: Begin, applicants: Any) -> None:
    docket = begin()
    open_round(docket, applicants("a"))
    with docket.store.changing() as connection:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("DROP TRIGGER events_no_update")
        else:
            connection.exec_driver_sql("DROP TRIGGER events_append_only ON events")
        connection.exec_driver_sql(
            "UPDATE events SET body = replace(body, '\"whole\":true', '\"whole\":false') "
            "WHERE kind = 'sealed'"
        )
    with pytest.raises(LedgerBroken) as caught:
        Docket(docket.store, "loans")
    assert caught.value.seq == 4


def test_a_writer_who_waits_too_long_is_told_so(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("likewise_service.ledger.database.PATIENCE", 0.3)
    store = Store.open(database)
    _append(store, "d", 1, {})
    other = Store.open(database)
    with (
        store.transaction("d"),
        pytest.raises(ServiceError, match="busy") as caught,
        other.transaction("d"),
    ):
        pass
    assert (caught.value.code, caught.value.status) == ("store-unavailable", 503)
    _append(other, "d", 1, {})
    assert store.head("d").seq == 4
    store.close()
    other.close()


def test_a_writer_who_fell_silent_does_not_keep_the_turn(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("likewise_service.ledger.database.SILENCE", 1)
    store, other = Store.open(postgres_url), Store.open(postgres_url)

    def be_silent() -> None:
        with store.transaction("d") as transaction:
            _append(other, "d", 1, {})  # waits until the turn is taken from the other
            transaction.append("late", {}, now(), "machine")

    with pytest.raises(ServiceError):
        be_silent()
    assert [record.kind for record in other.records("d")] == ["first", "second"]
    _append(store, "d", 1, {})
    store.close()
    other.close()


def test_a_desk_survives_the_loss_of_all_connections(
    postgres_url: str, spec: Any, applicants: Any
) -> None:
    store, other = Store.open(postgres_url), Store.open(postgres_url)
    open_docket(store, "loans", spec())
    docket = Docket(store, "loans")
    open_round(docket, applicants("a"))
    lose = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
    with other.reading() as connection:
        connection.exec_driver_sql(lose + "AND datname = current_database()")
    open_round(docket, applicants("b"))

    def lose_it_within() -> None:
        with docket.unit_of_work() as work:
            work.add(MemberJoined("cyd"))
            with other.reading() as connection:
                connection.exec_driver_sql(lose + "AND datname = current_database()")

    head = docket.projection.head
    with pytest.raises(ServiceError, match="not known"):
        lose_it_within()
    assert docket.refresh().head == head
    assert docket.projection.members == ["ada", "bob"]
    open_round(docket, applicants("c"))
    assert Docket(other, "loans").state == docket.state
    store.close()
    other.close()
