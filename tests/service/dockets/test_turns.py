"""Members one after another: the same outcomes with fewer looks, on record and in order."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from likewise.errors import ParameterError
from likewise.panel.objections import MemberObjections, Objections, Pair
from likewise.panel.reports import report
from likewise.panel.rule_language import as_rule
from likewise.panel.turns import MOST_ASKED, Turns, ask_in_turn
from likewise_client.errors import Conflict
from likewise_service.auth.tokens import create_token
from likewise_service.clock import later
from likewise_service.dockets import panel, reviews
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.erasure import erase
from likewise_service.dockets.figures import Audits
from likewise_service.dockets.recomputation import Recomputation, check_snapshot
from likewise_service.dockets.round import Round
from likewise_service.dockets.rounds import open_docket, open_round
from likewise_service.dockets.seating import Seat
from likewise_service.errors import ServiceError
from likewise_service.ledger import kinds
from likewise_service.ledger.records import Record
from likewise_service.ledger.store import Store
from likewise_service.verify.evidence import Evidence, evidence_of
from likewise_service.verify.packets import give_packet, packet_words
from likewise_service.verify.replay import replay_evidence
from tests.service.conftest import ON_SQLITE, long_on_postgresql
from tests.service.live import (
    Clock,
    Live,
    every_review,
    replay_store,
    small_spec,
    some_people,
    spec,
)

Begin = Callable[..., Docket]

FIVE = ("ada", "bob", "cy", "dee", "eva")
RULES = (
    "majority", "veto(ada) or at_least(3)",
    *(pytest.param(rule, marks=pytest.mark.long) for rule in (
        "any", "all", "at_least(2)", "objects(ada) and objects(bob) or at_least(4)",
    )),
)  # fmt: skip


class Panelists:
    """A docket before members who have made up their minds, and respond in any order.

    They object ``often``, to the same pairs but for a share of ``noise``.
    """

    def __init__(self, docket: Docket, seed: int, often: float = 0.4, noise: float = 0.5) -> None:
        self.docket, self.chance = docket, random.Random(seed)
        self.often, self.noise = often, noise
        self.opinions: dict[tuple[str, str], set[Pair]] = {}
        self.number = 0

    def open_round(self, k: int = 4) -> Round:
        self.number += 1
        people = [replace(p, id=f"{self.number}-{p.id}") for p in some_people(k=k)]
        round_, _ = open_round(self.docket, people)
        pairs = [Pair(*pair[:2]) for pair in round_.reportable]
        shared = {pair for pair in pairs if self._throws(self.often)}
        for member in round_.seats:
            own = {pair for pair in pairs if self._throws(self.often)}
            aside = {pair for pair in pairs if self._throws(self.noise)}
            self.opinions[round_.id, member] = (own & aside) | (shared - aside)
        return round_

    def _throws(self, chance: float) -> bool:
        return self.chance.random() < chance

    def asked(self) -> list[tuple[Round, str]]:
        return [
            (round_, member)
            for round_ in self.docket.projection.opened.values()
            if round_.outcome is None
            for member, seat in round_.seats.items()
            if seat == "asked"
        ]

    def respond(self, round_: Round, member: str) -> None:
        seat = Seat(round_.id, member)
        for over, under, _ in round_.asked_of(member):
            if Pair(over, under) in self.opinions[round_.id, member]:
                panel.flag(self.docket, seat, (over, under))
        panel.finish(self.docket, seat)

    def respond_to_all(self) -> None:
        while waiting := self.asked():
            self.respond(*self.chance.choice(waiting))

    def expected(self, round_: Round, absent: Sequence[str] = ()) -> tuple[tuple[str, str], ...]:
        """What all of the panel would have reported, but for those who are absent."""
        objections = {
            member: MemberObjections(present=False)
            if member in absent
            else MemberObjections(pairs=self.opinions[round_.id, member])
            for member in round_.seats
        }
        scores = [decision.score for decision in round_.decisions.values()]
        return report(round_.rule, Objections(tuple(round_.decisions), objections), scores).pairs


def check(store: Store, docket: Docket) -> None:
    """Replay holds, and every process knows the same: from a snapshot, and from the records."""
    replayed = replay_store(store, docket.name)
    assert replayed.holds, replayed.text()
    snapshot = check_snapshot(store, docket.name)
    assert snapshot is None or not snapshot.differing
    started, read = Docket(store, docket.name), Recomputation(store, docket.name)
    while read.advance(10_000):
        pass
    assert read.differences == []
    contents = [d.content() for d in (docket, started, read)]
    assert contents[0] == contents[1] == contents[2]


@pytest.mark.parametrize("rule", RULES)
def test_outcomes_are_those_of_asking_everybody(sqlite_url: str, rule: str) -> None:
    """Several rounds open at once, members in any order; and nobody is asked in vain."""
    store = Store.open(sqlite_url)
    open_docket(store, "loans", small_spec(FIVE, rule=rule, turns=True, k=4), seed=5)
    docket = Docket(store, "loans")
    people = Panelists(docket, seed=len(rule))
    for _ in range(6):
        for _ in range(people.chance.randrange(1, 4)):
            people.open_round()
        for _ in range(people.chance.randrange(8)):
            if waiting := people.asked():
                people.respond(*people.chance.choice(waiting))
    people.respond_to_all()
    asked = 0
    for round_ in docket.projection.history():
        assert round_.pairs == people.expected(round_)
        assert round_.outcome == ("report" if round_.pairs else "quiet")
        asked += sum(seat != "unasked" for seat in round_.seats.values())
    assert docket.projection.counts["members_asked"] == asked
    check(store, docket)
    store.close()


@pytest.mark.long
@pytest.mark.parametrize("rule", ["majority", pytest.param("at_least(2)", marks=pytest.mark.long)])
def test_one_round_at_a_time_is_asked_as_in_a_simulation(sqlite_url: str, rule: str) -> None:
    """The library's ``ask_in_turn`` reports the same, hears as much, and counts the same."""
    store = Store.open(sqlite_url)
    settings = small_spec(FIVE, rule=rule, turns=True, together_share=0.0, k=4)
    open_docket(store, "loans", settings, seed=5)
    docket, turns, asked = Docket(store, "loans"), Turns(), Counter[str]()
    people = Panelists(docket, seed=3)
    for _ in range(25):
        round_ = people.open_round()
        pairs = [Pair(*pair[:2]) for pair in round_.reportable]
        rows = [[pair in people.opinions[round_.id, member] for pair in pairs] for member in FIVE]
        votes, inputs = np.array(rows, dtype=np.bool_), round_.inputs(docket.state)
        heard = ask_in_turn(as_rule(rule), FIVE, votes, turns, inputs)
        turns = heard.turns
        people.respond_to_all()
        round_ = docket.projection.round(round_.id)
        reported = [pair for pair, fired in zip(pairs, heard.reported, strict=True) if fired]
        assert bool(round_.pairs) == bool(reported)
        assert {Pair(*pair) for pair in round_.pairs} <= set(reported)
        assert {m for m, seat in round_.seats.items() if seat == "finished"} == set(heard.asked)
        for member, row in zip(FIVE, heard.heard, strict=True):
            shown = {Pair(*pair[:2]) for pair in round_.asked_of(member)}
            assert shown == {pair for pair, told in zip(pairs, row, strict=True) if told}
        asked.update(heard.asked)
    assert docket.projection.turns == turns
    assert max(asked.values()) <= MOST_ASKED * asked.total() / 5 + 2
    store.close()


