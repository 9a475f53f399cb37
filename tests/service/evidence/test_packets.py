"""Packets: one person's file, complete, without anybody else, and refused if it was changed."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from likewise.cli.main import main
from likewise.numerics.fixed_point import ONE
from likewise.people.features import Feature
from likewise.people.schema import FeatureSchema
from likewise_client.tree import Tree
from likewise_service import language
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.erasure import erase
from likewise_service.dockets.explanations import PastPolicy, values_of
from likewise_service.dockets.panel import finish, flag, withdraw
from likewise_service.dockets.rounds import Applicant, label, open_docket, open_round, override
from likewise_service.dockets.seating import Seat
from likewise_service.dockets.spec import DocketSpec
from likewise_service.errors import ServiceError
from likewise_service.ledger import kinds
from likewise_service.ledger.notes import Checkpoint, InclusionProof
from likewise_service.ledger.records import Record, canonical, features_of, sha256
from likewise_service.ledger.signatures import PrivateKey
from likewise_service.ledger.store import Store
from likewise_service.ledger.transaction import LedgerView
from likewise_service.verify.evidence import Evidence, evidence_of
from likewise_service.verify.packets import (
    check_packet,
    give_packet,
    history_of,
    packet_content,
    packet_words,
)
from likewise_service.verify.receipts import KnownKeys, keys_in
from tests.service.live import SCHEMA, Live, people, small_spec


def run(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A docket with rounds, reports, an override and its reason."""
    made = Store.open(f"sqlite:///{tmp_path_factory.mktemp('packets') / 'a.db'}")
    open_docket(made, "loans", small_spec(rule="any"), seed=5)
    docket = Docket(made, "loans")
    for number in range(1, 7):
        some = [
            Applicant(f"n{number}-{i}", {"score": s, "debt": 30 + i, "purpose": "car"})
            for i, s in enumerate((790, 310, 510))
        ]
        round_, _ = open_round(docket, some)
        pairs = round_.reportable
        if pairs:
            flag(docket, Seat(round_.id, "ada"), pairs[0][:2], "much the same debt")
            flag(docket, Seat(round_.id, "bob"), pairs[0][:2])
            withdraw(docket, Seat(round_.id, "bob"), pairs[0][:2])
        other = not round_.decisions[f"n{number}-1"].approved
        override(docket, round_.id, f"n{number}-1", other, "seen in person")
        for member in round_.seats:
            finish(docket, Seat(round_.id, member))
        label(docket, [(round_.id, f"n{number}-{i}", int(i != 1)) for i in range(3)])
    yield made
    made.close()


@pytest.fixture
def evidence(store: Store) -> Evidence:
    """The docket's ledger."""
    return evidence_of(store, "loans")


def test_a_packet_has_everything_and_nobody_else(evidence: Evidence, store: Store) -> None:
    packet = packet_content(history_of(evidence, "r6", "n6-1"))
    assert [f["value"] for f in packet["features"]] == ["310", "31", "car"]
    decision = packet["decision"]
    assert decision["overridden"] is not decision["approved"]
    assert decision["stands"] is decision["overridden"]
    assert decision["override_reason"] == "seen in person"
    assert (packet["label"], packet["panel"]["rule"]) == (0, "any")
    assert packet["chance_from"]["rounds_before"] == 5
    assert {o["reason"] for o in packet["objections"]} >= {"much the same debt"}
    assert any(o["taken_back"] for o in packet["objections"])
    assert packet["reported"][0]["treated"] == "less favourably"
    text = json.dumps(packet) + packet_words(give_packet(Docket(store, "loans"), "r6", "n6-1"))
    for other in ("n6-0", "n6-2", "n5-1", '"790"', '"510"'):
        assert other not in text, other


def test_reasons_are_those_of_the_policy_itself(evidence: Evidence) -> None:
    """Brute force: the chance with every other value of a feature, from the same draws."""
    found = history_of(evidence, "r6", "n6-1")
    assert found.policy is not None
    assert found.payload is not None
    own = features_of(found.payload.content)
    past = PastPolicy.of(found.round, "n6-1", found.policy, found.learner)
    [score] = past.chances([own])
    assert score == found.round.decisions["n6-1"].score, "the same draws give the same score"
    packet = packet_content(history_of(evidence, "r6", "n6-1"))
    reasons = {one["feature"]: one for one in packet["reasons"]}
    schema = found.learner.hypotheses.schema
    for place, name in enumerate(schema.names):
        values = values_of(schema[name], own[place])
        rows = [(*own[:place], value, *own[place + 1 :]) for value in values]
        others = past.chances(rows)
        expected = (score - sum(others) / len(others)) / ONE
        assert reasons[name]["moved"] == pytest.approx(expected, abs=1e-12)
        assert reasons[name]["best"] == (max(others) - score) / ONE
    assert reasons["debt"]["moved"] == 0, "the class does not look at it"
    assert "had no influence" in reasons["debt"]["words"]
    assert packet["reasons"][0]["feature"] == "score"
    assert "lowered the chance" in packet["letter"][0]


