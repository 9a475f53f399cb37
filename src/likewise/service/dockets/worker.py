"""Offices: every docket of a process has a desk, and one thread in which all of its work is done.

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
from likewise.service.dockets.commands.audits import tick
from likewise.service.dockets.docket import Desk
from likewise.service.dockets.reviews import ReviewBoard
from likewise.service.errors import ServiceError
from likewise.service.ledger.store import Store

__all__ = ["Office", "Offices"]

T = TypeVar("T")
LOG = logging.getLogger("likewise.service")


class Office:
    """One docket at work: its thread, its desk once it has been opened, and who waits."""

    def __init__(self, store: Store, docket: str) -> None:
        self.store, self.docket, self.waiting = store, docket, 0
        self.thread = ThreadPoolExecutor(1, thread_name_prefix=f"docket-{docket}")
        self._desk: Desk | None = None
        self._board: ReviewBoard | None = None
        self._kept: dict[str, tuple[int, object]] = {}

    @property
    def desk(self) -> Desk:
        """The desk; opening it folds the docket's ledger."""
        if self._desk is None:
            self._desk = Desk(self.store, self.docket)
        return self._desk

    @property
    def board(self) -> ReviewBoard:
        """The reviews of the docket's members."""
        if self._board is None:
            self._board = ReviewBoard(self.desk)
        return self._board

    def kept(self, name: str, compute: Callable[[], T]) -> T:
        """Something that is computed anew only when the ledger has grown."""
        seq = self.desk.book.head.seq
        known = self._kept.get(name)
        if known is None or known[0] != seq:
            self._kept[name] = known = (seq, compute())
        return known[1]  # type: ignore[return-value] # what was kept under that name

    def work(self, task: Callable[[Office], T]) -> T:
        """Do something at the desk, having read what others wrote."""
        ready = False
        try:
            self.desk.refresh()
            ready = True
            return task(self)
        except BaseException as error:
            # A command that is refused leaves no trace, nor does a database that fails: memory
            # follows it. After anything else nobody knows how far it came; the ledger does.
            harmless = ready and isinstance(error, LikewiseError)
            if not harmless and not isinstance(error, sa.exc.SQLAlchemyError):
                self._desk = self._board = None
            raise


class Offices:
    """The offices of all dockets that this process has had to do with."""

    def __init__(self, store: Store, waiting_limit: int) -> None:
        self.store, self.waiting_limit = store, waiting_limit
        self._offices: dict[str, Office] = {}

    async def run(self, docket: str, task: Callable[[Office], T]) -> T:
        """Do something for a docket in its thread."""
        office = await self._office(docket)
        if office.waiting >= self.waiting_limit:
            raise ServiceError(
                "busy", 503,
                f"{office.waiting} requests wait for the docket {docket!r} already. Wait a "
                f"second and send it again.",
            )  # fmt: skip
        office.waiting += 1
        try:
            loop = asyncio.get_running_loop()
            # Once begun a command runs to its end, even if the caller has gone.
            return await asyncio.shield(loop.run_in_executor(office.thread, office.work, task))
        finally:
            office.waiting -= 1

    async def dockets(self) -> tuple[str, ...]:
        """The names of all dockets."""
        return await asyncio.to_thread(self.store.dockets)

    def waiting(self) -> dict[str, int]:
        """How many requests wait for each docket."""
        return {name: office.waiting for name, office in sorted(self._offices.items())}

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
        try:
            names = await self.dockets()
        except Exception:  # the next tick may succeed, and the log says why this did not
            LOG.exception("A tick failed; it is tried again.")
            return
        for docket in names:
            try:
                await self.run(docket, lambda office: tick(office.desk))
            except Exception:  # one docket that fails must not stop the others' deadlines
                LOG.exception(
                    "A tick failed; it is tried again.", extra={"said": {"docket": docket}}
                )

    async def close(self) -> None:
        """Wait for what has begun, and let the threads go."""
        for office in self._offices.values():
            await asyncio.to_thread(office.thread.shutdown, cancel_futures=True)

    async def _office(self, docket: str) -> Office:
        if docket not in self._offices:
            # Asked first, so that strangers' names do not make threads.
            if docket not in await self.dockets():
                raise ServiceError(
                    "no-docket", 404, f"There is no docket {docket!r}. They are at /v1/dockets."
                )
            self._offices.setdefault(docket, Office(self.store, docket))
        return self._offices[docket]
