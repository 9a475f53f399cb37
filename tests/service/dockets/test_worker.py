"""Workers: one thread a docket, those who wait, and a docket that failed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from likewise_service.dockets.panel import set_guidelines
from likewise_service.dockets.rounds import open_docket
from likewise_service.dockets.worker import Worker, Workers
from likewise_service.errors import ServiceError
from likewise_service.ledger.records import Head
from likewise_service.ledger.store import Store
from likewise_service.settings import Settings
from tests.service.live import spec


def test_those_who_wait_are_counted(sqlite_url: str) -> None:
    store = Store.open(sqlite_url)
    open_docket(store, "loans", spec(), seed=1)
    released = threading.Event()
    counts: list[tuple[str, int]] = []

    async def crowd() -> None:
        workers = Workers(
            store, Settings(waiting_limit=2), lambda name, number: counts.append((name, number))
        )

        def wait(worker: Worker) -> str:
            released.wait(30)
            return threading.current_thread().name

        waiting = [asyncio.create_task(workers.run("loans", wait)) for _ in range(2)]
        while len(counts) < 2:
            await asyncio.sleep(0.01)
        assert counts == [("loans", 1), ("loans", 2)]
        with pytest.raises(ServiceError) as busy:
            await workers.run("loans", wait)
        assert (busy.value.code, busy.value.status) == ("busy", 503)
        released.set()
        # The learner has one thread of its own, and no request runs in it.
        names = set(await asyncio.gather(*waiting))
        assert names == {"docket-loans_0"}
        await workers.close()
        assert counts[-1] == ("loans", 0)

    asyncio.run(crowd())
    store.close()


@pytest.mark.parametrize("writes", [False, True])
def test_a_docket_that_failed_is_opened_anew(sqlite_url: str, writes: bool) -> None:
    store = Store.open(sqlite_url)
    open_docket(store, "loans", spec(), seed=1)

    async def fail() -> None:
        workers = Workers(store, Settings())
        first = await workers.run("loans", lambda worker: worker.docket)
        refused = ServiceError("no", 409, "No.")

        def refuse(worker: Worker) -> None:
            raise refused

        def stumble(worker: Worker) -> None:
            raise ZeroDivisionError

        with pytest.raises(ServiceError):
            await workers.run("loans", refuse, writes=writes)
        assert await workers.run("loans", lambda worker: worker.docket) is first
        with pytest.raises(ZeroDivisionError):
            await workers.run("loans", stumble, writes=writes)
        assert await workers.run("loans", lambda worker: worker.docket) is not first
        with pytest.raises(ServiceError, match="/v1/dockets"):
            await workers.run("none", refuse)
        await workers.close()

    asyncio.run(fail())
    store.close()


def test_a_task_that_stops_an_iteration_does_not_stop_the_docket(sqlite_url: str) -> None:
    """A future takes no StopIteration: the docket would wait without end."""
    store = Store.open(sqlite_url)
    open_docket(store, "loans", spec(), seed=1)

    async def stop() -> None:
        workers = Workers(store, Settings())
        with pytest.raises(RuntimeError, match="StopIteration"):
            await workers.run("loans", lambda _: next(iter(())))
        assert await workers.run("loans", lambda _: "fine") == "fine"
        await workers.close()

    asyncio.run(asyncio.wait_for(stop(), 60))
    store.close()


def test_who_reads_finds_what_the_same_group_has_written(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that write share one transaction; nobody reads before it has ended, or within it."""
    store, other = Store.open(sqlite_url), Store.open(sqlite_url)
    open_docket(store, "loans", spec(), seed=1)
    glances = list[str]()
    head = Store.head

    def counted(self: Store, docket: str) -> Head:
        glances.append(docket)
        return head(self, docket)

    def say(text: str) -> Callable[[Worker], object]:
        return lambda worker: set_guidelines(worker.docket, text)

    def read(worker: Worker) -> tuple[str, int]:
        return worker.docket.projection.guidelines, len(other.records("loans"))

    def refused(worker: Worker) -> None:
        raise ServiceError("no", 409, "No.")

    async def crowd() -> list[Any]:
        workers = Workers(store, Settings())
        before = await workers.run("loans", read)
        glances.clear()
        jobs = [
            workers.run("loans", read), workers.run("loans", say("Look."), writes=True),
            workers.run("loans", refused, writes=True), workers.run("loans", read),
            workers.run("loans", say("Look well."), writes=True),
        ]  # fmt: skip
        outcomes = await asyncio.gather(*jobs, return_exceptions=True)
        await workers.close()
        return [before, *outcomes]

    monkeypatch.setattr(Store, "head", counted)
    (_, records), first, one, no, second, two = asyncio.run(crowd())
    assert first == second == ("Look well.", records + 2)
    assert isinstance(no, ServiceError)
    assert one != two, "each has a receipt of its own record"
    assert not glances, "the transaction has read what others wrote"
    store.close()
    other.close()


