"""Members who sign: nobody can speak for them, the operator included."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from click.testing import CliRunner

from likewise.cli.main import main
from likewise.errors import LikewiseError
from likewise_client.errors import ApiError
from likewise_service.auth import tokens
from likewise_service.auth.tokens import MemberKey, create_token, read_key
from likewise_service.clock import later, now
from likewise_service.dockets.rounds import open_docket
from likewise_service.ledger.kinds import Signed, read_body
from likewise_service.ledger.records import Record
from likewise_service.ledger.store import Store
from likewise_service.verify.evidence import evidence_of
from likewise_service.verify.governance import Trusted
from likewise_service.verify.replay import replay_evidence
from tests.service.evidence.test_actors import about, rehashed
from tests.service.live import Live, people, small_spec


@pytest.fixture
def key(tmp_path: Path) -> MemberKey:
    """A key as a member makes it."""
    made = CliRunner().invoke(main, ["key", "--create", str(tmp_path / "ann.key")])
    assert made.exit_code == 0, made.output
    found = read_key(tmp_path / "ann.key")
    assert found.public.text == made.output.strip()
    return found


def test_a_member_who_signs(start: Any, key: MemberKey) -> None:
    live: Live = start()
    ann = live.client("auditor")
    ann.sign_with("loans", key)
    live.client("client").open_round("loans", people(1, 3))
    review = ann.review("loans", ann.reviews("loans")[0].id)
    pair = (review.pairs[0].over, review.pairs[0].under)
    ann.flag("loans", review.id, pair, "similar")
    ann.withdraw("loans", review.id, pair)
    ann.flag("loans", review.id, pair, "similar after all")
    ann.finish("loans", review.id)
    ann.reopen("loans", review.id)
    ann.finish("loans", review.id)
    store = Store.open(live.settings.database)
    evidence = evidence_of(store, "loans")
    trusted = Trusted({"ann": (key.public.text,)})
    found = replay_evidence(evidence, trusted)
    assert found.holds, found.text()
    assert "6 acts were signed by members themselves" in found.text()
    assert "'ann' said what" not in found.text(), "nothing of hers rests on the operator's word"
    _refused(live, store, review.id, pair)
    _found(evidence, trusted)
    other = replay_evidence(evidence, Trusted({"ann": (MemberKey.fresh().public.text,)}))
    assert about(other) == {"signature"}, "the key in the ledger is not the one she publishes"
    store.close()


def _refused(live: Live, store: Store, review: str, pair: tuple[str, str]) -> None:
    """With a second token that the operator makes for her, nothing can be said in her name."""
    second, _ = create_token(store, "auditor", "ann", "loans")
    for mine in (None, MemberKey.fresh()):
        mallory = live.client(second, member_key=mine)
        with pytest.raises(ApiError) as refused:
            mallory.reopen("loans", review)
        assert refused.value.code == ("signature-needed" if mine is None else "bad-signature")
        hers = MemberKey.fresh()
        mallory.sign_with("loans", hers)
        assert mallory.member_keys("loans")[-1].state == "waits", "until a key of hers agrees"
        with pytest.raises(ApiError) as refused:
            mallory.reopen("loans", review)
        assert refused.value.code == "bad-signature"
        with pytest.raises(ApiError) as refused:
            mallory.agree_to_key("loans", hers.public.id, hers)
        assert refused.value.code == "bad-signature", "a key does not agree to itself"


def _found(evidence: Any, trusted: Trusted) -> None:
    """Whatever is changed in the ledger about what she signed is found."""

    def unsigned(record: Record) -> Record | None:
        return None if record.kind == "signed" else record

    def other_pair(record: Record) -> Record:
        if record.kind not in ("flagged", "withdrawn"):
            return record
        first = next(r for r in evidence.records if r.kind == "arrived").body["people"]
        names = {p["id"] for p in first} - set(record.body["pair"])
        pair = sorted([record.body["pair"][0], *names][:2])
        return replace(record, body={**record.body, "pair": pair})

    def other_words(record: Record) -> Record:
        if record.kind != "signed" or record.body["reason"] is None:
            return record
        return replace(record, body={**record.body, "reason": "0" * 64})

    def other_time(record: Record) -> Record:
        if record.kind != "signed":
            return record
        return replace(record, body={**record.body, "at": "2030-01-01T00:00:00Z"})

    def a_moment_later(record: Record) -> Record:
        if record.kind != "signed":
            return record
        return replace(record, body={**record.body, "at": later(record.body["at"], 1e-6)})

    for change in (unsigned, other_pair, other_words, other_time, a_moment_later):
        found = replay_evidence(rehashed(evidence, change), trusted)
        assert "signature" in about(found), change.__name__


def test_a_member_who_publishes_a_key_that_the_ledger_does_not_have(
    tmp_path: Path, key: MemberKey
) -> None:
    """Whoever takes all signatures out of a ledger leaves a member without a key in it."""
    store = Store.open(f"sqlite:///{tmp_path / 'a.db'}")
    open_docket(store, "loans", small_spec(), seed=5)
    store.close()
    words = ["verify", "--database", f"sqlite:///{tmp_path / 'a.db'}", "--member-key"]
    told = CliRunner().invoke(main, [*words, f"ada={key.public.text}"])
    assert told.exit_code == 0, told.output
    assert "'ada' said what the ledger has them say: they publish a key" in told.output
    for text, said in ((key.public.text, "whose key it is"), ("=ab", "whose key"),
                       ("ada=ab", "not a public key"), ("ada=", "not a public key")):  # fmt: skip
        refused = CliRunner().invoke(main, [*words, text])
        assert refused.exit_code == 2, text
        assert said in refused.output


def test_a_key_is_for_its_owner_alone(tmp_path: Path, key: MemberKey) -> None:
    path = tmp_path / "ann.key"
    assert CliRunner().invoke(main, ["key", "--create", str(path)]).exit_code == 1
    path.chmod(0o644)
    with pytest.raises(LikewiseError, match="Others may read"):
        read_key(path)
    for text in ("", "ab", "xyz", "é"):
        bad = tmp_path / f"bad-{len(text)}"
        bad.write_text(text, encoding="utf-8")
        bad.chmod(0o600)
        with pytest.raises(LikewiseError):
            read_key(bad)


def test_a_key_changes_with_the_consent_of_the_one_before(start: Any, key: MemberKey) -> None:
    live: Live = start()
    ann, fresh = live.client("auditor"), MemberKey.fresh()
    ann.sign_with("loans", key)
    ann.sign_with("loans", fresh, before=key)
    store = Store.open(live.settings.database)
    kinds = [r.kind.removeprefix("member-key-") for r in store.records("loans")][-4:]
    assert kinds == ["enrolled", "enrolled", "agreed", "revoked"]
    live.client("client").open_round("loans", people(1, 3))
    review = ann.reviews("loans")[0].id
    with pytest.raises(ApiError) as refused:
        live.client("auditor", member_key=key).finish("loans", review)
    assert refused.value.code == "bad-signature", "the key before it speaks for nobody any more"
    live.client("auditor", member_key=fresh).finish("loans", review)
    evidence = evidence_of(store, "loans")
    assert replay_evidence(evidence).holds

    def of_before(record: Record) -> Record:
        if record.kind != "signed":
            return record
        signed = read_body(record)
        assert isinstance(signed, Signed)
        signature = key.sign("member", signed.statement("loans"))
        body = {**record.body, "key": key.public.id, "signature": signature}
        return replace(record, body=body)

    assert "signature" in about(replay_evidence(rehashed(evidence, of_before)))
    store.close()


def test_the_server_refuses_what_a_verifier_would_condemn(start: Any, key: MemberKey) -> None:
    """Too old, used again, about something else, without a signature, by a key that has ended."""
    live: Live = start()
    ann = live.client("auditor")
    ann.sign_with("loans", key)
    live.client("client").open_round("loans", people(1, 3))
    review = ann.review("loans", ann.reviews("loans")[0].id)
    pair, moment = (review.pairs[0].over, review.pairs[0].under), now()

    def refused(code: str, act: Any, *words: Any) -> None:
        with pytest.raises(ApiError) as error:
            act("loans", *words)
        assert error.value.code == code

    with patch.object(tokens, "now", lambda: later(moment, -300)):
        refused("signature-late", ann.flag, review.id, pair)
    with patch.object(tokens, "now", lambda: moment):
        ann.flag("loans", review.id, pair, "similar")
        refused("bad-signature", ann.flag, review.id, pair, "very similar")
    live.client("operator").set_guidelines("loans", "Look twice.")
    refused("shown-changed", ann.flag, review.id, pair, "still similar")
    ann.review("loans", review.id)
    ann.flag("loans", review.id, pair, "still similar")
    ann.revoke_key("loans", key.public.id)
    refused("bad-signature", ann.sign_with, key)
    refused("bad-signature", ann.finish, review.id)
    ann.member_key = None
    refused("signature-needed", ann.finish, review.id)


def test_comments_are_signed_before_and_after_a_round_has_closed(
    start: Any, key: MemberKey
) -> None:
    live: Live = start()
    ann = live.client("auditor")
    ann.sign_with("loans", key)
    live.client("client").open_round("loans", people(1, 3))
    review = ann.reviews("loans")[0].id
    ann.comment("loans", review, " Look at the debts. ")
    ann.finish("loans", review)
    ann.comment("loans", review, "Nobody did.")
    listed = ann.review("loans", review).comments
    assert [comment.text for comment in listed] == ["Look at the debts.", "Nobody did."]
    ann.member_key = None
    with pytest.raises(ApiError, match="nothing is taken without a signature"):
        ann.comment("loans", review, "Said by somebody else.")
    store = Store.open(live.settings.database)
    verdict = replay_evidence(evidence_of(store, "loans"))
    assert verdict.holds, verdict.text()
    assert verdict.shown == 3
    assert "'ann' said what" not in verdict.text(), "nothing of hers rests on the operator's word"
    store.close()