@pytest.mark.parametrize("tongue", ["de", "fr"])
def test_a_packet_is_signed_in_one_language_and_read_in_any(store: Store, tongue: str) -> None:
    docket = Docket(store, "loans")
    with language.speaking(tongue):
        packet = give_packet(docket, "r6", "n6-1")
        words = packet_words(packet).splitlines()
    assert check_packet(packet, None, evidence_of(store, "loans")) == []
    english = packet_words(packet).splitlines()
    assert packet["letter"] == [] or packet["letter"][0] in "\n".join(english)
    assert len(words) == len(english)
    facts = {f"  {f['title']}: {f['value']}" for f in packet["features"]}
    same = {line for line in words if line and line in english} - facts
    assert not same, "what is left in English"


def test_a_person_reads_what_was_decided_and_why(store: Store) -> None:
    """The decision that stands comes first; a reason is that of whoever decided."""
    packet = give_packet(Docket(store, "loans"), "r6", "n6-1")
    assert packet["decision"]["overridden"] is not None
    lines = packet_words(packet).splitlines()
    stands = "approved" if packet["decision"]["stands"] else "rejected"
    assert lines[3] == f"The decision: {stands}."
    assert "Their reason: seen in person." in packet_words(packet)
    decided = {**packet["decision"], "approved": True, "overridden": False, "stands": False}
    theirs = packet_words({**packet, "decision": decided})
    assert "The rejection is not the system's, which had approved." in theirs
    assert "Main reasons for the rejection" not in theirs
    alone = {**decided, "approved": False, "overridden": None}
    mine = packet_words({**packet, "decision": alone, "letter": ["Score lowered it."]})
    assert "Main reasons for the rejection:\n  1. Score lowered it." in mine
    assert "Nobody decided otherwise." in mine
    waiting = {**packet, "outcome": None, "panel": {**packet["panel"], "seats": {"ada": "asked"}}}
    assert "  ada: has not responded so far" in packet_words(waiting)
    assert "The panel has not come to an end yet." in packet_words(waiting)


def test_where_the_institution_decides_no_policy_is_named(tmp_path: Path) -> None:
    """A learner that decided nothing has no reasons for it."""
    made = Store.open(f"sqlite:///{tmp_path / 'ours.db'}")
    schema = FeatureSchema((*SCHEMA.features, Feature("income", label="Income")))
    learner = {"schema": schema.spec(), "k": 2, "alpha": 0.1}
    asked = {"title": "Ours", "learner": learner, "members": ["ada"], "audit_only": True}
    open_docket(made, "ours", DocketSpec.from_hand(asked), seed=3)
    features = {"score": 400, "debt": 10, "purpose": "car", "income": 1234.56}
    people = [Applicant(name, features, score) for name, score in (("ann", 0.2), ("bo", 0.9))]
    open_round(Docket(made, "ours"), people)
    packet = give_packet(Docket(made, "ours"), "r1", "ann")
    assert (packet["chance_from"], packet["reasons"], packet["letter"]) == (None, [], [])
    text = packet_words(packet)
    assert "The institution rejected, at a chance of approval of 20.0 %." in text
    assert "policy" not in text
    assert "Income: 1234.56\n" in text  # as it was given, not 1235
    assert check_packet(packet, None, evidence_of(made, "ours")) == []
    made.close()


def test_values_of_features_without_bounds_or_with_missing_ones() -> None:
    assert values_of(Feature("x", "number"), 3.0) == [3.0]
    assert len(values_of(Feature("x", "flag", missing="not stated"), 1.0)) == 3


def test_a_packet_is_verified_and_derived_again(store: Store, tmp_path: Path) -> None:
    made = run(
        "export", "loans", "--decision", "r5", "n5-2", "--to", tmp_path, "--database", store.where
    )
    assert made.exit_code == 0, made.output
    file, key = tmp_path / "packet.json", store.keys.public().text
    alone = run("verify", file, "--key", key)
    assert alone.exit_code == 0, alone.output
    derived = run("verify", file, "--key", key, "--database", store.where)
    assert derived.exit_code == 0, derived.output
    assert "every part of it follows from the ledger" in derived.output
    foreign = run("verify", file, "--key", PrivateKey.fresh().public.text)
    assert foreign.exit_code == 1
    assert "The decision on n5-2" in (tmp_path / "packet.txt").read_text()
    assert store.records("loans")[-1].kind == "packet-given"
    assert run("verify", tmp_path / "packet.txt", "--key", key).exit_code == 2
    again = run(
        "export", "loans", "--decision", "r5", "n5-2", "--to", tmp_path, "--database", store.where
    )
    assert again.exit_code == 1


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_is_changed_in_a_packet_is_refused(store: Store, data: st.DataObject) -> None:
    packet = give_packet(Docket(store, "loans"), "r4", "n4-0")
    changed: Any = copy.deepcopy(packet)
    name = data.draw(st.sampled_from(sorted(packet)))
    changed[name] = data.draw(st.none() | st.integers() | st.text() | st.just({}) | st.just([]))
    known = KnownKeys.named([store.keys.public().text])
    assert bool(check_packet(changed, known)) == (changed != packet)


