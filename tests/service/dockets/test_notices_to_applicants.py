"""Notices to applicants: the reasons are those of whoever decided, and what was given is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from likewise.numerics.fixed_point import ONE
from likewise_client.errors import ApiError
from likewise_service.clock import DAY, later
from likewise_service.dockets import appeals, erasure, rounds
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.explanations import Reason, rejection
from likewise_service.errors import ServiceError
from likewise_service.ledger.records import Payload
from likewise_service.verify.evidence import evidence_of
from likewise_service.verify.packets import give_packet, packet_words
from likewise_service.verify.replay import replay_evidence
from tests.service.evidence.test_actors import about, rehashed
from tests.service.live import Clock, Live, people, replay_store


@pytest.fixture
def database(sqlite_url: str) -> str:
    return sqlite_url


@pytest.fixture
def docket(begin: Callable[..., Docket], applicants: Any) -> Docket:
    """Rounds until somebody with a chance above 0 is rejected, and somebody is approved."""
    made = begin(rule="any")
    for number in range(1, 20):
        rounds.open_round(made, applicants(f"n{number}-"), round_id=f"r{number}")
        if people_of(made, False) and people_of(made, True):
            return made
    raise AssertionError("nobody was rejected")


def people_of(docket: Docket, approved: bool) -> list[tuple[str, str]]:
    decisions = [(r.id, d) for r in docket.projection.history() for d in r.decisions.values()]
    return [(name, d.person) for name, d in decisions if d.approved is approved and d.score > 0]


@pytest.mark.parametrize(("share", "place"), [(0.7, 0), (0.3, 1)])
def test_a_draw_that_alone_rejected_comes_first(share: float, place: int) -> None:
    lowered = Reason("debt", "Debt", "40", -0.005, 0.01, "0")
    named = rejection(round(share * ONE), [lowered])
    assert "a draw with that chance rejected" in named[place]
    assert len(named) == 2


def test_a_rejection_has_the_reasons_of_the_policy_and_the_draw(docket: Docket) -> None:
    round_id, person = people_of(docket, False)[0]
    notice, _ = appeals.give_notice(docket, round_id, person, "after")
    assert notice.source == "policy"
    assert 1 <= len(notice.reasons) <= 4
    assert "a draw with that chance rejected" in notice.reasons[-1]
    assert all("lowered the chance" in line for line in notice.reasons[:-1])
    assert all(line in notice.text for line in notice.reasons)
    found = replay_store(docket.store, "loans")
    assert found.holds, found.text()
    assert found.redecided == 1
    packet = give_packet(docket, round_id, person)
    assert packet["notices"][0]["text"] == notice.text
    assert "You were told of the rejection" in packet_words(packet)


@pytest.mark.parametrize("count", range(7))
@pytest.mark.parametrize("score", [0, 1, ONE // 2])
def test_at_most_four_reasons_and_the_draw_where_it_took_part(count: int, score: int) -> None:
    """The features that lowered the chance most come first; those that raised it do not come."""
    listed = [Reason(f"f{i}", f"F{i}", "1", -0.5 + i / 10, 0.1, "2") for i in range(count)]
    raised = Reason("up", "Up", "1", 0.2, 0.0, "1")
    named = rejection(score, [*listed, raised])
    drawn = score > 0
    lowering = [reason.title for reason in listed if reason.moved < 0][: 3 if drawn else 4]
    assert [line.split()[0] for line in named] == [*lowering, *["The"] * drawn]
    assert len(named) <= 4


def test_false_reasons_are_found(docket: Docket) -> None:
    round_id, person = people_of(docket, False)[0]
    appeals.give_notice(docket, round_id, person, "after")
    evidence = evidence_of(docket.store, "loans")
    given = next(r for r in evidence.records if r.kind == "notice-given")
    honest = (evidence.payloads or {})[given.body["digest"]]
    lie = Payload(honest.salt, {**honest.content, "reasons": ["You live too far away."]})
    body = {**given.body, "digest": lie.digest}
    forged = rehashed(evidence, lambda r: replace(r, body=body) if r is given else r)
    forged = replace(forged, payloads={**(evidence.payloads or {}), lie.digest: lie})
    assert "notice" in about(replay_evidence(forged))
    late = {**given.body, "given": "2099-01-01T00:00:00.000000Z"}
    forged = rehashed(evidence, lambda r: replace(r, body=late) if r is given else r)
    assert "notice" in about(replay_evidence(forged))


def test_people_give_their_own_reasons(docket: Docket) -> None:
    """Who decided otherwise, and who reconsidered: in their words, and nobody else's."""
    round_id, person = people_of(docket, True)[0]
    with pytest.raises(ServiceError, match="was not rejected"):
        appeals.give_notice(docket, round_id, person, "after")
    rounds.override(docket, round_id, person, False, "no such employer")
    notice, _ = appeals.give_notice(docket, round_id, person, "after")
    assert (notice.source, list(notice.reasons)) == ("overrode", ["no such employer"])
    appeal, _ = appeals.open_appeal(docket, round_id, person, "there is")
    appeals.assign_appeal(docket, appeal.id, "mia")
    appeals.decide_appeal(docket, appeal.id, "mia", False, "asked there: there is not")
    notice, _ = appeals.give_notice(docket, round_id, person, "after")
    assert (notice.source, list(notice.reasons)) == ("reviewer", ["asked there: there is not"])
    assert replay_store(docket.store, "loans").holds


