"""What must not leak, and what must not be silenced: hashes, deadlines, erasures, files."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from likewise.cli.main import main
from likewise_service.clock import later
from likewise_service.dockets import panel
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.erasure import erase
from likewise_service.dockets.rounds import Applicant, open_round
from likewise_service.dockets.seating import Seat
from likewise_service.errors import ServiceError
from likewise_service.ledger.kinds import Finished
from likewise_service.ledger.records import Record
from likewise_service.ledger.store import Store
from likewise_service.verify.evidence import evidence_of
from likewise_service.verify.export import write_export
from tests.service.live import Live, people, replay_store

Begin = Callable[..., Docket]
People = Callable[..., list[Applicant]]


def test_a_hash_cannot_be_found_by_guessing_the_record() -> None:
    """The same words at the same moment under the same number have another hash every time."""
    at = "2026-03-01T12:00:00.000000Z"
    same = ("loans", 0, at, "finished", {"member": "ada"}, "machine")
    records = [Record.following(*same) for _ in range(50)]
    assert len({record.hash for record in records}) == 50
    assert all(record.hash == record.content_hash for record in records)
    assert all(len(record.nonce) == 32 for record in records)


def test_nothing_counts_after_the_deadline_even_if_nobody_has_closed_the_panel(
    begin: Begin, applicants: People, clock: Any
) -> None:
    docket = begin(deadline=60.0)
    open_round(docket, applicants())
    over, under, _ = docket.projection.round("r1").reportable[0]
    panel.flag(docket, Seat("r1", "ada"), (over, under))
    clock.at = later(clock.at, 60)
    acts: list[Callable[[], object]] = [
        lambda: panel.flag(docket, Seat("r1", "bob"), (over, under)),
        lambda: panel.withdraw(docket, Seat("r1", "ada"), (over, under)),
        lambda: panel.finish(docket, Seat("r1", "ada")),
        lambda: panel.reopen(docket, Seat("r1", "ada")),
    ]
    for act in acts:
        with pytest.raises(ServiceError, match="time for this round is over"):
            act()
    panel.close_late_panels(docket)
    assert docket.projection.round("r1").outcome == "unaudited"


def test_a_reason_given_after_an_erasure_can_be_erased_too(
    begin: Begin, applicants: People
) -> None:
    docket = begin()
    open_round(docket, applicants())
    over, under, _ = docket.projection.round("r1").reportable[0]
    erase(docket, "r1", over)
    panel.flag(docket, Seat("r1", "ada"), (over, under), "a neighbour of mine")
    erase(docket, "r1", over)
    (digest,) = [
        o.reason
        for pairs in docket.projection.round("r1").objections.values()
        for o in pairs.values()
    ]
    assert digest is not None
    with docket.store.view("loans") as view:
        assert view.payloads([digest]) == {}


def test_what_was_erased_is_in_none_of_sqlites_files(
    sqlite_url: str, spec: Callable[..., Any]
) -> None:
    from likewise_service.dockets.rounds import open_docket

    store = Store.open(sqlite_url)
    open_docket(store, "loans", spec(), seed=5)
    docket = Docket(store, "loans")
    people = [
        Applicant("a", {"score": 777, "debt": 43, "purpose": "car"}),
        Applicant("b", {"score": 333, "debt": 44, "purpose": "car"}),
    ]
    open_round(docket, people)
    panel.flag(docket, Seat("r1", "ada"), ("a", "b"), "secretneighbour")
    path = Path(sqlite_url.removeprefix("sqlite:///"))
    files = [path, path.with_name(path.name + "-wal")]
    content = b"".join(file.read_bytes() for file in files if file.exists())
    assert b"secretneighbour" in content
    assert b"[777.0," in content
    erase(docket, "r1", "a")
    for file in files:
        if file.exists():
            assert b"secretneighbour" not in file.read_bytes()
            assert b"[777.0," not in file.read_bytes()
    store.close()


def test_a_new_database_is_for_its_owner_only(sqlite_url: str) -> None:
    Store.open(sqlite_url).close()
    mode = Path(sqlite_url.removeprefix("sqlite:///")).stat().st_mode
    assert stat.S_IMODE(mode) == 0o600


def test_the_ledger_alone_can_be_verified_as_it_was_downloaded(
    begin: Begin, applicants: People, tmp_path: Path
) -> None:
    docket = begin()
    open_round(docket, applicants())
    write_export(evidence_of(docket.store, "loans"), tmp_path / "out", docket.store.keys)
    saved = tmp_path / "loans-ledger.jsonl"
    saved.write_bytes((tmp_path / "out" / "ledger.jsonl").read_bytes())
    words = ["verify", str(docket.receipt()), "--export", str(saved)]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    assert "THE RECEIPT HOLDS" in result.output


@pytest.mark.parametrize("command", ["replay loans", "export loans --to OUT"])
def test_a_database_may_be_named_by_its_file(
    sqlite_url: str, spec: Callable[..., Any], tmp_path: Path, command: str
) -> None:
    from likewise_service.dockets.rounds import open_docket

    store = Store.open(sqlite_url)
    open_docket(store, "loans", spec(), seed=5)
    store.close()
    words = command.replace("OUT", str(tmp_path / "out")).split()
    result = CliRunner().invoke(main, [*words, "--database", sqlite_url[len("sqlite:///") :]])
    assert result.exit_code == 0, result.output


def test_replay_finds_what_was_said_after_the_deadline(
    begin: Begin, applicants: People, clock: Any
) -> None:
    """An owner who lets a friend speak late has to write it down, and it shows."""
    docket = begin(deadline=60.0)
    open_round(docket, applicants())
    clock.at = later(clock.at, 61)
    with docket.unit_of_work() as work:
        work.add(Finished("r1", "ada"))
    replayed = replay_store(docket.store, "loans")
    assert not replayed.holds
    assert [difference.seq for difference in replayed.differences] == [docket.projection.head.seq]


def test_receipts_and_numbers_do_not_tell_when_others_object(live: Live) -> None:
    """Who does not see the panel at work sees the ledger grow by other records, and their own."""
    bank, ann, bob = (live.client(who) for who in ("client", "auditor", "auditor-bob"))
    bank.open_round("loans", people(1, 3))
    reviews = {c: c.review("loans", c.reviews("loans")[0].id) for c in (ann, bob)}

    def seen() -> tuple[object, ...]:
        receipts = [client.receipt("loans").seq for client in (bank, bob)]
        numbers = bank.metrics("loans")
        docket, round_ = bank.docket("loans"), bank.round("loans", "r1")
        given = [docket.receipt.seq, round_.receipt.seq, numbers["receipt"]["seq"]]
        return (*receipts, *given, numbers["recorded"])

    before, all_of_it = seen(), live.client("operator").receipt("loans").seq
    pair = (reviews[ann].pairs[0].over, reviews[ann].pairs[0].under)
    own = ann.flag("loans", reviews[ann].id, pair, "alike")
    assert own.seq > all_of_it
    assert ann.receipt("loans").seq == own.seq, "their own they know"
    ann.finish("loans", reviews[ann].id)
    assert live.client("operator").receipt("loans").seq > own.seq
    assert seen() == before
    for number in (own.seq, own.seq + 99):
        made_up = own.text.replace(f"\n{own.seq}\n", f"\n{number}\n")
        checked = bank.check_receipt("loans", made_up)
        assert f"There are {before[0]} records to know of" in checked.message
    assert bank.receipt("loans").seq < own.seq, "nobody finds out by making receipts up"
    bob.finish("loans", reviews[bob].id)
    assert seen() != before, "the audit has ended, which everybody may know"
