"""Anchors: heads are fixed outside, and whoever rewrites or back-dates contradicts one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from likewise.cli.main import main
from likewise.errors import LikewiseError, ParameterError
from likewise_client.tree import Tree
from likewise_service import anchors as targets
from likewise_service.anchors import Anchoring, AnchorTarget, record_failure, targets_from
from likewise_service.clock import later, now
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.rounds import open_docket, open_round
from likewise_service.ledger.notes import Checkpoint, ConsistencyProof
from likewise_service.ledger.records import Record
from likewise_service.ledger.signatures import TimeStamp, read_certificates
from likewise_service.ledger.store import Store
from likewise_service.verify.evidence import evidence_of
from likewise_service.verify.governance import Trusted
from likewise_service.verify.replay import replay_evidence
from tests.service.evidence.authority import Authority, anchor, make_authority, serving
from tests.service.evidence.test_actors import about, rehashed
from tests.service.live import Live, people, small_spec, some_people, until

RECEIPT = Checkpoint.of("likewise/0/x", Tree())


def no_proof(old: int) -> ConsistencyProof:
    raise AssertionError(f"An authority wants no proof since {old}.")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Authority, str, Path]]:
    """An authority, its address, and its root's certificate."""
    folder = tmp_path_factory.mktemp("authority")
    root = make_authority(folder)
    made = Authority(folder)
    with serving(made) as address:
        yield made, address, root


@pytest.fixture
def docket(sqlite_url: str, applicants: Any) -> Docket:
    """A docket with a round."""
    store = Store.open(sqlite_url)
    open_docket(store, "loans", small_spec(), seed=5)
    made = Docket(store, "loans")
    open_round(made, applicants("a"))
    return made


def test_a_time_stamp_bounds_when_records_were_written(
    docket: Docket, authority: tuple[Authority, str, Path], applicants: Any
) -> None:
    made, address, root = authority
    made.mood = "honest"
    target = AnchorTarget("rfc3161", address)
    anchor(docket, target)
    open_round(docket, applicants("b"))
    trusted = Trusted(authorities=read_certificates(root))
    evidence = evidence_of(docket.store, "loans")
    found = replay_evidence(evidence, trusted)
    assert found.holds, found.text()
    assert "1 anchors, 1 by the authority that was named" in found.text()
    assert "times are bounded to within" in found.text()
    assert "minutes long here" in found.text(), "the window left open is stated"

    def back_dated(record: Record) -> Record:
        later = record.seq > anchored.seq
        return replace(record, at="2020-01-01T00:00:00.000000Z") if later else record

    def post_dated(record: Record) -> Record:
        return replace(record, at="2999-01-01T00:00:00.000000Z")

    def dropped(record: Record) -> Record | None:
        return None if record.kind == "decided" else record

    anchored = next(r for r in evidence.records if r.kind == "anchored")
    for change, word in ((back_dated, "time"), (post_dated, "anchor"), (dropped, "anchor")):
        assert word in about(replay_evidence(rehashed(evidence, change), trusted)), word


def test_a_clock_that_was_ahead_and_is_right_again(docket: Docket, tmp_path: Path) -> None:
    """The ledger says what happened, and holds; who leaves that out is found."""
    [target] = targets_from(f"file:{tmp_path / 'heads.jsonl'}")
    clock = docket.clock
    docket.clock = lambda: later(now(), 2 * 86_400)
    open_round(docket, some_people("late"))
    docket.clock = clock
    open_round(docket, some_people("later"))
    anchor(docket, target)
    open_round(docket, some_people("last"))
    evidence = evidence_of(docket.store, "loans")
    found = replay_evidence(evidence)
    assert found.holds, found.text()
    assert "some clock was wrong, the furthest by 2,880.0 minutes" in found.text()
    stated = [r.seq for r in evidence.records if r.kind == "clock-behind"]
    assert len(stated) == 1, "it is said once"


def test_a_time_stamp_of_a_foreign_authority_is_refused(
    docket: Docket, authority: tuple[Authority, str, Path], tmp_path: Path
) -> None:
    made, address, _ = authority
    made.mood = "honest"
    anchor(docket, AnchorTarget("rfc3161", address))
    foreign = make_authority(tmp_path / "foreign", "Another")
    evidence = evidence_of(docket.store, "loans")
    found = replay_evidence(evidence, Trusted(authorities=read_certificates(foreign)))
    assert about(found) == {"anchor"}
    result = CliRunner().invoke(
        main, ["verify", "--database", docket.store.where, "--authority", str(foreign)]
    )
    assert result.exit_code == 1, result.output

    def other_time(record: Record) -> Record:
        if record.kind != "anchored":
            return record
        return replace(record, body={**record.body, "fixed": "2020-01-01T00:00:00.000000Z"})

    assert "anchor" in about(replay_evidence(rehashed(evidence, other_time)))


@pytest.mark.parametrize("mood", ["down", "junk", "large", "another"])
def test_an_authority_that_fails_or_lies_is_refused(
    authority: tuple[Authority, str, Path], mood: str
) -> None:
    made, address, _ = authority
    made.mood = "honest"
    AnchorTarget("rfc3161", address).fix(Checkpoint.of("else", Tree()), 0, no_proof)
    made.mood = mood
    with pytest.raises(LikewiseError):
        AnchorTarget("rfc3161", address).fix(RECEIPT, 0, no_proof)
    made.mood = "honest"