def lying_packet(docket: Docket, packet: dict[str, Any], /, **changes: Any) -> dict[str, Any]:
    """A packet that says something else, recorded and proved by whoever runs the server."""
    rest = {name: part for name, part in packet.items() if name not in ("given", "proof")}
    content = {**rest, **changes}
    with docket.unit_of_work() as work:
        digest = sha256(canonical(content))
        work.add(kinds.PacketGiven(packet["round"], packet["person"], digest))
    index, log = docket.tree.size - 1, evidence_of(docket.store, docket.name).log
    hashes, checkpoint = log.inclusion(index, log.size), docket.checkpoint(docket.tree)
    proof = InclusionProof(index, tuple(hashes), checkpoint)
    return {**content, "given": work.added[-1][0].to_json(), "proof": str(proof)}


def test_a_dishonest_packet_that_is_signed_is_found_from_the_ledger(store: Store) -> None:
    docket = Docket(store, "loans")
    packet = give_packet(docket, "r4", "n4-1")
    assert check_packet(packet, None, evidence_of(store, "loans")) == []
    lie = lying_packet(docket, packet, letter=["The bureau score was fine."])
    evidence = evidence_of(store, "loans")
    assert check_packet(lie) == []
    assert check_packet(lie, None, evidence) == ["'letter' does not follow from the ledger."]
    elsewhere = lying_packet(docket, packet, docket="mortgages")
    assert check_packet(elsewhere) == ["It is of 'mortgages', and its proof is of 'loans'."]


def test_a_key_that_changes_while_a_packet_is_given_spoils_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, applicants: Any
) -> None:
    """Another process takes a new key into use after the record, and before it is proved."""
    stores = [Store.open(f"sqlite:///{tmp_path / 'a.db'}") for _ in range(2)]
    open_docket(stores[0], "loans", small_spec(), seed=5)
    docket, log = Docket(stores[0], "loans"), LedgerView.log
    open_round(docket, applicants("a"))

    def rotated(view: LedgerView, size: int | None = None) -> Any:
        monkeypatch.setattr(LedgerView, "log", log)
        stores[1].keys.rotate()
        stores[0].keys.forget()  # as after five seconds
        return view.log(size)

    monkeypatch.setattr(LedgerView, "log", rotated)
    packet = give_packet(docket, "r1", "a0")
    assert check_packet(packet) == []
    assert check_packet(packet, keys_in(stores[1].records("loans"))) == []
    for made in stores:
        made.close()


def test_the_first_receipt_is_signed_by_the_key_that_the_docket_names(tmp_path: Path) -> None:
    """Whatever key the process remembers: another one has changed it since."""
    stores = [Store.open(f"sqlite:///{tmp_path / 'a.db'}") for _ in range(2)]
    stores[0].keys.public()
    stores[1].keys.rotate()
    receipt = open_docket(stores[0], "loans", small_spec(), seed=5)
    assert keys_in(stores[1].records("loans")).judge(receipt) == "signed"
    for made in stores:
        made.close()


def test_whoever_was_erased_has_no_features_any_more(tmp_path: Path, applicants: Any) -> None:
    made = Store.open(f"sqlite:///{tmp_path / 'a.db'}")
    open_docket(made, "loans", small_spec(), seed=5)
    docket = Docket(made, "loans")
    open_round(docket, applicants("a"))
    before = give_packet(Docket(made, "loans"), "r1", "a0")
    erase(docket, "r1", "a0")
    evidence = evidence_of(made, "loans")
    assert check_packet(before, None, evidence) == [], "it was right when it was given"
    after = packet_content(history_of(evidence, "r1", "a0"))
    assert (after["features"], after["reasons"], bool(after["erased"])) == ([], [], True)
    assert "The features were erased" in packet_words(
        give_packet(Docket(made, "loans"), "r1", "a0")
    )
    with pytest.raises(ServiceError, match="nobody named"):
        history_of(evidence, "r1", "nobody")
    made.close()


