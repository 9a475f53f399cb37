"""Forgeries of somebody who has the machine: each is found, or named as resting on trust.

The table of the ledger's page is made here: a row for each, and what finds it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from click.testing import CliRunner

from likewise.cli.main import main
from likewise_client.tree import Tree
from likewise_service.anchors import AnchorTarget
from likewise_service.auth import tokens
from likewise_service.auth.tokens import MemberKey, create_token, revoke_token
from likewise_service.clock import later, moment_of, now, parse
from likewise_service.dockets import appeals, erasure, panel, rounds, signing
from likewise_service.dockets import docket as dockets
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.recomputation import check_snapshot
from likewise_service.dockets.reviews import ENDED, OPEN, listed
from likewise_service.errors import ServiceError
from likewise_service.ledger.database import snapshots
from likewise_service.ledger.kinds import acting
from likewise_service.ledger.notes import Checkpoint, ConsistencyProof, Verifier, signature_line
from likewise_service.ledger.records import Payload, Record, canonical, sha256
from likewise_service.ledger.signatures import PrivateKey
from likewise_service.ledger.store import Store
from likewise_service.verify.certificates import give_certificate
from likewise_service.verify.evidence import Evidence, evidence_of
from likewise_service.verify.export import write_export, write_manifest
from likewise_service.verify.governance import Trusted
from likewise_service.verify.packets import give_packet
from likewise_service.verify.receipts import sign_document
from likewise_service.verify.replay import replay_evidence
from likewise_service.witness import Witness
from tests.service.evidence.authority import anchor
from tests.service.evidence.test_actors import rehashed, rewritten
from tests.service.evidence.test_packets import lying_packet
from tests.service.live import small_spec, some_people

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "ledger.md"
BEGIN, END = "<!-- forgeries: made by the tests -->", "<!-- end of the forgeries -->"
Change = Callable[[Record], Record | None]


@dataclass
class Scene:
    """An honest installation, and what people hold of it."""

    docket: Docket
    honest: Evidence
    folder: Path
    receipt: Checkpoint
    key: MemberKey
    actors: dict[str, str]

    @property
    def store(self) -> Store:
        return self.docket.store

    def first(self, kind: str, **fields: Any) -> Record:
        return next(
            r for r in self.honest.records
            if r.kind == kind and all(r.body.get(name) == v for name, v in fields.items())
        )  # fmt: skip

    def changed(self, record: Record, **changes: Any) -> Evidence:
        """The ledger with another body in one record, hashed anew."""
        body = {**json.loads(json.dumps(record.body)), **changes}
        return rehashed(self.honest, lambda r: replace(r, body=body) if r is record else r)

    def without(self, *gone: Record) -> Evidence:
        return rehashed(self.honest, lambda r: None if r in gone else r)

    def having(self, kind: str, body: dict[str, Any], actor: str, at: str = "") -> Evidence:
        """The ledger with one record more."""
        last = self.honest.records[-1]
        record = Record.following("loans", last.seq, at or last.at, kind, body, actor)
        return replace(self.honest, records=[*self.honest.records, record])

    def export(self, evidence: Evidence | None = None) -> Path:
        folder = self.folder / "export"
        shutil.rmtree(folder, ignore_errors=True)
        write_export(evidence or self.honest, folder, self.store.keys, personal=True, seed=True)
        return folder


def run(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(main, [str(word) for word in words])
    return result.exit_code, result.output


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Ada signs and bob does not; a round was reported, one is open; there is an anchor."""
    folder = tmp_path_factory.mktemp("forgeries")
    store = Store.open(f"sqlite:///{folder / 'a.db'}")
    rounds.open_docket(store, "loans", small_spec(("ada", "bob"), rule="any"), seed=5)
    docket, key, actors = Docket(store, "loans"), MemberKey.fresh(), {}
    for role, name in (("client", "bank"), ("auditor", "ada"), ("auditor", "bob")):
        identity = create_token(store, role, name, "loans")[1]  # type: ignore[arg-type]
        actors[name] = identity.actor
    proof = key.consent("loans", "ada", key.public.text)
    with acting(actors["ada"]):
        signing.enrol_key(docket, "ada", key.public, proof=proof)
    panel.set_guidelines(docket, "Look twice.")
    with acting(actors["bank"]):
        first, _ = rounds.open_round(docket, some_people("a"))
        rounds.label(docket, [("r1", "a0", 1)])
    for name in ("ada", "bob"):
        with acting(actors[name]):
            for act in ("flag", "finish") if name == "ada" else ("flag",):
                _act(docket, name, act, key if name == "ada" else None)
    anchor(docket, AnchorTarget("file", str(folder / "heads.jsonl")))
    with acting(actors["bob"]):
        panel.finish(docket, listed(docket, "bob", OPEN, 9)[0].seat)
    with acting(actors["ada"]):
        _act(docket, "ada", "comment", key)
    with acting(actors["bank"]):
        rounds.open_round(docket, some_people("b"))
    assert first.reportable
    told, _ = appeals.open_appeal(docket, "r1", "a1", "an error", {"score": 500})
    with acting(actors["bank"]):
        appeals.assign_appeal(docket, told.id, "mia")
        otherwise = not first.decisions["a1"].approved
        appeals.decide_appeal(docket, told.id, "mia", otherwise, "seen in person", accepted=True)
    late = create_token(store, "client", "late", "loans")[1]
    revoke_token(store, late.id)
    hold, _ = erasure.place_hold(docket, "a complaint")
    honest = evidence_of(store, "loans")
    assert replay_evidence(honest).holds, replay_evidence(honest).text()
    ids = {name: actor.id for name, actor in actors.items()} | {"late": late.actor.id, "hold": hold}
    yield Scene(docket, honest, folder, docket.receipt(), key, ids)
    store.close()


