"""Retention: what has been kept for its time is erased, unless a hold keeps it; all is recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from likewise.cli.main import main
from likewise.errors import ParameterError
from likewise_client.errors import ApiError
from likewise_service.app import retain
from likewise_service.clock import DAY, later
from likewise_service.dockets import erasure
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.erasure import (
    erase,
    erase_expired,
    lift_hold,
    place_hold,
    preset_days,
    set_retention,
)
from likewise_service.dockets.panel import comment, finish, flag
from likewise_service.dockets.rounds import Applicant, close, open_docket, open_round, override
from likewise_service.dockets.seating import Seat
from likewise_service.dockets.worker import Workers
from likewise_service.errors import ServiceError
from likewise_service.ledger.notes import Checkpoint
from likewise_service.ledger.records import Payload
from likewise_service.ledger.store import Store
from likewise_service.ledger.transaction import LedgerView
from likewise_service.settings import Settings
from likewise_service.verify.evidence import evidence_of
from likewise_service.verify.replay import replay_evidence
from tests.service.evidence.test_actors import about, rehashed
from tests.service.live import Clock, Live, replay_store, shown_again


@pytest.fixture
def docket(begin: Callable[..., Docket], applicants: Any) -> Docket:
    """Two rounds that have closed, with reasons, and one that has not."""
    made = begin(rule="any")
    for name in ("r1", "r2"):
        round_, _ = open_round(made, applicants(name))
        flag(made, Seat(name, "ada"), round_.reportable[0][:2], "so alike")
        for member in ("ada", "bob"):
            finish(made, Seat(name, member))
        override(made, name, f"{name}0", not round_.decisions[f"{name}0"].approved, "known to us")
        close(made, name)
    open_round(made, applicants("r3"))
    return made


def reasons(docket: Docket) -> int:
    with docket.store.view("loans") as view:
        return sum("text" in payload.content for payload in view.payloads().values())


def test_reasons_then_people_are_erased_when_their_time_has_ended(
    docket: Docket, clock: Clock
) -> None:
    began = clock.at
    assert erase_expired(docket).people == 0, "without periods nothing ever is"
    set_retention(docket, features=761.0, reasons=30.0)
    clock.at = later(began, 29 * DAY)
    assert erase_expired(docket) == erase_expired(docket)
    assert reasons(docket) == 4
    clock.at = later(began, 31 * DAY)
    assert erase_expired(docket).reasons == 2
    assert reasons(docket) == 0
    clock.at = later(began, 762 * DAY)
    assert erase_expired(docket, limit=4).people == 4
    assert erase_expired(docket).people == 2
    assert erase_expired(docket).people == 0
    kinds = [r.kind for r in docket.store.records("loans")]
    assert (kinds.count("erased"), kinds.count("reasons-erased")) == (6, 2)
    assert not docket.projection.round("r3").erased, "it has not closed"
    found = replay_store(docket.store, "loans")
    assert found.holds, found.text()
    assert found.decisions == 9, "all of them, from surrogates"


def test_reasons_stay_as_long_as_they_are_to_be_kept_also_without_the_people(
    docket: Docket, clock: Clock
) -> None:
    """They went with the features."""
    began = clock.at
    set_retention(docket, features=30.0, reasons=761.0)
    clock.at = later(began, 31 * DAY)
    assert (erase_expired(docket).people, reasons(docket)) == (6, 4)
    assert replay_store(docket.store, "loans").holds
    clock.at = later(began, 762 * DAY)
    assert (erase_expired(docket).reasons, reasons(docket)) == (2, 0)
    assert replay_store(docket.store, "loans").holds


def test_rounds_are_looked_at_again_only_while_there_is_something_to_erase(
    docket: Docket, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many have closed: otherwise every hour's work would grow with the ledger."""
    search, found = LedgerView.expired_rounds, list[dict[str, int]]()

    def watched(view: LedgerView, *asked: Any) -> dict[str, int]:
        found.append(search(view, *asked))
        return found[-1]

    monkeypatch.setattr(LedgerView, "expired_rounds", watched)

    def looked_at(days: float) -> list[str]:
        clock.at = later(began, days * DAY)
        erase_expired(docket)
        return list(found.pop()) if found else []

    began = clock.at
    set_retention(docket, features=60.0, reasons=30.0)
    assert [looked_at(days) for days in (29, 31, 32, 59)] == [[], ["r1", "r2"], [], []]
    comment(docket, Seat("r2", "ada"), "a word about it")
    assert [looked_at(days) for days in (59, 59)] == [["r2"], []]
    hold, _ = place_hold(docket, "a complaint", "r1", "r10")
    assert [looked_at(days) for days in (61, 61)] == [["r1", "r2"], ["r1"]]
    lift_hold(docket, hold)
    assert [looked_at(days) for days in (61, 61)] == [["r1"], []]
    comment(docket, Seat("r1", "bob"), "and another")
    everything, _ = place_hold(docket, "a court's order")
    assert looked_at(399) == []
    lift_hold(docket, everything)
    assert [looked_at(days) for days in (400, 500)] == [["r1"], []]
    assert all(len(docket.projection.round(name).erased) == 3 for name in ("r1", "r2"))
    assert not reasons(docket)
    assert replay_store(docket.store, "loans").holds


