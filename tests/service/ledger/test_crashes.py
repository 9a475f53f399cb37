"""Kill -9 at random moments under load: nothing acknowledged is lost, nothing is there twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import IO

import pytest

from likewise.service.errors import ServiceError
from likewise.service.ledger.records import Receipt, chained
from likewise.service.ledger.store import Store
from likewise.service.verification.replay import replay_store

WORKER = Path(__file__).parent / "crash_worker.py"
KILLS_A_DOCKET = 10


class Harness:
    """One process that forks workers; it ends when its input does."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(WORKER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )  # fmt: skip

    @property
    def pipes(self) -> tuple[IO[str], IO[str]]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        return self.process.stdin, self.process.stdout

    def run_and_kill(
        self, url: str, docket: str, folder: Path, after: float, *, at_work: bool = False
    ) -> None:
        """Kill it some time after its start, or after its first acknowledged response."""
        acks = folder / "acks"
        before = acks.stat().st_size if acks.exists() else 0
        tell, hear = self.pipes
        tell.write(f"{url} {docket} {folder}\n")
        tell.flush()
        worker = int(hear.readline())
        patience = time.monotonic() + 10
        while at_work and time.monotonic() < patience:
            if acks.exists() and acks.stat().st_size > before:
                break
            time.sleep(0.005)
        time.sleep(after)
        os.kill(worker, signal.SIGKILL)
        assert hear.readline() == "ended\n"

    def close(self) -> None:
        for pipe in self.pipes:
            pipe.close()
        self.process.wait(30)


def _check(store: Store, docket: str, folder: Path) -> int:
    """What has to be true after every kill; returns how many responses were acknowledged."""
    assert not (folder / "errors").exists(), (folder / "errors").read_text()
    records = list(chained(docket, store.records(docket)))
    acks = (folder / "acks").read_text() if (folder / "acks").exists() else ""
    given = [Receipt.parse(line) for line in acks.splitlines(keepends=True) if line[-1] == "\n"]
    for receipt in given:
        assert receipt.head.seq <= len(records), f"{receipt} was acknowledged, and is lost"
        assert records[receipt.head.seq - 1].head == receipt.head
    people = Counter(p["id"] for r in records if r.kind == "arrived" for p in r.body["people"])
    assert set(people.values()) <= {1}, "a request that was sent again was carried out twice"
    once = Counter(
        (r.kind, r.body.get("round"), r.body.get("person"))
        for r in records
        if r.kind in ("decided", "sealed", "audited", "labelled", "closed")
    )
    assert set(once.values()) <= {1}
    if records:
        found = replay_store(store, docket)
        assert found.holds, found.text()
    return len(given)


def _kill_often(url: str, tmp_path: Path, kills: int) -> None:
    chance = random.Random(20260301)
    store, harness = Store.open(url), Harness()
    acknowledged = total = 0
    began = time.monotonic()
    try:
        for number in range(kills):
            docket = f"crash-{number // KILLS_A_DOCKET}"
            folder = tmp_path / docket
            folder.mkdir(exist_ok=True)
            at_work = chance.random() < 0.7
            after = chance.uniform(0.0, 0.6)
            harness.run_and_kill(url, docket, folder, after, at_work=at_work)
            acknowledged = _check(store, docket, folder)
            if (number + 1) % KILLS_A_DOCKET == 0 or number == kills - 1:
                total += acknowledged
    finally:
        harness.close()
    records = sum(store.head(docket).seq for docket in store.dockets())
    store.close()
    seconds = time.monotonic() - began
    print(f"{kills} kills, {total} acknowledged responses, {records} records, {seconds:.0f} s")
    assert total > kills


def test_nothing_acknowledged_is_lost_when_the_process_is_killed(
    database: str, tmp_path: Path
) -> None:
    _kill_often(database, tmp_path, 4)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_nothing_is_lost_in_a_hundred_kills_on_each_database(database: str, tmp_path: Path) -> None:
    _kill_often(database, tmp_path, 100)


def test_a_killed_writer_does_not_keep_the_turn(database: str, tmp_path: Path) -> None:
    store, harness = Store.open(database), Harness()
    try:
        for _ in range(3):
            harness.run_and_kill(database, "turn", tmp_path, 0.3)
            began = time.monotonic()
            with store.transaction("turn") as transaction:
                assert transaction.head.seq >= 0
            assert time.monotonic() - began < 5
    except ServiceError as error:
        pytest.fail(str(error))
    finally:
        harness.close()
        store.close()