@ON_SQLITE
def test_a_further_member_sees_only_what_is_in_dispute(begin: Begin, store: Store) -> None:
    docket = begin(members=FIVE[:3], rule="at_least(2)", turns=True, together_share=0.0, k=4)
    people = Panelists(docket, seed=1)
    round_ = people.open_round()
    pairs = [Pair(*pair[:2]) for pair in round_.reportable]
    assert len(pairs) > 2
    first = next(m for m, seat in round_.seats.items() if seat == "asked")
    assert Counter(round_.seats.values()) == {"asked": 1, "unasked": 2}
    people.opinions[round_.id, first] = set(pairs[:1])
    people.respond(round_, first)
    round_ = docket.projection.round(round_.id)
    second = next(m for m, seat in round_.seats.items() if seat == "asked")
    assert len(round_.asked_of(second)) == len(pairs)
    people.opinions[round_.id, second] = set(pairs[1:2])
    people.respond(round_, second)
    round_ = docket.projection.round(round_.id)
    third = next(m for m, seat in round_.seats.items() if seat == "asked")
    assert {Pair(*pair[:2]) for pair in round_.asked_of(third)} == set(pairs[:2])
    with pytest.raises(ServiceError, match="not asked about these two"):
        panel.flag(docket, Seat(round_.id, third), pairs[2])
    [review] = reviews.listed(docket, third, ("asked",), 10)
    assert len(review.aliases) == len({person for pair in pairs[:2] for person in pair})
    people.opinions[round_.id, third] = set()
    people.respond(round_, third)
    assert docket.projection.round(round_.id).outcome == "quiet"
    check(store, docket)


