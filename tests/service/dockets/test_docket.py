"""A docket at work, on both databases: memory holds what was recorded, and replay agrees."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from likewise.errors import LikewiseError
from likewise_service.clock import later
from likewise_service.dockets import panel
from likewise_service.dockets import panel as membership
from likewise_service.dockets import rounds as feedback
from likewise_service.dockets import rounds as people
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.erasure import erase, reveal_seed
from likewise_service.dockets.rounds import Applicant, add_people, open_round, seal
from likewise_service.dockets.seating import Seat
from likewise_service.errors import ServiceError
from likewise_service.ledger.database import secrets
from likewise_service.ledger.records import LedgerBroken
from likewise_service.ledger.store import Store
from tests.service.live import replay_store, shown_again

Begin = Callable[..., Docket]
People = Callable[..., list[Applicant]]


def _later(clock: Any, seconds: float) -> None:
    clock.at = later(clock.at, seconds)


def _first_pair(docket: Docket, round_id: str) -> tuple[str, str]:
    over, under, _ = docket.projection.round(round_id).reportable[0]
    return over, under


def _everything_agrees(docket: Docket) -> None:
    """A docket made from scratch has the same state and projection; the replay finds nothing."""
    fresh = Docket(docket.store, docket.name)
    assert fresh.state == docket.state
    assert list(fresh.projection.history()) == list(docket.projection.history())
    assert fresh.projection.counts == docket.projection.counts
    assert (fresh.projection.members, fresh.projection.rule) == (
        docket.projection.members,
        docket.projection.rule,
    )
    assert fresh.receipt() == docket.receipt()
    replayed = replay_store(docket.store, docket.name)
    assert replayed.holds, replayed.text()
    assert replayed.state == docket.state


def test_a_round_from_arrival_to_its_end(begin: Begin, applicants: People) -> None:
    docket = begin()
    round_, _ = open_round(docket, applicants())
    pair = _first_pair(docket, round_.id)
    for member in ("ada", "bob"):
        panel.flag(docket, Seat("r1", member), pair, "same debt")
        panel.finish(docket, Seat("r1", member))
    assert docket.projection.round("r1").outcome == "report"
    assert docket.projection.round("r1").pairs == (pair,)
    assert docket.state.lam > 0
    feedback.label(docket, [("r1", person, 1) for person in round_.people])
    assert docket.projection.round("r1").status == "closed"
    _everything_agrees(docket)


def test_people_arrive_in_batches_until_the_round_is_sealed(
    begin: Begin, applicants: People
) -> None:
    docket = begin()
    open_round(docket, applicants("a", 2), seal=False)
    add_people(docket, "r1", applicants("b", 1))
    seal(docket, "r1")
    seal(docket, "r1")
    assert list(docket.projection.round("r1").decisions) == ["a0", "a1", "b0"]
    with pytest.raises(ServiceError, match="sealed"):
        add_people(docket, "r1", applicants("c", 1))
    assert [r.kind for r in docket.store.records("loans")].count("sealed") == 1
    _everything_agrees(docket)


def test_what_is_refused_leaves_no_trace(begin: Begin, applicants: People) -> None:
    docket = begin()
    open_round(docket, applicants())
    head = docket.store.head("loans")
    refused: list[Callable[[], object]] = [
        lambda: open_round(docket, applicants("q", 5)),
        lambda: open_round(docket, []),
        lambda: open_round(docket, applicants(), round_id="r1"),
        lambda: open_round(docket, [Applicant("x", {"score": 10**9, "debt": 1, "purpose": "car"})]),
        lambda: open_round(docket, [Applicant("\ud800", applicants()[0].features)]),
        lambda: open_round(docket, applicants("z"), round_id="\ud800"),
        lambda: open_round(docket, applicants("z"), key="\x00"),
        lambda: feedback.label(docket, [("r1", "p0", 1), ("r1", "p0", 0)]),
        lambda: feedback.label(docket, [("r1", "p0", 1), ("r1", "nobody", 0)]),
        lambda: feedback.override(docket, "r1", "nobody", True),
        lambda: feedback.close(docket, "r1"),
        lambda: panel.finish(docket, Seat("r1", "eve")),
        lambda: panel.flag(docket, Seat("r1", "ada"), ("p0", "nobody")),
        lambda: panel.flag(docket, Seat("r1", "ada"), _first_pair(docket, "r1"), "\ud800"),
        lambda: panel.flag(docket, Seat("r1", "ada"), _first_pair(docket, "r1"), "x" * 2001),
        lambda: membership.leave(docket, "eve"),
        lambda: membership.join(docket, "\ud800"),
        lambda: membership.change_rule(docket, "veto(eve)"),
        lambda: people.open_docket(docket.store, "loans", docket.projection.settings),
        lambda: people.open_docket(docket.store, "Not A Name", docket.projection.settings),
    ]
    for number, command in enumerate(refused):
        with pytest.raises(LikewiseError):
            command()
        assert docket.store.head("loans") == head, number
    _everything_agrees(docket)


def test_any_text_may_be_an_id(begin: Begin) -> None:
    docket = begin()
    features = {"score": 790, "debt": 1, "purpose": "car"}
    for name in (
        "名前",
        "e\u0301",
        "é",
        "\u0000",
        "'; DROP TABLE events; --",
        "x" * 5000,
        "\u2028",
    ):
        open_round(docket, [Applicant(name, features)], round_id=name)
    _everything_agrees(docket)


def test_objections_can_be_taken_back_until_the_panel_closes(
    begin: Begin, applicants: People
) -> None:
    docket = begin()
    open_round(docket, applicants())
    pair = _first_pair(docket, "r1")
    for member in ("ada", "bob"):
        panel.flag(docket, Seat("r1", member), pair)
    panel.flag(docket, Seat("r1", "ada"), pair)
    assert [r.kind for r in docket.store.records("loans")].count("flagged") == 2
    panel.finish(docket, Seat("r1", "ada"))
    panel.reopen(docket, Seat("r1", "ada"))
    panel.withdraw(docket, Seat("r1", "ada"), pair)
    panel.withdraw(docket, Seat("r1", "ada"), pair)
    panel.finish(docket, Seat("r1", "ada"))
    panel.finish(docket, Seat("r1", "bob"))
    assert docket.projection.round("r1").outcome == "quiet"
    with pytest.raises(ServiceError, match="has closed"):
        panel.withdraw(docket, Seat("r1", "bob"), pair)
    _everything_agrees(docket)


def test_a_deadline_ends_an_audit_by_those_who_were_there(
    begin: Begin, applicants: People, clock: Any
) -> None:
    docket = begin(members=("ada", "bob", "cyd"), rule="any", deadline=60, quorum=1)
    for name in ("r1", "r2"):
        open_round(docket, applicants(name))
    pair = _first_pair(docket, "r1")
    panel.flag(docket, Seat("r1", "ada"), pair)
    panel.finish(docket, Seat("r1", "ada"))
    panel.flag(docket, Seat("r1", "bob"), pair)
    assert panel.close_late_panels(docket) == 0
    _later(clock, 61)
    assert panel.close_late_panels(docket) == 2
    assert panel.close_late_panels(docket) == 0
    first, second = docket.projection.round("r1"), docket.projection.round("r2")
    assert first.seats == {"ada": "finished", "bob": "absent", "cyd": "absent"}
    assert (first.outcome, first.pairs) == ("report", (pair,))
    assert (second.outcome, set(second.seats.values())) == ("unaudited", {"absent"})
    _everything_agrees(docket)


def test_below_the_quorum_nobody_audited_the_round(
    begin: Begin, applicants: People, clock: Any
) -> None:
    docket = begin(rule="any", deadline=60, quorum=2)
    open_round(docket, applicants())
    panel.flag(docket, Seat("r1", "ada"), _first_pair(docket, "r1"))
    panel.finish(docket, Seat("r1", "ada"))
    _later(clock, 60)
    panel.close_late_panels(docket)
    assert docket.projection.round("r1").outcome == "unaudited"
    assert docket.state.audits == 0
    _everything_agrees(docket)


def test_the_ledgers_time_never_goes_back(begin: Begin, applicants: People, clock: Any) -> None:
    docket = begin(deadline=60)
    open_round(docket, applicants("a"))
    _later(clock, -3600)
    open_round(docket, applicants("b"))
    times = [record.at for record in docket.store.records("loans")]
    assert times == sorted(times)
    _everything_agrees(docket)


def test_a_lottery_says_which_rounds_are_audited(begin: Begin, applicants: People) -> None:
    docket = begin(attention="share:0.5")
    for name in "abcdefgh":
        open_round(docket, applicants(name))
    seats = [bool(round_.seats) for round_ in docket.projection.history()]
    assert len(set(seats)) == 2
    outcomes = [round_.outcome for round_ in docket.projection.history()]
    assert [outcome is None for outcome in outcomes] == seats
    _everything_agrees(docket)


def test_the_operator_may_end_an_audit_and_replay_says_so(begin: Begin, applicants: People) -> None:
    docket = begin()
    open_round(docket, applicants())
    feedback.close(docket, "r1", unaudited=True)
    feedback.close(docket, "r1", unaudited=True)
    _everything_agrees(docket)
    assert replay_store(docket.store, "loans").ended == 1


def test_one_sided_labels_and_overrides(begin: Begin, applicants: People) -> None:
    docket = begin(feedback="one-sided")
    for name in "abcdef":
        round_, _ = open_round(docket, applicants(name))
        for member in ("ada", "bob"):
            panel.finish(docket, Seat(round_.id, member))
        for person, decision in round_.decisions.items():
            if person.endswith("2"):
                feedback.override(docket, round_.id, person, not decision.approved)
                feedback.override(docket, round_.id, person, not decision.approved)
            elif decision.approved:
                feedback.label(docket, [(round_.id, person, 1), (round_.id, person, 1)])
    records = [r for r in docket.store.records("loans") if r.kind in ("labelled", "overridden")]
    keys = [(r.kind, r.body["round"], r.body["person"]) for r in records]
    assert len(keys) == len(set(keys))
    assert all(round_.status == "closed" for round_ in docket.projection.history())
    _everything_agrees(docket)


def test_members_and_rules_change_for_rounds_that_are_sealed_later(
    begin: Begin, applicants: People
) -> None:
    docket = begin(rule="veto(ada) or all")
    open_round(docket, applicants("a"))
    membership.join(docket, "cyd")
    membership.join(docket, "cyd")
    with pytest.raises(LikewiseError, match="ada"):
        membership.leave(docket, "ada")
    membership.change_rule(docket, "veto(cyd)")
    membership.leave(docket, "ada")
    open_round(docket, applicants("b"))
    assert list(docket.projection.round("r1").seats) == ["ada", "bob"]
    assert list(docket.projection.round("r2").seats) == ["bob", "cyd"]
    panel.finish(docket, Seat("r1", "ada"))
    panel.finish(docket, Seat("r1", "bob"))
    assert docket.projection.round("r1").outcome == "quiet"
    _everything_agrees(docket)


def test_a_request_that_is_sent_again_gets_the_same_answer(
    begin: Begin, applicants: People
) -> None:
    docket = begin()
    first, _ = open_round(docket, applicants("a"), key="k1")
    head = docket.store.head("loans")
    again, receipt = open_round(Docket(docket.store, "loans"), applicants("a"), key="k1")
    assert (again, receipt.size) == (first, head.seq)
    with pytest.raises(ServiceError, match="another request"):
        open_round(docket, applicants("b"), key="k1")
    assert docket.store.head("loans") == head


def test_names_of_rounds_pass_over_those_that_clients_chose(
    begin: Begin, applicants: People
) -> None:
    docket = begin()
    open_round(docket, applicants("a"), round_id="r2")
    assert open_round(docket, applicants("b"))[0].id == "r3"
    assert open_round(docket, applicants("c"))[0].id == "r4"


def test_a_shadow_docket_is_audited_like_any_other(begin: Begin, applicants: People) -> None:
    docket = begin(shadow=True)
    open_round(docket, applicants())
    for member in ("ada", "bob"):
        panel.finish(docket, Seat("r1", member))
    _everything_agrees(docket)


def test_a_round_that_is_shown_again_changes_nothing(begin: Begin, applicants: People) -> None:
    docket = begin(repeat_share=0.5)
    for number in range(20):
        round_, _ = open_round(docket, applicants(f"x{number}-"))
        for member in ("ada", "bob"):
            panel.finish(docket, Seat(round_.id, member))
        if shown_again(docket, "ada"):
            break
    before, [again] = docket.state, shown_again(docket, "ada")
    panel.flag(docket, again, _first_pair(docket, again.round))
    panel.finish(docket, again)
    assert docket.state == before
    assert docket.projection.round(again.round).repeats["ada"].finished
    with pytest.raises(ServiceError, match="closed"):
        panel.finish(docket, Seat(round_.id, "ada", again=docket.clock()))
    _everything_agrees(docket)


def test_dockets_on_the_same_store_see_everything(begin: Begin, applicants: People) -> None:
    first = begin()
    second = Docket(first.store, "loans", first.clock)
    open_round(first, applicants("a"))
    open_round(second, applicants("b"))
    panel.finish(first, Seat("r2", "ada"))
    panel.finish(second, Seat("r2", "bob"))
    assert first.refresh().round("r2").outcome == "quiet"
    assert first.state == second.state
    _everything_agrees(first)


def test_what_somebody_reads_does_not_change_under_their_hands(
    begin: Begin, applicants: People
) -> None:
    docket = begin()
    before, _ = open_round(docket, applicants())
    panel.finish(docket, Seat("r1", "ada"))
    assert before.seats["ada"] == "asked"
    assert docket.projection.round("r1").seats["ada"] == "finished"


def test_after_the_seed_is_published_nothing_is_decided(begin: Begin, applicants: People) -> None:
    docket = begin()
    open_round(docket, applicants("a"))
    reveal_seed(docket)
    reveal_seed(docket)
    with pytest.raises(ServiceError, match="published"):
        open_round(docket, applicants("b"))
    _everything_agrees(docket)


def test_who_is_erased_is_gone_and_every_decision_is_still_proved(
    begin: Begin, applicants: People, tmp_path: Path
) -> None:
    docket = begin()
    watching = Docket(docket.store, "loans", docket.clock)
    debt = 83
    someone = Applicant("ann", {"score": 781, "debt": debt, "purpose": "car"})
    open_round(docket, [someone, *applicants("p", 2)], key="k")
    watching.refresh()
    pair = ("ann", "p1")
    panel.flag(docket, Seat("r1", "ada"), pair, "Ann is a nurse")
    panel.withdraw(docket, Seat("r1", "ada"), pair)
    panel.flag(docket, Seat("r1", "bob"), pair, "Ann is a nurse too")
    erase(docket, "r1", "ann")
    erase(docket, "r1", "ann")
    watching.refresh()
    for process in (docket, watching):
        ann = next(p for p in process.state.open["r1"].people if p.id == "ann")
        assert debt not in ann.features
    with docket.store.reading() as connection:
        contents = [r[0] for r in connection.exec_driver_sql("SELECT content FROM payloads")]
        prints = [r[0] for r in connection.exec_driver_sql("SELECT fingerprint FROM requests")]
    assert len(contents) == 3
    assert not [c for c in contents if "nurse" in c or f"{debt}." in c]
    assert prints == [""]
    with pytest.raises(ServiceError, match="erased"):
        open_round(docket, [someone, *applicants("p", 2)], key="k")
    for member in ("ada", "bob"):
        panel.finish(docket, Seat("r1", member))
    feedback.label(docket, [("r1", person, 1) for person in docket.projection.round("r1").people])
    _everything_agrees(docket)
    watching.refresh()
    assert watching.state == docket.state
    erase(docket, "r1", "p0")
    assert list(docket.projection.opened.values()) == []
    _everything_agrees(docket)
    replayed = replay_store(docket.store, "loans")
    assert replayed.erased == [("r1", "ann"), ("r1", "p0")]
    assert replayed.decisions == 3
    assert "surrogate" in replayed.text()


def test_postgresqls_table_forgets_who_was_erased(postgres_url: str, spec: Any) -> None:
    store = Store.open(postgres_url)
    people.open_docket(store, "loans", spec())
    docket = Docket(store, "loans")
    open_round(docket, [Applicant("ann", {"score": 781, "debt": 83, "purpose": "car"})])

    def on_disk() -> bool:
        with store.reading() as connection:
            query = "SELECT current_setting('data_directory'), pg_relation_filepath('payloads')"
            folder, file = connection.exec_driver_sql(query).one()
        return b"781.0,83.0" in (Path(folder) / file).read_bytes()

    with sa.create_engine(
        store.url.set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT",
        poolclass=sa.NullPool,
    ).connect() as superuser:  # fmt: skip
        superuser.exec_driver_sql("CHECKPOINT")
        assert on_disk()
        erase(docket, "r1", "ann")
        superuser.exec_driver_sql("CHECKPOINT")
        assert on_disk()
        store.scrub()
        superuser.exec_driver_sql("CHECKPOINT")
    assert not on_disk()
    store.close()


def test_erasing_tells_where_an_older_reader_keeps_postgresqls_rows(
    postgres_url: str, spec: Any
) -> None:
    store = Store.open(postgres_url)
    people.open_docket(store, "loans", spec())
    docket = Docket(store, "loans")
    open_round(docket, [Applicant("ann", {"score": 781, "debt": 83, "purpose": "car"})])
    with store.reading() as connection:
        connection.exec_driver_sql("SELECT count(*) FROM dockets").scalar()
        erase(docket, "r1", "ann")
        with pytest.raises(ServiceError, match="Erase again in a while"):
            store.scrub()
    store.scrub()
    store.close()


def test_a_docket_does_not_go_on_with_another_seed(begin: Begin) -> None:
    """Its decisions could never be taken again from the seed that it commits to."""
    docket = begin()
    for change in ({"seed": "6"}, {"seed": "5", "salt": b"other"}):
        with docket.store.changing() as connection:
            connection.execute(secrets.update().values(change))
        with pytest.raises(LedgerBroken, match="not the one that it commits to"):
            Docket(docket.store, "loans")
