"""Flags with a limit: how far apart the two may be at most, as the member says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import ParameterError
from likewise.learner.attention import PanelModel
from likewise.learner.events import Decision
from likewise.numerics.fixed_point import from_units, to_units
from likewise.panel.objections import Pair
from likewise.panel.rule_language import as_rule
from likewise_client.errors import ApiError
from likewise_service.auth.tokens import MemberKey, create_token
from likewise_service.dockets import panel
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.round import Round
from likewise_service.dockets.rounds import open_docket, open_round
from likewise_service.dockets.seating import Seat
from likewise_service.errors import ServiceError
from likewise_service.ledger import kinds
from likewise_service.ledger.records import Record
from likewise_service.ledger.store import Store
from likewise_service.verify.evidence import evidence_of
from likewise_service.verify.packets import check_packet, give_packet, packet_words
from likewise_service.verify.replay import replay_evidence
from tests.service.conftest import ON_SQLITE
from tests.service.evidence.test_actors import about, rehashed
from tests.service.live import Live, people, replay_store, some_people, spec

Begin = Callable[..., Docket]


@ON_SQLITE
def test_a_limit_is_recorded_with_its_flag(live: Live, store: Store) -> None:
    """Over the API, signed by the member; nobody can change it afterwards."""
    open_docket(store, "graded", spec(members=("ann",), graded=True), seed=7)
    bank = live.client(create_token(store, "client", "bank", "graded")[0])
    ann = live.client(create_token(store, "auditor", "ann", "graded")[0])
    ann.sign_with("graded", MemberKey.fresh())
    operator = live.client("operator")
    assert operator.docket("graded").graded
    opened = bank.open_round("graded", people(1, 3))
    review = ann.review("graded", ann.reviews("graded")[0].id)
    assert review.graded
    pair, gap = (review.pairs[0].over, review.pairs[0].under), review.pairs[0].gap
    for limit, code in ((gap, "limit-kept"), (1.0, "limit-kept"), (1.5, "invalid")):
        with pytest.raises(ApiError) as refused:
            ann.flag("graded", review.id, pair, limit=limit)
        assert refused.value.code == code
    ann.flag("graded", review.id, pair, "alike", limit=0.2)
    ann.flag("graded", review.id, pair, "alike", limit=0.125)
    [objection] = ann.review("graded", review.id).objections
    assert (objection.reason, objection.limit) == ("alike", 0.125)
    ann.finish("graded", review.id)
    [objection] = operator.round("graded", opened.id).objections or []
    assert objection.limit == 0.125
    packet = give_packet(Docket(store, "graded"), opened.id, objection.over)
    assert [o["limit"] for o in packet["objections"]] == [from_units(to_units(0.2)), 0.125]
    assert "at most 12.5 percentage points apart" in packet_words(packet)
    assert not check_packet(packet, evidence=evidence_of(store, "graded"))
    evidence = evidence_of(store, "graded")
    replayed = replay_evidence(evidence)
    assert replayed.holds, replayed.text()

    def raised(record: Record) -> Record | None:
        if record.kind != "flagged":
            return record
        return replace(record, body={**record.body, "limit": record.body["limit"] + 1})

    forged = replay_evidence(rehashed(evidence, raised))
    assert about(forged) == {"signature", "audit"}


@ON_SQLITE
def test_limits_are_those_that_a_docket_asks_for(begin: Begin, store: Store) -> None:
    plain, graded = begin("plain"), begin("loans", graded=True)
    for docket in (plain, graded):
        open_round(docket, some_people())
    over, under, gap = plain.projection.round("r1").reportable[0]
    seat = Seat("r1", "ada")
    with pytest.raises(ServiceError, match="Leave the limit out"):
        panel.flag(plain, seat, (over, under), limit=0.1)
    for limit in (-0.1, float("nan"), 2.0):
        with pytest.raises(ParameterError, match="limit must be in"):
            panel.flag(graded, seat, (over, under), limit=limit)
    panel.flag(graded, seat, (over, under), limit=0.0)
    panel.flag(graded, seat, (over, under), limit=0.0)  # the same again is nothing new
    panel.flag(graded, seat, (over, under), limit=from_units(gap - 1))
    panel.flag(graded, Seat("r1", "bob"), (over, under))  # it may be left out
    flags = [record.body["limit"] for record in store.records("loans") if record.kind == "flagged"]
    assert flags == [0, gap - 1, None]
    panel.withdraw(graded, seat, (over, under))
    assert Pair(over, under) not in graded.projection.round("r1").objections["ada"]
    assert Docket(store, "loans").projection.round("r1") == graded.projection.round("r1")
    replayed = replay_store(store, "loans")
    assert replayed.holds, replayed.text()


@pytest.mark.parametrize("change", [{"limit": 2**20}, {"limit": -1}])
@ON_SQLITE
def test_a_limit_that_makes_no_sense_is_found(
    begin: Begin, store: Store, change: dict[str, Any]
) -> None:
    docket = begin(graded=True)
    open_round(docket, some_people())
    pair = docket.projection.round("r1").reportable[0][:2]
    panel.flag(docket, Seat("r1", "ada"), pair, limit=0.1)
    evidence = evidence_of(store, "loans")

    def forged(record: Record) -> Record | None:
        return (
            replace(record, body={**record.body, **change}) if record.kind == "flagged" else record
        )

    found = replay_evidence(rehashed(evidence, forged))
    assert about(found) == {"panel"}


LIMITS = st.lists(st.one_of(st.none(), st.integers(0, 9)), min_size=3, max_size=3)


@given(
    rule=st.sampled_from(["any", "majority", "all", "veto(bob) or at_least(2)"]),
    objects=st.lists(st.booleans(), min_size=3, max_size=3),
    limits=LIMITS,
)
def test_the_panels_limit_is_the_largest_gap_at_which_its_rule_would_be_silent(
    rule: str, objects: list[bool], limits: list[int | None]
) -> None:
    """Compared with all smaller gaps: who objects without a limit does so at this gap alone."""
    gap, members = 10, ("ada", "bob", "cem")
    decisions = {name: Decision(name, True, score) for name, score in (("x", gap), ("y", 0))}
    said = {
        m: {Pair("x", "y"): kinds.Objection(None, limit)}
        for m, objecting, limit in zip(members, objects, limits, strict=True)
        if objecting
    }
    round_ = Round("r1", 1, "", 0, decisions=decisions, rule=rule, objections=said,
                   seats=dict.fromkeys(members, "finished"))  # fmt: skip
    outcome = round_.conclusion(1)

    def reported(at: int) -> bool:
        votes = []
        for member in members:
            objection = said.get(member, {}).get(Pair("x", "y"))
            least = gap - 1 if objection is None or objection.limit is None else objection.limit
            votes.append(objection is not None and at > least)
        return bool(as_rule(rule).fires(np.array(votes), members))

    graded = any(o.limit is not None for own in said.values() for o in own.values())
    expected = [at for at in range(gap) if not reported(at)] if reported(gap) and graded else []
    assert outcome.limits == tuple(expected[-1:])


@ON_SQLITE
def test_the_learner_hears_the_limit_and_replay_checks_it(begin: Begin, store: Store) -> None:
    docket = begin(graded=True, attention=PanelModel(graded=True), rule="any")
    open_round(docket, some_people())
    pair = docket.projection.round("r1").reportable[0][:2]
    panel.flag(docket, Seat("r1", "ada"), pair, limit=0.1)
    panel.flag(docket, Seat("r1", "bob"), pair)
    for member in ("ada", "bob"):
        panel.finish(docket, Seat("r1", member))
    [audited] = [record for record in store.records("loans") if record.kind == "audited"]
    assert audited.body["limits"] == [to_units(0.1)]
    replayed = replay_store(store, "loans")
    assert replayed.holds, replayed.text()
    for limits in ([to_units(0.2)], [None], []):
        change = {"limits": limits}

        def forged(record: Record, change: dict[str, Any] = change) -> Record | None:
            body = {**record.body, **change}
            return replace(record, body=body) if record.kind == "audited" else record

        found = replay_evidence(rehashed(evidence_of(store, "loans"), forged))
        assert "audit" in about(found)
