"""Flags with a limit: how far apart the two may be at most, as the member says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from likewise.errors import ParameterError
from likewise.numerics.fixed_point import from_units, to_units
from likewise.panel.objections import Pair
from likewise_client.errors import ApiError
from likewise_service.auth.tokens import MemberKey, create_token
from likewise_service.dockets import panel
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.reviews import Seat
from likewise_service.dockets.rounds import open_docket, open_round
from likewise_service.errors import ServiceError
from likewise_service.ledger.records import Record
from likewise_service.ledger.store import Store
from likewise_service.verify.evidence import evidence_of
from likewise_service.verify.packets import check_packet, give_packet, packet_words
from likewise_service.verify.replay import replay_evidence
from tests.service.conftest import long_on_postgresql
from tests.service.evidence.test_actors import about, rehashed
from tests.service.live import Live, people, replay_store, some_people, spec

Begin = Callable[..., Docket]


@long_on_postgresql()
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
    assert about(forged) == {"signature"}


@long_on_postgresql()
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
@long_on_postgresql()
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
