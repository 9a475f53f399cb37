"""A witness signs what only grew, once, whatever is sent to it, by whom, and when it is killed."""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from click.testing import CliRunner

from likewise.cli.main import main
from likewise.errors import LikewiseError
from likewise_service import anchors
from likewise_service.anchors import targets_from
from likewise_service.auth.tokens import read_key
from likewise_service.clock import moment_of
from likewise_service.commands.ledger import witness as command
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.rounds import open_docket, open_round
from likewise_service.ledger.notes import Checkpoint, ConsistencyProof, Verifier, signature_line
from likewise_service.ledger.records import Record
from likewise_service.ledger.signatures import PrivateKey
from likewise_service.ledger.store import Store
from likewise_service.ledger.tiles import Log
from likewise_service.verify.evidence import evidence_of
from likewise_service.verify.governance import Trusted
from likewise_service.verify.replay import replay_evidence
from likewise_service.witness import Witness, witness_app
from tests.service.evidence.authority import anchor
from tests.service.evidence.test_actors import about, rehashed
from tests.service.live import Live, people, small_spec, some_people, until

ORIGIN, KEY = "log.example/1", PrivateKey(bytes(range(32)))
ENTRIES = [str(number).encode() for number in range(40)]
LOG, FORK = Log.of(ENTRIES), Log.of([b"x", *ENTRIES[1:]])


def request(old: int, size: int, log: Log = LOG, key: PrivateKey = KEY) -> str:
    checkpoint = Checkpoint.of(ORIGIN, log.tree(size)).signed(key)
    return str(ConsistencyProof(old, tuple(log.consistency(old, size)), checkpoint))


@pytest.fixture
def witness(tmp_path: Path) -> Witness:
    logs = [Verifier(ORIGIN, KEY.public)]
    return Witness(
        "w.example/1", PrivateKey.fresh(), logs, tmp_path / "w.db", lambda: 1_700_000_000
    )


def test_it_signs_what_grew_and_nothing_else(witness: Witness) -> None:
    wrong_key = request(0, 5, key=PrivateKey.fresh())
    forged = request(0, 5).replace("\n5\n", "\n6\n")
    steps = [
        ("rubbish", 400), (request(0, 5).replace("old 0", "old 00"), 400),
        (request(0, 5).replace(ORIGIN, "other.example/1"), 404), (wrong_key, 403), (forged, 403),
        (request(0, 5).replace("old 0", "old 6"), 400),
        (request(3, 5), 409), (request(0, 5), 200), (request(0, 5), 409), (request(5, 5), 200),
        (request(5, 9, FORK), 422), (request(5, 5, FORK), 422), (request(5, 9), 200),
        (request(5, 7), 409), (request(0, 40, FORK), 409), (request(9, 40), 200),
    ]  # fmt: skip
    for text, status in steps:
        verdict = witness.take(text)
        assert verdict.status == status, (text, verdict)
        if status == 409:
            assert verdict.media_type == "text/x.tlog.size"
    assert witness.take(request(3, 40)).text == "40\n"
    surplus = request(0, 5).replace("old 0\n", f"old 0\n{'A' * 43}=\n")
    fresh = Witness(
        "w.example/2", KEY, [Verifier(ORIGIN, KEY.public)], witness._path.with_name("2")
    )
    assert fresh.take(surplus).status == 422
    seen = witness.seen(hashlib.sha256(ORIGIN.encode()).hexdigest())
    assert seen is not None
    assert (seen.size, seen.signed_by(Verifier(ORIGIN, KEY.public))) == (40, True)
    assert seen.seen_at(witness.verifier) == 1_700_000_000
    assert witness.seen("0" * 64) is None


def test_an_empty_log_and_keys_that_changed(tmp_path: Path) -> None:
    other = PrivateKey.fresh()
    keys = [Verifier(ORIGIN, KEY.public), Verifier(ORIGIN, other.public)]
    witness = Witness("w.example/1", PrivateKey.fresh(), keys, tmp_path / "w.db")
    assert witness.take(request(0, 0)).status == 200
    wrong = request(0, 0).replace(request(0, 0).split("\n")[4], "A" * 43 + "=")
    assert witness.take(wrong).status == 403
    lying = Checkpoint(f"{ORIGIN}\n0\n{'A' * 43}=\n").signed(KEY)
    assert witness.take(str(ConsistencyProof(0, (), lying))).status == 422
    assert witness.take(request(0, 3)).status == 200
    assert witness.take(request(3, 4, key=other)).status == 200
    with pytest.raises(LikewiseError, match="that of a witness"):
        Witness("w", KEY, [witness.verifier], tmp_path / "w.db")
    with pytest.raises(LikewiseError, match="not a verifier key"):
        Witness("two words", KEY, keys, tmp_path / "w.db")


