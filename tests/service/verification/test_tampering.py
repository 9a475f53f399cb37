"""Whatever is changed in a ledger is found, and where; what was rehashed, by an old receipt."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from likewise.errors import LikewiseError
from likewise_service.dockets import panel
from likewise_service.dockets import panel as membership
from likewise_service.dockets import rounds as feedback
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.erasure import erase
from likewise_service.dockets.rounds import open_docket, open_round
from likewise_service.dockets.seating import Seat
from likewise_service.dockets.spec import DocketSpec
from likewise_service.ledger.notes import Checkpoint
from likewise_service.ledger.store import Store
from likewise_service.verify.evidence import Evidence, evidence_of
from likewise_service.verify.export import read_export, write_export
from likewise_service.verify.replay import replay_evidence
from tests.service.evidence.test_actors import rewritten
from tests.service.live import OUTSPOKEN, verify


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export of a docket in which everything happened that can happen."""
    from likewise import Feature, FeatureSchema, Learner, Segments
    from likewise_service.dockets.rounds import Applicant

    schema = FeatureSchema((Feature("score", "integer", 300, 850), Feature("debt", high=100)))
    lender = Segments(schema, score="score", cuts=range(400, 800, 100)).with_prior("flat")
    learner = Learner(
        lender, k=3, alpha=0.3, eps=0.3, seed=1, schedule=OUTSPOKEN, feedback="one-sided",
        attention="share:0.8",
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("tampering")
    store = Store.open(f"sqlite:///{folder / 'ledger.db'}")
    spec = DocketSpec.of("Loans", learner, ("ada", "bob"), rule="any", deadline=9.0)
    open_docket(store, "loans", spec, seed=5)
    docket = Docket(store, "loans")
    for number in range(1, 9):
        people = [
            Applicant(f"é{number}-{i}", {"score": score, "debt": 30.5 + i})
            for i, score in enumerate((790, 310, 510))
        ]
        round_, _ = open_round(docket, people, key=f"k{number}")
        if round_.looked_at:
            pairs = round_.reportable
            if pairs:
                panel.flag(docket, Seat(round_.id, "ada"), pairs[0][:2], "warum?")
            if number % 2:
                panel.flag(docket, Seat(round_.id, "bob"), pairs[0][:2])
                panel.withdraw(docket, Seat(round_.id, "bob"), pairs[0][:2])
            for member in round_.seats:
                panel.finish(docket, Seat(round_.id, member))
        for person, decision in round_.decisions.items():
            if decision.approved:
                feedback.label(docket, [(round_.id, person, number % 2)])
        if number == 4:
            membership.join(docket, "cyd")
            membership.change_rule(docket, "at_least(2)")
    erase(docket, "r2", "é2-0")
    write_export(
        evidence_of(store, "loans"), folder / "export", store.keys, personal=True, seed=True
    )
    store.close()
    return folder / "export"


@pytest.mark.parametrize("examples", [15, pytest.param(60, marks=pytest.mark.long)])
def test_a_changed_byte_in_the_database_file_is_found(
    ledger: Path, tmp_path: Path, examples: int
) -> None:
    """Unless nothing that is read has changed: most of a file is indices and empty space."""

    @settings(max_examples=examples)
    @given(data=st.data())
    def change(data: st.DataObject) -> None:
        content = bytearray((ledger.parent / "ledger.db").read_bytes())
        records = [
            place for place in range(len(content)) if content.startswith(b'"round":"', place)
        ]
        near = data.draw(st.sampled_from(records))
        place = data.draw(st.integers(max(100, near - 200), min(len(content) - 1, near + 200)))
        content[place] ^= data.draw(st.integers(1, 255))
        path = tmp_path / "changed.db"
        path.write_bytes(content)
        honest = read_export(ledger)
        try:
            store = Store.open(f"sqlite:///{path}", create=False)
        except LikewiseError:
            return
        try:
            found = evidence_of(store, "loans")
        except LikewiseError:
            return
        finally:
            store.close()
        same = (found.records, found.payloads) == (honest.records, honest.payloads)
        assert replay_evidence(found).holds == (same and found.secret == honest.secret)

    change()


def _receipt(evidence: Evidence, place: int) -> Checkpoint:
    """A receipt of all records up to that place, unsigned."""
    return evidence.checkpoint(range(1, len(evidence.records) + 1)[place])


def test_an_honest_ledger_holds(ledger: Path) -> None:
    found = replay_evidence(read_export(ledger))
    assert found.holds, found.text()
    assert (found.decisions, found.skipped, found.draws, found.audits) == (24, 0, 8, 8)
    assert found.seed == "held"


@pytest.mark.parametrize("examples", [30, pytest.param(150, marks=pytest.mark.long)])
def test_a_changed_byte_anywhere_is_found_and_located(
    ledger: Path, tmp_path: Path, examples: int
) -> None:
    @settings(max_examples=examples)
    @given(data=st.data())
    def change(data: st.DataObject) -> None:
        content = bytearray((ledger / "ledger.jsonl").read_bytes())
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] ^= data.draw(st.integers(1, 255))
        line = bytes(content[:place]).count(b"\n") + 1
        copy = tmp_path / "copy"
        shutil.copytree(ledger, copy, dirs_exist_ok=True)
        (copy / "ledger.jsonl").write_bytes(content)
        found = replay_evidence(read_export(copy))
        assert not found.holds
        assert found.differences[0].seq == line
        evidence = read_export(ledger)
        receipt = _receipt(evidence, -1)
        assert not verify(read_export(copy), receipt).holds

    change()


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_changed_byte_in_a_payload_is_found(
    ledger: Path, tmp_path: Path, data: st.DataObject
) -> None:
    content = bytearray((ledger / "payloads.jsonl").read_bytes())
    place = data.draw(st.integers(0, len(content) - 2))
    before = bytes(content)
    content[place] ^= data.draw(st.integers(1, 255))
    copy = tmp_path / "copy"
    shutil.copytree(ledger, copy, dirs_exist_ok=True)
    (copy / "payloads.jsonl").write_bytes(content)
    evidence = read_export(copy)
    said_the_same = evidence.payloads == read_export(ledger).payloads
    assert bytes(content) != before
    assert replay_evidence(evidence).holds == said_the_same


