"""Workers: one thread a docket, those who wait, and a docket that failed."""

from __future__ import annotations

import asyncio
import threading

import pytest

from likewise_service.dockets.rounds import open_docket
from likewise_service.dockets.worker import Worker, Workers
from likewise_service.errors import ServiceError
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


def test_a_docket_that_failed_is_opened_anew(sqlite_url: str) -> None:
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
            await workers.run("loans", refuse)
        assert await workers.run("loans", lambda worker: worker.docket) is first
        with pytest.raises(ZeroDivisionError):
            await workers.run("loans", stumble)
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
