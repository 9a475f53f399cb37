"""Workers: every docket of a process has one thread, in which all of its work is done.

Requests wait for that thread without blocking anybody else's. The learner runs there alone, so it
is never called by two requests at once; between processes the database takes turns. Requests that
wait for the same docket are done as a group, in one transaction: each of them is all or nothing by
itself, and nobody is told before all of it is on disk.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa

from likewise.errors import LikewiseError
from likewise.service.clock import now
from likewise.service.dockets.commands.reviews import close_late_panels
from likewise.service.dockets.docket import Docket
from likewise.service.dockets.notices import awaiting, tell
from likewise.service.dockets.reviews.board import ReviewBoard
from likewise.service.errors import ServiceError
from likewise.service.ledger.actors import SERVICE, done_by
from likewise.service.ledger.store import Store
from likewise.service.settings import Settings

__all__ = ["Worker", "Workers"]

T = TypeVar("T")
# So many commands share a transaction at most; after so many seconds a docket is let go of.
GROUP = 64
IDLE = 900.0
# So many seconds at least lie between two looks at whom something awaits.
NOTICE = 2.0
LOG = logging.getLogger("likewise.service")


class Job(NamedTuple):
    """Something to do with a docket, and who waits for it."""

    task: Callable[[Worker], Any]
    loop: asyncio.AbstractEventLoop
    waiting: asyncio.Future[Any]

    def tell(self, result: object, error: BaseException | None) -> None:
        """Tell who waits, unless they have gone."""

        def told() -> None:
            if self.waiting.done():
                return
            if error is None:
                self.waiting.set_result(result)
            else:
                self.waiting.set_exception(error)

        self.loop.call_soon_threadsafe(told)


class Worker:
    """One docket at work: its thread, the docket once it has been opened, and who waits."""

    def __init__(self, store: Store, name: str, settings: Settings) -> None:
        self.store, self.name, self.settings, self.waiting = store, name, settings, 0
        self.thread = ThreadPoolExecutor(1, thread_name_prefix=f"docket-{name}")
        self.used = time.monotonic()
        self.noticed, self.looked = 0, 0.0
        self._jobs: deque[Job] = deque()
        self._docket: Docket | None = None
        self._board: ReviewBoard | None = None
        self._kept: dict[str, tuple[int, object]] = {}

    @property
    def docket(self) -> Docket:
        """The docket; opening it folds its ledger, from the newest snapshot on."""
        if self._docket is None:
            limit = self.settings.reason_limit
            self._docket = Docket(self.store, self.name, reason_limit=limit)
        return self._docket

    @property
    def board(self) -> ReviewBoard:
        """The reviews of the docket's members."""
        if self._board is None:
            self._board = ReviewBoard(self.docket)
        return self._board

    @property
    def seq(self) -> int:
        """The last record that was read; 0 where the docket is not open."""
        return 0 if self._docket is None else self._docket.projection.head.seq

    @property
    def loading(self) -> bool:
        """Tell if somebody waits while the docket is being opened."""
        return self._docket is None and self.waiting > 0

    @property
    def behind(self) -> bool:
        """Tell if the docket is open and its time is ahead of the machine's."""
        return self._docket is not None and self._docket.seconds_ahead > 0

    def kept(self, name: str, compute: Callable[[], T]) -> T:
        """Something that is computed anew only when the ledger has grown."""
        seq = self.docket.projection.head.seq
        known = self._kept.get(name)
        if known is None or known[0] != seq:
            self._kept[name] = known = (seq, compute())
        return known[1]  # type: ignore[return-value] # what was kept under that name

    def submit(self, job: Job) -> None:
        """One more thing to do; whatever waits when the thread is free is done in one group."""
        self._jobs.append(job)
        self.thread.submit(self._drain)

    def _drain(self) -> None:
        group: list[Job] = []
        while self._jobs and len(group) < GROUP:
            group.append(self._jobs.popleft())
        while group:
            group = self._work(group)

    def _work(self, jobs: list[Job]) -> list[Job]:
        """Do a group of things, in one transaction; those that have to be done again.

        A command that is refused leaves no trace, and the others go on. After anything else nobody
        knows how far a command came: the group leaves no trace, it is told so, and the others are
        done again without it.
        """
        done: list[tuple[Job, object, BaseException | None]] = []
        failed: Job | None = None
        try:
            self.docket.refresh()
            with self.docket.group():
                for job in jobs:
                    failed = job
                    try:
                        done.append((job, job.task(self), None))
                    except LikewiseError as error:
                        done.append((job, None, error))
                failed = None
        except BaseException as error:  # noqa: BLE001 - whoever waits is told, and nobody else
            return self._failed(jobs, done, failed, error)
        for job, result, refusal in done:
            job.tell(result, refusal)
        return []

    def _failed(
        self, jobs: list[Job], done: list[tuple[Job, object, BaseException | None]],
        failed: Job | None, error: BaseException,
    ) -> list[Job]:  # fmt: skip
        database = isinstance(error, (sa.exc.SQLAlchemyError, ServiceError))
        if not database:
            self._docket = self._board = None
        if failed is not None and not database:
            failed.tell(None, error)
            return [job for job in jobs if job is not failed]
        refused = {id(job): refusal for job, _, refusal in done if refusal is not None}
        for job in jobs:
            job.tell(None, refused.get(id(job), error))
        return []