def _act(docket: Docket, member: str, act: Any, key: MemberKey | None) -> None:
    """Act on the first review; comments are on one that has ended."""
    review = listed(docket, member, OPEN if act != "comment" else ENDED, 9)[0]
    pair = review.round.reportable[0][:2]
    signed, aliases = None, tuple(review.aliases[person] for person in pair)
    if key is not None:
        to_sign, two = signing.to_sign(docket, review), aliases if act == "flag" else ()
        assert to_sign is not None
        words = "The same debts." if act == "comment" else None
        sent = key.sign_act("loans", member, review.id, to_sign, act, two, words)
        signed = signing.Signature(
            sent["key"], sent["at"], sent["shown"], sent["signature"], bytes.fromhex(sent["salt"])
        )
    if act == "flag":
        panel.flag(docket, review.seat, pair, signed=signed)
    elif act == "comment":
        panel.comment(docket, review.seat, "The same debts.", signed)
    else:
        panel.finish(docket, review.seat, signed=signed)


def by_replay(evidence: Evidence, about: str, trusted: Trusted | None = None) -> str:
    found = replay_evidence(evidence, trusted)
    assert about in {difference.about for difference in found.differences}, found.text()
    return "`replay`"


def by_receipt(scene: Scene, evidence: Evidence) -> str:
    """Replay alone does not find it: a receipt that somebody was given does."""
    assert replay_evidence(evidence).holds, replay_evidence(evidence).text()
    code, output = run("verify", scene.receipt, "--export", scene.export(evidence))
    assert (code, "DOES NOT HOLD" in output) == (1, True), output
    return "`verify` with a receipt that anybody was given"


def named(evidence: Evidence, words: str) -> str:
    found = replay_evidence(evidence)
    assert found.holds, found.text()
    assert any(words in sentence for sentence in found.unproved), found.text()
    return f"on trust: “…{words}…”"


def refused(words: str, *command: object) -> None:
    code, output = run(*command)
    assert (code, words in output) == (1, True), output


FORGERIES: dict[str, Callable[[Scene], str]] = {}


def forgery(sentence: str) -> Callable[[Callable[[Scene], str]], Callable[[Scene], str]]:
    def keep(found: Callable[[Scene], str]) -> Callable[[Scene], str]:
        FORGERIES[sentence] = found
        return found

    return keep


@forgery("A record is changed, and its hash left as it was")
def _(scene: Scene) -> str:
    records = list(scene.honest.records)
    records[6] = replace(records[6], at="2031-01-01T00:00:00.000000Z")
    return by_replay(replace(scene.honest, records=records), "record") + ", `verify`"


@forgery("A decision is rewritten, and everything after it hashed anew")
def _(scene: Scene) -> str:
    record = scene.first("decided")
    decisions = json.loads(json.dumps(record.body["decisions"]))
    decisions[0]["approved"] = not decisions[0]["approved"]
    return by_replay(scene.changed(record, decisions=decisions), "decision")


@forgery("The outcome of an audit is rewritten")
def _(scene: Scene) -> str:
    record = scene.first("audited", outcome="report")
    return by_replay(scene.changed(record, outcome="quiet", pairs=[]), "audit")


@forgery("Whom the panel was made of is rewritten")
def _(scene: Scene) -> str:
    return by_replay(scene.changed(scene.first("sealed"), members=["ada"]), "panel")


@forgery("What the panel was asked is rewritten")
def _(scene: Scene) -> str:
    record = scene.first("sealed")
    asking = {**record.body["asking"], "looked_at": False, "whole": False}
    return by_replay(scene.changed(record, asking=asking), "asking")


@forgery("An objection of a member who does not sign is left out, with all that follows from it")
def _(scene: Scene) -> str:
    """Bob's, after which nothing else was changed: the panel still reports by ada's."""
    return by_receipt(scene, _unanchored(scene, scene.first("flagged", member="bob")))


def _unanchored(scene: Scene, *gone: Record) -> Evidence:
    anchored = [r for r in scene.honest.records if r.kind == "anchored"]
    return scene.without(*anchored, *gone)


@forgery("The same, by somebody to whom nobody shows a receipt")
def _(scene: Scene) -> str:
    theirs = _unanchored(scene, scene.first("flagged", member="bob"))
    return named(theirs, "what follows the last receipt that anybody holds can be rewritten")


@forgery("An anchored record is rewritten")
def _(scene: Scene) -> str:
    return by_replay(scene.without(scene.first("flagged", member="bob")), "anchor")


@forgery("The tail is dropped")
def _(scene: Scene) -> str:
    return by_receipt(scene, replace(scene.honest, records=scene.honest.records[:-1]))


