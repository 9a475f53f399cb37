"""Audit-only dockets: the institution decides, the panel audits, and a learner may come later."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import pytest

from likewise import Learner
from likewise.errors import LikewiseError
from likewise_service.api.metrics import measure
from likewise_service.dockets import panel
from likewise_service.dockets import rounds as feedback
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.erasure import erase, reveal_seed
from likewise_service.dockets.rounds import Applicant, give_learner, open_docket, open_round, seal
from likewise_service.dockets.seating import Seat
from likewise_service.dockets.spec import DocketSpec
from likewise_service.dockets.worker import Worker
from likewise_service.errors import ServiceError
from likewise_service.ledger.store import Store
from likewise_service.settings import Settings
from tests.service.live import LENDER, SCHEMA, Clock, replay_store, shown_again

SCORES = (0.9, 0.2, 0.55)


def settings(**more: Any) -> DocketSpec:
    learner = {"schema": SCHEMA.spec(), "k": 3, "alpha": 0.1}
    plain = {"title": "Ours", "learner": learner, "members": ["ada", "bob"], "audit_only": True}
    return DocketSpec.from_hand({**plain, "rule": "all", "repeat_share": 0.5, **more})


def applicants(number: int, scores: tuple[float | None, ...] = SCORES) -> list[Applicant]:
    return [
        Applicant(f"x{number}-{i}", {"score": 400 + i, "debt": 10 + i, "purpose": "car"}, score)
        for i, score in enumerate(scores)
    ]


@pytest.fixture
def docket(store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Docket:
    with monkeypatch.context() as fixed:  # the lottery of repeats is drawn from seed and salt
        fixed.setattr(secrets, "token_bytes", bytes)
        open_docket(store, "ours", settings(), seed=3)
    clock.at = "2031-01-01T00:00:00.000000Z"
    return Docket(store, "ours", clock)


def audit(docket: Docket, number: int) -> None:
    round_, _ = open_round(docket, applicants(number))
    over, under, _ = round_.reportable[0]
    for member in ("ada", "bob"):
        if number % 2:
            panel.flag(docket, Seat(round_.id, member), (over, under), "alike")
        panel.finish(docket, Seat(round_.id, member))
    feedback.label(docket, [(round_.id, person, 1) for person in round_.people])


def test_the_institution_decides_and_the_panel_audits(docket: Docket) -> None:
    for number in range(12):
        audit(docket, number)
    assert shown_again(docket, "ada"), "rounds are shown again here too"
    first = docket.projection.round("r1")
    assert [d.score for d in first.decisions.values()] == [round(s * 2**20) for s in SCORES]
    assert [d.approved for d in first.decisions.values()] == [True, False, True]
    assert [docket.projection.round(f"r{n}").outcome for n in (1, 2)] == ["quiet", "report"]
    metrics = measure(Worker(docket.store, "ours", Settings()))
    assert (metrics.reports, metrics.quiet, metrics.lam) == (6, 6, 0.0)
    assert metrics.agreement is not None
    assert metrics.agreement.units > 0
    replayed = replay_store(docket.store, "ours")
    assert replayed.holds, replayed.text()
    assert (replayed.decisions, replayed.elsewhere) == (0, 36)
    assert "the institution itself" in replayed.text()
    assert Docket(docket.store, "ours").state == docket.state


@pytest.mark.parametrize("scores", [(0.5, None), (1.5,), (-0.1,), (float("nan"),), (True,)])
def test_scores_have_to_come_and_to_be_chances(docket: Docket, scores: tuple[Any, ...]) -> None:
    with pytest.raises(LikewiseError, match="score"):
        open_round(docket, applicants(1, scores))
    assert docket.projection.counts["rounds"] == 0


def test_where_a_learner_decides_scores_are_refused(begin: Callable[..., Docket]) -> None:
    with pytest.raises(ServiceError, match="A learner decides"):
        open_round(begin(), applicants(1))


def test_a_docket_is_given_a_learner_later(docket: Docket, store: Store) -> None:
    """It says from which record on; what was before is not recomputed, and what follows is."""
    for number in range(5):
        audit(docket, number)
    learner = {
        "hypotheses": LENDER.spec(), "k": 3, "alpha": 0.1, "eps": 0.02,
        "attention": {"attention": "share", "share": 0.5},
    }  # fmt: skip
    open_round(docket, applicants(90), seal=False)
    with pytest.raises(ServiceError, match="are open"):
        give_learner(docket, learner)
    seal(docket, "r6")
    feedback.close(docket, "r6", unaudited=True)
    with pytest.raises(ServiceError, match="another gap"):
        give_learner(docket, {**learner, "alpha": 0.3})
    give_learner(docket, learner)
    assert docket.projection.learner_from == store.head("ours").seq
    with pytest.raises(ServiceError, match="already, from record"):
        give_learner(docket, learner)
    with pytest.raises(ServiceError, match="leave out the score"):
        open_round(docket, applicants(7))
    for number in range(10, 18):
        round_, _ = open_round(docket, applicants(number, (None, None, None)))
        for member in round_.seats:
            panel.finish(docket, Seat(round_.id, member))
        feedback.label(docket, [(round_.id, person, 1) for person in round_.people])
    erase(docket, "r8", "x11-0")
    assert {bool(docket.projection.round(f"r{n}").seats) for n in range(7, 15)} == {True, False}
    fresh = Docket(store, "ours")
    assert fresh.state == docket.state
    assert fresh.projection.learner_from == docket.projection.learner_from
    reveal_seed(docket)
    replayed = replay_store(store, "ours")
    assert replayed.holds, replayed.text()
    assert (replayed.decisions, replayed.elsewhere, replayed.draws) == (24, 18, 14)


def test_a_learner_of_other_features_is_refused(docket: Docket) -> None:
    from likewise import Feature, FeatureSchema, Segments

    schema = FeatureSchema((Feature("score", "integer", 300, 850),))
    settings = Learner(Segments(schema, score="score", cuts=[500]), 3, 0.1, 0.02, 0).spec()
    learner = {name: settings[name] for name in ("hypotheses", "k", "alpha", "eps")}
    with pytest.raises(ServiceError, match="other features"):
        give_learner(docket, learner)


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(LikewiseError, match="shadow"):
        settings(shadow=True)
    mixed = Learner(LENDER, k=3, alpha=0.1, eps=0.02, seed=0, player="nested-ftpl").spec()
    del mixed["seed"]
    with pytest.raises(LikewiseError, match="must not mix"):
        settings(learner=mixed)
    with pytest.raises(LikewiseError, match="never missing"):
        settings(learner={"schema": {"features": [
            {"name": "purpose", "kind": "category", "levels": ["car", "home"]}]},
            "k": 3, "alpha": 0.1})  # fmt: skip