class Workers:
    """The workers of all dockets that this process has had to do with.

    ``watch`` is told how many requests wait for a docket, whenever that changes.
    """

    def __init__(
        self, store: Store, settings: Settings, watch: Callable[[str, int], None] | None = None
    ) -> None:
        self.store, self.settings, self._watch = store, settings, watch
        self._workers: dict[str, Worker] = {}

    async def run(self, docket: str, task: Callable[[Worker], T]) -> T:
        """Do something for a docket in its thread."""
        worker = await self._worker(docket)
        if worker.waiting >= self.settings.waiting_limit:
            raise ServiceError(
                "busy", 503,
                f"{worker.waiting} requests wait for the docket {docket!r} already. Wait a "
                f"second and send it again.",
            )  # fmt: skip
        self._count(worker, 1)
        loop = asyncio.get_running_loop()
        waiting: asyncio.Future[T] = loop.create_future()
        try:
            worker.submit(Job(task, loop, waiting))
            # Once begun a command runs to its end, even if the caller has gone.
            return await waiting
        finally:
            self._count(worker, -1)

    def _count(self, worker: Worker, change: int) -> None:
        worker.waiting += change
        worker.used = time.monotonic()
        if self._watch is not None:
            self._watch(worker.name, worker.waiting)

    async def dockets(self) -> tuple[str, ...]:
        """The names of all dockets."""
        return await asyncio.to_thread(self.store.dockets)

    def loading(self) -> list[str]:
        """The dockets that somebody waits for and that are not open yet."""
        return sorted(name for name, worker in self._workers.items() if worker.loading)

    async def tick(self, seconds: float, stop: asyncio.Event) -> None:
        """Close panels whose deadline has passed, again and again until told to stop.

        It is told, not cancelled: a thread that is reading goes on, and needs its connection.
        """
        while not stop.is_set():
            try:
                await asyncio.wait_for(stop.wait(), seconds)
            except TimeoutError:
                await self._tick_once()

    async def _tick_once(self) -> None:
        """Look at dockets that are due; those that nobody touches cost nothing."""
        self._release()
        try:
            due = await asyncio.to_thread(self.store.due, now())
            behind = [name for name, worker in self._workers.items() if worker.behind]
            names = dict.fromkeys([*due, *behind])
        except Exception:  # the next tick may succeed, and the log says why this did not
            LOG.exception("A tick failed; it is tried again.")
            return
        await self.each("A tick", names, _look)

    async def each(self, what: str, names: Iterable[str], task: Callable[[Worker], object]) -> None:
        """Do something for some dockets, on the service's own account."""
        for docket in names:
            try:
                await self.run(docket, done_by(SERVICE, task))
            except Exception:  # one docket that fails must not stop the others
                LOG.exception(
                    "%s failed; it is tried again.", what, extra={"said": {"docket": docket}}
                )
        await self._notify()

    async def _notify(self) -> None:
        """Tell members what awaits them, in dockets that have changed since the last look."""
        if not (self.settings.webhook or self.settings.smtp):
            return
        for name, worker in list(self._workers.items()):
            seq = worker.seq
            if seq == worker.noticed or time.monotonic() - worker.looked < NOTICE:
                continue
            worker.noticed, worker.looked = seq, time.monotonic()
            try:
                waiting = await self.run(name, lambda one: awaiting(one.docket))
                await asyncio.to_thread(tell, self.store, self.settings, name, waiting)
            except Exception:  # a notice that fails must not stop deadlines
                LOG.exception("Nobody could be told.", extra={"said": {"docket": worker.name}})

    def _release(self) -> None:
        """Let go of dockets that nobody has touched for a while."""
        for name, worker in list(self._workers.items()):
            if not worker.waiting and time.monotonic() - worker.used > IDLE:
                del self._workers[name]
                worker.thread.shutdown(wait=False)

    async def close(self) -> None:
        """Wait for what has begun, and let the threads go."""
        for worker in self._workers.values():
            await asyncio.to_thread(worker.thread.shutdown, cancel_futures=True)

    async def _worker(self, docket: str) -> Worker:
        if docket not in self._workers:
            # Asked first, so that made-up names do not make threads.
            if docket not in await self.dockets():
                raise ServiceError(
                    "no-docket", 404, f"There is no docket {docket!r}. They are at /v1/dockets."
                )
            self._workers.setdefault(docket, Worker(self.store, docket, self.settings))
        return self._workers[docket]


def _look(worker: Worker) -> None:
    """Close the panels that are due, and say when to look next."""
    close_late_panels(worker.docket)
    worker.docket.settle_due()
