"""A docket in numbers: running counts against the rounds themselves, ages, and consistency."""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable

import pytest

from likewise.panel import Pair
from likewise_service.api import telemetry
from likewise_service.api.metrics import MetricsResponse, measure
from likewise_service.clock import later
from likewise_service.dockets import figures, panel
from likewise_service.dockets import rounds as feedback
from likewise_service.dockets.docket import Docket, numbers_of
from likewise_service.dockets.rounds import open_round
from likewise_service.dockets.seating import Seat
from likewise_service.dockets.worker import Worker
from likewise_service.ledger import kinds
from likewise_service.ledger.store import Store
from likewise_service.settings import Settings
from tests.service.conftest import ON_SQLITE
from tests.service.live import PATIENCE, Clock, Live, people, shown_again, some_people

Begin = Callable[..., Docket]


def worker_of(docket: Docket) -> Worker:
    worker = Worker(docket.store, docket.name, Settings())
    worker.docket.clock = docket.clock
    return worker


def metrics(docket: Docket) -> MetricsResponse:
    return measure(worker_of(docket))


def reviewed(docket: Docket, round_id: str, **pairs: list[Pair]) -> None:
    for member, listed in pairs.items():
        for pair in listed:
            panel.flag(docket, Seat(round_id, member), pair)
        panel.finish(docket, Seat(round_id, member))


def test_running_counts_are_those_of_the_rounds(begin: Begin) -> None:
    docket = begin(rule="any", attention="share:0.7")
    for number in range(8):
        round_, _ = open_round(docket, some_people(f"x{number}-"))
        pair = Pair(*round_.possible[0][:2])
        if round_.seats:
            reviewed(docket, round_.id, ada=[pair] * (number % 2), bob=[])
        people = list(round_.people)[: number % 4]
        if number == 3:
            feedback.override(docket, round_.id, people[0], False)
        feedback.label(docket, [(round_.id, person, number % 2) for person in people])
    rounds = list(docket.projection.history())
    known = [(r.decisions[p], label) for r in rounds for p, label in r.labels.items()]
    found = metrics(docket)
    assert (found.rounds, found.people) == (8, 24)
    outcomes = [r.outcome for r in rounds]
    assert found.reports == outcomes.count("report") > 0
    assert found.quiet == outcomes.count("quiet") > 0
    assert found.unaudited == outcomes.count("unaudited") > 0
    assert (found.labels, found.overrides) == (len(known), 1)
    assert found.error == sum(d.approved != bool(y) for d, y in known) / len(known)
    distance = sum(abs(d.score / 2**20 - y) for d, y in known)
    assert found.score_error == pytest.approx(distance / len(known), abs=1e-12)
    assert found.series.reports[-1] == found.reports
    assert found.series.error[-1] == found.error


