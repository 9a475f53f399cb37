"""Appeals: corrected, assigned, decided by a person in time; beside the decision, never over it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from likewise.errors import LikewiseError
from likewise_client.errors import ApiError
from likewise_service.api.errors import error_response
from likewise_service.auth.tokens import create_token
from likewise_service.clock import DAY, later
from likewise_service.dockets import appeals, erasure, rounds
from likewise_service.dockets.docket import Docket
from likewise_service.errors import ServiceError
from likewise_service.ledger import kinds
from likewise_service.ledger.kinds import acting
from likewise_service.verify.evidence import evidence_of
from likewise_service.verify.packets import check_packet, give_packet, packet_words
from likewise_service.verify.replay import replay_evidence
from tests.service.conftest import ON_SQLITE
from tests.service.evidence.test_actors import about, rehashed
from tests.service.live import Clock, Live, people, replay_store

pytestmark = ON_SQLITE


@pytest.fixture
def docket(begin: Callable[..., Docket], applicants: Any) -> Docket:
    """One round of three people, of whom the second has the worst score."""
    made = begin(rule="any", feedback="one-sided")
    rounds.open_round(made, applicants("p"), round_id="r1")
    return made


def decide(docket: Docket, appeal: kinds.Appeal, approved: bool, **more: Any) -> None:
    appeals.assign_appeal(docket, appeal.id, "mia")
    appeals.decide_appeal(docket, appeal.id, "mia", approved, "seen in person", **more)


def test_the_first_decision_stays_and_the_outcome_is_beside_it(docket: Docket) -> None:
    first = docket.projection.round("r1").decisions["p1"]
    appeal, _ = appeals.open_appeal(docket, "r1", "p1", "an error", {"score": 790})
    decide(docket, appeal, not first.approved, accepted=True)
    round_ = docket.projection.round("r1")
    assert round_.decisions["p1"] == first
    assert round_.stands("p1") is not first.approved
    assert round_.overrides == {"p1": not first.approved}, "the learner takes the label now"
    assert not docket.projection.appeals
    found = replay_store(docket.store, "loans")
    assert found.holds, found.text()
    assert (found.reconsidered, found.redecided, found.entrusted) == (1, 1, 1)
    with pytest.raises(ServiceError, match="was decided on by appeal"):
        rounds.override(docket, "r1", "p1", first.approved)


def test_the_same_policy_and_draw_say_what_they_make_of_corrections(docket: Docket) -> None:
    """No second draw: with the features that were known, the very decision comes out again."""
    round_ = docket.projection.round("r1")
    known = {"p0": 790, "p1": 310, "p2": 510}
    for person, score in known.items():
        appeal, _ = appeals.open_appeal(docket, "r1", person, None, {"score": score})
        decision = round_.decisions[person]
        assert appeal.again == kinds.Redecided(decision.approved, decision.score)
        appeals.withdraw_appeal(docket, appeal.id)
        for other, value in known.items():
            appeal, _ = appeals.open_appeal(docket, "r1", person, None, {"score": value})
            decision = round_.decisions[other]
            assert appeal.again == kinds.Redecided(decision.approved, decision.score), other
            appeals.withdraw_appeal(docket, appeal.id)
    assert replay_store(docket.store, "loans").redecided == 12


def test_each_batch_has_a_draw_of_its_own(begin: Callable[..., Docket], applicants: Any) -> None:
    docket = begin(k=12)
    rounds.open_round(docket, applicants("b0-"), round_id="r1", seal=False)
    for number in range(1, 4):
        rounds.add_people(docket, "r1", applicants(f"b{number}-"))
    rounds.seal(docket, "r1")
    decisions = docket.projection.round("r1").decisions
    assert len({tuple(d.approved for d in decisions.values() if d.person.startswith(f"b{n}"))
                for n in range(4)}) > 1, "their draws differ"  # fmt: skip
    for person, decision in decisions.items():
        score = {"0": 790, "1": 310, "2": 510}[person[-1]]
        appeal, _ = appeals.open_appeal(docket, "r1", person, None, {"score": score})
        assert appeal.again == kinds.Redecided(decision.approved, decision.score)
    found = replay_store(docket.store, "loans")
    assert found.holds, found.text()
    assert found.redecided == 12


def test_an_appeal_after_the_round_has_closed_tells_the_learner_nothing(docket: Docket) -> None:
    rounds.close(docket, "r1", unaudited=True)
    state = docket.state
    appeal, _ = appeals.open_appeal(docket, "r1", "p1", "look again")
    decide(docket, appeal, True)
    assert docket.state == state
    assert docket.projection.round("r1").stands("p1")
    fresh = Docket(docket.store, "loans", docket.clock)
    assert fresh.projection.round("r1").appeals == docket.projection.round("r1").appeals
    assert replay_store(docket.store, "loans").holds


def test_deadlines_pass_once_whatever_the_clock_does(docket: Docket, clock: Clock) -> None:
    began = clock.at
    appeal, _ = appeals.open_appeal(docket, "r1", "p1", "look again")
    assert appeal.due == later(began, 30 * DAY)
    assert docket.store.due(appeal.due) == ("loans",)
    clock.at = later(began, 29 * DAY)
    assert appeals.mark_overdue(docket) == 0
    clock.at = later(began, 31 * DAY)
    with acting(kinds.SERVICE):
        assert appeals.mark_overdue(docket) == 1
        assert appeals.mark_overdue(docket) == 0
        docket.settle_due()
    assert docket.store.due(later(began, 99 * DAY)) == ()
    clock.at = began
    decide(docket, appeal, False)
    numbers = docket.store.numbers()["loans"]
    assert [numbers[f"{name}appeals"] for name in ("", "open_", "overdue_", "late_")] == [
        1,
        0,
        0,
        1,
    ]
    found = replay_store(docket.store, "loans")
    assert found.holds, found.text()


def test_a_person_decides_in_their_own_name(docket: Docket) -> None:
    olga = create_token(docket.store, "operator", "olga", None)[1].actor
    appeal, _ = appeals.open_appeal(docket, "r1", "p1", "look again")
    with acting(olga):
        for reviewer, who in ((None, "olga"), ("mia", "mia"), ("mia", "olga")):
            if reviewer:
                appeals.assign_appeal(docket, appeal.id, reviewer)
            with pytest.raises(ServiceError, match="in their own name"):
                appeals.decide_appeal(docket, appeal.id, who, True, "seen")
        appeals.assign_appeal(docket, appeal.id, "olga")
        appeals.decide_appeal(docket, appeal.id, "olga", True, "seen")
    found = replay_store(docket.store, "loans")
    assert found.holds, found.text()
    assert found.entrusted == 0


FORGED: dict[str, tuple[str, Callable[[dict[str, Any]], dict[str, Any]], str]] = {
    "another reviewer": ("appeal-decided", lambda b: {**b, "reviewer": "eve"}, "appeal"),
    "another person": ("appeal-decided", lambda b: {**b, "person": "p2"}, "appeal"),
    "another outcome": ("appeal-decided", lambda b: {**b, "approved": not b["approved"]}, "appeal"),
    "other words": ("appeal-decided", lambda b: {**b, "reason": "0" * 64}, "payload"),
    "what the policy makes of it": (
        "appeal-opened", lambda b: {**b, "again": {"approved": True, "score": 1048576}}, "appeal",
    ),
    "more time": ("appeal-opened", lambda b: {**b, "due": "2040-01-01T00:00:00.000000Z"}, "appeal"),
    "what was asked": ("appeal-opened", lambda b: {**b, "content": "0" * 64}, "payload"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_forgeries_are_found(docket: Docket, name: str) -> None:
    kind, change, expected = FORGED[name]
    first = docket.projection.round("r1").decisions["p1"].approved
    appeal, _ = appeals.open_appeal(docket, "r1", "p1", "an error", {"score": 500})
    decide(docket, appeal, not first)
    evidence = evidence_of(docket.store, "loans")
    assert replay_evidence(evidence).holds
    forged = rehashed(
        evidence, lambda r: replace(r, body=change(dict(r.body))) if r.kind == kind else r
    )
    assert expected in about(replay_evidence(forged))


@pytest.mark.parametrize("kind", ["appeal-opened", "appeal-assigned", "appeal-decided"])
def test_a_record_that_is_left_out_is_missed(docket: Docket, kind: str) -> None:
    appeal, _ = appeals.open_appeal(docket, "r1", "p1", "look again")
    decide(docket, appeal, True)
    evidence = evidence_of(docket.store, "loans")
    found = replay_evidence(rehashed(evidence, lambda r: None if r.kind == kind else r))
    # The last one leaves an override, which the appeal alone explains.
    assert not found.holds or kind == "appeal-decided"


def test_who_is_heard_is_not_erased_before_and_then_wholly(docket: Docket, clock: Clock) -> None:
    appeal, _ = appeals.open_appeal(docket, "r1", "p1", "I was ill", {"score": 700})
    with pytest.raises(ServiceError, match=r"not decided yet.*record that it was withdrawn"):
        erasure.erase(docket, "r1", "p1")
    rounds.close(docket, "r1", unaudited=True)
    erasure.set_retention(docket, 10.0, 10.0)
    clock.at = later(clock.at, 11 * DAY)
    done = erasure.erase_expired(docket)
    assert (done.people, done.held) == (2, 1)
    assert docket.projection.round("r1").words_for("p1")
    decide(docket, appeal, False)
    clock.at = later(clock.at, 9 * DAY)
    assert erasure.erase_expired(docket).people == 0, "its time begins with the outcome"
    clock.at = later(clock.at, 2 * DAY)
    assert erasure.erase_expired(docket).people == 1
    with docket.store.view("loans") as view:
        assert not any("text" in p.content for p in view.payloads().values())
    found = replay_store(docket.store, "loans")
    assert found.holds, found.text()
    with pytest.raises(ServiceError, match="was erased"):
        appeals.open_appeal(docket, "r1", "p1", "again")


def test_an_erasure_while_somebody_waits_is_found(docket: Docket) -> None:
    erasure.erase(docket, "r1", "p1")
    evidence = evidence_of(docket.store, "loans")
    appeals.open_appeal(docket, "r1", "p2", "look again")
    opened = evidence_of(docket.store, "loans").records[-1]
    erased = next(r for r in evidence.records if r.kind == "erased")
    body = {**opened.body, "person": "p1"}
    order = [*evidence.records[: erased.seq - 1], replace(opened, body=body, at=erased.at), erased]
    assert "erasure" in about(
        replay_evidence(rehashed(replace(evidence, records=order), lambda r: r))
    )


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("r1", "nobody", "why?"), "no-person"),
        (("r9", "p1", "why?"), "no-round"),
        (("r1", "p1"), "empty-appeal"),
        (("r1", "p1", ""), "empty-appeal"),
        (("r1", "p1", "x" * 2001), "too-long"),
        (("r1", "p1", None, {"height": 3}), "refused"),
    ],
)
def test_what_is_refused(docket: Docket, arguments: tuple[Any, ...], code: str) -> None:
    head = docket.store.head("loans")
    with pytest.raises(LikewiseError) as refused:
        appeals.open_appeal(docket, *arguments)
    assert error_response(refused.value).code == code
    assert docket.store.head("loans") == head


def test_one_at_a_time_and_a_repeated_request_is_the_same(docket: Docket) -> None:
    first, _ = appeals.open_appeal(docket, "r1", "p1", "why?", key="k")
    again, _ = appeals.open_appeal(docket, "r1", "p1", "why?", key="k")
    assert again == first
    with pytest.raises(ServiceError, match="asks for something else"):
        appeals.open_appeal(docket, "r1", "p1", "because", key="k")
    with pytest.raises(ServiceError, match="is not decided yet"):
        appeals.open_appeal(docket, "r1", "p1", "why?")
    other, _ = appeals.open_appeal(docket, "r1", "p2", "why?", key="k")
    assert other.id != first.id


def test_the_packet_has_it_and_nobody_elses(docket: Docket) -> None:
    appeal, _ = appeals.open_appeal(docket, "r1", "p1", "an error", {"score": 500})
    decide(docket, appeal, True, accepted=True)
    appeals.open_appeal(docket, "r1", "p2", "me too")
    packet, other = (give_packet(docket, "r1", person, "client") for person in ("p1", "p0"))
    assert packet["appeals"][0]["corrections"] == {"Score": "500"}
    words = packet_words(packet)
    assert "mia decided" in words
    assert "seen in person" in words
    assert "me too" not in words
    assert not any(r["kind"].startswith("appeal") for r in other["records"])
    evidence = evidence_of(docket.store, "loans")
    assert check_packet(packet, None, evidence) == []
    lied = {**packet, "appeals": [{**packet["appeals"][0], "approved": False}]}
    assert check_packet(lied, None, evidence), "it was signed otherwise"


def test_over_the_api(live: Live) -> None:
    bank, olga, state = (live.client(who) for who in ("client", "operator", "regulator"))
    opened = bank.open_round("loans", people(1, 3))
    person = opened.decisions[0].person
    appeal = bank.appeal("loans", opened.id, person, "an error", {"score": 850})
    assert appeal.corrections[0].title == "Bureau score"
    assert [a.id for a in state.appeals("loans", "open").appeals] == [appeal.id]
    olga.assign_appeal("loans", appeal.id, "olga")
    with pytest.raises(ApiError, match="in their own name"):
        bank.decide_appeal("loans", appeal.id, True, "seen", reviewer="eve")
    olga.decide_appeal("loans", appeal.id, True, "seen", accepted=True)
    [ended] = state.appeals("loans", "ended", limit=1).appeals
    assert (ended.status, ended.stands, ended.reason) == ("decided", True, "seen")
    assert bank.appeals("loans", "open").appeals == []
    assert bank.appeals("loans", round_id=opened.id).appeals == [ended]
    with pytest.raises(ApiError):
        live.client("auditor").appeals("loans")
