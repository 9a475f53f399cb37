"""Snapshots: a start from one is a start from the first record; they are a cache, no more."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from likewise.cli.main import main
from likewise_service.dockets import docket as docket_module
from likewise_service.dockets import panel as reviews
from likewise_service.dockets import rounds as feedback
from likewise_service.dockets.board import ReviewBoard
from likewise_service.dockets.docket import Docket, check_snapshot, content_of
from likewise_service.dockets.erasure import erase
from likewise_service.dockets.reviews import Seat
from likewise_service.dockets.rounds import open_round
from likewise_service.errors import later
from likewise_service.ledger.database import snapshots
from likewise_service.ledger.store import Store
from tests.service.live import Clock, every_review, replay_store, shown_again, some_people

Begin = Callable[..., Docket]


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot after every 20 records."""
    monkeypatch.setattr(docket_module, "EVERY", 20)


def play(docket: Docket, clock: Clock, first: int, last: int) -> None:
    """Rounds of every fate: reported, quiet, late, unaudited, erased, shown again, still open."""
    for number in range(first, last):
        clock.at = later(clock.at, 10)
        round_, _ = open_round(docket, some_people(f"x{number}-"))
        pair = round_.possible[0][:2]
        if number % 7 == 3:
            clock.at = later(clock.at, 70)
            reviews.close_late_panels(docket)
        elif round_.seats and number % 5:
            if number % 2:
                reviews.flag(docket, Seat(round_.id, "ada"), pair, "alike")
            for member in round_.seats:
                reviews.finish(docket, Seat(round_.id, member))
        for seat in shown_again(docket, "ada") if "ada" in docket.seating.members else []:
            if number % 3:
                reviews.finish(docket, seat)
        if number % 4:
            feedback.label(docket, [(round_.id, person, number % 2) for person in round_.people])
        if number == 12:
            erase(docket, round_.id, next(iter(round_.people)))


def everything(docket: Docket) -> dict[str, Any]:
    """All that a docket knows, as a snapshot and its members' reviews would tell it."""
    board = ReviewBoard(docket)
    return {
        **content_of(docket.projection, docket.seating, docket.state),
        "reviews": {m: [(r.id, r.number, r.status, r.ended) for r in every_review(board, m)]
                    for m in ("ada", "bob")},
        "rounds": list(docket.projection.history()),
    }  # fmt: skip


def _forget_snapshots(store: Store) -> None:
    with store.changing() as connection:
        connection.execute(snapshots.delete())


def _snapshots(store: Store) -> list[int]:
    with store.reading() as connection:
        return list(connection.execute(sa.select(snapshots.c.seq)).scalars())


def test_a_start_from_a_snapshot_is_a_start_from_the_first_record(
    begin: Begin, store: Store, clock: Clock
) -> None:
    docket = begin(rule="any", deadline=60, repeat_share=0.4, attention="share:0.8")
    watching = Docket(store, "loans", clock)
    play(docket, clock, 0, 20)
    assert 0 < len(_snapshots(store)) <= 2
    resumed = Docket(store, "loans", clock)
    assert resumed._snapshot > 0
    play(resumed, clock, 20, 40)
    watching.refresh()
    docket.refresh()
    expected = everything(resumed)
    assert everything(docket) == expected
    assert everything(watching) == expected
    _forget_snapshots(store)
    fresh = Docket(store, "loans", clock)
    assert fresh._snapshot == 0
    assert everything(fresh) == expected
    assert any(review[3] for review in expected["reviews"]["ada"])
    assert replay_store(store, "loans").holds
    assert replay_store(store, "loans").repeats > 0


def test_a_snapshot_that_does_not_fit_is_passed_over(
    begin: Begin, store: Store, clock: Clock
) -> None:
    docket = begin(rule="any", repeat_share=0.4)
    play(docket, clock, 0, 12)
    expected = everything(docket)
    with store.reading() as connection:
        rows = [dict(row) for row in connection.execute(sa.select(snapshots)).mappings()]
    for harm in ({"content": b"x"}, {"content": b"{}"}, {"hash": "0" * 64}):
        assert Docket(store, "loans", clock)._snapshot > 0, "until it is harmed"
        with store.changing() as connection:
            connection.execute(snapshots.update().values(**harm))
        fresh = Docket(store, "loans", clock)
        assert (fresh._snapshot, everything(fresh) == expected) == (0, True), harm
        with store.changing() as connection:
            connection.execute(snapshots.delete())
            connection.execute(snapshots.insert(), rows)