@ON_SQLITE
def test_what_was_not_asked_is_not_quiet(begin: Begin, store: Store) -> None:
    docket = begin(members=FIVE[:3], rule="at_least(2)", turns=True, together_share=0.0)
    people = Panelists(docket, seed=1, often=0.0)
    round_ = people.open_round(k=3)
    people.respond_to_all()
    round_ = docket.projection.round(round_.id)
    assert sorted(round_.seats.values()) == ["finished", "finished", "unasked"]
    assert Audits.of(round_).agreement.units == 0
    [unasked] = [m for m, seat in round_.seats.items() if seat == "unasked"]
    assert every_review(docket, unasked) == []
    with pytest.raises(ServiceError, match="is not asked about"):
        panel.finish(docket, Seat(round_.id, unasked))
    words = packet_words(give_packet(docket, round_.id, next(iter(round_.people))))
    assert f"{unasked}: was not asked" in words
    month = next(iter(docket.projection.tallies.months.values()))
    assert unasked not in month.members


@ON_SQLITE
def test_agreement_is_that_of_rounds_that_all_saw_at_once(begin: Begin, store: Store) -> None:
    docket = begin(members=FIVE, turns=True, together_share=0.5)
    people = Panelists(docket, seed=2)
    together = 0
    for _ in range(16):
        round_ = people.open_round(k=3)
        together += not round_.in_turn
        assert round_.in_turn == ("unasked" in round_.seats.values())
        people.respond_to_all()
        ended = docket.projection.round(round_.id)
        units = len(ended.reportable) if not ended.in_turn else 0
        assert Audits.of(ended).agreement.units == units
    assert 0 < together < 16  # false once in 32,768 runs
    check(store, docket)


@ON_SQLITE
def test_nothing_is_taken_back_after_a_turn(begin: Begin) -> None:
    """Also not in a round that all saw at once: nobody may tell one from the other."""
    for share in (0.0, 1.0):
        docket = begin(f"loans-{share:g}", members=FIVE, turns=True, together_share=share)
        people = Panelists(docket, seed=2)
        round_ = people.open_round(k=3)
        _, member = people.asked()[0]
        people.respond(round_, member)
        seat, pair = Seat(round_.id, member), round_.reportable[0][:2]
        panel.finish(docket, seat)  # once more does no harm
        acts: list[Callable[[], object]] = [
            partial(panel.reopen, docket, seat),
            partial(panel.flag, docket, seat, pair),
            partial(panel.withdraw, docket, seat, pair),
        ]
        for act in acts:
            with pytest.raises(ServiceError) as refused:
                act()
            assert refused.value.code == "turn-over"


@ON_SQLITE
def test_who_does_not_respond_in_time_is_followed_by_the_next(
    begin: Begin, clock: Clock, store: Store
) -> None:
    docket = begin(members=FIVE[:3], rule="majority", turns=True, together_share=0.0, deadline=60.0)
    people = Panelists(docket, seed=2)
    round_ = people.open_round(k=3)
    missed = []
    for left in (2, 1):
        round_ = docket.projection.round(round_.id)
        [(_, member)] = people.asked()
        assert round_.due == round_.turns[member].due == later(clock.at, 60)
        panel.flag(docket, Seat(round_.id, member), round_.reportable[0][:2])
        clock.at = later(clock.at, 61)
        with pytest.raises(ServiceError, match="time for this round is over"):
            panel.finish(docket, Seat(round_.id, member))
        [review] = every_review(docket, member)
        assert (review.status, review.outcome) == ("missed", None)
        panel.close_late_panels(docket)
        assert panel.close_late_panels(docket) == 0
        missed.append(member)
        seats = Counter(docket.projection.round(round_.id).seats.values())
        assert seats == Counter({"absent": 3 - left, "asked": 1, "unasked": left - 1})
    [(round_, last)] = people.asked()
    people.respond(round_, last)
    ended = docket.projection.round(round_.id)
    assert (ended.pairs, ended.outcome) == (people.expected(ended, missed), "quiet")
    check(store, docket)


