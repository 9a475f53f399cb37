"""Signed receipts: whoever holds one can prove what they were shown, and nobody can make one up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from likewise.cli.main import main
from likewise.errors import LikewiseError
from likewise_client.tree import Tree
from likewise_service.auth.tokens import create_token
from likewise_service.dockets import docket as docket_module
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.panel import flag, withdraw
from likewise_service.dockets.rounds import open_docket, open_round
from likewise_service.dockets.seating import Seat
from likewise_service.ledger import kinds
from likewise_service.ledger.notes import Checkpoint, ConsistencyProof, Verifier, origin_of
from likewise_service.ledger.signatures import PrivateKey, PublicKey
from likewise_service.ledger.store import Store
from likewise_service.ledger.tiles import Log
from likewise_service.verify.evidence import evidence_of
from likewise_service.verify.receipts import KnownKeys, contradictions, keys_in, verify_all
from likewise_service.verify.replay import replay_evidence
from tests.service.evidence.test_actors import rewritten
from tests.service.live import Live, people, verify

Run = Callable[..., Result]


@pytest.fixture
def run() -> Run:
    return lambda *words: CliRunner().invoke(main, [str(word) for word in words])


@pytest.fixture
def docket(sqlite_url: str, spec: Any, applicants: Any) -> Docket:
    """A docket with a round."""
    store = Store.open(sqlite_url)
    open_docket(store, "loans", spec(), seed=5)
    made = Docket(store, "loans")
    open_round(made, applicants("a"))
    return made


def test_a_receipt_is_signed_and_survives_being_printed(docket: Docket) -> None:
    receipt = docket.receipt()
    read = Checkpoint.parse(str(receipt))
    assert (str(read), read) == (str(receipt), receipt)
    keys = keys_in(docket.store.records("loans"))
    assert keys.judge(read) == "signed"
    assert verify(evidence_of(docket.store, "loans"), read).holds


@given(data=st.data())
def test_whatever_is_changed_in_a_receipt_is_found(data: st.DataObject) -> None:
    key = PrivateKey(bytes(range(32)))
    tree = Tree().plus(b"a").plus(b"b").plus(b"c")
    text = str(Checkpoint.of(origin_of("loans", key.public), tree).signed(key))
    place = data.draw(st.integers(0, len(text) - 1))
    letter = data.draw(st.sampled_from("0123456789abcdefghijklmnopqrstuvwxyzTZ:/+=\n —"))
    known = KnownKeys.named([key.public.text])
    try:
        changed = Checkpoint.parse(text[:place] + letter + text[place + 1 :])
    except LikewiseError:
        return
    assert (known.judge(changed) == "signed") == (str(changed) == text)


def test_a_forged_receipt_is_refused_and_convicts_nobody(docket: Docket, run: Run) -> None:
    receipt, where = docket.receipt(), docket.store.where
    other, mallory = (
        "\n".join((receipt.origin, str(receipt.size), "A" * 43 + "=", "")),
        PrivateKey.fresh(),
    )
    changed = replace(receipt, body=other)
    foreign = Checkpoint(other).signed(mallory)
    for forged, said in ((changed, "forged"), (foreign, "none of the keys")):
        result = run("verify", forged, "--database", where)
        assert result.exit_code == 2, result.output
        assert "NO RECEIPT TO GO BY" in result.output
        assert said in result.output
    assert run("verify", receipt, changed, "--database", where).exit_code == 2


def test_two_ledgers_shown_to_two_people_are_found(docket: Docket, run: Run) -> None:
    evidence, keys = evidence_of(docket.store, "loans"), docket.store.keys
    other = rewritten(evidence, 2)
    ann, bob = docket.receipt(), keys.sign(other.origin, other.log.tree())
    assert contradictions([ann, bob, ann]) == [(ann, bob), (bob, ann)]
    result = run("verify", ann, bob, "--database", docket.store.where)
    assert result.exit_code == 1
    assert "TWO LEDGERS WERE SHOWN" in result.output
    assert result.output.count("It is signed by the installation's key") >= 2
    # With the key alone, and no ledger at all.
    key = keys.public().text
    alone = run("verify", ann, bob, "--key", key)
    assert alone.exit_code == 1
    assert "TWO LEDGERS WERE SHOWN" in alone.output
    # Of different numbers: found with the ledger that either of them is shown, or by a proof.
    shorter = keys.sign(other.origin, other.log.tree(other.log.size - 1))
    for shown in (evidence, other):
        holds = [one.holds for one in verify_all(shown, [ann, shorter])]
        assert holds.count(True) == 1
    for first, last, log, code in (
        (shorter, bob, other.log, 0), (shorter, ann, evidence.log, 1), (shorter, ann, other.log, 1)
    ):  # fmt: skip
        proof = ConsistencyProof(first.size, tuple(log.consistency(first.size, last.size)), last)
        said = run("verify", first, proof, "--key", key)
        assert (said.exit_code, "TWO LEDGERS" in said.output) == (code, code == 1), said.output
    assert run("verify", shorter, ann, "--key", key).exit_code == 2
    # Two ledgers stay two, whatever else cannot be told.
    beside = ConsistencyProof(1, tuple(evidence.log.consistency(1, ann.size)), ann)
    assert run("verify", ann, bob, beside, "--key", key).exit_code == 1


def test_what_anybody_can_make_up_convicts_nobody_and_shows_nothing(
    docket: Docket, run: Run
) -> None:
    """Receipts and proofs that no known key has signed; and without a key, all of them."""
    evidence, key = evidence_of(docket.store, "loans"), docket.store.keys.public().text
    receipt, stranger = docket.receipt(), PrivateKey.fresh()
    other = rewritten(evidence, 2)
    forged = Checkpoint.of(other.origin, other.log.tree()).signed(stranger)
    later = receipt.size + 1
    for log in (Log.of([*(r.entry for r in evidence.records), b"x"]), Log.of([b"x"] * later)):
        made = Checkpoint.of(receipt.origin, log.tree()).signed(stranger)
        proof = ConsistencyProof(receipt.size, tuple(log.consistency(receipt.size, later)), made)
        for words in ((receipt, proof), (receipt, forged)):
            for named in ((), ("--key", key)):
                result = run("verify", *words, *named)
                assert result.exit_code == 2, result.output
                assert "TWO LEDGERS" not in result.output
                assert "THE PROOF HOLDS" not in result.output
                assert "NO RECEIPT TO GO BY" in result.output


def test_a_ledger_that_names_another_key_does_not_pass_with_the_published_one(
    docket: Docket, tmp_path: Path
) -> None:
    receipt, published = docket.receipt(), docket.store.keys.public()
    mallory = PrivateKey.fresh().public
    evidence = evidence_of(docket.store, "loans")
    first = replace(evidence.records[0], body={**evidence.records[0].body, "key": mallory.text})
    theirs = rewritten(replace(evidence, records=[first, *evidence.records[1:]]), 0)
    found = verify(theirs, receipt, KnownKeys.named([published.text]))
    assert (found.signature, found.finding) == ("signed", "rewritten")


def test_a_key_is_changed_and_every_ledger_says_so(docket: Docket, run: Run) -> None:
    before, where = docket.receipt(), docket.store.where
    result = run("key", "--rotate", "--database", where)
    assert result.exit_code == 0, result.output
    docket.store.keys._cached = None
    docket.refresh()
    after = docket.receipt()
    assert before.signatures[0][1][:4] != after.signatures[0][1][:4]
    assert run("verify", before, after, "--database", where).exit_code == 0
    listed = run("key", "--database", where).output.splitlines()
    keys = [KnownKeys.named([line.split()[0]]) for line in listed]
    judged = [[known.judge(receipt) for receipt in (before, after)] for known in keys]
    assert judged == [["signed", "foreign"], ["foreign", "signed"]]
    logs = run("key", "--log", "loans", "--database", where).output.splitlines()
    assert [before.signed_by(Verifier.parse(line)) for line in logs] == [True, False]
    assert "changed 1 times" in run("replay", "--database", where).output


def test_a_compromised_key_signs_nothing_that_is_believed(docket: Docket, run: Run) -> None:
    store, where = docket.store, docket.store.where
    stolen, before = store.keys.current(), docket.receipt()
    run("key", "--rotate", "--compromised", "--database", where)
    docket.refresh()
    made = Checkpoint.of(before.origin, docket.tree).signed(stolen)
    told = run("verify", made, "--database", where)
    assert told.exit_code == 2
    assert "fell into other hands" in told.output
    assert "changed 1 times, 0 of them by the key before" in told.output


def test_a_key_that_was_replaced_signs_nothing_later_that_is_believed(
    docket: Docket, run: Run
) -> None:
    """Whoever kept the old key gives no receipts of what came later; those of before hold."""
    store, where = docket.store, docket.store.where
    old, before = store.keys.current(), docket.receipt()
    store.keys.rotate()
    after = Docket(store, docket.name).receipt()
    late = Checkpoint(after.body).signed(old)
    told = run("verify", late, "--database", where)
    assert told.exit_code == 2, told.output
    assert "another had taken its place" in told.output
    assert run("verify", before, "--database", where).exit_code == 0


@pytest.mark.parametrize("snapshot", [True, False])
def test_a_process_that_starts_tells_no_more_than_the_one_before(
    docket: Docket, snapshot: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who may not see the panel grow sees nothing of it either after a restart."""
    client = create_token(docket.store, "client", "bank", "loans")[1].actor
    docket.refresh()
    visible = docket.tree.size
    monkeypatch.setattr(docket_module, "EVERY", 1 if snapshot else 500)
    [(round_id, round_)] = docket.projection.opened.items()
    for before in range(3):
        restarted = Docket(docket.store, "loans")
        with kinds.acting(client):
            sizes = docket.receipt().size, restarted.receipt().size
        assert sizes == (visible, visible), before
        act = withdraw if before == 1 else flag
        act(docket, Seat(round_id, "ada"), round_.reportable[0][:2])
    for worker in (docket, restarted):
        worker.refresh()
        with kinds.acting(client):
            assert worker.receipt().size == visible