@forgery("Two ledgers are shown to two readers")
def _(scene: Scene) -> str:
    other = rehashed(
        scene.honest, lambda r: replace(r, nonce="x") if r.kind == "hold-placed" else r
    )
    theirs = scene.store.keys.sign(other.origin, other.log.tree())
    key = scene.store.keys.public().text
    refused("TWO LEDGERS WERE SHOWN", "verify", scene.receipt, theirs, "--key", key)
    return "`verify A B`, with one receipt of each"


def _fork(scene: Scene) -> Evidence:
    """Another ledger under the same name: all but the first two records have other salts."""
    return rewritten(scene.honest, 2)


def _signed(scene: Scene, evidence: Evidence, size: int) -> Checkpoint:
    return scene.store.keys.sign(evidence.origin, evidence.log.tree(size))


@forgery("Two ledgers of different lengths are shown to two readers, who have one receipt each")
def _(scene: Scene) -> str:
    """No proof connects the two, whichever ledger it is made from."""
    fork, key = _fork(scene), scene.store.keys.public().text
    first, last = _signed(scene, fork, 5), _signed(scene, scene.honest, scene.honest.log.size)
    for evidence in (fork, scene.honest):
        hashes = tuple(evidence.log.consistency(5, last.size))
        refused("DOES NOT HOLD", "verify", first, ConsistencyProof(5, hashes, last), "--key", key)
    return "`verify A PROOF`, with the proof of consistency that every honest server can give"


@forgery("Two ledgers are shown to two readers, under two names")
def _(scene: Scene) -> str:
    key, other = scene.store.keys.public(), PrivateKey.fresh()
    opened = scene.changed(scene.first("docket-opened"), key=other.public.text)
    theirs = opened.checkpoint().signed(other)
    named_keys = ("--key", key.text, "--key", other.public.text)
    code, output = run("verify", scene.receipt, theirs, *named_keys)
    assert code == 2, output
    assert all(receipt.origin in output for receipt in (scene.receipt, theirs)), output
    return "`verify A B` prints both names; a docket of an installation has one"


@forgery("A ledger is rewritten, and the new one sent to a witness of the old one")
def _(scene: Scene) -> str:
    witness = _witness(scene)
    fork = _fork(scene)
    for old, log, status in ((0, scene.honest.log, 200), (5, fork.log, 422), (3, fork.log, 409)):
        size = 5 if old == 0 else fork.log.size
        evidence = scene.honest if log is scene.honest.log else fork
        proof = ConsistencyProof(
            old, tuple(log.consistency(old, size)), _signed(scene, evidence, size)
        )
        assert witness.take(str(proof)).status == status
    return "a witness: it signs no second ledger"


def _witness(scene: Scene) -> Witness:
    log = Verifier(scene.honest.origin, scene.store.keys.public())
    path = scene.folder / "witness.db"
    path.unlink(missing_ok=True)
    return Witness("w.example/1", PrivateKey.fresh(), [log], path)


def _witnessed(scene: Scene) -> Checkpoint:
    """What a witness of the honest ledger publishes."""
    witness, size = _witness(scene), scene.honest.log.size
    witness.take(str(ConsistencyProof(0, (), _signed(scene, scene.honest, size))))
    seen = witness.seen(hashlib.sha256(scene.honest.origin.encode()).hexdigest())
    assert seen is not None
    return seen


@forgery("A reader is shown another ledger than a witness")
def _(scene: Scene) -> str:
    fork = replace(_unanchored(scene), records=_fork(scene).records)
    refused("was rewritten", "verify", _witnessed(scene), "--export", scene.export(fork))
    return "`verify` with the checkpoint that the witness publishes"


@forgery("An old state of the ledger is shown as the newest")
def _(scene: Scene) -> str:
    old = replace(scene.honest, records=scene.honest.records[:8])
    refused("older copy", "verify", _witnessed(scene), "--export", scene.export(old))
    return "`verify` with the checkpoint that a witness publishes, or with any later receipt"


@forgery("A witness's signature is invented")
def _(scene: Scene) -> str:
    witness, size = PrivateKey.fresh(), scene.honest.log.size
    receipt = _signed(scene, scene.honest, size)
    name, raw = receipt.cosigned("w.example/1", witness, 1_700_000_000)
    line = signature_line((name, raw[:-1] + bytes([raw[-1] ^ 1])))
    body = {"target": "witness:x", "receipt": str(receipt), "fixed": now(), "proof": line}
    trusted = Trusted(witnesses=(Verifier("w.example/1", witness.public, 4),))
    by_replay(scene.having("anchored", body, "service"), "anchor", trusted)
    return "`--witness`, with the key that the witness publishes"


@forgery("The roots that a database keeps beside the records are changed, so that proofs fail")
def _(scene: Scene) -> str:
    body = {"text": "Look."}
    at, records = scene.honest.records[-1].at, list(scene.honest.records)
    while len(records) < 256:
        seq = len(records)
        records.append(Record.following("loans", seq, at, "guidelines-set", body, "machine"))
    theirs = replace(scene.honest, records=records, subtrees={(1, 0): bytes(32)})
    return by_replay(theirs, "tree") + ", `verify`"


@forgery("A record is back-dated before an anchor")
def _(scene: Scene) -> str:
    seq = scene.first("anchored").seq
    early = "2020-01-01T00:00:00.000000Z"
    return by_replay(
        rehashed(scene.honest, lambda r: replace(r, at=early) if r.seq > seq else r), "time"
    )


