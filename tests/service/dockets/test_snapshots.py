"""Snapshots: a start from one is a start from the first record; they are a cache, no more."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from likewise.cli.main import main
from likewise.learner import state_files
from likewise_client.tree import Tree
from likewise_service.clock import later
from likewise_service.dockets import docket as docket_module
from likewise_service.dockets import panel
from likewise_service.dockets import rounds as feedback
from likewise_service.dockets.docket import (
    Docket,
    opened_snapshot,
    sealed_snapshot,
)
from likewise_service.dockets.erasure import erase
from likewise_service.dockets.recomputation import Recomputation, check_snapshot
from likewise_service.dockets.rounds import open_round
from likewise_service.dockets.seating import Seat
from likewise_service.dockets.worker import Workers
from likewise_service.ledger import kinds
from likewise_service.ledger.database import snapshots
from likewise_service.ledger.signatures import PrivateKey
from likewise_service.ledger.store import Store
from likewise_service.settings import Settings
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
            panel.close_late_panels(docket)
        elif round_.seats and number % 5:
            if number % 2:
                panel.flag(docket, Seat(round_.id, "ada"), pair, "alike")
            for member in round_.seats:
                panel.finish(docket, Seat(round_.id, member))
        for seat in shown_again(docket, "ada") if "ada" in docket.seating.members else []:
            if number % 3:
                panel.finish(docket, seat)
        if number % 4:
            feedback.label(docket, [(round_.id, person, number % 2) for person in round_.people])
        if number == 12:
            erase(docket, round_.id, next(iter(round_.people)))


def everything(docket: Docket) -> dict[str, Any]:
    """All that a docket knows, as a snapshot and its members' reviews would tell it."""
    return {
        **docket.content(),
        "reviews": {m: [(r.id, r.number, r.status, r.ended) for r in every_review(docket, m)]
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


def test_a_key_that_fell_into_other_hands_leaves_no_snapshot(
    begin: Begin, store: Store, clock: Clock
) -> None:
    """Nobody believes its signature: snapshots of an honest ledger were called false."""
    docket = begin(rule="any", repeat_share=0.4)
    play(docket, clock, 0, 12)
    assert _snapshots(store)
    with closing(Store.open(store.url.render_as_string(hide_password=False))) as elsewhere:
        elsewhere.keys.rotate(compromised=True)
    assert _snapshots(store) == []
    play(docket, clock, 12, 24)  # this process has signed with the old key a moment ago
    checked, recomputed = check_snapshot(store, "loans"), Recomputation(store, "loans")
    assert checked is not None
    assert checked.differing == ()
    while recomputed.advance(10_000):
        pass
    assert recomputed.differences == []


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
        plain = [zlib.decompress(content.partition(b"\n")[2]) for content in contents]
        return sum(content.count(b"[790.0,37.0,") for content in plain)

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
    assert [r.id for r in docket.projection.opened.values()] == ["r1", "r2"]
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
    assert [r.id for r in docket.projection.opened.values()] == ["r1"]
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
    content = _content(store)
    address = store.url.render_as_string(hide_password=False)
    for part, change in CHANGES.items():
        # By somebody who has the installation's key.
        _put(store, {**content, part: change(content[part])}, store.keys.current())
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


@pytest.mark.parametrize("name", ["format", "algorithm"])
def test_a_snapshot_of_another_version_is_no_fault(
    begin: Begin, store: Store, clock: Clock, name: str
) -> None:
    """A server that was upgraded reads the ledger instead, and tells nobody that it was changed."""
    docket = begin(rule="any", deadline=60)
    play(docket, clock, 0, 14)
    _put(store, {**_content(store), name: "another"}, store.keys.current())
    assert Docket(store, "loans", clock).content() == docket.content()
    read = Recomputation(store, "loans")
    while read.advance(50):
        pass
    assert read.differences == []
    assert check_snapshot(store, "loans") is None


def _newest(store: Store) -> tuple[Tree, bytes]:
    with store.view("loans") as view:
        newest = view.newest_snapshot()
    assert newest is not None
    return newest


def _content(store: Store) -> dict[str, Any]:
    content: dict[str, Any] = opened_snapshot("loans", *_newest(store), store.keys)
    return content


def _put(store: Store, content: dict[str, Any], key: PrivateKey) -> None:
    """Put another content into the newest snapshot."""
    tree = _newest(store)[0]
    stored = sealed_snapshot("loans", tree, content, key)
    with store.changing() as connection:
        same = snapshots.c.seq == tree.size
        connection.execute(snapshots.update().where(same).values(content=stored))


def _disfavoured(content: dict[str, Any]) -> dict[str, Any]:
    """The snapshot of a learner that decides something else: all of its costs are nothing."""
    state = state_files.parse_state(content["state"].encode())
    other = replace(state, costs=np.zeros_like(state.costs), lam=0.0)
    return {**content, "state": state_files.dump_state(other).decode()}


def _scores(docket: Docket, name: str) -> list[int]:
    return [d.score for d in open_round(docket, some_people(name))[0].decisions.values()]


def test_a_docket_at_work_is_what_its_records_say(begin: Begin, store: Store) -> None:
    """Also where one command opens, audits and closes a round: nobody was approved."""
    docket = begin(feedback="one-sided", rule="any", members=("ada",))
    for number in range(30):
        round_, _ = open_round(docket, some_people(f"a{number}-"))
        for over, under, _gap in round_.asked_of("ada"):
            panel.flag(docket, Seat(round_.id, "ada"), (over, under))
        if "ada" in round_.seats:
            panel.finish(docket, Seat(round_.id, "ada"))
        round_ = docket.projection.round(round_.id)
        if round_.closed is None:
            approved = [name for name, decision in round_.decisions.items() if decision.approved]
            feedback.label(docket, [(round_.id, name, 0) for name in approved])
    again = Recomputation(store, "loans")
    while again.advance(500):
        pass
    assert again.projection.curves.points == docket.projection.curves.points


def test_a_recomputation_knows_only_of_those_erased_whom_it_is_reading(
    begin: Begin, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise everybody who was ever erased would be in memory, for each docket in use."""
    docket = begin()
    for number in range(1, 6):
        open_round(docket, some_people(f"x{number}-"))
        for place in range(3):
            erase(docket, f"r{number}", f"x{number}-{place}")
    find, known = kinds.surrogates_in, list[int]()

    def watched(bodies: Any) -> kinds.Surrogates:
        found = find(bodies)
        known.append(len(found))
        return found

    monkeypatch.setattr(kinds, "surrogates_in", watched)
    read = Recomputation(store, "loans")
    while read.advance(1):
        pass
    assert (max(known), sum(known)) == (3, 15)
    assert not read.differences


def test_no_server_decides_from_a_snapshot_that_was_changed(
    begin: Begin, store: Store, clock: Clock
) -> None:
    play(begin(rule="any"), clock, 0, 14)
    _put(store, _disfavoured(_content(store)), PrivateKey.fresh())
    docket = Docket(store, "loans", clock)
    assert docket._snapshot == 0, "it is not believed, and the records are read instead"
    _scores(docket, "next")
    assert replay_store(store, "loans").holds


def test_a_snapshot_changed_by_somebody_with_the_key_is_found_in_the_background(
    begin: Begin, store: Store, clock: Clock
) -> None:
    """What was decided from it is found too, and the docket is folded anew before it goes on."""
    play(begin(rule="any"), clock, 0, 14)
    harmed = _disfavoured(_content(store))
    _put(store, harmed, store.keys.current())
    reports: list[tuple[int, int]] = []

    async def serve() -> None:
        workers, stop = Workers(store, Settings()), asyncio.Event()
        await workers.run("loans", lambda w: _scores(w.docket, "wrong"))
        task = asyncio.create_task(workers.recompute(stop, lambda _, *n: reports.append(n)))
        worker = workers._workers["loans"]
        while not worker.distrusted:
            await asyncio.sleep(0.01)
        await workers.run("loans", lambda w: _scores(w.docket, "right"))
        stop.set()
        await task
        await workers.close()

    asyncio.run(asyncio.wait_for(serve(), 60))
    assert max(differences for _, differences in reports) >= 1
    differing = {d.seq for d in replay_store(store, "loans").differences}
    wrong = [r.seq for r in store.records("loans") if r.kind == "decided"][-2:]
    assert (wrong[0] in differing, wrong[1] in differing) == (True, False)
