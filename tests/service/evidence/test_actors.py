"""Who acted: in every record, known to the ledger, and not to be passed off as somebody else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from likewise_service.auth.sign_ins import begin_session, end_session
from likewise_service.auth.tokens import create_token, revoke_token
from likewise_service.clock import later, now
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.panel import finish, flag
from likewise_service.dockets.rounds import open_docket, open_round
from likewise_service.dockets.seating import Seat
from likewise_service.errors import ServiceError
from likewise_service.ledger.kinds import acting
from likewise_service.ledger.records import Record
from likewise_service.ledger.store import Store
from likewise_service.verify.evidence import Evidence, Replayed, evidence_of
from likewise_service.verify.replay import replay_evidence
from tests.service.live import Live, people, replay_store


def rehashed(evidence: Evidence, changed: Callable[[Record], Record | None]) -> Evidence:
    """The ledger as whoever runs the server would change it, hashed anew."""
    records: list[Record] = []
    for one in evidence.records:
        made = changed(one)
        if made is not None:
            same = (made.at, made.kind, made.body, made.actor)
            untouched = made is one and one.seq == len(records) + 1
            records.append(one if untouched else Record.following(one.docket, len(records), *same))
    return replace(evidence, records=records)


def rewritten(evidence: Evidence, seq: int) -> Evidence:
    """The same, with all records above a number hashed anew, whether or not they were changed."""
    return rehashed(evidence, lambda record: replace(record) if record.seq > seq else record)


def about(found: Replayed) -> set[str]:
    return {difference.about for difference in found.differences}


@pytest.fixture
def store(sqlite_url: str) -> Store:
    """A store with a docket, in which ada objected and bob was done, each with a token."""
    made = Store.open(sqlite_url)
    from tests.service.live import small_spec, some_people

    open_docket(made, "loans", small_spec(), seed=5)
    docket = Docket(made, "loans")
    bank = create_token(made, "client", "bank", "loans")[1]
    with acting(bank.actor):
        round_, _ = open_round(docket, some_people("a"))
    for member in ("ada", "bob"):
        who = create_token(made, "auditor", member, "loans")[1]
        with acting(who.actor):
            flag(docket, Seat("r1", member), round_.reportable[0][:2], "why?")
            finish(docket, Seat("r1", member))
    return made


def test_every_record_says_who_acted_and_tokens_are_introduced(store: Store) -> None:
    records = store.records("loans")
    assert all(record.actor for record in records)
    issued = [r.body for r in records if r.kind == "token-issued"]
    assert [(b["role"], b["name"], b["seat"]) for b in issued] == [
        ("client", "bank", "loans"), ("auditor", "ada", "loans"), ("auditor", "bob", "loans")
    ]  # fmt: skip
    found = replay_store(store, "loans")
    assert found.holds, found.text()
    assert "of 3 that the ledger itself lists" in found.text()


def test_a_second_token_for_a_member_is_visible(store: Store) -> None:
    create_token(store, "auditor", "ada", "loans")
    assert "'ada' has had 2 tokens" in replay_store(store, "loans").text()
    assert "'bob' has had" not in replay_store(store, "loans").text()


def test_whoever_is_not_introduced_or_is_somebody_else_is_found(store: Store) -> None:
    evidence = evidence_of(store, "loans")
    actors = {r.body["name"]: f"token:{r.body['token']}" for r in evidence.records
              if r.kind == "token-issued"}  # fmt: skip

    def hidden(record: Record) -> Record | None:
        mine = record.kind == "token-issued" and record.body["name"] == "ada"
        return None if mine else record

    def by(who: str) -> Callable[[Record], Record]:
        return lambda r: replace(r, actor=who) if r.actor == actors["ada"] else r

    for changed in (hidden, by(actors["bob"]), by(actors["bank"]), by("token:made-up"), by("")):
        found = replay_evidence(rehashed(evidence, changed))
        assert about(found) == {"actor"}, found.text()
    unattributed = replay_evidence(rehashed(evidence, by("machine")))
    assert unattributed.holds
    assert "entered at the machine" in unattributed.text()


def test_a_token_that_has_ended_acts_no_more(store: Store, applicants: Any) -> None:
    """A request may be under way when its token is revoked: the ledger's order decides."""
    docket, token = Docket(store, "loans"), create_token(store, "client", "late", "loans")[1]
    with acting(token.actor):
        open_round(docket, applicants("b"))
    revoke_token(store, token.id)
    head = store.head("loans")
    with acting(token.actor):
        with pytest.raises(ServiceError, match="Your token was revoked"):
            open_round(docket, applicants("c"))
        with pytest.raises(ServiceError, match="Your token was revoked"):
            create_token(store, "client", "another", "loans")
    assert store.head("loans") == head
    assert replay_store(store, "loans").holds
    # Written by hand, it is found.
    evidence = evidence_of(store, "loans")
    last = evidence.records[-1]
    body = {"round": "r2", "person": "b0", "label": 1}
    more = Record.following("loans", last.seq, last.at, "labelled", body, token.actor.id)
    forged = replace(evidence, records=[*evidence.records, more])
    assert about(replay_evidence(forged)) == {"actor"}