def test_of_two_ledgers_at_once_it_signs_one(witness: Witness) -> None:
    """However the requests interleave: what it signed is one growing log."""
    requests = [request(old, old + 1, log) for log in (LOG, FORK) for old in range(12)]
    with ThreadPoolExecutor(8) as pool:
        verdicts = list(pool.map(witness.take, requests * 6))
    seen = witness.seen(hashlib.sha256(ORIGIN.encode()).hexdigest())
    assert seen is not None
    [log] = [log for log in (LOG, FORK) if log.tree(seen.size).root == seen.root]
    for text, verdict in zip(requests * 6, verdicts, strict=True):
        checkpoint = ConsistencyProof.parse(text).checkpoint
        if verdict.status == 200:
            assert checkpoint.root == log.tree(checkpoint.size).root


@contextmanager
def served(witness: Witness) -> Iterator[str]:
    config = uvicorn.Config(witness_app(witness), port=0, log_level="warning")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until(lambda: server.started)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(30)


def test_over_http(witness: Witness) -> None:
    with served(witness) as address, httpx.Client(base_url=address) as http:
        accepted = http.post("/add-checkpoint", content=request(0, 5).encode())
        assert accepted.status_code == 200
        conflict = http.post("/add-checkpoint", content=request(3, 9).encode())
        assert (conflict.status_code, conflict.text) == (409, "5\n")
        assert (
            conflict.headers["content-type"] == "text/x.tlog.size"
        )  # to the letter, as clients do
        assert http.post("/add-checkpoint", content=b"\xff").status_code == 400
        assert http.post("/add-checkpoint", content=b"x" * 200_000).status_code == 413
        assert http.get("/add-checkpoint").status_code == 405
        origin = hashlib.sha256(ORIGIN.encode()).hexdigest()
        last = Checkpoint.parse(http.get(f"/{origin}/checkpoint").text)
        assert last.signed_by(witness.verifier)
        assert http.get(f"/{'0' * 64}/checkpoint").status_code == 404


def test_what_was_signed_survives_a_power_cut(witness: Witness) -> None:
    """SQLite's FULL does not sync the folder after a journal is removed: that one could be back."""
    with closing(witness._connected()) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (3,)  # EXTRA


@pytest.mark.parametrize("seconds", [1_000_000_000_000, 2**63 - 1, 2**64 - 1])
def test_a_time_that_nobody_can_write_is_refused(seconds: int) -> None:
    with pytest.raises(LikewiseError, match="is no time"):
        moment_of(seconds)