@ON_SQLITE
def test_where_nobody_responds_nobody_audited_it(begin: Begin, clock: Clock, store: Store) -> None:
    docket = begin(members=FIVE, turns=True, together_share=0.0, deadline=60.0)
    round_ = Panelists(docket, seed=2).open_round(k=3)
    for _ in FIVE:
        assert docket.projection.round(round_.id).outcome is None
        clock.at = later(clock.at, 61)
        panel.close_late_panels(docket)
    assert docket.projection.round(round_.id).outcome == "unaudited"
    check(store, docket)


@ON_SQLITE
def test_a_quorum_looks_although_the_rule_is_settled(begin: Begin, store: Store) -> None:
    """A quorum of three are asked, the third about all pairs."""
    docket = begin(members=FIVE[:4], rule="at_least(3)", quorum=3, turns=True, together_share=0.0)
    people = Panelists(docket, seed=2, often=0.0)
    round_ = people.open_round(k=3)
    people.respond_to_all()
    round_ = docket.projection.round(round_.id)
    finished = [m for m, seat in round_.seats.items() if seat == "finished"]
    assert (len(finished), round_.outcome) == (3, "quiet")
    assert [len(round_.asked_of(m)) for m in finished] == [len(round_.reportable)] * 3
    check(store, docket)


@ON_SQLITE
def test_who_leaves_is_followed_by_the_next_at_once(begin: Begin, store: Store) -> None:
    """Without a deadline; in every round in which it was their turn, and they are asked no more."""
    docket = begin(members=FIVE, rule="at_least(2)", turns=True, together_share=0.0)
    people = Panelists(docket, seed=2)
    rounds = [people.open_round(k=3) for _ in range(6)]
    gone = Counter(member for _, member in people.asked()).most_common(1)[0][0]
    theirs = [round_.id for round_, member in people.asked() if member == gone]
    assert theirs
    panel.flag(docket, Seat(theirs[0], gone), rounds[0].reportable[0][:2])
    panel.leave(docket, gone)
    assert all(member != gone for _, member in people.asked())
    assert len(people.asked()) == len(rounds)
    for name in theirs:
        assert docket.projection.round(name).seats[gone] == "absent"
        with pytest.raises(ServiceError, match="panel has closed"):
            panel.flag(docket, Seat(name, gone), docket.projection.round(name).reportable[0][:2])
    panel.join(docket, "fay")
    people.open_round(k=3)
    people.respond_to_all()
    for round_ in docket.projection.history():
        assert round_.seats.get(gone, "unasked") in ("absent", "unasked")
        assert round_.pairs == people.expected(round_, [gone] if gone in round_.seats else [])
    check(store, docket)


@pytest.mark.long
@ON_SQLITE
def test_who_joins_need_not_catch_up(begin: Begin) -> None:
    docket = begin(members=FIVE[:3], rule="at_least(2)", turns=True, together_share=0.0)
    people = Panelists(docket, seed=2)
    for _ in range(20):
        people.open_round(k=3)
        people.respond_to_all()
    panel.join(docket, "fay")
    before = dict(docket.projection.turns.asked)
    for _ in range(20):
        people.open_round(k=3)
        people.respond_to_all()
    asked = {m: n - before[m] for m, n in docket.projection.turns.asked.items()}
    assert asked["fay"] <= 1.5 * sum(asked.values()) / 4