@forgery("A record is post-dated after its anchor")
def _(scene: Scene) -> str:
    """Anchored at once, with a receipt of the forged head."""
    late = later(now(), 86_400)
    theirs = scene.having("guidelines-set", {"text": "Look."}, "machine", late)
    receipt = str(scene.store.keys.sign(theirs.origin, theirs.log.tree()))
    body = {"target": "file:x", "receipt": receipt, "fixed": now(), "proof": None}
    record = Record.following("loans", theirs.log.size, late, "anchored", body, "service")
    return by_replay(replace(theirs, records=[*theirs.records, record]), "time")


@forgery("The clock is set ahead for a while, and the ledger says so")
def _(scene: Scene) -> str:
    last = scene.honest.records[-1]
    theirs = scene.having("clock-behind", {"clock": last.at}, "service", later(last.at, 86_400))
    return named(theirs, "records that say that some clock was wrong")


@forgery("An anchor is invented after one that a witness signed")
def _(scene: Scene) -> str:
    witness, size = PrivateKey.fresh(), scene.honest.log.size
    receipt, seconds = _signed(scene, scene.honest, size), int(parse(now()).timestamp())
    line = signature_line(receipt.cosigned("w.example/1", witness, seconds))
    body = {"receipt": str(receipt), "fixed": moment_of(seconds)}
    theirs = scene.having("anchored", {"target": "witness:x", **body, "proof": line}, "service")
    last, invented = theirs.records[-1], {"target": "file:y", **body, "proof": None}
    record = Record.following("loans", last.seq, last.at, "anchored", invented, "service")
    theirs = replace(_unanchored(scene), records=[*theirs.records, record])
    trusted = Trusted(witnesses=(Verifier("w.example/1", witness.public, 4),))
    assert "the times of 2 anchors are true" in replay_evidence(theirs, trusted).text()
    return named(theirs, "anchors are true: compare the file or the receiver's own copies")


@forgery("An anchor is of a head that the ledger never had")
def _(scene: Scene) -> str:
    tree = Tree().plus(b"a").plus(b"b").plus(b"c")
    receipt = str(scene.store.keys.sign(scene.honest.origin, tree))
    return by_replay(scene.changed(scene.first("anchored"), receipt=receipt), "anchor")


@forgery("Somebody's features are changed")
def _(scene: Scene) -> str:
    digest = scene.first("arrived").body["people"][0]["digest"]
    payloads = dict(scene.honest.payloads or {})
    payloads[digest] = Payload(payloads[digest].salt, {"features": [300.0, 0.0, 0.0]})
    return by_replay(replace(scene.honest, payloads=payloads), "payload")


def _swapped(scene: Scene, features: list[float]) -> Evidence:
    record = scene.first("arrived")
    people = json.loads(json.dumps(record.body["people"]))
    payload = Payload.fresh({"features": features})
    payloads = dict(scene.honest.payloads or {})
    payloads.pop(people[0]["digest"])
    people[0]["digest"] = payload.digest
    anchored = scene.first("anchored")
    theirs = replace(scene.honest, payloads={**payloads, payload.digest: payload})
    body = {**record.body, "people": people}

    def change(other: Record) -> Record | None:
        if other is anchored:
            return None
        return replace(other, body=body) if other is record else other

    return rehashed(theirs, change)


@forgery("Somebody's features are swapped, with the hash that was recorded")
def _(scene: Scene) -> str:
    return by_replay(_swapped(scene, [310.0, 37.0, 0.0]), "decision")


@forgery("Features that no decision depends on are swapped, under what members had signed")
def _(scene: Scene) -> str:
    """The debt: it is shown to the panel, and the class does not look at it."""
    theirs = _swapped(scene, [790.0, 99.0, 0.0])
    docket, round_ = scene.docket, scene.docket.projection.round("r1")
    digest = next(r for r in theirs.records if r.kind == "arrived").body["people"][0]["digest"]
    shown = signing.shown_text(
        docket.seating.key, scene.first("signed").body["review"], "ada",
        round_.changed(people={**round_.people, "a0": digest}), docket.projection.guidelines,
        docket.schema.features, theirs.payloads or {},
    )  # fmt: skip
    # Not even where the hash beside the signature is made to fit.
    body = {"shown": sha256(str(shown).encode())}
    by_replay(rehashed(theirs, lambda r: _with(r, body) if r.kind == "signed" else r), "signature")
    return by_replay(theirs, "signature")


def _with(record: Record, changes: dict[str, Any]) -> Record:
    return replace(record, body={**record.body, **changes})


@forgery("The same, where no member signed")
def _(scene: Scene) -> str:
    theirs = _swapped(scene, [790.0, 99.0, 0.0])
    return by_receipt(scene, rehashed(theirs, _unsigned))


def _unsigned(record: Record) -> Record | None:
    """Without ada's key and signatures, as if she had never had one."""
    return None if record.kind in ("signed", "member-key-enrolled") else record


@forgery("The guidelines are changed under what members had signed")
def _(scene: Scene) -> str:
    theirs = scene.changed(scene.first("guidelines-set"), text="Wave them through.")
    anchored = scene.first("anchored").seq
    return by_replay(rehashed(theirs, lambda r: None if r.seq == anchored else r), "signature")


