"""The rules for Prometheus: each is about numbers that a server has, and fires where it should."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from likewise_service.anchors import Anchoring, AnchorTarget
from likewise_service.clock import later, parse
from likewise_service.dockets import appeals, rounds
from likewise_service.dockets.docket import Docket
from likewise_service.ledger.store import Store
from tests.service.live import Clock, Live, people, replay_store, small_spec, some_people, until

RULES = yaml.safe_load(files("likewise_service").joinpath("kit/alerts.yaml").read_text("utf-8"))
ALERTS = {rule["alert"]: rule for group in RULES["groups"] for rule in group["rules"]}


def numbers(live: Live) -> dict[str, float]:
    """What Prometheus would scrape: the last value by name."""
    headers = {"Authorization": f"Bearer {live.tokens['operator']}"}
    text = live.http.get("/metrics", headers=headers).text
    found = re.findall(r"^(likewise_\w+?)(?:\{.*\})? ([0-9.e+-]+)$", text, flags=re.MULTILINE)
    return {name: float(value) for name, value in found}


@pytest.mark.long
@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_every_rule_is_about_numbers_that_there_are(
    start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("likewise_service.app.MEASURE_SECONDS", 0.1)
    live: Live = start()
    live.client("client").open_round("loans", people(1))
    until(lambda: numbers(live).get("likewise_memory_bytes", 0) > 10**6)
    until(lambda: "likewise_recomputed_records" in numbers(live))
    scraped = numbers(live)
    assert scraped["likewise_open_dockets"] >= 1
    for name, rule in ALERTS.items():
        named = set(re.findall(r"likewise_\w+", rule["expr"]))
        assert named, name
        assert named <= scraped.keys(), name
        assert rule["annotations"]["summary"]


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_the_numbers_behind_the_rules(begin: Any, clock: Clock, tmp_path: Any) -> None:
    docket: Docket = begin()
    appeals.set_notices(docket, "$title", "$reasons", 1.0)
    rounds.open_round(docket, some_people(), round_id="r1")
    appeals.open_appeal(docket, "r1", "p1", "why?")
    clock.at = later(clock.at, 2 * 86_400.0)
    appeals.mark_overdue(docket)

    def now(name: str) -> float:
        return docket.store.numbers()["loans"][name]

    assert (now("open_appeals"), now("overdue_appeals")) == (1, 1)
    assert now("ledger_time_seconds") == parse(docket.projection.at).timestamp()
    assert (now("unanchored_records"), now("anchored_time_seconds")) == (now("ledger_records"), 0)
    lost = Anchoring([AnchorTarget("file", str(tmp_path / "missing" / "heads"))], 60.0)
    lost.look(docket.store)
    assert now("anchors_failing") == 1


@pytest.mark.long
def test_thousands_of_dockets_are_anchored_by_one_thread_and_opened_when_they_grow(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store.open(f"sqlite:///{tmp_path / 'a.db'}")
    names = [f"d{number}" for number in range(5)]
    for name in names:
        rounds.open_docket(store, name, small_spec(("ada",)), seed=5)
    opened: list[str] = []
    first = Docket.__init__

    def counted(self: Docket, store: Store, name: str, *more: Any) -> None:
        opened.append(name)
        first(self, store, name, *more)

    monkeypatch.setattr(Docket, "__init__", counted)
    target = AnchorTarget("file", str(tmp_path / "heads.jsonl"))
    anchoring = Anchoring([target], 60.0)
    for _ in range(3):
        anchoring.look(store)
    assert opened == names
    assert len((tmp_path / "heads.jsonl").read_text().splitlines()) == 5
    rounds.open_round(Docket(store, "d3"), some_people())
    opened.clear()
    anchoring.look(store)
    assert opened == [], "it is not time"
    often = Anchoring([target], 0.0)
    often.look(store)
    opened.clear()
    rounds.open_round(Docket(store, "d1"), some_people("q"))
    often.look(store)
    assert opened == ["d1", "d1"], "the round, and its anchor"
    anchoring.look(store, lambda: True)
    for name in names:
        assert replay_store(store, name).holds
    store.close()