@ON_SQLITE
def test_the_latest_rounds_are_those_of_the_window(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums over blocks, with the rounds under way, against the rounds themselves, one by one."""
    monkeypatch.setattr(figures, "BLOCK", 3)
    monkeypatch.setattr(figures, "WINDOW", 6)
    docket = begin(rule="all", attention="everything")
    for number in range(1, 15):
        round_, _ = open_round(docket, some_people(f"w{number}-"))
        pair = Pair(*round_.reportable[0][:2])
        if number not in (4, 13):  # these stay under way
            reviewed(docket, round_.id, ada=[pair] * (number % 2), bob=[pair] * (number % 3 == 0))
        history = list(docket.projection.history())
        newest = max(r.number for r in history if r.outcome is not None)
        first = (newest - 1) // 3 * 3 - 2  # where the block before the newest begins
        rounds = [r for r in history if r.number >= first or r.outcome is None]
        measured = metrics(docket)
        assert measured.window == len(rounds)
        gaps = sorted(((r.possible[0][2], r.number) for r in rounds), reverse=True)[:10]
        assert [(gap.gap, gap.round) for gap in measured.largest_gaps] == [
            (units / 2**20, f"r{number}") for units, number in gaps
        ]
        assert measured.agreement is not None
        assert measured.agreement.objections == sum(
            len(flagged) for r in rounds if r.outcome for flagged in r.objections.values()
        )
        for member in measured.members or ():
            seats = [r.seats[member.member] for r in rounds]
            assert member.asked == len(rounds)
            assert member.finished == seats.count("finished")
            assert member.objections == sum(
                len(r.objections.get(member.member, {})) for r in rounds
            )


def test_ages_grow_without_a_record(begin: Begin, clock: Clock) -> None:
    docket = begin()
    worker = worker_of(docket)
    assert measure(worker).oldest_open_seconds is None
    open_round(docket, some_people())
    worker.docket.refresh()
    assert measure(worker).oldest_open_seconds == 0
    clock.at = later(clock.at, 3600)
    found = measure(worker)
    assert (found.oldest_open_seconds, found.at) == (3600, clock.at)
    assert found.recorded == later(clock.at, -3600)


@ON_SQLITE
def test_consistency_is_pooled_by_pairs(begin: Begin) -> None:
    """Every pair counts the same, whatever round it is of: not the mean over rounds."""
    docket = begin(k=5, rule="any", repeat_share=0.5, attention="everything")
    expected = {name: [0, 0, 0] for name in ("ada", "bob")}
    for number in range(30):
        round_, _ = open_round(docket, some_people(f"y{number}-", 2 + 3 * (number % 2)))
        pairs = [Pair(over, under) for over, under, _ in round_.reportable]
        reviewed(docket, round_.id, ada=pairs[:1], bob=[])
        for member in ("ada", "bob"):
            for seat in shown_again(docket, member):
                round_ = docket.projection.round(seat.round)
                pairs = [Pair(over, under) for over, under, _ in round_.reportable]
                again, first = set(pairs[1:2]), set(round_.objections.get(member, {}))
                for pair in again:
                    panel.flag(docket, seat, pair)
                panel.finish(docket, seat)
                same = len(pairs) - len(first ^ again)
                mine = (1, len(pairs), same)
                expected[member] = [a + b for a, b in zip(expected[member], mine, strict=True)]
    found = metrics(docket)
    assert found.consistency is not None
    assert found.members is not None
    shares = [expected[name][2] / expected[name][1] for name in ("ada", "bob")]
    assert [m.consistency for m in found.members] == shares
    again_, total = found.consistency, [sum(some) for some in zip(*expected.values(), strict=True)]
    assert total[0] > 4
    assert [again_.repeats, again_.pairs, again_.same] == total
    assert again_.share == total[2] / total[1]


def test_how_the_panel_works_is_not_for_everybody(begin: Begin) -> None:
    client = kinds.TokenIssued("c1", "client", "bank", "loans", "2026-03-01T12:00:00.000000Z")
    worker = worker_of(begin())
    assert measure(worker).members is not None
    with kinds.acting(kinds.Actor.introduced(client)):
        found = measure(worker)
    assert (found.members, found.agreement, found.consistency) == (None, None, None)


def test_numbers_beside_the_ledger_are_those_of_the_docket(begin: Begin, store: Store) -> None:
    docket = begin(rule="any")
    for number in range(4):
        round_, _ = open_round(docket, some_people(f"x{number}-"))
        pair = Pair(*round_.reportable[0][:2])
        reviewed(docket, round_.id, ada=[pair] * (number % 2), bob=[])
        if number > 1:
            feedback.label(docket, [(round_.id, person, 1) for person in round_.people])
        counted = numbers_of(docket.projection, docket.state)
        assert store.numbers() == {
            "loans": {**counted, "ledger_records": docket.projection.head.seq}
        }
    assert (counted["rounds"], counted["open_rounds"], counted["reports"]) == (4, 2, 2)


def test_numbers_that_take_long_are_kept_and_say_their_age(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[dict[str, dict[str, float]]] = []

    def count() -> dict[str, dict[str, float]]:
        counted.append({"loans": {"rounds": len(counted)}})
        return counted[-1]

    def rounds() -> str:
        text = numbers.text().decode()
        assert 0 <= float(re.findall(rf"^{telemetry.AGE} (.*)$", text, re.M)[0]) < PATIENCE
        return str(re.findall(r'^likewise_rounds{docket="loans"} (.*)$', text, re.M)[0])

    numbers = telemetry.DocketNumbers(count)
    monkeypatch.setattr(telemetry, "LONG", math.inf)
    assert [rounds(), rounds()] == ["0.0", "1.0"], "few dockets are counted every time"
    numbers.keep_fresh()
    assert len(counted) == 2, "and not in between"
    monkeypatch.setattr(telemetry, "LONG", 0.0)
    assert [rounds(), rounds()] == ["1.0", "1.0"], "many are not"
    numbers.keep_fresh()
    assert rounds() == "2.0"
    monkeypatch.setattr(telemetry, "ASKED", 0.0)
    numbers.keep_fresh()
    assert len(counted) == 3, "nobody asks"
    monkeypatch.setattr(telemetry, "COUNTED", 0.0)
    assert rounds() == "3.0", "they are too old"


def test_a_look_at_all_dockets_opens_none(live: Live) -> None:
    headers = {"Authorization": f"Bearer {live.tokens['operator']}"}
    text = live.http.get("/metrics", headers=headers).text
    for docket in ("loans", "other"):
        assert f'likewise_rounds{{docket="{docket}"}} 0.0' in text
    running = [thread.name for thread in threading.enumerate()]
    assert not [name for name in running if name.startswith("docket-")]
    live.client("client").open_round("loans", people(1, 2))
    text = live.http.get("/metrics", headers=headers).text
    assert 'likewise_open_rounds{docket="loans"} 1.0' in text
    running = [thread.name for thread in threading.enumerate()]
    assert [name for name in running if name.startswith("docket-")] == ["docket-loans_0"]