@forgery("Features are removed without a record of it")
def _(scene: Scene) -> str:
    digest = scene.first("arrived").body["people"][0]["digest"]
    rest = {d: p for d, p in (scene.honest.payloads or {}).items() if d != digest}
    return by_replay(replace(scene.honest, payloads=rest), "payload")


@forgery("Somebody is erased though a hold keeps them")
def _(scene: Scene) -> str:
    digest = scene.first("arrived").body["people"][0]["digest"]
    body = {"round": "r1", "person": "a0", "digest": digest, "forgets": True}
    return by_replay(scene.having("erased", body, "machine"), "erasure")


@forgery("Reasons are erased though a hold keeps them")
def _(scene: Scene) -> str:
    theirs = scene.having("reasons-erased", {"of_round": "r1"}, "service")
    payloads = dict(scene.honest.payloads or {})
    del payloads[scene.first("commented").body["comment"]]
    return by_replay(replace(theirs, payloads=payloads), "erasure")


@forgery("What a person decided on an appeal is rewritten, with all that follows from it")
def _(scene: Scene) -> str:
    decided, told = scene.first("appeal-decided"), scene.first("overridden")
    body = {**decided.body, "approved": not decided.body["approved"]}
    by_replay(scene.changed(decided, **body), "appeal")
    by_replay(scene.changed(decided, reason="0" * 64), "payload")

    def forged(record: Record) -> Record | None:
        changed = replace(record, body=body) if record is decided else record
        return None if record is told else changed

    return by_receipt(scene, rehashed(scene.honest, forged))


@forgery("An appeal is decided by somebody to whom it was not assigned")
def _(scene: Scene) -> str:
    return by_replay(scene.changed(scene.first("appeal-decided"), reviewer="eve"), "appeal")


@forgery("What the policy would make of corrected data is rewritten")
def _(scene: Scene) -> str:
    again = {"approved": False, "score": 1}
    return by_replay(scene.changed(scene.first("appeal-opened"), again=again), "appeal")


@forgery("An appeal is decided by a program, in a person's name")
def _(scene: Scene) -> str:
    return named(scene.honest, "the institution's own programs, or somebody at the machine")


@forgery("A member who signs is made to say something")
def _(scene: Scene) -> str:
    body = {"round": "r2", "member": "ada"}
    return by_replay(scene.having("finished", body, scene.actors["ada"]), "signature")


@forgery("The operator speaks for a member who signs, live, by a token made in their name")
def _(scene: Scene) -> str:
    forged = create_token(scene.store, "auditor", "ada", "loans")[1]
    docket = Docket(scene.store, "loans")
    for key in (None, MemberKey.fresh()):
        with acting(forged.actor), pytest.raises(ServiceError, match="sign"):
            _act(docket, "ada", "finish", key)
    body = {"round": "r2", "member": "ada"}
    by_replay(scene.having("finished", body, scene.actors["ada"]), "signature")
    return "the server: it takes nothing without the member's key; `replay`"


@forgery("A member's signature is used again")
def _(scene: Scene) -> str:
    signed = scene.first("signed", act="flag")
    return by_replay(scene.having("signed", dict(signed.body), scene.actors["ada"]), "signature")


@forgery("A signed objection is moved to another pair")
def _(scene: Scene) -> str:
    record = scene.first("flagged", member="ada")
    others = [p for p in scene.docket.projection.round("r1").reportable
              if set(p[:2]) != set(record.body["pair"])]  # fmt: skip
    return by_replay(scene.changed(record, pair=list(others[0][:2])), "signature")


@forgery("What a member signed is recorded hours later, as if said then")
def _(scene: Scene) -> str:
    signed = scene.first("signed")

    def late(record: Record) -> Record:
        return record if record.seq < signed.seq else replace(record, at=later(record.at, 7200))

    return by_replay(rehashed(scene.honest, late), "signature")


@forgery("An objection of a member who signs is left out, with its signature")
def _(scene: Scene) -> str:
    """Who finishes signs all objections that stand."""
    flagged = scene.first("flagged", member="ada")
    gone = {flagged.seq, flagged.seq - 1, scene.first("anchored").seq}
    theirs = rehashed(scene.honest, lambda r: None if r.seq in gone else r)
    nothing: dict[str, Any] = {"flags": []}
    finish = next(r for r in theirs.records if r.body.get("act") == "finish")
    by_replay(rehashed(theirs, lambda r: _with(r, nothing) if r is finish else r), "signature")
    return by_replay(theirs, "signature")


def _extended(scene: Scene, *bodies: tuple[str, dict[str, Any]]) -> Evidence:
    """The ledger with records of ada's more, by the token that the operator has made for her."""
    theirs = scene.honest
    for kind, body in bodies:
        last, actor = theirs.records[-1], scene.actors["ada"]
        hers = {"member": "ada", **body}
        record = Record.following("loans", last.seq, last.at, kind, hers, actor)
        theirs = replace(theirs, records=[*theirs.records, record])
    return theirs