def test_a_key_that_nobody_handed_over_is_found(docket: Docket) -> None:
    docket.store.keys.rotate()
    evidence = evidence_of(docket.store, "loans")
    last = evidence.records[-1]
    for change in ({"signature": None}, {"signature": "A" * 86}, {"replaces": "0" * 16}):
        body = {**last.body, **change}
        records = [*evidence.records[:-1], replace(last, body=body)]
        theirs = rewritten(replace(evidence, records=records), len(records) - 1)
        assert [d.about for d in replay_evidence(theirs).differences] == ["signature"]
    junk = [*evidence.records[:-1], replace(last, body={**last.body, "key": "xyz"})]
    theirs = rewritten(replace(evidence, records=junk), len(junk) - 1)
    assert replay_evidence(theirs).differences[0].about == "signature"


@pytest.mark.parametrize("text", ["", "ab", "g" * 64, "AB" * 32, "ab" * 33, 7])
def test_what_is_no_key(text: Any) -> None:
    with pytest.raises(LikewiseError, match="not a public key"):
        PublicKey(text)


def test_the_key_is_published_in_the_open(live: Live) -> None:
    response = live.http.get("/.well-known/likewise-keys.json")
    assert response.status_code == 200
    [key] = response.json()["keys"]
    live.client("operator").open_round("loans", people())
    receipt = Checkpoint.parse(live.client("client").receipt("loans").text)
    assert KnownKeys.named([key["public"]]).judge(receipt) == "signed"
    assert live.client("client").keys()[0].public == key["public"]