def test_reasons_given_when_a_round_is_shown_again_are_erased_too(
    begin: Callable[..., Docket], applicants: Any, clock: Clock
) -> None:
    docket = begin(members=("ada",), rule="any", repeat_share=0.5)
    for number in range(1, 30):
        round_, _ = open_round(docket, applicants(f"x{number}-"))
        finish(docket, Seat(round_.id, "ada"))
        close(docket, round_.id)
        if shown_again(docket, "ada"):
            break
    [seat] = shown_again(docket, "ada")
    flag(docket, seat, docket.projection.round(seat.round).reportable[0][:2], "so alike")
    set_retention(docket, None, 30.0)
    clock.at = later(clock.at, 31 * DAY)
    assert reasons(docket) == 1
    assert erase_expired(docket).reasons == 1
    assert reasons(docket) == 0
    assert replay_store(docket.store, "loans").holds
    finish(docket, seat)
    assert replay_store(docket.store, "loans").holds


def test_words_that_come_again_with_the_salt_of_erased_ones_condemn_nobody(
    docket: Docket, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A member who signs chooses the salt, and could accuse the operator of having kept them."""
    monkeypatch.setattr(Payload, "fresh", lambda content: Payload(b"s" * 16, content))
    comment(docket, Seat("r1", "ada"), "a word about it")
    set_retention(docket, None, 1.0)
    clock.at = later(clock.at, 2 * DAY)
    assert erase_expired(docket).reasons == 2
    comment(docket, Seat("r1", "ada"), "a word about it")
    assert reasons(docket) == 1
    assert replay_store(docket.store, "loans").holds
    assert erase_expired(docket).reasons == 1
    assert reasons(docket) == 0
    assert replay_store(docket.store, "loans").holds


def test_what_a_server_erases_in_time_is_in_none_of_sqlites_files(
    sqlite_url: str, spec: Callable[..., Any]
) -> None:
    """It erases within a transaction of its own, after which the journal has to be emptied."""
    store = Store.open(sqlite_url)
    open_docket(store, "loans", spec(), seed=5)
    docket = Docket(store, "loans")
    open_round(docket, [
        Applicant("a", {"score": 777, "debt": 43, "purpose": "car"}),
        Applicant("b", {"score": 333, "debt": 44, "purpose": "car"}),
    ])  # fmt: skip
    flag(docket, Seat("r1", "ada"), ("a", "b"), "secretneighbour")
    for member in ("ada", "bob"):
        finish(docket, Seat("r1", member))
    close(docket, "r1")
    set_retention(docket, 1e-9, 1e-9)
    path = Path(sqlite_url.removeprefix("sqlite:///"))
    files = [path, path.with_name(path.name + "-wal")]
    assert b"secretneighbour" in b"".join(file.read_bytes() for file in files)

    async def serve() -> None:
        workers = Workers(store, Settings(database=sqlite_url))
        await retain(workers, asyncio.Event())
        await workers.close()

    asyncio.run(serve())
    assert docket.refresh().round("r1").erased.keys() == {"a", "b"}
    for file in files:
        assert b"secretneighbour" not in file.read_bytes()
        assert b"[777.0," not in file.read_bytes()
    store.close()


def test_dockets_that_nobody_uses_do_not_stay_open_after_it(
    sqlite_url: str, spec: Callable[..., Any], applicants: Any
) -> None:
    """Each has a thread and its state in memory: hundreds at once would be too many."""
    store, most = Store.open(sqlite_url), list[int]()
    for name in ("one", "two", "three"):
        open_docket(store, name, spec(()), seed=5)
        docket = Docket(store, name)
        open_round(docket, applicants("x"))
        close(docket, "r1")
        set_retention(docket, 1e-9, None)

    async def serve() -> None:
        workers = Workers(
            store, Settings(database=sqlite_url), lambda *_: most.append(workers.count)
        )
        await workers.run("two", lambda worker: worker.seq)
        await retain(workers, asyncio.Event())
        assert "two" in workers
        assert workers.count == 1
        await workers.close()

    asyncio.run(serve())
    assert max(most) == 2
    for name in ("one", "two", "three"):
        assert all(len(r.erased) == 3 for r in Docket(store, name).projection.history())
    store.close()


def test_all_whose_time_has_ended_are_erased_and_others_get_their_turn_between(
    sqlite_url: str, spec: Callable[..., Any], applicants: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many there are: what is left over each time would become more and more."""
    monkeypatch.setattr(erasure, "ROUNDS", 40)
    store = Store.open(sqlite_url)
    open_docket(store, "loans", spec(()), seed=5)
    docket = Docket(store, "loans")
    with docket.group():
        for number in range(1, 46):
            open_round(docket, applicants(f"x{number}-"))
            close(docket, f"r{number}")
    set_retention(docket, 1e-9, None)
    turns = list[int]()

    async def serve() -> None:
        workers = Workers(
            store, Settings(database=sqlite_url), lambda _, waiting: turns.append(waiting)
        )
        await retain(workers, asyncio.Event())
        await workers.close()

    asyncio.run(serve())
    docket.refresh()
    assert all(len(round_.erased) == 3 for round_ in docket.projection.history())
    assert turns == [1, 0] * 3, "a hundred people, the rest, and nothing"
    assert replay_store(store, "loans").holds
    store.close()


def test_a_hold_keeps_what_it_names_until_it_is_lifted(
    docket: Docket, clock: Clock, applicants: Any
) -> None:
    set_retention(docket, features=1.0, reasons=1.0)
    hold, _ = place_hold(docket, "a complaint", "r1", "r10")
    clock.at = later(clock.at, 2 * DAY)
    done = erase_expired(docket)
    assert (done.people, done.reasons, done.held) == (5, 1, 2)
    assert reasons(docket) == 2, "those of the round, also of others in it"
    with pytest.raises(ServiceError, match="while the hold") as refused:
        erase(docket, "r1", "r10")
    assert refused.value.code == "on-hold"
    lift_hold(docket, hold)
    done = erase_expired(docket)
    assert (done.people, done.reasons, done.held) == (1, 1, 0)
    assert replay_store(docket.store, "loans").holds
    with pytest.raises(ServiceError, match="no hold"):
        lift_hold(docket, hold)
    open_, _ = open_round(docket, applicants("r4"))
    over, under, _gap = open_.reportable[0]
    flag(docket, Seat("r4", "ada"), (over, under), "so alike")
    hold, _ = place_hold(docket, "a complaint", "r4", over)
    with pytest.raises(ServiceError, match="while the hold"):  # the words are about both
        erase(docket, "r4", under)
    lift_hold(docket, hold)
    erase(docket, "r4", under)
    everything, _ = place_hold(docket, "a court's order")
    with pytest.raises(ServiceError, match="while the hold"):
        erase(docket, "r3", "r30")
    lift_hold(docket, everything)


def test_an_erasure_under_a_hold_and_reasons_that_vanish_are_found(
    docket: Docket, clock: Clock
) -> None:
    erase(docket, "r1", "r10")
    hold, _ = place_hold(docket, "a complaint", "r1")
    evidence = evidence_of(docket.store, "loans")

    held = next(r for r in evidence.records if r.kind == "hold-placed")
    erased = next(r for r in evidence.records if r.kind == "erased")
    order = [*evidence.records[: erased.seq - 1], held, erased]
    forged = rehashed(replace(evidence, records=order), lambda r: r)
    assert "erasure" in about(replay_evidence(forged))
    lift_hold(docket, hold)
    set_retention(docket, None, 1.0)
    clock.at = later(clock.at, 2 * DAY)
    erase_expired(docket)
    evidence = evidence_of(docket.store, "loans")
    silent = rehashed(evidence, lambda r: None if r.kind == "reasons-erased" else r)
    assert "payload" in about(replay_evidence(silent)), "reasons gone without a record"


@pytest.mark.parametrize("days", [0.0, -1.0, float("nan"), float("inf"), 1e9])
def test_what_is_no_period(begin: Callable[..., Docket], days: float) -> None:
    with pytest.raises(ParameterError, match=r"must be in \(0, 36525\]"):
        set_retention(begin(), days, None)


def test_over_the_api(live: Live) -> None:
    operator = live.client("operator")
    operator.set_retention("loans", 761.0, 30.0)
    hold = operator.place_hold("loans", "a complaint")
    operator.lift_hold("loans", hold)


@pytest.mark.parametrize(
    ("names", "months"),
    [
        (["colorado"], 36), (["regulation-b"], 25), (["ai-act-logs"], 6),
        (["regulation-b-business"], 12), (["ai-act-logs", "colorado", "regulation-b"], 36),
    ],
)  # fmt: skip
def test_presets_are_as_long_as_the_longest_such_months(names: list[str], months: int) -> None:
    first = date(2023, 1, 1)
    days = (first + timedelta(days=number) for number in range(4 * 366))
    spans = [
        (day.replace(year=day.year + (day.month - 1 + months) // 12,
                     month=(day.month - 1 + months) % 12 + 1) - day).days
        for day in days if day.day <= 28
    ]  # fmt: skip
    assert preset_days(names) == max(spans)


def test_presets_over_the_api(live: Live) -> None:
    operator = live.client("operator")
    operator.retain_as("loans", "ai-act-logs", "regulation-b")
    kept = [r["body"] for r in operator.ledger("loans") if r["kind"] == "retention-set"]
    assert kept == [{"features": 762.0, "reasons": 762.0}]
    refused: list[dict[str, Any]] = [{"presets": []}, {"features": 3.0}, {}]
    for body in [*refused, {"presets": ["colorado"], "features": 3.0}]:
        headers = {"Authorization": f"Bearer {live.tokens['operator']}"}
        response = live.http.put("/v1/dockets/loans/retention", json=body, headers=headers)
        assert response.status_code == 422, body
    with pytest.raises(ApiError, match="must be one of colorado"):
        operator.retain_as("loans", "mars")


def at_the_machine(docket: Docket, command: str, *words: str) -> Result:
    address = docket.store.url.render_as_string(hide_password=False)
    return CliRunner().invoke(main, ["docket", "--database", address, command, "loans", *words])


def test_periods_and_holds_at_the_machine(docket: Docket, clock: Clock) -> None:
    assert at_the_machine(docket, "retention").output.splitlines() == [
        "features: kept always", "reasons: kept always",
    ]  # fmt: skip
    assert at_the_machine(docket, "retention", "--features", "1").exit_code == 0
    assert at_the_machine(docket, "retention", "--reasons", "0.5").exit_code == 0
    placed = at_the_machine(
        docket, "hold", "--why", "a complaint", "--round", "r1", "--person", "r10"
    )
    hold, _, receipt = placed.stdout.partition("\n")
    assert Checkpoint.parse(receipt.strip() + "\n").size == docket.store.head("loans").seq
    assert at_the_machine(docket, "retention").output.splitlines() == [
        "features: kept 1 days after a round has closed",
        "reasons: kept 0.5 days after a round has closed",
        f"hold {hold}: round r1, r10, for a complaint",
    ]
    clock.at = later(clock.at, 2 * DAY)
    done = erase_expired(docket)
    assert (done.people, done.reasons, done.held) == (5, 1, 2)
    assert at_the_machine(docket, "hold", "--release", hold).exit_code == 0
    assert erase_expired(docket).people == 1
    assert at_the_machine(docket, "retention", "--preset", "colorado").exit_code == 0
    assert docket.refresh().governance.reasons_days == 1096
    assert at_the_machine(docket, "retention", "--reasons", "0.5").exit_code == 0
    assert at_the_machine(docket, "retention", "--features", "always").exit_code == 0
    assert docket.refresh().governance.features_days is None
    assert docket.projection.governance.reasons_days == 0.5, "what is not named stays"
    assert replay_store(docket.store, "loans").holds


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("retention", "--features", "soon"), 2, "'soon' is no number of days"),
        (("retention", "--reasons", "nan"), 1, "must be in (0, 36525]"),
        (("retention", "--preset", "mars"), 1, "must be one of colorado"),
        (("retention", "--preset", "colorado", "--features", "3"), 2, "Give --preset, or"),
        (("hold",), 2, "--why"),
        (("hold", "--why", " "), 1, "why must be 1 to 200 characters in one line"),
        (("hold", "--why", "two\nlines"), 1, "in one line"),
        (("hold", "--why", "x", "--person", "r10"), 1, "round must be given with a person"),
        (("hold", "--why", "x", "--round", "r1", "--person", "eve"), 1, "nobody named 'eve'"),
        (("hold", "--release", "0123456789ab"), 1, "no hold '0123456789ab'"),
    ],
)
def test_what_is_refused_at_the_machine(
    docket: Docket, words: tuple[str, ...], code: int, said: str
) -> None:
    before = docket.store.head("loans")
    refused = at_the_machine(docket, *words)
    assert refused.exit_code == code, refused.output
    assert said in " ".join(refused.output.split())
    assert docket.store.head("loans") == before, "nothing was recorded"