def test_the_api_gives_packets(live: Live) -> None:
    live.client("client").open_round("loans", people())
    given = live.client("regulator").packet("loans", "r1", "x1-0")
    keys = KnownKeys.named([live.client("client").keys()[0].public])
    assert check_packet(given.packet, keys) == []
    assert "The decision on x1-0" in given.words


def test_a_client_sees_nothing_of_the_panel_at_work(live: Live) -> None:
    """Nor afterwards who said what: that is for those who supervise."""
    bank, ann = live.client("client"), live.client("auditor")
    bank.open_round("loans", people(1, 3))
    review = ann.review("loans", ann.reviews("loans")[0].id)
    pair = (review.pairs[0].over, review.pairs[0].under)
    ann.flag("loans", review.id, pair, "so alike")
    for stage in ("open", "closed"):
        for person in people(1, 3):
            given = bank.packet("loans", "r1", person)
            text = json.dumps(given.packet) + given.words
            for secret in ("ann", "bob", "so alike", "flagged", "finished", "objected"):
                # As words: keys and proofs are any letters.
                assert not re.search(rf"\b{secret}\b", text), (stage, secret)
            assert (given.packet["panel"]["seats"], given.packet["objections"]) == (None, None)
        seen = live.client("regulator").packet("loans", "r1", "x1-0").packet
        assert set(seen["panel"]["seats"]) == {"ann", "bob"}
        if stage == "open":
            ann.finish("loans", review.id)
            bob = live.client("auditor-bob")
            bob.finish("loans", bob.reviews("loans")[0].id)
    given = bank.packet("loans", "r1", "x1-0")
    assert given.packet["outcome"] == "report"
    assert "The panel reported pairs of this round" in given.words
    store = Store.open(live.settings.database)
    evidence = evidence_of(store, "loans")
    assert check_packet(given.packet, None, evidence) == []
    store.close()


def test_a_packet_reads_the_records_of_one_round(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    docket = Docket(store, "loans")

    def refuse(*_: object, **__: object) -> Any:
        raise AssertionError("it reads other records")

    for name in ("records", "rows"):
        monkeypatch.setattr(LedgerView, name, refuse)
    packet = give_packet(docket, "r2", "n2-1")
    monkeypatch.undo()
    assert packet["reasons"]
    assert check_packet(packet, None, evidence_of(store, "loans")) == []


SCRIPT = Path(__file__).parents[3] / "docs" / "check_packet.py"


def test_a_script_without_our_code_checks_a_packet_with_a_public_key_alone(
    store: Store, tmp_path: Path
) -> None:
    packet, path = give_packet(Docket(store, "loans"), "r5", "n5-2"), tmp_path / "packet.json"

    def check(sent: dict[str, Any], key: str) -> subprocess.CompletedProcess[str]:
        path.write_text(json.dumps(sent, ensure_ascii=False, indent=2))
        words = [sys.executable, "-I", str(SCRIPT), str(path), key]
        return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)

    assert len(SCRIPT.read_text().splitlines()) <= 60
    assert "likewise" not in re.findall(r"^(?:import|from) (\w+)", SCRIPT.read_text(), re.MULTILINE)
    key = store.keys.public().text
    held = check(packet, key)
    assert (held.returncode, held.stdout.startswith("It holds")) == (0, True), held.stderr
    other = PrivateKey.fresh().public.text
    changes: tuple[tuple[dict[str, Any], str], ...] = (
        ({}, other), ({"label": 0}, key), ({"payload": {**packet["payload"], "salt": "00"}}, key),
        ({"given": {**packet["given"], "at": "2020"}}, key),
        ({"proof": packet["proof"].replace("index ", "index 1")}, key),
        ({"proof": re.sub(r"(index \d+\n)", rf"\1{'A' * 43}=\n", packet["proof"])}, key),
    )  # fmt: skip
    for change, named in changes:
        assert check({**packet, **change}, named).returncode == 1, change
    beyond = lone_packet(PrivateKey(bytes(32)), seq=9)
    assert check(beyond, PrivateKey(bytes(32)).public.text).returncode == 1, "of one record the 9th"
    assert check(lone_packet(PrivateKey(bytes(32)), 1), PrivateKey(bytes(32)).public.text).stdout


def lone_packet(key: PrivateKey, seq: int) -> dict[str, Any]:
    """A packet that is the only record of a ledger, under any number."""
    content = {"docket": "loans", "payload": None, "key": key.public.text}
    body = {"digest": sha256(canonical(content))}
    record = Record.following("loans", seq - 1, "2026", "packet-given", body, "machine")
    checkpoint = Checkpoint.of("x/loans", Tree().plus(record.entry)).signed(key)
    proof = InclusionProof(seq - 1, (), checkpoint)
    return {**content, "given": record.to_json(), "proof": str(proof)}