def _spoken(
    scene: Scene, key: MemberKey, other: str | None = None
) -> list[tuple[str, dict[str, Any]]]:
    """What a key would have ada say of the open round; it may have signed another review."""
    docket = scene.docket
    review = next(r for r in listed(docket, "ada", OPEN, 9) if r.round.id == "r2")
    to_sign = signing.to_sign(docket, review)
    assert to_sign is not None
    with patch.object(tokens, "now", lambda: scene.honest.records[-1].at):
        sent = key.sign_act("loans", "ada", other or review.id, to_sign, "finish")
    sent.pop("salt")
    nothing: dict[str, Any] = {"pair": None, "reason": None, "limit": None, "flags": []}
    signed = {**sent, "review": other or review.id, "act": "finish", **nothing}
    return [("signed", signed), ("finished", {"round": review.round.id})]


def _enrolled(key: MemberKey) -> tuple[str, dict[str, Any]]:
    proof = key.consent("loans", "ada", key.public.text)
    return "member-key-enrolled", {"key": key.public.text, "device": "", "proof": proof}


@forgery("A signature is put to another review, and the seed is secret")
def _(scene: Scene) -> str:
    """Who has the seed finds it."""
    theirs = _extended(scene, *_spoken(scene, scene.key, "0" * 12))
    by_replay(theirs, "signature")
    return named(replace(theirs, secret=None), "signed acts are about the rounds")


@forgery("The words of a comment are changed under its signature")
def _(scene: Scene) -> str:
    """With the seed and without it; the words alone, or with the hash that was recorded."""
    record, words = scene.first("commented"), Payload.fresh({"text": "Nothing to add."})
    payloads = dict(scene.honest.payloads or {})
    alone = {**payloads, record.body["comment"]: words}
    by_replay(replace(scene.honest, payloads=alone), "payload")
    theirs = scene.changed(record, comment=words.digest)
    theirs = replace(theirs, payloads={**payloads, words.digest: words})
    by_replay(replace(theirs, secret=None), "signature")
    return by_replay(theirs, "signature")


@forgery("A member who signs is made to comment, or their comment put to another round")
def _(scene: Scene) -> str:
    record = scene.first("commented")
    by_replay(scene.without(scene.first("signed", act="comment")), "signature")
    by_replay(scene.changed(record, again=True), "signature")
    by_replay(_extended(scene, ("commented", {**record.body, "round": "r2"})), "signature")
    return by_replay(scene.changed(record, round="r2"), "signature")


@forgery("A signed act is cut off the end")
def _(scene: Scene) -> str:
    return by_replay(_extended(scene, _spoken(scene, scene.key)[0]), "signature")


@forgery("A member's key is replaced without their consent")
def _(scene: Scene) -> str:
    """A second one waits for the first to agree; a consent that it did not give is found too."""
    assert replay_evidence(_extended(scene, *_spoken(scene, scene.key))).holds
    theirs = MemberKey.fresh()
    agreed = {"agreed": theirs.public.id, "by_key": scene.key.public.id}
    consent = theirs.consent("loans", "ada", theirs.public.text)
    forged = ("member-key-agreed", {**agreed, "consent": consent})
    by_replay(_extended(scene, _enrolled(theirs), forged), "signature")
    return by_replay(_extended(scene, _enrolled(theirs), *_spoken(scene, theirs)), "signature")


def _revoked(key: MemberKey, signer: MemberKey | None) -> tuple[str, dict[str, Any]]:
    signature = signer and signer.revocation("loans", "ada", key.public.text)
    return "member-key-revoked", {"revoked": key.public.id, "signature": signature}


@forgery("A key signs that its owner had revoked")
def _(scene: Scene) -> str:
    by_replay(_extended(scene, _revoked(scene.key, MemberKey.fresh())), "signature")
    ended = _revoked(scene.key, scene.key)
    assert replay_evidence(_extended(scene, ended)).holds
    by_replay(_extended(scene, ended, ("finished", {"round": "r2"})), "signature")
    return by_replay(_extended(scene, ended, *_spoken(scene, scene.key)), "signature")


@forgery("A member's key is revoked as if lost, and another one speaks for them from then on")
def _(scene: Scene) -> str:
    theirs = MemberKey.fresh()
    ledger = _extended(scene, _revoked(scene.key, None), _enrolled(theirs), *_spoken(scene, theirs))
    assert named(ledger, "no key of theirs signed it")
    by_replay(ledger, "signature", Trusted({"ada": (scene.key.public.text,)}))
    return named(ledger, "were revoked, and none agreed to it") + "; `--member-key`"


@forgery("A key is invented for a member")
def _(scene: Scene) -> str:
    published = Trusted({"ada": (MemberKey.fresh().public.text,)})
    by_replay(scene.honest, "signature", published)
    assert named(scene.honest, "that the key was theirs, unless you compared it")
    return "`--member-key`, with the key that the member publishes"


@forgery("The operator makes a second token for a member, and speaks by it")
def _(scene: Scene) -> str:
    body = {"token": "second", "role": "auditor", "name": "bob", "seat": "loans", "created": now()}
    theirs = scene.having("token-issued", body, "machine")
    last = theirs.records[-1]
    said = {"round": "r2", "member": "bob"}
    record = Record.following("loans", last.seq, last.at, "finished", said, "token:second")
    theirs = replace(theirs, records=[*theirs.records, record])
    assert named(theirs, "'bob' has had 2 tokens")
    return named(theirs, "it rests on the operator's word alone")


@forgery("What a member says is entered at the machine")
def _(scene: Scene) -> str:
    theirs = scene.having("finished", {"round": "r2", "member": "bob"}, "machine")
    return named(theirs, "entered at the machine, with no token")