def test_what_a_reader_has_written_is_not_written_again_when_another_fails(sqlite_url: str) -> None:
    """What does not say that it writes has a transaction of its own, which has ended by then."""
    store = Store.open(sqlite_url)
    open_docket(store, "loans", spec(), seed=1)
    texts = iter(("Look.", "Look well."))

    def stumble(worker: Worker) -> None:
        raise ZeroDivisionError

    async def crowd() -> list[Any]:
        workers = Workers(store, Settings())
        write = workers.run("loans", lambda worker: set_guidelines(worker.docket, next(texts)))
        jobs = [write, workers.run("loans", stumble), workers.run("loans", lambda _: "fine")]
        outcomes = await asyncio.gather(*jobs, return_exceptions=True)
        await workers.close()
        return outcomes

    before = len(store.records("loans"))
    written, failed, fine = asyncio.run(crowd())
    assert (type(failed), fine) == (ZeroDivisionError, "fine")
    assert written.size == len(store.records("loans")) == before + 1
    store.close()


def test_numbers_of_a_docket_that_is_distrusted_are_counted_again(sqlite_url: str) -> None:
    """Although its ledger has not grown: they come from a memory that was wrong."""
    store = Store.open(sqlite_url)
    open_docket(store, "loans", spec(), seed=1)

    def count(worker: Worker) -> object:
        return worker.numbers(lambda docket: {"docket": docket})["docket"]

    def distrust(worker: Worker) -> None:
        worker.distrusted = True

    async def look() -> None:
        workers = Workers(store, Settings())
        before = await workers.run("loans", count)
        assert await workers.run("loans", count) is before
        await workers.run("loans", distrust)
        docket = await workers.run("loans", lambda worker: worker.docket)
        assert await workers.run("loans", count) is docket is not before
        await workers.close()

    asyncio.run(look())
    store.close()


def test_a_docket_is_not_released_while_there_is_something_to_do(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All callers have left, and what they asked for is done all the same."""
    monkeypatch.setattr("likewise_service.dockets.worker.IDLE", -1.0)
    store = Store.open(sqlite_url)
    open_docket(store, "loans", spec(), seed=1)
    begun, released = threading.Event(), threading.Event()
    counts, done = list[int](), list[str]()

    def wait(worker: Worker) -> None:
        begun.set()
        released.wait(30)

    async def leave() -> None:
        workers = Workers(store, Settings(), lambda _, number: counts.append(number))
        callers = [asyncio.create_task(workers.run("loans", wait))]
        await asyncio.to_thread(begun.wait, 30)
        callers.append(asyncio.create_task(workers.run("loans", lambda _: done.append("after"))))
        while 2 not in counts:
            await asyncio.sleep(0.01)
        for caller in callers:
            caller.cancel()
        await asyncio.gather(*callers, return_exceptions=True)
        await workers.tick()
        released.set()
        await workers.close()

    asyncio.run(leave())
    assert done == ["after"]
    store.close()


def test_commands_that_are_refused_write_nothing(sqlite_url: str) -> None:
    store = Store.open(sqlite_url)
    open_docket(store, "loans", spec(), seed=1)

    def refused(worker: Worker) -> None:
        raise ServiceError("no", 409, "No.")

    async def ask() -> None:
        workers = Workers(store, Settings())
        with pytest.raises(ServiceError):
            await workers.run("loans", refused, writes=True)
        await workers.close()

    asyncio.run(ask())
    version = "PRAGMA data_version"  # grows when another connection has changed the file
    with store.reading() as connection:
        before = connection.exec_driver_sql(version).scalar()
        asyncio.run(ask())
        assert connection.exec_driver_sql(version).scalar() == before
    store.close()
