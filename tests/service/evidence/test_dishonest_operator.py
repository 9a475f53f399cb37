"""Attempts of a dishonest operator, one a test, as the page for regulators lists them.

Everything is tried with the database's own rows, hashed anew, as somebody could who has the
machine and the installation's key.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from likewise.cli.main import main
from likewise_service.anchors import FileTarget
from likewise_service.auth.tokens import create_token
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.panel import finish, flag, set_member_key
from likewise_service.dockets.reviews import Seat
from likewise_service.dockets.rounds import open_docket, open_round
from likewise_service.errors import ServiceError
from likewise_service.ledger.kinds import acting
from likewise_service.ledger.records import Head, Receipt, Record
from likewise_service.ledger.signatures import PrivateKey, possession
from likewise_service.ledger.store import Store
from likewise_service.verify.evidence import Evidence, evidence_of
from likewise_service.verify.export import write_export
from likewise_service.verify.packets import give_packet
from likewise_service.verify.replay import replay_evidence
from tests.service.evidence.authority import anchor
from tests.service.evidence.test_actors import about, rehashed
from tests.service.live import small_spec, some_people


def run(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


@pytest.fixture
def docket(tmp_path: Path) -> Docket:
    """A docket in which ada signs and bob does not; one round is anchored, and one is not."""
    store = Store.open(f"sqlite:///{tmp_path / 'a.db'}")
    open_docket(store, "loans", small_spec(("ada", "bob"), rule="any"), seed=5)
    made = Docket(store, "loans")
    key = PrivateKey.fresh()
    with acting(create_token(store, "auditor", "ada", "loans")[1].actor):
        proof = key.sign("member-key", possession("loans", "ada", key.public))
        set_member_key(made, "ada", key.public, proof, None)
    bank = create_token(store, "client", "bank", "loans")[1]
    with acting(bank.actor):
        open_round(made, some_people("a"))
    anchor(made, FileTarget(str(tmp_path / "heads.jsonl")))
    bob = create_token(store, "auditor", "bob", "loans")[1]
    with acting(bob.actor):
        flag(made, Seat("r1", "bob"), ("a0", "a1"), "so alike")
    return made


def exported(docket: Docket, evidence: Evidence, folder: Path) -> Path:
    """What the operator hands over, signed with the installation's key."""
    write_export(evidence, folder, docket.store.keys, personal=True, seed=True)
    return folder


def test_a_tail_that_is_dropped_or_rewritten(docket: Docket, tmp_path: Path) -> None:
    receipt, honest = docket.receipt(), evidence_of(docket.store, "loans")
    objected = next(r for r in honest.records if r.kind == "flagged")
    dropped = replace(honest, records=honest.records[: objected.seq - 1])

    def quieter(record: Record) -> Record:
        same = record.kind == "flagged"
        return replace(record, body={**record.body, "reason": None}) if same else record

    for name, theirs in (("dropped", dropped), ("rewritten", rehashed(honest, quieter))):
        folder = exported(docket, theirs, tmp_path / name)
        found = run("verify", receipt, "--export", folder)
        assert found.exit_code == 1, found.output
        alone = run("verify", tmp_path / "heads.jsonl", "--export", folder)
        assert alone.exit_code == 0, "the anchor is older: without a receipt this is the window"
        assert "the window left open is" in alone.output
        assert "minutes" in alone.output
    shorter = replace(honest, records=honest.records[:3])
    folder = exported(docket, shorter, tmp_path / "before the anchor")
    found = run("verify", tmp_path / "heads.jsonl", "--export", folder)
    assert found.exit_code == 1, found.output


def test_speaking_for_a_member_with_a_second_token(docket: Docket) -> None:
    for member in ("bob", "ada"):
        second = create_token(docket.store, "auditor", member, "loans")[1]
        with acting(second.actor):
            if member == "bob":
                finish(docket, Seat("r1", "bob"))
            else:
                with pytest.raises(ServiceError, match="nothing is taken without a signature"):
                    finish(docket, Seat("r1", "ada"))
    found = replay_evidence(evidence_of(docket.store, "loans"))
    assert "'bob' has had 2 tokens" in found.text(), "visible, where members do not sign"
    # Written into the database by hand, it cannot be passed off where they do.
    honest = evidence_of(docket.store, "loans")
    ada = f"token:{[r for r in honest.records if r.kind == 'token-issued'][-1].body['token']}"
    last = honest.records[-1]
    body = {"round": "r1", "member": "ada"}
    more = Record.following("loans", last.head, last.at, "finished", body, ada)
    forged = replay_evidence(replace(honest, records=[*honest.records, more]))
    assert "signature" in about(forged)


def test_showing_two_ledgers(docket: Docket) -> None:
    honest = evidence_of(docket.store, "loans")
    other = rehashed(honest, lambda r: replace(r, nonce="x") if r.kind == "flagged" else r)
    ann = docket.receipt()
    bob = docket.store.keys.sign(Receipt("loans", other.records[-1].head))
    found = run("verify", ann, bob, "--key", docket.store.keys.public().text)
    assert found.exit_code == 1
    assert "TWO LEDGERS WERE SHOWN" in found.output


def test_back_dating_and_post_dating(docket: Docket) -> None:
    honest = evidence_of(docket.store, "loans")
    fixed = next(r for r in honest.records if r.kind == "anchored").seq
    assert "times are bounded to within" in replay_evidence(honest).text()

    def early(record: Record) -> Record:
        later = record.seq > fixed
        return replace(record, at="2020-01-01T00:00:00.000000Z") if later else record

    assert "time" in about(replay_evidence(rehashed(honest, early)))
    docket.clock = lambda: "2999-01-01T00:00:00.000000Z"
    open_round(docket, some_people("late"))
    target = FileTarget(str(Path(str(docket.store.url.database)).with_name("heads.jsonl")))
    anchor(docket, target)
    stated = evidence_of(docket.store, "loans")
    verdict = replay_evidence(stated)
    assert "some clock was wrong, the furthest by 511," in verdict.text(), "it is on record"
    silent = rehashed(stated, lambda r: None if r.kind == "clock-behind" else r)
    last = next(r for r in reversed(silent.records) if r.kind == "anchored")
    head = silent.records[last.seq - 2].head
    receipt = str(docket.store.keys.sign(Receipt("loans", head)))

    def refixed(record: Record) -> Record:
        body = {**record.body, "receipt": receipt}
        return replace(record, body=body) if record.seq == last.seq else record

    assert "time" in about(replay_evidence(rehashed(silent, refixed)))


def test_a_forged_receipt_against_an_honest_operator(docket: Docket) -> None:
    receipt = docket.receipt()
    forged = replace(receipt, head=Head(receipt.head.seq, "0" * 64))
    found = run("verify", forged, "--database", docket.store.where)
    assert found.exit_code == 2
    assert "forged, or changed" in found.output


def test_a_changed_packet(docket: Docket, tmp_path: Path) -> None:
    packet: dict[str, Any] = give_packet(docket, "r1", "a1")
    packet["decision"]["chance"] = 0.99
    (tmp_path / "packet.json").write_text(json.dumps(packet))
    found = run("verify", tmp_path / "packet.json")
    assert found.exit_code == 1
    assert "was changed" in found.output