@forgery("A docket that has a learner is given another")
def _(scene: Scene) -> str:
    learner = {**scene.honest.records[0].body["spec"]["learner"], "alpha": 0.9}
    return by_replay(scene.having("learner-given", {"learner": learner}, "machine"), "order")


@forgery("A client ends the audit of its own decisions")
def _(scene: Scene) -> str:
    body = {"round": "r2", "outcome": "unaudited", "pairs": []}
    return by_replay(scene.having("audited", body, scene.actors["bank"]), "actor")


@forgery("Somebody does what their role may not")
def _(scene: Scene) -> str:
    return by_replay(
        scene.having("rule-changed", {"rule": "majority"}, scene.actors["bank"]), "actor"
    )


@forgery("Somebody acts whose token was revoked before")
def _(scene: Scene) -> str:
    body = {"round": "r1", "person": "a1", "label": 1}
    return by_replay(scene.having("labelled", body, scene.actors["late"]), "actor")


@forgery("Somebody acts whom the ledger does not know")
def _(scene: Scene) -> str:
    body = {"round": "r1", "person": "a1", "label": 1}
    return by_replay(scene.having("labelled", body, "token:nobody"), "actor")


@forgery("An act of people is put down to the service")
def _(scene: Scene) -> str:
    return by_replay(scene.having("rule-changed", {"rule": "majority"}, "service"), "actor")


@forgery("The seed is another than the one committed to")
def _(scene: Scene) -> str:
    return by_replay(replace(scene.honest, secret=(6, b"salt")), "seed")


@forgery("The seed is chosen for its draws, or who arrives when for the seed")
def _(scene: Scene) -> str:
    return named(scene.honest, "That the seed was not chosen for its draws")


@forgery("A label is false")
def _(scene: Scene) -> str:
    return named(scene.honest, "labels are true")


@forgery("The installation's key is replaced, and everything signed anew")
def _(scene: Scene) -> str:
    folder = scene.export(scene.changed(scene.first("docket-opened"), key="ab" * 32))
    (folder / "checkpoint.txt").unlink()
    key = scene.store.keys.public().text
    refused("none that you named", "verify", "--export", folder, "--key", key)
    return "`--key`, with the key that the installation publishes"


@forgery("A new key follows that the old one did not sign")
def _(scene: Scene) -> str:
    key, old = PrivateKey.fresh().public.text, scene.store.keys.public().id
    body = {"key": key, "replaces": old, "signature": "A" * 86, "compromised": False}
    return by_replay(scene.having("key-published", body, "machine"), "signature")


@forgery("An export comes without its manifest")
def _(scene: Scene) -> str:
    folder = scene.export()
    (folder / "manifest.json").unlink()
    key = scene.store.keys.public().text
    for command in ("verify", "replay"):
        refused("manifest.json is missing", command, "--export", folder, "--key", key)
    return "`--key`, with the key that the installation publishes"


@forgery("A file of an export is changed")
def _(scene: Scene) -> str:
    folder = scene.export()
    (folder / "keys.jsonl").write_text("{}\n")
    refused("keys.jsonl was changed since", "verify", "--export", folder)
    return "`verify`, `replay`"


@forgery("The table of an export for spreadsheets is changed, and all signed anew")
def _(scene: Scene) -> str:
    folder = scene.export()
    names = json.loads((folder / "manifest.json").read_text())["files"]
    text = (folder / "events.csv").read_text()
    (folder / "events.csv").write_text(text.replace("flagged", "finished"))
    write_manifest(
        folder, [folder / name for name in names], scene.receipt, scene.store.keys.current()
    )
    for command in ("verify", "replay"):
        refused("other rows than ledger.jsonl", command, "--export", folder)
    return "`verify`, `replay`"


@forgery("A receipt is forged against an honest operator")
def _(scene: Scene) -> str:
    forged = replace(scene.receipt, body=scene.receipt.body.replace("\n", "\n1", 1))
    code, output = run("verify", forged, "--export", scene.export())
    assert (code, "forged, or changed" in output) == (2, True), output
    return "`verify`: it is no receipt to go by"


@forgery("A packet is changed")
def _(scene: Scene) -> str:
    packet = give_packet(scene.docket, "r1", "a0")
    path = scene.folder / "packet.json"
    path.write_text(json.dumps({**packet, "label": 0}))
    refused("was changed", "verify", path)
    return "`verify`"


@forgery("A packet that was never recorded is given, signed by the installation's key")
def _(scene: Scene) -> str:
    packet = give_packet(scene.docket, "r1", "a0")
    content = {n: part for n, part in packet.items() if n not in ("given", "proof")} | {"label": 0}
    given = Record(**packet["given"])
    body = {**given.body, "digest": sha256(canonical(content))}
    record = replace(given, body=body)
    forged = {**content, "given": {**record.to_json(), "hash": record.content_hash}}
    path = scene.folder / "packet.json"
    path.write_text(json.dumps({**forged, "proof": packet["proof"]}))
    refused("does not show that it was recorded", "verify", path)
    return "`verify`; [a script](../check_packet.py) with the public key alone"