@long_on_postgresql()
def test_two_processes_ask_one_after_another(begin: Begin, store: Store) -> None:
    """Whoever writes has read what the other wrote: nobody is asked twice, nothing is forgotten."""
    docket = begin(members=FIVE, turns=True, together_share=0.1)
    other = Docket(store, "loans", docket.clock)
    people = Panelists(docket, seed=2)
    for turn in range(40):
        people.docket = (docket, other)[turn % 2]
        people.docket.refresh()
        if turn % 4 < 2:
            people.open_round(k=3)
        elif waiting := people.asked():
            people.respond(*people.chance.choice(waiting))
    people.respond_to_all()
    docket.refresh()
    asked = Counter(
        (r.body["round"], r.body["member"]) for r in store.records("loans") if r.kind == "asked"
    )
    assert set(asked.values()) == {1}
    for round_ in docket.projection.history():
        assert round_.pairs == people.expected(round_)
    check(store, docket)


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """The ledger of a docket that asks in turn."""
    store = Store.open(f"sqlite:///{tmp_path_factory.mktemp('turns') / 'ledger.db'}")
    settings = small_spec(FIVE, rule="at_least(2)", turns=True, together_share=0.5, k=4)
    open_docket(store, "loans", settings, seed=5)
    people = Panelists(Docket(store, "loans"), seed=6)
    for _ in range(48):  # the salts are of chance, and so is who is asked about which pairs
        people.open_round()
        people.respond_to_all()
    yield store
    store.close()


FORGERIES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "asks another member": (
        "asked", lambda body: replace(body, member="eva" if body.member != "eva" else "ada")
    ),
    "says another reason": (
        "asked", lambda body: replace(body, doubts=(body.doubts[0] + 1, *body.doubts[1:]))
    ),
    "shows one pair less": (
        "in dispute", lambda body: replace(body, pairs=body.pairs[1:])
    ),
    "shows pairs that are settled": ("in dispute", lambda body: replace(body, pairs=None)),
    "gives until tomorrow": ("asked", lambda body: replace(body, due="2031-01-02T00:00:00Z")),
    "asks all at once": ("in turn", lambda body: replace(body, in_turn=False)),
    "asks in turn": ("together", lambda body: replace(body, in_turn=True)),
    "a word out of turn": ("finished", lambda body: replace(body, member="eva")),
}  # fmt: skip


def _fits(bodies: Sequence[kinds.Body], place: int, fate: str) -> bool:
    body, before = bodies[place], bodies[place - 1]
    if isinstance(body, kinds.RoundSealed):
        return bool(body.members) and fate == ("in turn" if body.in_turn else "together")
    if isinstance(body, kinds.MemberAsked):
        return fate == "asked" or (fate == "in dispute" and body.pairs is not None)
    in_turn = isinstance(before, kinds.MemberAsked) and before.member != "eva"
    return isinstance(body, kinds.Finished) and fate == "finished" and in_turn


def forged(evidence: Evidence, place: int, body: kinds.Body) -> Evidence:
    """The same ledger with another record at a place, and all hashes made anew."""
    made = list[Record]()
    for i, record in enumerate(evidence.records):
        plain = kinds.write_body(body)[1] if i == place else json.loads(record.body_text)
        made.append(Record.following("loans", i, record.at, record.kind, plain, record.actor))
    return replace(evidence, records=made)


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_turn_is_found(honest: Store, forgery: str) -> None:
    fate, change = FORGERIES[forgery]
    evidence = evidence_of(honest, "loans")
    bodies = [kinds.read_body(record) for record in evidence.records]
    place = next(i for i in range(len(bodies)) if _fits(bodies, i, fate))
    [first, *_] = replay_evidence(forged(evidence, place, change(bodies[place]))).differences
    assert first.seq == place + 1
    assert first.about in ("panel", "lottery")


def test_without_features_a_turn_follows_from_the_doubts_on_record(honest: Store) -> None:
    """Another member than the doubts say is found, and doubts that are not one a member."""
    evidence = evidence_of(honest, "loans", personal=False)
    replayed = replay_evidence(evidence)
    assert replayed.holds, replayed.text()
    assert replayed.unforeseen == replayed.turns > 0
    assert "follows from the doubts on record" in replayed.text()
    bodies = [kinds.read_body(record) for record in evidence.records]
    # The first turn of a round, for which all five could be asked.
    place = next(i for i, body in enumerate(bodies) if isinstance(body, kinds.MemberAsked))
    body: Any = bodies[place]
    doubts = [9999] * 5
    doubts[FIVE.index(body.member)] = 99_999
    for change in (replace(body, doubts=tuple(doubts)), replace(body, doubts=(0,))):
        [first, *_] = replay_evidence(forged(evidence, place, change)).differences
        assert (first.seq, first.about) == (place + 1, "panel")