@pytest.mark.parametrize("place", [0, 1, 5, 17, -1])
@pytest.mark.parametrize("how", ["removed", "twice", "swapped"])
def test_records_that_are_removed_doubled_or_swapped_are_found(
    ledger: Path, how: str, place: int
) -> None:
    evidence = read_export(ledger)
    records = list(evidence.records)
    last = _receipt(evidence, -1)
    at = place % len(records)
    if how == "removed":
        del records[at]
    elif how == "twice":
        records.insert(at, records[at])
    else:
        at = min(at, len(records) - 2)
        records[at], records[at + 1] = records[at + 1], records[at]
    changed = replace(evidence, records=records)
    finding = verify(changed, last).finding
    if how == "removed" and place == -1:
        # A ledger that was cut off is a ledger; only a receipt knows that there was more.
        assert finding == "too short"
        return
    found = replay_evidence(changed)
    assert found.differences[0].seq == at + 1 + (how == "twice")
    assert finding == "broken" or (how == "twice" and place == -1)


FORGERIES: dict[str, Callable[[dict[str, Any]], None]] = {
    "docket-opened": lambda b: b["spec"].update(members=["ada", "eve"]),
    "arrived": lambda b: b["people"][0].update(id="somebody else"),
    "decided": lambda b: b["decisions"][0].update(score=b["decisions"][0]["score"] + 1),
    "sealed": lambda b: b["asking"].update(looked_at=not b["asking"]["looked_at"]),
    "flagged": lambda b: b.update(member="eve"),
    "withdrawn": lambda b: b.update(member="eve"),
    "finished": lambda b: b.update(member="eve"),
    "audited": lambda b: b.update(outcome="quiet", pairs=[]),
    "labelled": lambda b: b.update(label=1 - b["label"]),
    "rule-changed": lambda b: b.update(rule="any"),
    "member-joined": lambda b: b.update(member="dan"),
}