def test_an_authority_whose_clock_is_another_is_refused(
    authority: tuple[Authority, str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A time that is not ours would bound all that follows wrongly."""
    made, address, _ = authority
    made.mood = "honest"
    for ours in ("2020-01-01T00:00:00.000000Z", "2999-01-01T00:00:00.000000Z"):
        monkeypatch.setattr(targets, "now", lambda ours=ours: ours)
        with pytest.raises(LikewiseError, match="Correct the clock"):
            AnchorTarget("rfc3161", address).fix(RECEIPT, 0, no_proof)


def test_an_authority_that_is_slow_is_not_waited_for(
    authority: tuple[Authority, str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither where nothing comes, nor where byte after byte does."""
    made, address, _ = authority
    monkeypatch.setattr(targets, "PATIENCE", 0.3)
    for mood, said in (("silent", "cannot be reached"), ("dripping", "too slowly")):
        made.mood = mood
        with pytest.raises(LikewiseError, match=said):
            AnchorTarget("rfc3161", address).fix(RECEIPT, 0, no_proof)
    made.mood = "honest"


def test_a_time_stamp_by_a_certificate_that_had_ended_is_refused(
    docket: Docket, tmp_path: Path
) -> None:
    root = make_authority(tmp_path / "ended", ended=True)
    with serving(Authority(tmp_path / "ended")) as address:
        anchor(docket, AnchorTarget("rfc3161", address))
    evidence = evidence_of(docket.store, "loans")
    found = replay_evidence(evidence, Trusted(authorities=read_certificates(root)))
    assert about(found) == {"anchor"}, found.text()


def test_nobody_at_the_address(sqlite_url: str) -> None:
    with pytest.raises(LikewiseError, match="cannot be reached"):
        AnchorTarget("rfc3161", "http://127.0.0.1:9/").fix(RECEIPT, 0, no_proof)
    with pytest.raises(LikewiseError, match="not a time-stamp"):
        TimeStamp.parse("é")
    with pytest.raises(LikewiseError, match="no certificates"):
        read_certificates(Path("/dev/null"))


def test_a_failure_is_recorded_once_and_tried_again(docket: Docket, tmp_path: Path) -> None:
    [target] = targets_from(f"file:{tmp_path / 'missing' / 'heads.jsonl'}")
    anchoring, governance = Anchoring([target], 60.0), docket.projection.governance
    at = "2999-01-01T00:00:00.000000Z"
    assert anchoring.due(governance, target, at)
    for _ in range(3):
        with pytest.raises(LikewiseError, match="cannot be written") as failed:
            anchor(docket, target)
        record_failure(docket, target, str(failed.value))
        assert anchoring.due(governance, target, at)
    kinds = [r.kind for r in docket.store.records("loans")]
    assert kinds.count("anchor-failed") == 1
    (tmp_path / "missing").mkdir()
    anchor(docket, target)
    assert not anchoring.due(governance, target, at), "an anchor alone is no growth"
    assert replay_evidence(evidence_of(docket.store, "loans")).holds


def test_a_clock_that_was_ahead_keeps_no_anchor_away(
    docket: Docket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anchors stopped for as long as it had been ahead."""
    path = tmp_path / "heads.jsonl"
    anchoring = Anchoring(targets_from(f"file:{path}"), 60.0)
    with monkeypatch.context() as wrong:
        wrong.setattr(targets, "now", lambda: later(now(), 86_400))
        anchoring.look(docket.store)
    for number in range(2):  # the second is within the hour of the first
        open_round(docket, some_people(f"z{number}-"))
        anchoring.look(docket.store)
        assert len(path.read_text().splitlines()) == 2
    assert replay_evidence(evidence_of(docket.store, "loans")).holds


def test_a_tail_that_was_dropped_is_found_from_the_file(docket: Docket, tmp_path: Path) -> None:
    path = tmp_path / "heads.jsonl"
    [target] = targets_from(f"file:{path}")
    anchor(docket, target)
    evidence = evidence_of(docket.store, "loans")
    from likewise_service.verify.export import write_export

    short = replace(evidence, records=evidence.records[:-2])
    write_export(short, tmp_path / "short", docket.store.keys)
    result = CliRunner().invoke(main, ["verify", str(path), "--export", str(tmp_path / "short")])
    assert result.exit_code == 1, result.output
    assert "records have been removed" in result.output


@pytest.mark.parametrize("text", ["x", "file:", "webhook:ftp://a/", "rfc3161:", "webhook:http://"])
def test_what_is_no_target(text: str) -> None:
    with pytest.raises(ParameterError, match="LIKEWISE_ANCHORS"):
        targets_from(text)


def test_a_server_anchors_by_itself_and_decisions_go_on_while_it_fails(
    start: Any, tmp_path: Path, authority: tuple[Authority, str, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    made, address, _ = authority
    made.mood = "down"
    monkeypatch.setattr("likewise_service.app.ANCHOR_SECONDS", 0.2)
    path = tmp_path / "heads.jsonl"
    live: Live = start(anchors=f"rfc3161:{address} webhook:{address} file:{path}")
    for number in range(3):
        assert live.client("client").open_round("loans", people(number)).decisions
    store = Store.open(live.settings.database)

    def wait(kind: str, count: int) -> None:
        until(lambda: [r.kind for r in store.records("loans")].count(kind) >= count)

    wait("anchor-failed", 2)
    made.mood = "honest"
    wait("anchored", 2)
    assert path.read_text().count("/loans\\n") >= 1
    assert replay_evidence(evidence_of(store, "loans")).holds
    store.close()