@long_on_postgresql()
def test_after_an_erasure_turns_are_the_same_for_all(
    begin: Begin, store: Store, clock: Clock
) -> None:
    """Members' models begin anew if they had learnt from somebody; what was asked stays asked."""
    docket = begin(members=FIVE, turns=True, together_share=0.1, k=4)
    people = Panelists(docket, seed=4)
    for _ in range(4):
        people.open_round()
        people.respond_to_all()
    assert replay_store(store, "loans").unforeseen == 0
    assert docket.projection.turns.views
    clock.at = later(clock.at, 1)
    waiting = people.open_round()
    people.respond(*people.asked()[0])
    for name in ("r3", waiting.id):  # of the second, the next members see somebody else
        erase(docket, name, next(iter(docket.projection.round(name).people)))
    assert docket.projection.turns.views == {}
    people.respond_to_all()
    people.open_round()
    people.respond_to_all()
    for round_ in docket.projection.history():
        assert round_.pairs == people.expected(round_)
    check(store, docket)
    replayed = replay_store(store, "loans")
    assert 0 < replayed.unforeseen < replayed.turns
    learnt = docket.projection.turns
    erase(docket, "r1", next(iter(docket.projection.round("r1").people)))
    assert docket.projection.turns == learnt != Turns(learnt.asked)
    forgets = [r.body["forgets"] for r in store.records("loans") if r.kind == "erased"]
    assert forgets == [True, False, False]


def test_members_models_forget_who_was_erased(sqlite_url: str) -> None:
    """An erasure that says it keeps what was learnt from somebody is a difference."""
    store = Store.open(sqlite_url)
    open_docket(store, "loans", small_spec(FIVE, turns=True, k=4), seed=5)
    people = Panelists(Docket(store, "loans"), seed=4)
    people.open_round()
    people.respond_to_all()
    erase(people.docket, "r1", next(iter(people.docket.projection.round("r1").people)))
    evidence = evidence_of(store, "loans")
    place = next(i for i, record in enumerate(evidence.records) if record.kind == "erased")
    body: Any = kinds.read_body(evidence.records[place])
    changed = forged(evidence, place, replace(body, forgets=False))
    [first, *_] = replay_evidence(changed).differences
    assert (first.seq, first.about) == (place + 1, "erasure")
    store.close()


def test_without_the_seed_turns_still_have_to_follow(honest: Store) -> None:
    evidence = replace(evidence_of(honest, "loans"), secret=None)
    found = replay_evidence(evidence)
    assert found.holds, found.text()
    turns = sum(record.kind == "asked" for record in evidence.records)
    assert f"{turns} times a member was asked in turn" in found.text()


@pytest.mark.long
@ON_SQLITE
def test_a_majority_of_five_asks_three_and_a_half_at_most(begin: Begin, store: Store) -> None:
    """Six rounds open at once, a panel that mostly agrees; nobody is asked 1.3 times the mean."""
    docket = begin(members=FIVE, turns=True, k=4)
    people = Panelists(docket, seed=9, often=0.1, noise=0.02)
    for _ in range(40):
        for _ in range(6):
            people.open_round()
        people.respond_to_all()
    rounds = [round_ for round_ in docket.projection.history() if round_.looked_at]
    assert all(round_.pairs == people.expected(round_) for round_ in rounds)
    asked = docket.projection.turns.asked
    print(f"{sum(asked.values()) / len(rounds):.2f} members a round, {dict(asked)}")
    assert sum(asked.values()) <= 3.5 * len(rounds)
    assert max(asked.values()) <= 1.3 * sum(asked.values()) / len(FIVE)
    check(store, docket)


