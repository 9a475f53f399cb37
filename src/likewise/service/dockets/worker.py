"""Workers: every docket of a process has one thread, in which all of its work is done.

Requests wait for that thread without blocking anybody else's. The learner runs there alone, so it
is never called by two requests at once; between processes the database takes turns.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import sqlalchemy as sa

from likewise.errors import LikewiseError
from likewise.service.dockets.commands.reviews import close_late_panels
from likewise.service.dockets.docket import Docket
from likewise.service.dockets.reviews import ReviewBoard
from likewise.service.errors import ServiceError
from likewise.service.ledger.actors import SERVICE, done_by
from likewise.service.ledger.store import Store
from likewise.service.settings import Settings

__all__ = ["Worker", "Workers"]

T = TypeVar("T")
LOG = logging.getLogger("likewise.service")


class Worker:
    """One docket at work: its thread, the docket once it has been opened, and who waits."""

    def __init__(self, store: Store, name: str, settings: Settings) -> None:
        self.store, self.name, self.settings, self.waiting = store, name, settings, 0
        self.thread = ThreadPoolExecutor(1, thread_name_prefix=f"docket-{name}")
        self._docket: Docket | None = None
        self._board: ReviewBoard | None = None
        self._kept: dict[str, tuple[int, object]] = {}

    @property
    def docket(self) -> Docket:
        """The docket; opening it folds its ledger."""
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

    def kept(self, name: str, compute: Callable[[], T]) -> T:
        """Something that is computed anew only when the ledger has grown."""
        seq = self.docket.projection.head.seq
        known = self._kept.get(name)
        if known is None or known[0] != seq:
            self._kept[name] = known = (seq, compute())
        return known[1]  # type: ignore[return-value] # what was kept under that name

    def work(self, task: Callable[[Worker], T]) -> T:
        """Do something with the docket, having read what others wrote."""
        ready = False
        try:
            self.docket.refresh()
            ready = True
            return task(self)
        except BaseException as error:
            # A command that is refused leaves no trace, nor does a database that fails: memory
            # follows it. After anything else nobody knows how far it came; the ledger does.
            harmless = ready and isinstance(error, LikewiseError)
            if not harmless and not isinstance(error, sa.exc.SQLAlchemyError):
                self._docket = self._board = None
            raise


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
        try:
            loop = asyncio.get_running_loop()
            # Once begun a command runs to its end, even if the caller has gone.
            return await asyncio.shield(loop.run_in_executor(worker.thread, worker.work, task))
        finally:
            self._count(worker, -1)

    def _count(self, worker: Worker, change: int) -> None:
        worker.waiting += change
        if self._watch is not None:
            self._watch(worker.name, worker.waiting)

    async def dockets(self) -> tuple[str, ...]:
        """The names of all dockets."""
        return await asyncio.to_thread(self.store.dockets)

    async def tick(self, seconds: float, stop: asyncio.Event) -> None:
        """Close panels whose deadline has passed, again and again until told to stop.

        It is told, not cancelled: a thread that is reading goes on, and needs its connection.
        """
        while not stop.is_set():
            try:
                await asyncio.wait_for(stop.wait(), seconds)
            except TimeoutError:
                await self.each("A tick", lambda w: close_late_panels(w.docket))

    async def each(self, what: str, task: Callable[[Worker], object]) -> None:
        """Do something for every docket, on the service's own account."""
        try:
            names = await self.dockets()
        except Exception:  # the next one may succeed, and the log says why this did not
            LOG.exception("%s failed; it is tried again.", what)
            return
        for docket in names:
            try:
                await self.run(docket, done_by(SERVICE, task))
            except Exception:  # one docket that fails must not stop the others
                LOG.exception(
                    "%s failed; it is tried again.", what, extra={"said": {"docket": docket}}
                )

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