def test_sign_ins_are_in_the_ledger_with_their_end(store: Store) -> None:
    token, identity = create_token(store, "auditor", "bob", "loans")
    cookie, session = begin_session(store, token, 60)
    end_session(store, cookie)
    last = store.records("loans")[-2:]
    assert [r.kind for r in last] == ["signed-in", "signed-out"]
    assert last[0].body["token"] == identity.id
    assert last[0].actor == f"sign-in:{session.id}"
    assert replay_store(store, "loans").holds
    evidence = evidence_of(store, "loans")

    def late(record: Record) -> Record:
        far = "2999-01-01T00:00:00.000000Z"
        return (
            replace(record, at=far, actor=last[0].actor) if record.kind == "signed-out" else record
        )

    assert "actor" in about(replay_evidence(rehashed(evidence, late)))


def test_a_sign_in_lasts_although_the_ledger_is_ahead_for_longer(
    store: Store, applicants: Any
) -> None:
    """The clock was two days ahead, and is right again; whoever is signed in goes on."""
    docket, clock = Docket(store, "loans"), now
    token, _ = create_token(store, "auditor", "bob", "loans")
    cookie, session = begin_session(store, token, 60)
    docket.clock = lambda: later(now(), 2 * 86_400)
    round_, _ = open_round(docket, applicants("b"))
    docket.clock = clock
    with acting(session.actor):
        flag(docket, Seat(round_.id, "bob"), round_.reportable[0][:2])
    kinds = [r.kind for r in store.records("loans")][-3:]
    assert kinds == ["clock-behind", "signed-in", "flagged"]
    end_session(store, cookie)
    with acting(session.actor), pytest.raises(ServiceError, match="You are signed out"):
        finish(docket, Seat(round_.id, "bob"))
    found = replay_store(store, "loans")
    assert found.holds, found.text()


def test_tokens_of_all_dockets_are_in_all_ledgers(sqlite_url: str, spec: Any) -> None:
    store = Store.open(sqlite_url)
    create_token(store, "operator", "olga", None)
    for name in ("one", "two"):
        open_docket(store, name, spec())
    state = create_token(store, "regulator", "state", None)[1]
    for name in ("one", "two"):
        named = [r.body["name"] for r in store.records(name) if r.kind == "token-issued"]
        assert named == ["olga", "state"]
    revoke_token(store, state.id)
    assert [store.records(name)[-1].kind for name in ("one", "two")] == ["token-ended"] * 2
    store.close()


def test_the_api_and_the_pages_say_who_acts(live: Live) -> None:
    round_ = live.client("client").open_round("loans", people())
    ann = live.client("auditor")
    review = ann.review("loans", ann.reviews("loans")[0].id)
    ann.flag("loans", review.id, (review.pairs[0].over, review.pairs[0].under), "similar")
    live.client("operator").create_token("regulator", "other", None)
    store = Store.open(live.settings.database)
    names = {f"token:{r.body['token']}": r.body["name"] for r in store.records("loans")
             if r.kind == "token-issued"}  # fmt: skip
    by = {r.kind: names.get(r.actor, r.actor) for r in store.records("loans")}
    assert (by["arrived"], by["flagged"], by["token-issued"]) == ("bank", "ann", "olga")
    assert round_.id
    assert replay_store(store, "loans").holds
    store.close()
