"""Drives a docket under load until it is killed; started by crashes.py, which kills it.

Each line on standard input, ``URL DOCKET FOLDER``, forks a worker, whose process id is printed;
once it has ended, ``ended`` is. The libraries are imported once, so that 200 workers start quickly.

A worker's clients wait for the docket's thread as requests do, so that commands share transactions,
and snapshots are written after every few records. Each client notes what it is about to ask for,
asks, and acknowledges the response by appending the receipt to a file, with fsync. After a restart
a client first asks again, with the same key, for what was never answered.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from likewise import Feature, FeatureSchema, Learner, Segments, SelfTuned
from likewise.errors import LikewiseError
from likewise.learner.attention import PanelModel
from likewise_service.dockets import appeals
from likewise_service.dockets import docket as docket_module
from likewise_service.dockets import panel as reviews
from likewise_service.dockets import rounds as feedback
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.round import Round
from likewise_service.dockets.rounds import Applicant, open_docket, open_round
from likewise_service.dockets.seating import Seat
from likewise_service.dockets.spec import DocketSpec
from likewise_service.dockets.worker import Job, Outcome, Worker, Workers
from likewise_service.errors import ServiceError
from likewise_service.ledger.notes import Checkpoint
from likewise_service.ledger.store import Store
from likewise_service.settings import Settings

CLIENTS = 8
# Sure of itself soon, so that rounds are not asked about, in part and whole.
MODEL = PanelModel(least=0.2, doubt=0.6, patience=2)
SNAPSHOT_EVERY = 40
SCHEMA = FeatureSchema((Feature("score", "integer", 300, 850), Feature("debt", "integer", 0, 100)))
CLASS = Segments(SCHEMA, score="score", cuts=range(400, 800, 100)).with_prior("flat")
# People are told apart from the first round on, so that there are pairs to object to.
OUTSPOKEN = SelfTuned(eta=0.25, kappa=0.15, outstanding=0.0, waiting=0.0)


def append(path: Path, line: str) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.write(file, (line + "\n").encode())
    os.fsync(file)
    os.close(file)


class Client:
    """One client, with a diary that outlives the process."""

    def __init__(self, workers: Workers, docket: str, folder: Path, number: int) -> None:
        self.workers, self.docket, self.number, self.folder = workers, docket, number, folder
        self.asked, self.acks = folder / f"asked-{number}", folder / "acks"
        self.random = random.Random(os.getpid() * 100 + number)

    async def ask(self, command: Callable[[Docket], Checkpoint]) -> None:
        receipt = await self.workers.run(
            self.docket, lambda worker: command(worker.docket), writes=True
        )
        await asyncio.to_thread(append, self.acks, json.dumps(str(receipt)))

    async def round(self, round_id: str) -> Round:
        return await self.workers.run(
            self.docket, lambda worker: worker.docket.projection.round(round_id)
        )

    async def open_round(self, key: str) -> str:
        people = [
            Applicant(f"{key}-{i}", {"score": score, "debt": 10 * i})
            for i, score in enumerate((790, 310, 510))
        ]
        made: list[str] = []

        def command(docket: Docket) -> Checkpoint:
            round_, receipt = open_round(docket, people, key=key)
            made.append(round_.id)
            return receipt

        await self.ask(command)
        return made[-1]

    async def run(self) -> None:
        keys = self.asked.read_text().split() if self.asked.exists() else []
        if keys:
            await self.work_on(await self.open_round(keys[-1]))
        for number in range(len(keys), 10_000):
            key = f"c{self.number}-{number}"
            await asyncio.to_thread(append, self.asked, key)
            await self.work_on(await self.open_round(key))

    async def awaited(self, round_id: str) -> str | None:
        """Somebody whom the round waits for."""
        round_ = await self.round(round_id)
        return next((m for m, seat in round_.seats.items() if seat == "asked"), None)

    async def work_on(self, round_id: str) -> None:
        """Objections, reviews and labels; another process may have done some of it before."""
        while member := await self.awaited(round_id):
            seat = Seat(round_id, member)
            try:
                pairs = (await self.round(round_id)).asked_of(member)
                if pairs and self.random.random() < 0.6:
                    pair = pairs[0][:2]
                    said = partial(reviews.flag, seat=seat, pair=pair, reason="why")
                    await self.ask(said)
                    if self.random.random() < 0.3:
                        await self.ask(partial(reviews.withdraw, seat=seat, pair=pair))
                await self.ask(partial(reviews.finish, seat=seat))
            except ServiceError as error:
                if error.code != "panel-closed":
                    raise
        round_ = await self.round(round_id)
        labels = [(round_id, p, 1) for p in round_.people if p not in round_.labels]
        if labels:
            await self.ask(partial(feedback.label, labels=labels))
        await self.appeal(round_id, next(iter(round_.people)))

    async def appeal(self, round_id: str, person: str) -> None:
        """Somebody appeals, once, and somebody decides; also where a process ended in between."""
        opened = partial(appeals.open_appeal, round_id=round_id, person=person, text="?", key="k")
        await self.ask(lambda docket: opened(docket)[1])
        [appeal] = (await self.round(round_id)).appeals.values()
        if appeal.ended is None:
            name, why = appeal.id, "seen"
            await self.ask(lambda docket: appeals.assign_appeal(docket, name, "mia"))
            await self.ask(lambda docket: appeals.decide_appeal(docket, name, "mia", False, why))


def note_groups(folder: Path) -> None:
    """Note how many commands shared a transaction, whenever several did."""
    work = Worker._work

    def noted(self: Worker, jobs: list[Job]) -> list[Outcome]:
        if len(jobs) > 1:
            with (folder / "groups").open("a") as file:
                file.write(f"{len(jobs)}\n")
        return work(self, jobs)

    Worker._work = noted  # type: ignore[method-assign] # this process does nothing else


async def drive(store: Store, name: str, folder: Path) -> None:
    workers = Workers(store, Settings())

    async def guarded(client: Client) -> None:
        try:
            await client.run()
        except LikewiseError as error:
            append(folder / "errors", repr(error))

    clients = [Client(workers, name, folder, number) for number in range(CLIENTS)]
    await asyncio.gather(*map(guarded, clients))


def main(url: str, name: str, folder: Path) -> None:
    vars(docket_module)["EVERY"] = SNAPSHOT_EVERY
    note_groups(folder)
    store = Store.open(url)
    learner = Learner(CLASS, k=3, alpha=0.3, eps=0.3, seed=1, schedule=OUTSPOKEN, attention=MODEL)
    panel: dict[str, Any] = {"members": ("ada", "bob"), "rule": "any"}
    if name.startswith("turns"):
        five = ("ada", "bob", "cy", "dee", "eva")
        panel = {"members": five, "rule": "majority", "turns": True, "together_share": 0.1}
    spec = DocketSpec.of("Under load", learner, repeat_share=0.0, **panel)
    try:
        open_docket(store, name, spec, seed=5)
    except ServiceError as error:
        if error.code != "docket-exists":
            raise
    asyncio.run(drive(store, name, folder))


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