@pytest.mark.parametrize("response", [b"\xff\n", b"late"])
def test_a_witness_that_responds_with_rubbish_is_a_failure_that_is_recorded(
    store: Store, tmp_path: Path, response: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the targets after it are not left out."""
    open_docket(store, "loans", small_spec(), seed=5)
    docket, key = Docket(store, "loans"), PrivateKey.fresh()
    verifier = Verifier("w.example/1", key.public, 4)
    if response == b"late":
        cosignature = docket.receipt().cosigned(verifier.name, key, 2**63 - 1)
        response = signature_line(cosignature).encode()
    monkeypatch.setattr(anchors, "_post", lambda *_, **__: (200, response))
    text = f"witness:http://w.example#{verifier} file:{tmp_path / 'heads'}"
    anchors.Anchoring(targets_from(text), 60.0).look(store)
    docket.refresh()
    states = docket.projection.governance.anchors
    assert [bool(state.failure) for state in states.values()] == [True, False]
    assert (tmp_path / "heads").read_text()


def test_the_key_of_a_log_is_taken_for_no_witnesss(store: Store) -> None:
    """Its signature has no time: read as one, it would condemn an honest ledger."""
    open_docket(store, "loans", small_spec(), seed=5)
    log = Verifier(Docket(store, "loans").projection.governance.origin, store.keys.public())
    with pytest.raises(LikewiseError, match="not of a witness"):
        targets_from(f"witness:http://w.example#{log}")
    result = CliRunner().invoke(main, ["verify", "--database", "x.db", "--witness", str(log)])
    assert result.exit_code == 2
    assert "not of a witness" in result.output


@pytest.mark.long
def test_what_was_signed_is_known_after_kill_9(tmp_path: Path) -> None:
    """A witness at work is killed at any moment: it never signs below what it has given out."""
    (tmp_path / "key").write_text(PrivateKey.fresh().raw.hex())
    (tmp_path / "key").chmod(0o600)
    (tmp_path / "logs").write_text(f"# the logs\n{Verifier(ORIGIN, KEY.public)}\n")
    given = 0
    for kill in range(4):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        words = ["--name", "w.example/1", "--key", "key", "--logs", "logs", "--port", str(port)]
        code = f"from likewise_service.commands.ledger import witness; witness({words!r})"
        process = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path)
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as http:
            until(partial(_there, http))
            for _ in range(3 + kill):
                response = http.post("/add-checkpoint", content=request(given, given + 1).encode())
                if response.status_code == 409:  # signed, and killed before we were told
                    assert int(response.text) >= given
                    given = int(response.text)
                    continue
                assert response.status_code == 200, response.text
                given += 1
            assert http.post("/add-checkpoint", content=request(0, 3, FORK).encode()).text == (
                f"{given}\n"
            )
        os.kill(process.pid, signal.SIGKILL)
        process.wait(30)
    assert command.name == "witness"
    assert read_key(tmp_path / "key").public.text


def _there(http: httpx.Client) -> bool:
    try:
        return http.get(f"/{'0' * 64}/checkpoint").status_code == 404
    except httpx.TransportError:
        return False


def witness_of(docket: Docket, path: Path) -> Witness:
    log = Verifier(docket.projection.governance.origin, docket.store.keys.public())
    return Witness("w.example/1", PrivateKey.fresh(), [log], path)


def test_a_ledger_is_anchored_at_a_witness_and_a_fork_is_refused(
    store: Store, tmp_path: Path
) -> None:
    open_docket(store, "loans", small_spec(), seed=5)
    docket = Docket(store, "loans")
    witness = witness_of(docket, tmp_path / "w.db")
    with served(witness) as address:
        [target] = targets_from(f"witness:{address}/#{witness.verifier}")
        assert target.name == f"witness:{address}/"
        for number in range(3):
            open_round(docket, some_people(f"n{number}"))
            anchor(docket, target)
        evidence = evidence_of(store, "loans")
        trusted = Trusted(witnesses=(witness.verifier,))
        found = replay_evidence(evidence, trusted)
        assert found.holds, found.text()
        assert "The witness w.example/1 saw the ledger grow up to record" in found.text()
        stranger = Verifier("w.example/2", PrivateKey.fresh().public, 4)
        other = replay_evidence(evidence, Trusted(witnesses=(stranger,)))
        assert "has seen this ledger: it signed nothing" in other.text()

        def late(record: Record) -> Record:
            body = {**record.body, "fixed": "2020-01-01T00:00:00.000000Z"}
            return replace(record, body=body) if record.kind == "anchored" else record

        assert "anchor" in about(replay_evidence(rehashed(evidence, late), trusted))
        # The ledger is rewritten, and signed anew: the witness does not sign a second one.
        fork = rehashed(evidence, lambda r: replace(r, nonce="") if r.kind != "anchored" else r)
        receipt = store.keys.sign(fork.origin, fork.log.tree())

        def prove(old: int) -> ConsistencyProof:
            hashes = tuple(fork.log.consistency(old, receipt.size))
            return ConsistencyProof(old, hashes, receipt)

        with pytest.raises(LikewiseError, match="responds 422"):
            target.fix(receipt, 0, prove)


def test_a_server_has_its_dockets_witnessed(
    start: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("likewise_service.app.ANCHOR_SECONDS", 0.2)
    witness = Witness("w.example/1", PrivateKey.fresh(), [], tmp_path / "w.db")
    with served(witness) as address:
        live: Live = start(anchors=f"witness:{address}#{witness.verifier}")
        store = Store.open(live.settings.database)
        for docket in ("loans", "other"):
            origin = Docket(store, docket).projection.governance.origin
            witness._logs[origin] = [Verifier(origin, store.keys.public())]
        live.client("client").open_round("loans", people())

        def seen() -> bool:
            anchored = [r for r in store.records("loans") if r.kind == "anchored"]
            return bool(anchored) and bool(anchored[-1].body["proof"])

        until(seen)
        found = replay_evidence(evidence_of(store, "loans"), Trusted(witnesses=(witness.verifier,)))
        assert found.holds, found.text()
        assert "saw the ledger grow" in found.text()
        store.close()
