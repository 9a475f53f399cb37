"""What a panel is asked is derived again: a sealing that says anything else is found."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest

from likewise.learner.attention import Asking
from likewise_service.clock import later
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.erasure import erase
from likewise_service.dockets.figures import Audits
from likewise_service.dockets.recomputation import check_snapshot
from likewise_service.dockets.round import Round
from likewise_service.dockets.rounds import open_docket
from likewise_service.ledger import kinds
from likewise_service.ledger.records import Record
from likewise_service.ledger.store import Store
from likewise_service.verify.evidence import Evidence, evidence_of
from likewise_service.verify.packets import give_packet, packet_words
from likewise_service.verify.replay import replay_evidence
from tests.service.dockets.test_attention import MODEL, kind_of, play
from tests.service.live import OUTSPOKEN, Clock, replay_store, small_spec

Begin = Callable[..., Docket]
MOVING = replace(OUTSPOKEN, shrink=0.2)


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """The ledger of a docket that asks by a model, with a kappa that moves."""
    store = Store.open(f"sqlite:///{tmp_path_factory.mktemp('asked') / 'ledger.db'}")
    open_docket(
        store, "loans", small_spec(rule="at_least(2)", attention=MODEL, schedule=MOVING), seed=5
    )
    play(Docket(store, "loans"), 0, 60, random.Random(4))
    yield store
    store.close()


def _leave_out(asking: Asking) -> Asking:
    assert asking.pairs is not None
    return replace(asking, pairs=asking.pairs[1:], looked_at=len(asking.pairs) > 1)


def _show_another(asking: Asking) -> Asking:
    assert asking.pairs is not None
    return replace(asking, pairs=(*asking.pairs[1:], asking.pairs[0][::-1]))


FORGERIES: dict[str, tuple[str, Callable[[Asking], Asking]]] = {
    "leaves out a pair": ("in part", _leave_out),
    "shows another": ("in part", _show_another),
    "shows all": ("in part", lambda a: replace(a, whole=True)),
    "shows a part": ("by chance", lambda a: replace(a, whole=False, looked_at=bool(a.pairs))),
    "says not asked": ("whole", lambda a: replace(a, pairs=(), whole=False, looked_at=False)),
    "says nothing was possible": ("whole", lambda a: replace(a, possible=0, looked_at=False)),
    "says quiet": ("unasked", lambda a: replace(a, whole=True)),
    "another kappa": ("whole", lambda a: replace(a, sensitivity=a.sensitivity - 1)),
    "another chance": ("by chance", lambda a: replace(a, chance=a.chance + 1)),
    "learnt something else": ("in part", lambda a: replace(a, memory="0" * 32)),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_asking_is_found(honest: Store, forgery: str) -> None:
    fate, change = FORGERIES[forgery]
    evidence = evidence_of(honest, "loans")
    place, body = sealing(evidence.records, fate)
    forged = _rehashed(evidence.records, place, replace(body, asking=change(body.asking)))
    [first, *_] = replay_evidence(replace(evidence, records=forged)).differences
    assert (first.seq, first.about) == (place + 1, "asking")


def sealing(records: Sequence[Record], fate: str) -> tuple[int, kinds.RoundSealed]:
    """The first round of a fate: its place among the records, and its sealing."""
    for place, record in enumerate(records):
        body = kinds.read_body(record)
        if isinstance(body, kinds.RoundSealed):
            by_chance = body.asking.whole and body.asking.pairs is not None
            if fate in (kind_of(body.asking), "by chance" if by_chance else ""):
                return place, body
    pytest.fail(f"no round was {fate}")


def _rehashed(records: Sequence[Record], place: int, body: kinds.Body) -> list[Record]:
    made = list[Record]()
    for i, record in enumerate(records):
        plain = kinds.write_body(body)[1] if i == place else json.loads(record.body_text)
        made.append(Record.following(record.docket, i, record.at, record.kind, plain, record.actor))
    return made


def test_without_the_seed_an_asking_still_has_to_fit_the_scores(honest: Store) -> None:
    evidence = replace(evidence_of(honest, "loans"), secret=None)
    assert replay_evidence(evidence).holds
    place, body = sealing(evidence.records, "unasked")
    quiet = replace(body, asking=replace(body.asking, whole=True))
    forged = _rehashed(evidence.records, place, quiet)
    [first, *_] = replay_evidence(replace(evidence, records=forged)).differences
    assert (first.seq, first.about) == (place + 1, "asking")


def test_the_kappa_of_every_round_is_on_record(honest: Store) -> None:
    """Also where nobody knows the seed a replay derives it from the reports."""
    rounds = list(Docket(honest, "loans").projection.history())
    sensitivities = [round_.asking.sensitivity for round_ in rounds if round_.asking]
    assert len(set(sensitivities)) > 2
    assert [round_.sensitivity for round_ in rounds] == sensitivities


def test_what_was_not_asked_is_not_counted_as_quiet(honest: Store) -> None:
    """Agreement is over pairs that members were asked about, and packets say how many."""
    docket = Docket(honest, "loans")
    for round_ in docket.projection.history():
        agreement = Audits.of(round_).agreement
        assert agreement.units == (round_.pairs_asked if round_.looked_at else 0)
    unasked = _first(docket, "unasked")
    words = packet_words(give_packet(docket, unasked.id, next(iter(unasked.people))))
    assert "No panel was asked about this round." in words
    assert "reported none" not in words
    part = _first(docket, "in part")
    over = part.reportable[0][0]
    mine = sum(over in pair[:2] for pair in part.reportable)
    packet = give_packet(docket, part.id, over)
    assert (packet["panel"]["looked_at"], packet["panel"]["pairs_asked"]) == (True, mine)


def _first(docket: Docket, fate: str) -> Round:
    rounds = docket.projection.history()
    return next(r for r in rounds if r.asking is not None and kind_of(r.asking) == fate)


def test_after_an_erasure_every_process_asks_the_same(begin: Begin, store: Store) -> None:
    """What was learnt from somebody's features is forgotten; what was asked stays on record."""
    docket = begin(rule="any", attention=MODEL)
    other, chance = Docket(store, "loans"), random.Random(4)
    play(docket, 0, 30, chance)
    other.refresh()
    before = docket.state.memory
    for number in range(2, 20):  # so many that another model would have come of the surrogates
        for place in range(3):
            erase(docket, f"r{number + 1}", f"x{number}-{place}")
    assert docket.state.memory != before
    fresh = Docket(store, "loans")
    other.refresh()
    assert fresh.state == docket.state == other.state
    play(other, 30, 50, chance)
    docket.refresh()
    assert Docket(store, "loans").state == docket.state == other.state
    snapshot = check_snapshot(store, "loans")
    assert snapshot is None or not snapshot.differing
    replayed = replay_store(store, "loans")
    assert replayed.holds, replayed.text()
    assert replayed.draws + replayed.unasked == 50
    assert replayed.unasked == 28
    assert "28 rounds was not recomputed" in replayed.text()


