"""Limits: large bodies, long lists, many requests, many who wait."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa
from tests.service.conftest import Start
from tests.service.live import people, spec

from likewise.errors import ParameterError
from likewise.service.api import middleware as gate
from likewise.service.auth.rate_limits import REMEMBERED, Buckets, TooMany
from likewise.service.dockets.commands.rounds import open_docket
from likewise.service.dockets.worker import Worker, Workers
from likewise.service.errors import ServiceError
from likewise.service.ledger.store import Store
from likewise.service.settings import Settings
from likewise_client.errors import Failed, Refused, TooMuch


@pytest.fixture
def database(tmp_path: Path) -> str:
    """One kind of database will do."""
    return f"sqlite:///{tmp_path / 'likewise.db'}"


def test_bodies(start: Start) -> None:
    live = start(body_limit=2000)
    address = f"{live.address}/v1/dockets/loans/rounds"
    headers = {"Authorization": f"Bearer {live.tokens['client']}"}

    def drops() -> Iterator[bytes]:
        for _ in range(100):
            yield b" " * 100

    for content in (b" " * 10_000, drops()):
        answer = httpx.post(address, content=content, headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too-large")
    assert live.client("client").open_round("loans", people()).number == 1


def test_lists(start: Start) -> None:
    live = start(people_limit=3, feature_limit=4, labels_limit=1, reason_limit=5)
    bank, operator = live.client("client"), live.client("operator")
    with pytest.raises(Refused, match="3 people"):
        bank.open_round("loans", people(1, 4))
    with pytest.raises(Refused, match="4 features"):
        bank.open_round("loans", {"a": {f"f{n}": 1 for n in range(5)}})
    with pytest.raises(Refused, match="Split it"):
        bank.label("loans", [("r1", "a", 1), ("r1", "b", 1)])
    with pytest.raises(Refused, match="people_limit"):
        operator.create_docket("large", spec().to_json())
    bank.open_round("loans", people())
    ann = live.client("auditor")
    [review] = ann.reviews("loans")
    with pytest.raises(Refused) as long:
        ann.object_to("loans", review.id, ("p1", "p2"), "too long")
    assert long.value.code == "too-long"


def test_rates(start: Start) -> None:
    live = start(rate=0.001, burst=3, anonymous_rate=0.001, anonymous_burst=2)
    bank = live.client("client", retries=0)
    for _ in range(3):
        bank.me()
    with pytest.raises(TooMuch) as fast:
        bank.me()
    assert (fast.value.status, fast.value.code) == (429, "too-many-requests")
    # Each caller has a bucket; anonymous of one address share theirs.
    live.client("auditor", retries=0).me()
    answers = [
        httpx.get(f"{live.address}/v1/me", headers={"Authorization": f"Bearer {n}"})
        for n in range(3)
    ]
    assert [answer.status_code for answer in answers] == [401, 401, 429]
    assert int(answers[-1].headers["retry-after"]) >= 1


def test_buckets_fill_up_again_and_are_forgotten() -> None:
    moment = 0.0
    buckets = Buckets(rate=1.0, burst=1, clock=lambda: moment)
    buckets.take("ann")
    with pytest.raises(TooMany):
        buckets.take("ann")
    moment = 1.0
    buckets.take("ann")
    for number in range(2 * REMEMBERED):
        buckets.take(str(number))
    assert len(buckets._left) == REMEMBERED


def test_those_who_wait_are_counted(database: str) -> None:
    store = Store.open(database)
    open_docket(store, "loans", spec(), seed=1)
    held = threading.Event()

    async def crowd() -> None:
        workers = Workers(store, waiting_limit=2)

        def wait(worker: Worker) -> str:
            held.wait(30)
            return threading.current_thread().name

        waiting = [asyncio.create_task(workers.run("loans", wait)) for _ in range(2)]
        await asyncio.sleep(0.1)
        assert workers.waiting() == {"loans": 2}
        with pytest.raises(ServiceError) as busy:
            await workers.run("loans", wait)
        assert (busy.value.code, busy.value.status) == ("busy", 503)
        held.set()
        # The learner has one thread of its own, and no request runs in it.
        names = set(await asyncio.gather(*waiting))
        assert names == {"docket-loans_0"}
        await workers.close()

    asyncio.run(crowd())
    store.close()


def test_a_desk_that_failed_is_opened_anew(database: str) -> None:
    store = Store.open(database)
    open_docket(store, "loans", spec(), seed=1)

    async def fail() -> None:
        workers = Workers(store, waiting_limit=2)
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


def test_a_database_that_is_gone(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    live = start()

    def gone(*_: object) -> None:
        raise sa.exc.OperationalError("SELECT", {}, Exception("gone"))

    bank = live.client("client", retries=0)
    for where, name in ((gate, "recognise"), (Store, "dockets")):
        with monkeypatch.context() as patched:
            patched.setattr(where, name, gone)
            with pytest.raises(Failed) as failed:
                bank.dockets()
        assert (failed.value.status, failed.value.code) == (503, "store-unavailable")
    assert bank.dockets()


def test_what_fails_is_said_without_details(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    live = start()

    def fail(*_: object) -> None:
        raise RuntimeError("a detail")

    monkeypatch.setattr(gate, "recognise", fail)
    with pytest.raises(Failed, match="Tell the operator this number") as failed:
        live.client("client").me()
    assert (failed.value.status, failed.value.code) == (500, "internal")
    assert "detail" not in str(failed.value)


def test_settings_travel_in_the_environment() -> None:
    settings = Settings(database="a.db", rate=2.5, burst=7)
    assert Settings.from_environment(settings.to_environment()) == settings
    with pytest.raises(ParameterError, match="LIKEWISE_BURST"):
        Settings.from_environment({"LIKEWISE_BURST": "many"})
    with pytest.raises(ParameterError, match="above 0"):
        Settings(rate=0)