@pytest.mark.parametrize("kind", list(FORGERIES))
def test_a_forger_who_rehashes_everything_is_found_by_an_old_receipt(
    ledger: Path, kind: str
) -> None:
    evidence = read_export(ledger)
    honest = list(evidence.records)
    forged = json.loads(json.dumps([record.body for record in honest]))
    place = next(
        i for i, r in enumerate(honest) if r.kind == kind and r.body.get("outcome") != "unaudited"
    )
    FORGERIES[kind](forged[place])
    records = [replace(r, body=body) for r, body in zip(honest, forged, strict=True)]
    changed = rewritten(replace(evidence, records=records), place)
    assert verify(changed, _receipt(changed, -1)).holds, "the forged tree fits"
    for later in (place, place + 1, len(honest) - 1):
        assert verify(changed, _receipt(evidence, later)).finding == "rewritten"
    assert place == 0 or verify(changed, _receipt(evidence, place - 1)).holds
    found = replay_evidence(changed)
    assert not found.holds, kind
    concerns_later_ones = ("docket-opened", "arrived", "labelled", "rule-changed", "member-joined")
    if kind not in concerns_later_ones:
        assert found.differences[0].seq == place + 1


def test_all_forged_decisions_are_listed_not_only_the_first(ledger: Path) -> None:
    evidence = read_export(ledger)
    records = list(evidence.records)
    places = [i for i, record in enumerate(records) if record.kind == "decided"][1:4]
    for place in places:
        body = json.loads(json.dumps(records[place].body))
        body["decisions"][1]["approved"] = not body["decisions"][1]["approved"]
        body["decisions"][1]["inverse_chance"] = None
        records[place] = replace(records[place], body=body)
    found = replay_evidence(rewritten(replace(evidence, records=records), places[0]))
    about = [d.seq for d in found.differences if d.about == "decision"]
    assert about == [place + 1 for place in places]


def test_an_audit_that_was_left_out_is_found(ledger: Path) -> None:
    evidence = read_export(ledger)
    records = list(evidence.records)
    place = next(
        i for i, r in enumerate(records) if r.kind == "audited" and r.body["outcome"] == "report"
    )
    renumbered = records[:place] + [replace(r, seq=r.seq - 1) for r in records[place + 1 :]]
    found = replay_evidence(rewritten(replace(evidence, records=renumbered), place))
    assert found.differences[0].seq == place + 1
    assert "audited" in found.differences[0].expected


def test_another_seed_than_the_one_committed_to_is_found(ledger: Path) -> None:
    evidence = read_export(ledger)
    assert evidence.secret is not None
    found = replay_evidence(replace(evidence, secret=(6, evidence.secret[1])))
    assert [(d.seq, d.about) for d in found.differences] == [(1, "seed")]


def test_without_seed_or_payloads_replay_says_what_is_not_shown(ledger: Path) -> None:
    evidence = read_export(ledger)
    no_seed = replay_evidence(replace(evidence, secret=None))
    assert (no_seed.holds, no_seed.decisions) == (True, 0)
    assert "seed" in no_seed.unproved[0]
    no_people = replay_evidence(replace(evidence, payloads=None))
    assert (no_people.holds, no_people.decisions, no_people.draws) == (True, 0, 8)
    assert no_people.unproved


def test_a_payload_that_was_removed_without_a_record_is_found(ledger: Path) -> None:
    evidence = read_export(ledger)
    arrived = [record for record in evidence.records if record.kind == "arrived"][4]
    gone = arrived.body["people"][0]["digest"]
    rest = {d: p for d, p in (evidence.payloads or {}).items() if d != gone}
    found = replay_evidence(replace(evidence, payloads=rest))
    assert [(d.seq, d.about) for d in found.differences] == [(arrived.seq, "payload")]
    assert found.decisions == 12
    assert found.skipped == 12


def test_who_is_erased_wholly_ends_what_is_proved_of_decisions_only(ledger: Path) -> None:
    evidence = read_export(ledger)
    records = list(evidence.records)
    last = next(i for i, record in enumerate(records) if record.kind == "erased")
    body = {**records[last].body, "digest": None}
    records[last] = replace(records[last], body=body)
    # The receipt beside the export is of the ledger before that.
    theirs = rewritten(replace(evidence, records=records, receipt=None), last)
    found = replay_evidence(theirs)
    assert found.holds, found.text()
    assert found.wholly == [("r2", "é2-0")]
    assert (found.decisions, found.skipped, found.draws) == (3, 21, 8)
    assert "not recomputed" in found.text()


def test_a_receipt_of_another_docket_says_nothing(ledger: Path) -> None:
    evidence = read_export(ledger)
    given = Checkpoint.of("likewise/0/other", evidence.log.tree(4))
    assert verify(evidence, given).finding == "another docket"