@long_on_postgresql()
def test_members_take_turns_over_the_api(live: Live, store: Store) -> None:
    members = ("ann", "bob", "cy")
    panel = {"members": members, "rule": "at_least(2)", "deadline": 86_400.0}
    settings = spec(**panel, turns=True, together_share=0.0)
    open_docket(store, "turns", settings, seed=7)
    live.tokens["bank"] = create_token(store, "client", "bank", "turns")[0]
    for name in members:
        live.tokens[name] = create_token(store, "auditor", name, "turns")[0]
    bank, operator = live.client("bank"), live.client("operator")
    clients = {name: live.client(name) for name in members}
    assert operator.docket("turns").turns
    people = {
        f"x{i}": {"score": score, "debt": 20, "purpose": "car"}
        for i, score in enumerate((310, 450, 640, 790))
    }
    opened = bank.open_round("turns", people)
    spoken: list[str] = []

    def seen_by_bank() -> tuple[object, ...]:
        numbers = bank.metrics("turns")
        of_panel = [
            numbers[name] for name in ("members_asked", "member_pairs", "minutes", "leasts")
        ]
        assert of_panel == [None] * 4
        round_, listed = bank.round("turns", opened.id), bank.rounds("turns").rounds
        return {**numbers, "at": "", "oldest_open_seconds": 0}, round_, listed

    assert bank.packet("turns", opened.id, "x0").packet["panel"]["due"] is None
    waited = seen_by_bank()
    assert operator.round("turns", opened.id).due is not None
    while operator.round("turns", opened.id).outcome is None:
        [member] = [name for name in members if clients[name].reviews("turns")]
        [summary] = clients[member].reviews("turns")
        review = clients[member].review("turns", summary.id)
        assert review.final
        assert summary.pairs == len(review.pairs) > 0
        seats = operator.round("turns", opened.id).seats
        assert seats is not None
        assert Counter(seats.values()) == Counter(
            {"asked": 1, "finished": len(spoken), "unasked": 2 - len(spoken)} if len(spoken) < 2
            else {"asked": 1, "finished": 2}
        )  # fmt: skip
        assert seen_by_bank() == waited, "nobody else learns when a turn has ended"
        spoken.append(member)
        if len(spoken) == 1:
            clients[member].flag("turns", review.id, (review.pairs[0].over, review.pairs[0].under))
        clients[member].finish("turns", review.id)
        with pytest.raises(Conflict) as refused:
            clients[member].reopen("turns", review.id)
        assert refused.value.code in ("turn-over", "panel-closed")
    assert len(spoken) == 3
    numbers = operator.metrics("turns")
    assert (numbers["members_asked"], numbers["looked_at"]) == (3, 1)
    assert numbers["member_pairs"] == 2 * opened.pairs_asked + 1
    assert numbers["minutes"] == pytest.approx(numbers["member_pairs"] / 3 * 1000 * 4 / 60)
    replayed = replay_store(store, "turns")
    assert replayed.holds, replayed.text()


@pytest.mark.parametrize("field", ["turns", "graded"])
def test_settings_of_turns_are_checked(field: str) -> None:
    wrong: dict[str, Any] = {field: "yes"}
    with pytest.raises(ParameterError, match=f"{field} must be True or False"):
        small_spec(**wrong)
    with pytest.raises(ParameterError, match="together_share must be in"):
        small_spec(together_share=1.5)


@ON_SQLITE
def test_a_round_shown_again_looks_as_it_did_in_turn(begin: Begin, store: Store) -> None:
    """The same pairs, as many records by finishing, and what was said stays."""
    docket = begin(members=FIVE, rule="at_least(2)", turns=True, repeat_share=0.5, k=4)
    people = Panelists(docket, seed=4)
    seen = Counter[str]()
    for _ in range(14):
        people.open_round()
        people.respond_to_all()
        for member in FIVE:
            for review in reviews.listed(docket, member, ("asked",), 10):
                round_, before = review.round, docket.projection.head.seq
                assert review.seat.again is not None
                assert set(review.aliases) == set(round_.shown(member))
                over, under, _ = review.pairs[0]
                panel.flag(docket, review.seat, (over, under))
                panel.finish(docket, review.seat)
                records = docket.projection.head.seq - before - 1
                assert records == round_.finish_records[member]
                status = reviews.find(docket, member, review.id).status
                assert status == ("closed" if round_.ended_by == member else "waiting")
                with pytest.raises(ServiceError):
                    panel.reopen(docket, review.seat)
                seen[status] += 1
    assert seen["closed"] > 0  # both: false less than once in 10^5 runs
    assert seen["waiting"] > 0
    check(store, docket)