@forgery("A packet that says something else than the ledger is signed")
def _(scene: Scene) -> str:
    honest = give_packet(scene.docket, "r1", "a0")
    packet = lying_packet(scene.docket, honest, letter=["Nothing was wrong."])
    path = scene.folder / "packet.json"
    path.write_text(json.dumps(packet))
    refused("'letter' does not follow", "verify", path, "--database", scene.store.where)
    return "`verify` with the ledger"


@forgery("A certificate or a packet that is signed has a part that follows from nothing")
def _(scene: Scene) -> str:
    certificate = give_certificate(scene.docket)
    content = {n: part for n, part in certificate.items() if n not in ("key", "signature")}
    key, more = scene.store.keys.current(), {"guarantee": "This learner is fair."}
    packet = give_packet(scene.docket, "r1", "a0")
    path = scene.folder / "document.json"
    for document, words in (
        (sign_document("certificate", content | more, key), "It says guarantee"),
        (lying_packet(scene.docket, packet, **more), "'guarantee' does not follow"),
    ):
        path.write_text(json.dumps(document))
        refused(words, "verify", path, "--database", scene.store.where)
    return "`verify` with the ledger"


@forgery("An old packet is given again, as if nothing had been recorded since")
def _(scene: Scene) -> str:
    old = give_packet(scene.docket, "r1", "a0")
    _act(scene.docket, "bob", "comment", None)
    path = scene.folder / "packet.json"
    for until, words in ((old["until"], "It leaves out record"), (0, "up to record 0")):
        path.write_text(json.dumps(lying_packet(scene.docket, old, until=until)))
        refused(words, "verify", path, "--database", scene.store.where)
    return "`verify` with the ledger"


def _content(scene: Scene) -> dict[str, Any]:
    docket = scene.docket
    docket.refresh()
    return docket.content()


def _put(
    scene: Scene, content: dict[str, Any], key: PrivateKey, folded: Tree | None = None
) -> None:
    """Make it the snapshot of the last record; ``folded`` is the tree that it was made for."""
    tree = scene.docket.tree
    sealed = dockets.sealed_snapshot("loans", folded or tree, content, key)
    row = {"docket": "loans", "seq": tree.size, "hash": tree.root.hex(), "content": sealed}
    with scene.store.changing() as connection:
        connection.execute(snapshots.delete())
        connection.execute(snapshots.insert().values(**row))


@forgery("An old snapshot is put in the place of the newest")
def _(scene: Scene) -> str:
    old, tree = _content(scene), scene.docket.tree
    rounds.open_round(scene.docket, some_people(f"c{tree.size}-"))
    _put(scene, old, scene.store.keys.current(), tree)
    assert Docket(scene.store, "loans").state == scene.docket.state
    return "the server: it is bound to another record, so the records are read instead"


@forgery("A snapshot is changed by somebody without the installation's key")
def _(scene: Scene) -> str:
    _put(scene, {**_content(scene), "rule": "all"}, PrivateKey.fresh())
    assert Docket(scene.store, "loans").projection.rule == "any"
    return "the server: it reads the records instead"


@forgery("A snapshot is changed by somebody with the installation's key")
def _(scene: Scene) -> str:
    _put(scene, {**_content(scene), "rule": "all"}, scene.store.keys.current())
    checked = check_snapshot(scene.store, "loans")
    with scene.store.changing() as connection:
        connection.execute(snapshots.delete())
    assert checked is not None
    assert checked.differing == ("rule",)
    return "the server, in the background; `replay --snapshot`"


@pytest.mark.parametrize("text", ["", "soon", "0000-00-00T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_times_that_are_none_are_differences_and_not_failures(scene: Scene, text: str) -> None:
    signed, anchored = scene.first("signed"), scene.first("anchored")
    before, last = scene.honest.records[:-1], scene.honest.records[-1]
    theirs = [
        scene.having("clock-behind", {"clock": text}, "service"),
        scene.changed(signed, at=text),
        scene.changed(anchored, fixed=text),
        replace(scene.honest, records=[*before, _at(last, text)]),
    ]
    holds = [replay_evidence(evidence).holds for evidence in theirs]
    # A clock that is ahead says nothing, and harms nothing.
    assert holds == [text.startswith("9999"), False, False, False]
    for evidence in theirs[1:]:
        assert run("verify", "--export", scene.export(evidence))[0] == 1


def _at(record: Record, at: str) -> Record:
    changed = replace(record, at=at)
    return replace(changed, hash=changed.content_hash)


@pytest.mark.parametrize("sentence", list(FORGERIES))
def test_each_forgery_is_found_or_named(scene: Scene, sentence: str) -> None:
    assert FORGERIES[sentence](scene)


def table(scene: Scene) -> str:
    rows = [f"| {sentence} | {found(scene)} |" for sentence, found in FORGERIES.items()]
    return "\n".join(["| forgery | found by |", "|---|---|", *rows])


def test_the_page_has_the_table(scene: Scene) -> None:
    """Run it with LIKEWISE_WRITE=1 to write the table anew."""
    text, made = PAGE.read_text(encoding="utf-8"), table(scene)
    before, _, rest = text.partition(BEGIN)
    written, _, after = rest.partition(END)
    if os.environ.get("LIKEWISE_WRITE"):
        PAGE.write_text(f"{before}{BEGIN}\n\n{made}\n\n{END}{after}", encoding="utf-8")
        return
    assert len(FORGERIES) >= 25
    assert written.strip() == made