def test_an_attention_forgets_only_what_it_learnt(begin: Begin, store: Store, clock: Clock) -> None:
    """Where it began anew after somebody's round, erasing them changes nothing."""
    docket, chance = begin(rule="any", attention=MODEL), random.Random(4)
    for number in range(30):
        clock.at = later(clock.at, 1)
        play(docket, number, number + 1, chance)
    clock.at = later(clock.at, 1)
    looked_at = [r.id for r in docket.projection.history() if r.looked_at]
    erase(docket, looked_at[3], f"x{int(looked_at[3][1:]) - 1}-0")
    start = docket.state.memory
    for number in range(30, 40):
        clock.at = later(clock.at, 1)
        play(docket, number, number + 1, chance)
    learnt = docket.state.memory
    assert learnt != start
    for name in looked_at[:3]:
        erase(docket, name, f"x{int(name[1:]) - 1}-1")
    assert docket.state.memory == learnt
    assert [r.body["forgets"] for r in store.records("loans") if r.kind == "erased"] == [
        True, False, False, False,
    ]  # fmt: skip
    replayed = replay_store(store, "loans")
    assert replayed.holds, replayed.text()
    first = int(looked_at[0][1:])
    assert replayed.unasked == 31 - first  # from the first round with a surrogate to the erasure
    kept = _forged(evidence_of(store, "loans"))
    assert "is kept" in str(replay_evidence(kept).differences[0])


def _forged(evidence: Evidence) -> Evidence:
    """The first erasure says that nothing was forgotten."""
    place = next(i for i, record in enumerate(evidence.records) if record.kind == "erased")
    body = kinds.read_body(evidence.records[place])
    assert isinstance(body, kinds.Erased)
    records = _rehashed(evidence.records, place, replace(body, forgets=False))
    return replace(evidence, records=records)