def test_where_the_institution_decides_it_says_why(begin: Callable[..., Docket]) -> None:
    docket = begin(audit_only=True)
    person = rounds.Applicant("ann", {"score": 400, "debt": 1, "purpose": "car"}, 0.2, False)
    rounds.open_round(docket, [person], round_id="r1")
    with pytest.raises(ServiceError, match="send them"):
        appeals.give_notice(docket, "r1", "ann", "after")
    notice, _ = appeals.give_notice(docket, "r1", "ann", "after", None, ["Too little income."])
    assert notice.source == "institution"
    assert "1. Too little income." in notice.text
    assert replay_store(docket.store, "loans").holds


def test_own_reasons_are_not_taken_where_the_policy_has_some(docket: Docket) -> None:
    round_id, person = people_of(docket, False)[0]
    with pytest.raises(ServiceError, match="on record already"):
        appeals.give_notice(docket, round_id, person, "after", None, ["We do not like you."])


def test_before_the_decision_and_when(docket: Docket, clock: Clock) -> None:
    round_id, person = people_of(docket, True)[0]
    shown = later(clock.at, -60.0)
    notice, _ = appeals.give_notice(docket, round_id, person, "before", shown)
    assert (notice.given, notice.source, notice.reasons) == (shown, None, [])
    assert "automated system" in notice.text
    for bad in (later(clock.at, 60.0), "yesterday"):
        with pytest.raises(ServiceError, match="write a time like"):
            appeals.give_notice(docket, round_id, person, "before", bad)
    assert replay_store(docket.store, "loans").holds


def test_erased_with_the_person(docket: Docket) -> None:
    round_id, person = people_of(docket, False)[0]
    appeals.give_notice(docket, round_id, person, "after")
    evidence = evidence_of(docket.store, "loans")
    erasure.erase(docket, round_id, person)
    with docket.store.view("loans") as view:
        assert not any("text" in p.content for p in view.payloads().values())
    assert replay_store(docket.store, "loans").holds
    given = next(r for r in evidence.records if r.kind == "notice-given").body["digest"]
    kept = {d: p for d, p in (evidence.payloads or {}).items() if d != given}
    assert "payload" in about(replay_evidence(replace(evidence, payloads=kept))), "without a record"


@pytest.mark.parametrize(
    ("before", "after", "days", "fault"),
    [
        ("", "$reasons", 30.0, "characters"),
        ("$name", "$reasons", 30.0, r"may name \$days, \$title"),
        ("Hello $", "$reasons", 30.0, r"write \$\$"),
        ("Hello", "You lost.", 30.0, "told why"),
        ("Hello", "$reasons", 0.0, "days"),
        ("Hello", "$reasons", 400.0, "days"),
        ("Hello", "$reasons", float("nan"), "days"),
    ],
)
def test_templates_that_are_refused(
    docket: Docket, before: str, after: str, days: float, fault: str
) -> None:
    with pytest.raises(ServiceError, match=fault):
        appeals.set_notices(docket, before, after, days)


def test_the_dockets_own_texts_and_days(docket: Docket) -> None:
    round_id, person = people_of(docket, False)[0]
    appeals.set_notices(docket, "$title", "No, $person. $reasons Pay $$5, wait $days days.", 45)
    notice, _ = appeals.give_notice(docket, round_id, person, "after")
    assert notice.text.startswith(f"No, {person}. 1. ")
    assert notice.text.endswith("Pay $5, wait 45 days.")
    appeal, _ = appeals.open_appeal(docket, round_id, person, "why?")
    assert appeal.due == later(docket.clock(), 45 * DAY)
    assert Docket(docket.store, "loans").projection.appeal_days == 45
    assert replay_store(docket.store, "loans").holds


def test_over_the_api(live: Live) -> None:
    bank = live.client("client")
    opened = bank.open_round("loans", people(1, 4))
    assert bank.notices("loans").days == 30
    rejected = [d.person for d in opened.decisions if not d.approved]
    approved = [d.person for d in opened.decisions if d.approved]
    for person in rejected:
        assert bank.give_notice("loans", opened.id, person).source == "policy"
    for person in approved:
        with pytest.raises(ApiError, match="was not rejected"):
            bank.give_notice("loans", opened.id, person)
    with pytest.raises(ApiError):
        live.client("auditor").notices("loans")
