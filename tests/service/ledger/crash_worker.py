"""Drives a docket under load until it is killed; started by test_crashes.py, which kills it.

Each line on standard input, ``URL DOCKET FOLDER``, forks a worker, whose process id is printed;
once it has ended, ``ended`` is. The libraries are imported once, so that 200 workers start quickly.

A worker's threads are clients: each notes what it is about to ask for, asks, and acknowledges the
response by appending the receipt to a file, with fsync. After a restart a client first asks again,
with the same key, for what was never answered.
"""

from __future__ import annotations

import os
import random
import sys
import threading
from pathlib import Path

from likewise import Feature, FeatureSchema, Learner, Segments
from likewise.errors import LikewiseError
from likewise.service.dockets.commands import feedback, reviews
from likewise.service.dockets.commands.rounds import Applicant, open_docket, open_round
from likewise.service.dockets.docket import Docket
from likewise.service.dockets.reviews.targets import Seat
from likewise.service.dockets.spec import DocketSpec
from likewise.service.errors import ServiceError
from likewise.service.ledger.records import Receipt
from likewise.service.ledger.store import Store

THREADS = 4
SCHEMA = FeatureSchema((Feature("score", "integer", 300, 850), Feature("debt", "integer", 0, 100)))
CLASS = Segments(SCHEMA, score="score", cuts=range(400, 800, 100))


class Client:
    """One client, with a diary that outlives the process."""

    def __init__(self, docket: Docket, folder: Path, number: int) -> None:
        self.docket, self.number = docket, number
        self.asked, self.acks = folder / f"asked-{number}", folder / "acks"
        self.random = random.Random(os.getpid() * 100 + number)

    def append(self, path: Path, line: str) -> None:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.write(file, (line + "\n").encode())
        os.fsync(file)
        os.close(file)

    def acknowledge(self, receipt: Receipt) -> None:
        self.append(self.acks, str(receipt))

    def open_round(self, key: str) -> str:
        people = [
            Applicant(f"{key}-{i}", {"score": score, "debt": 10 * i})
            for i, score in enumerate((790, 310, 510))
        ]
        round_, receipt = open_round(self.docket, people, key=key)
        self.acknowledge(receipt)
        return round_.id

    def run(self) -> None:
        keys = self.asked.read_text().split() if self.asked.exists() else []
        if keys:
            self.work_on(self.open_round(keys[-1]))
        for number in range(len(keys), 10_000):
            key = f"c{self.number}-{number}"
            self.append(self.asked, key)
            self.work_on(self.open_round(key))

    def work_on(self, round_id: str) -> None:
        """Objections, reviews and labels; another process may have done some of it before."""
        docket = self.docket
        for member in ("ada", "bob"):
            try:
                pairs = docket.projection.round(round_id).reportable()
                if pairs and self.random.random() < 0.6:
                    said = reviews.object_to(docket, Seat(round_id, member), pairs[0][:2], "why")
                    self.acknowledge(said)
                    if self.random.random() < 0.3:
                        said = reviews.withdraw(docket, Seat(round_id, member), pairs[0][:2])
                        self.acknowledge(said)
                self.acknowledge(reviews.finish(docket, Seat(round_id, member)))
            except ServiceError as error:
                if error.code != "panel-closed":
                    raise
        round_ = docket.projection.round(round_id)
        labels = [(round_id, p, 1) for p in round_.people if p not in round_.labels]
        if labels:
            self.acknowledge(feedback.label(docket, labels))


def main(url: str, name: str, folder: Path) -> None:
    store = Store.open(url)
    learner = Learner(CLASS, k=3, alpha=0.3, eps=0.3, seed=1)
    spec = DocketSpec.of("Under load", learner, ("ada", "bob"), rule="any")
    try:
        open_docket(store, name, spec, seed=5)
    except ServiceError as error:
        if error.code != "docket-exists":
            raise
    docket = Docket(store, name)
    clients = [Client(docket, folder, number) for number in range(THREADS)]

    def guarded(client: Client) -> None:
        try:
            client.run()
        except LikewiseError as error:
            client.append(folder / "errors", repr(error))

    threads = [threading.Thread(target=guarded, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    for line in sys.stdin:
        url, docket, folder = line.split()
        child = os.fork()
        if child == 0:
            main(url, docket, Path(folder))
            os._exit(0)
        print(child, flush=True)
        os.waitpid(child, 0)
        print("ended", flush=True)
