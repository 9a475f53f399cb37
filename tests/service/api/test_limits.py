"""Limits: large bodies, long lists, many requests; and a database that is gone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa

from likewise_client.errors import Failed, Refused, TooMuch
from likewise_service.auth import tokens
from likewise_service.ledger.store import Store
from tests.service.conftest import Start
from tests.service.live import people, spec


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
        response = httpx.post(address, content=content, headers=headers, timeout=60)
        assert (response.status_code, response.json()["error"]["code"]) == (413, "too-large")
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
        ann.flag("loans", review.id, ("p1", "p2"), "too long")
    assert long.value.code == "too-long"


def test_rates(start: Start) -> None:
    live = start(rate=0.001, burst=3, anonymous_rate=0.001, anonymous_burst=2)
    bank = live.client("client", retries=0)
    for _ in range(3):
        bank.me()
    with pytest.raises(TooMuch) as fast:
        bank.me()
    assert (fast.value.status, fast.value.code) == (429, "too-many-requests")
    # Each caller has a bucket; anonymous callers of one address share theirs.
    live.client("auditor", retries=0).me()
    responses = [
        httpx.get(f"{live.address}/v1/me", headers={"Authorization": f"Bearer {n}"}, timeout=60)
        for n in range(3)
    ]
    assert [response.status_code for response in responses] == [401, 401, 429]
    assert int(responses[-1].headers["retry-after"]) >= 1


def test_a_database_that_is_gone(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    live = start()

    def gone(*_: object, **__: object) -> None:
        raise sa.exc.OperationalError("SELECT", {}, Exception("gone"))

    bank = live.client("client", retries=0)
    for where, name in ((tokens, "recognise"), (Store, "listed")):
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

    monkeypatch.setattr(tokens, "recognise", fail)
    with pytest.raises(Failed, match="Tell the operator this number") as failed:
        live.client("client").me()
    assert (failed.value.status, failed.value.code) == (500, "internal")
    assert "detail" not in str(failed.value)