def test_whoever_is_erased_is_erased_from_snapshots(
    begin: Begin, store: Store, clock: Clock
) -> None:
    docket = begin(rule="any")
    for number in range(12):
        open_round(docket, some_people(f"x{number}-"))

    def occurrences() -> int:
        with store.reading() as connection:
            contents = connection.execute(sa.select(snapshots.c.content)).scalars().all()
        assert contents
        return sum(zlib.decompress(content).count(b"[790.0,37.0,") for content in contents)

    assert occurrences() > 0
    erase(docket, "r2", "x1-0")
    assert occurrences() == 11, "all but the one who was erased"
    assert Docket(store, "loans", clock).state == docket.state


def test_refused_commands_of_a_group_leave_no_trace(begin: Begin, store: Store) -> None:
    """Those that share a transaction commit together; one that is refused is not among them."""
    from likewise.errors import LikewiseError

    docket = begin()
    head = store.head("loans")
    with docket.group():
        open_round(docket, some_people("a"))
        with pytest.raises(LikewiseError):
            open_round(docket, some_people("b"), round_id="r1")
        open_round(docket, some_people("c"))
        reader = Store.open(store.url.render_as_string(hide_password=False))
        assert reader.head("loans") == head, "nothing can be seen before the end"
        reader.close()
    assert [r.id for r in docket.projection.open_rounds()] == ["r1", "r2"]
    assert store.head("loans") == docket.projection.head
    assert replay_store(store, "loans").holds


def test_a_group_that_fails_is_forgotten(begin: Begin, store: Store) -> None:
    docket = begin()
    open_round(docket, some_people("a"))
    head = store.head("loans")

    def fail() -> None:
        with docket.group():
            open_round(docket, some_people("b"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert docket.refresh().head == head == store.head("loans")
    assert [r.id for r in docket.projection.open_rounds()] == ["r1"]
    open_round(docket, some_people("c"))
    assert replay_store(store, "loans").holds


CHANGES: dict[str, Callable[[Any], Any]] = {
    "counts": lambda counts: {**counts, "rounds": counts["rounds"] + 1},
    "rule": lambda _: "all",
    "at": lambda _: "2031-01-01T00:00:00.000001Z",
    "state": lambda text: text.replace('"number":', '"number": ', 1),
    "opened": lambda opened: opened[1:],
}


def test_a_snapshot_that_was_changed_is_found(begin: Begin, store: Store, clock: Clock) -> None:
    """It fits the chain and the code, and yet says something else than the records."""
    docket = begin(rule="any", deadline=60, repeat_share=0.4)
    play(docket, clock, 0, 14)
    checked = check_snapshot(store, "loans")
    assert checked is not None
    assert (checked.seq in _snapshots(store), checked.differing) == (True, ())
    newest = snapshots.c.seq == checked.seq
    with store.reading() as connection:
        content = connection.execute(sa.select(snapshots.c.content).where(newest)).scalar_one()
    address = store.url.render_as_string(hide_password=False)
    for part, change in CHANGES.items():
        data = json.loads(zlib.decompress(content))
        data[part] = change(data[part])
        harmed = zlib.compress(json.dumps(data).encode())
        with store.changing() as connection:
            connection.execute(snapshots.update().where(newest).values(content=harmed))
        checked = check_snapshot(store, "loans")
        assert checked is not None
        assert checked.differing == (part,)
        if "sqlite" in address:
            words = ["replay", "loans", "--snapshot", "--database", address]
            result = CliRunner().invoke(main, words)
            assert result.exit_code == 1
            assert f"otherwise about {part}" in result.output
    _forget_snapshots(store)
    assert check_snapshot(store, "loans") is None
