"""Bodies of records: read as they were written, and refused where they say anything else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise_service.dockets.docket import Docket
from likewise_service.dockets.rounds import Applicant, open_round
from likewise_service.ledger import kinds as bodies
from likewise_service.ledger.kinds import KINDS, read_body, write_body
from likewise_service.ledger.records import LedgerBroken, Record, canonical, sha256
from likewise_service.verify.evidence import Evidence
from likewise_service.verify.replay import replay_evidence
from tests.service.evidence.test_actors import rehashed

AT = "2026-03-01T12:00:00.000000Z"


def record(kind: str, body: dict[str, Any]) -> Record:
    return Record.following("loans", 0, AT, kind, body, "machine")


# One of every kind.
STORED: dict[str, dict[str, Any]] = {
    "docket-opened": {
        "spec": {}, "seed_commitment": "c", "algorithm": "a", "format": "f", "key": "k",
    },
    "member-joined": {"member": "ada"},
    "member-left": {"member": "ada"},
    "rule-changed": {"rule": "any"},
    "arrived": {"round": "r1", "people": [{"id": "ann", "digest": "d"}]},
    "decided": {
        "round": "r1",
        "decisions": [
            {"person": "a", "approved": True, "score": 5, "inverse_chance": None, "experts": None}
        ],
    },
    "sealed": {
        "round": "r1", "members": ["ada"], "rule": "any", "due": None, "in_turn": True,
        "asking": {
            "pairs": [["a", "b"]], "possible": 2, "whole": False, "chance": 52428,
            "looked_at": True, "memory": "ab", "everything": False, "sensitivity": 157_286,
        },
    },
    "asked": {"round": "r1", "member": "ada", "pairs": [["a", "b"]], "doubts": [3, 0], "due": None},
    "flagged": {"round": "r1", "member": "ada", "pair": ["a", "b"], "reason": None, "limit": 5},
    "withdrawn": {"round": "r1", "member": "ada", "pair": ["a", "b"]},
    "finished": {"round": "r1", "member": "ada"},
    "reopened": {"round": "r1", "member": "ada"},
    "absent": {"round": "r1", "member": "ada"},
    "audited": {"round": "r1", "outcome": "report", "pairs": [["a", "b"]]},
    "labelled": {"round": "r1", "person": "a", "label": 1},
    "overridden": {"round": "r1", "person": "a", "approved": False},
    "closed": {"round": "r1"},
    "repeated": {
        "member": "ada", "round": "r1", "finished": True,
        "objections": [{"pair": ["a", "b"], "reason": "d", "limit": None}],
    },
    "appeal-opened": {
        "round": "r1", "person": "a", "appeal": "0a", "content": "d", "corrects": True, "due": AT,
        "again": {"approved": True, "score": 5},
    },
    "appeal-assigned": {"round": "r1", "person": "a", "appeal": "0a", "reviewer": "mia"},
    "appeal-overdue": {"round": "r1", "person": "a", "appeal": "0a"},
    "appeal-decided": {
        "round": "r1", "person": "a", "appeal": "0a", "reviewer": "mia", "approved": True,
        "accepted": False, "reason": "d",
    },
    "appeal-withdrawn": {"round": "r1", "person": "a", "appeal": "0a"},
    "notices-set": {"before": "b", "after": "a", "days": 30.0},
    "notice-given": {
        "round": "r1", "person": "a", "occasion": "after", "given": AT, "digest": "d",
    },
    "erased": {"round": "r1", "person": "a", "digest": None, "forgets": True},
    "seed-revealed": {"seed": "7", "salt": "00"},
    "key-published": {"key": "k", "replaces": "k0", "signature": None, "compromised": False},
    "token-issued": {"token": "t", "role": "client", "name": "b", "seat": None, "created": AT},
    "token-ended": {"token": "t"},
    "signed-in": {
        "sign_in": "s", "token": "t", "role": "auditor", "name": "ada", "issuer": None,
        "subject": None, "until": AT,
    },
    "signed-out": {"sign_in": "s"},
    "member-key-enrolled": {"member": "ada", "key": "k", "device": "d", "proof": "p"},
    "member-key-agreed": {"member": "ada", "agreed": "k", "by_key": "b", "consent": "c"},
    "member-key-revoked": {"member": "ada", "revoked": "k", "signature": None},
    "signed": {
        "member": "ada", "key": "k", "review": "r", "shown": "h", "act": "flag",
        "pair": ["p1", "p2"], "reason": None, "limit": None, "flags": [["p1", "p2", None, 7]],
        "at": AT, "signature": "s",
    },
    "anchored": {"target": "file", "receipt": "r", "fixed": AT, "proof": None},
    "anchor-failed": {"target": "file", "why": "no space"},
    "retention-set": {"features": 30.5, "reasons": None},
    "hold-placed": {"hold": "h", "of_round": None, "person": None, "why": "a complaint"},
    "hold-lifted": {"hold": "h"},
    "commented": {"round": "r1", "member": "ada", "comment": "d", "again": False},
    "override-explained": {"round": "r1", "person": "a", "reason": "d"},
    "reasons-erased": {"of_round": "r1"},
    "packet-given": {"of_round": "r1", "person": "a", "digest": "d"},
    "learner-given": {"learner": {"k": 3}},
    "guidelines-set": {"text": "Look at the debts first."},
    "practice-set": {
        "pairs": [{
            "features": [[700.0, None], [690.0, 1.0]], "scores": [9, 5], "response": "flag",
            "why": "alike",
        }],
    },
    "clock-behind": {"clock": AT},
}  # fmt: skip


def test_every_kind_is_here() -> None:
    assert set(STORED) == set(KINDS)


@pytest.mark.parametrize("kind", STORED)
def test_what_is_read_is_written_again(kind: str) -> None:
    read = read_body(record(kind, STORED[kind]))
    assert write_body(read) == (kind, STORED[kind])
    assert type(read) is KINDS[kind]


def test_the_scores_of_experts_are_kept_where_a_player_has_some() -> None:
    decision = {**STORED["decided"]["decisions"][0], "experts": [1048576, 7]}
    body = {"round": "r1", "decisions": [decision]}
    assert write_body(read_body(record("decided", body))) == ("decided", body)


@pytest.mark.parametrize("kind", STORED)
def test_more_or_less_than_a_body_is_a_broken_ledger(kind: str) -> None:
    body = STORED[kind]
    missing = [{k: v for k, v in body.items() if k != name} for name in body]
    for wrong in ({**body, "more": 1}, *missing):
        if kind == "audited" and "pairs" not in wrong:
            continue  # a report must have pairs, and is refused for that
        with pytest.raises(LedgerBroken, match=r"record 1: ") as broken:
            read_body(record(kind, wrong))
        assert broken.value.seq == 1


JUNK = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3)
)


@given(kind=st.sampled_from(sorted(STORED)), data=st.data())
def test_another_type_is_a_broken_ledger_or_another_body(kind: str, data: st.DataObject) -> None:
    """Nothing is converted: what is read says exactly what the record says."""
    name = data.draw(st.sampled_from(sorted(STORED[kind])))
    value = data.draw(JUNK | st.lists(JUNK, max_size=2) | st.dictionaries(st.text(), JUNK))
    body = {**STORED[kind], name: value}
    try:
        read = read_body(record(kind, body))
    except LedgerBroken:
        return
    assert write_body(read) == (kind, body)


def test_an_unknown_kind_is_a_broken_ledger() -> None:
    with pytest.raises(LedgerBroken, match="'renamed' is no kind of record"):
        read_body(record("renamed", {}))


def test_replay_names_the_record_whose_body_says_too_much(
    begin: Callable[..., Docket], applicants: Callable[..., list[Applicant]]
) -> None:
    docket = begin()
    open_round(docket, applicants())
    honest = Evidence("loans", docket.store.records("loans"))
    more = replace(honest.records[2], body={**honest.records[2].body, "note": "by hand"})
    found = replay_evidence(rehashed(honest, lambda r: more if r.seq == 3 else r))
    assert found.differences[0].seq == 3, "the first one; what follows, follows from it"
    assert "note" in found.differences[0].recorded


def test_bodies_are_the_events_of_the_fold_where_they_can_be() -> None:
    import likewise.learner.events

    for name in ("Decided", "Audited", "Labelled", "Overridden", "Closed"):
        assert issubclass(getattr(bodies, name), getattr(likewise.learner.events, name))


@given(
    st.text(), st.integers(-5, 10**20), st.dictionaries(st.text(), JUNK | st.lists(JUNK)), st.text()
)
def test_the_hash_is_that_of_the_canonical_json(
    docket: str, seq: int, body: dict[str, Any], word: str
) -> None:
    """SHA-256 of {actor, at, body, docket, kind, nonce, seq}."""
    record = Record(docket, seq, word, "kind", body, "nonce", "", word)
    content = {
        "docket": docket, "seq": seq, "at": word, "kind": "kind", "body": body, "nonce": "nonce",
        "actor": word,
    }  # fmt: skip
    assert record.content_hash == sha256(canonical(content))
