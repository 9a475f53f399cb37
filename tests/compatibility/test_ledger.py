"""Ledgers of earlier commits replay to the same decisions, and are continued."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from likewise.events import Decision
from likewise.service.dockets.commands import audits, feedback
from likewise.service.dockets.commands.rounds import Applicant, open_round
from likewise.service.dockets.docket import Docket
from likewise.service.ledger.records import Receipt
from likewise.service.ledger.store import Store
from likewise.service.verification.evidence import evidence_of
from likewise.service.verification.receipts import verify
from likewise.service.verification.replay import replay_store

THEN = Path(__file__).parent / "d29bfb5"
EXPECTED: dict[str, Any] = json.loads((THEN / "expected.json").read_text())


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """The database of then, upgraded."""
    path = tmp_path / "then.db"
    with sqlite3.connect(path) as connection:
        connection.executescript((THEN / "ledger.sql").read_text(encoding="utf-8"))
    connection.close()
    opened = Store.open(f"sqlite:///{path}")
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
        people = [Applicant(name, features) for name, features in step["people"]]
        round_, _ = open_round(docket, people, round_id=step["round"])
        assert list(round_.decisions.values()) == [Decision(*d) for d in step["decisions"]]
        for member in round_.seats:
            for seat, over, under in step["objections"]:
                if seat == member:
                    audits.object_to(docket, round_.id, member, (over, under))
            audits.review(docket, round_.id, member)
        if step["labels"]:
            feedback.label(docket, [(name, who, y) for name, who, y in step["labels"]])
        assert docket.projection.round(round_.id).outcome == step["outcome"]
        assert docket.state.lam == step["lam"]
    assert replay_store(store, name).holds
