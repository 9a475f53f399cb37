"""Workers: every docket of a process has one thread, in which all of its work is done.

Requests wait for that thread without blocking those of other dockets. The learner runs there alone,
so two requests never call it at once; between processes the database takes turns. Requests that
wait for the same docket form a group, and those that write share one transaction: each is all or
nothing by itself, and no caller is told before all are on disk.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa

from likewise.errors import LikewiseError
from likewise.learner.evidence import OneSided
from likewise_service.clock import now
from likewise_service.dockets import appeals, contacts, panel
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.recomputation import Recomputation
from likewise_service.errors import LOG, ServiceError
from likewise_service.ledger import kinds
from likewise_service.ledger.store import Store
from likewise_service.settings import Settings

T = TypeVar("T")
# The most commands in a transaction; the seconds after which an idle docket is released, and the
# least between two rounds of notices.
GROUP, IDLE, NOTICE = 64, 900.0, 2.0
# The records that are recomputed at once; how many times as long the pause after them is, while
# requests wait and while none do; the seconds between two looks at ledgers that have not grown.
RECOMPUTED, BUSY, CALM, LOOK = 50, 24.0, 4.0, 2.0


class Job(NamedTuple):
    """A task for a docket, the future of the request that waits for it, and the request's key.

    One that ``writes`` is done within the docket's turn from its first look on.
    """

    task: Callable[[Worker], Any]
    future: asyncio.Future[Any]
    key: str | None = None
    writes: bool = False


class Outcome(NamedTuple):
    """The end of a job: its result, or why there is none."""

    job: Job
    result: object
    error: BaseException | None = None

    def tell(self) -> None:
        """Tell the request that waits, unless its caller has left."""
        error = self.error
        if isinstance(error, StopIteration):  # which no future takes
            error = RuntimeError(f"A task of a docket stopped: {error!r}")
        if not self.job.future.done():
            if error is None:
                self.job.future.set_result(self.result)
            else:
                self.job.future.set_exception(error)


class Worker:
    """One docket at work: its thread, the docket once it has been opened, and its jobs."""

    def __init__(self, store: Store, name: str, settings: Settings) -> None:
        self.store, self.name, self.settings, self.waiting = store, name, settings, 0
        self.thread = ThreadPoolExecutor(1, thread_name_prefix=f"docket-{name}")
        self.used = time.monotonic()
        self.noticed, self.looked = 0, 0.0
        self.distrusted = False
        # In a group: if its transaction has just ended, so that nothing newer needs to be read.
        self._current = False
        self._jobs: deque[Job] = deque()
        self.working: asyncio.Task[None] | None = None
        self._docket: Docket | None = None
        self._numbers: tuple[int, dict[str, Any]] = (0, {})
        # The certificate with one-sided labels, as far as the ledger was recomputed.
        self.one_sided: dict[str, Any] | None = None

    @property
    def docket(self) -> Docket:
        """The docket; opening it folds its ledger, from the newest snapshot on."""
        if self._docket is None:
            limit, self._numbers = self.settings.reason_limit, (0, {})
            self._docket = Docket(self.store, self.name, reason_limit=limit)
        return self._docket

    @property
    def seq(self) -> int:
        """The number of the last record that was read; 0 where the docket is not open."""
        return 0 if self._docket is None else self._docket.projection.head.seq

    @property
    def loading(self) -> bool:
        return self._docket is None and self.waiting > 0

    @property
    def behind(self) -> bool:
        """Tell if the machine's clock is behind the ledger's time."""
        return self._docket is not None and self._docket.clock() < self._docket.projection.at

    def take_certificate(self, sums: OneSided | None) -> None:
        """Keep the certificate of the rounds that count by now; computing it may take a while."""
        before = self.one_sided or {}
        if sums is not None and sums.proved:
            counted = {"rounds": sums.rounds, "incomplete": sums.incomplete}
            if any(before.get(name, "") != value for name, value in counted.items()):
                self.one_sided = sums.to_json()

    def numbers(self, count: Callable[[Docket], dict[str, Any]]) -> dict[str, Any]:
        """Return the docket's numbers, which are counted again only when the ledger has grown."""
        seq = self.docket.projection.head.seq
        if self._numbers[0] != seq:
            self._numbers = (seq, count(self.docket))
        return self._numbers[1]

    def submit(self, job: Job) -> None:
        """Add a job; all that wait when the thread is free are done in one group."""
        self._jobs.append(job)
        if self.working is None:
            self.working = asyncio.create_task(self._drain())

    async def _drain(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._jobs:
                group = [self._jobs.popleft() for _ in range(min(GROUP, len(self._jobs)))]
                for outcome in await loop.run_in_executor(self.thread, self._work, group):
                    outcome.tell()
        finally:  # whatever happens, the next request finds a docket that works
            self.working = None

    def _work(self, jobs: list[Job]) -> list[Outcome]:
        """Do a group of jobs: those that write in one transaction, then the others.

        These find what was just committed. Nobody else waits for them: the turn is over.
        """
        self._current = False
        groups = ([job for job in jobs if job.writes], [job for job in jobs if not job.writes])
        return [outcome for group in groups if group for outcome in self._do(group)]

    @contextmanager
    def _up_to_date(self, jobs: list[Job]) -> Iterator[None]:
        if jobs[0].writes:
            with self.docket.group([job.key for job in jobs if job.key is not None]):
                yield
            self._current = True
        else:
            if not self._current:
                self.docket.refresh()
            yield

    def _do(self, jobs: list[Job]) -> list[Outcome]:
        """Do jobs one after another.

        A command that is refused leaves no trace, and the others go on. After any other error
        nobody knows how far the command came: it fails, the transaction that it shared leaves no
        trace, and the others in it are done again.
        """
        outcomes: list[Outcome] = []
        running: Job | None = None
        try:
            if self.distrusted:  # fold from the first record: memory, or a snapshot, is wrong
                with self.store.transaction(self.name) as transaction:
                    transaction.drop_snapshots()
                self._docket, self.distrusted = None, False
            with self._up_to_date(jobs):
                for job in jobs:
                    running = job
                    try:
                        outcomes.append(Outcome(job, job.task(self)))
                    except LikewiseError as error:
                        outcomes.append(Outcome(job, None, error))
                running = None
        except BaseException as error:  # noqa: BLE001 - the requests that wait are told
            return self._fail(jobs, outcomes, running, error)
        return outcomes

    def _fail(
        self, jobs: list[Job], outcomes: list[Outcome], running: Job | None, error: BaseException
    ) -> list[Outcome]:
        ended = {id(o.job): o for o in outcomes if o.error or not o.job.writes}
        if not isinstance(error, (sa.exc.SQLAlchemyError, ServiceError)):
            self._docket = None
            if running is not None:
                ended = {} if running.writes else ended
                others = [job for job in jobs if job is not running and id(job) not in ended]
                failed = [*ended.values(), Outcome(running, None, error)]
                return [*failed, *(self._work(others) if others else ())]
        return [ended.get(id(job), Outcome(job, None, error)) for job in jobs]


class Workers:
    """The workers of the dockets in use in this process.

    ``watch`` is called with the number of requests that wait for a docket, when it changes.
    """

    def __init__(
        self, store: Store, settings: Settings, watch: Callable[[str, int], None] | None = None
    ) -> None:
        self.store, self.settings, self._watch = store, settings, watch
        self._workers: dict[str, Worker] = {}

    async def run(
        self, docket: str, task: Callable[[Worker], T], key: str | None = None, *,
        writes: bool = False,
    ) -> T:  # fmt: skip
        """Run a task in a docket's thread; the ``key`` is that of an idempotent request.

        Tasks that say that they write (``writes``) share a transaction; others may write in one of
        their own.
        """
        worker = await self._worker(docket)
        if worker.waiting >= self.settings.waiting_limit:
            fault = f"{worker.waiting} requests wait for the docket {docket!r} already."
            raise ServiceError("busy", 503, f"{fault} Wait a second and send it again.")
        self._count(worker, 1)
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        try:
            # A caller who leaves does not cancel the command.
            worker.submit(Job(task, future, key, writes))
            return await future
        finally:
            self._count(worker, -1)

    def _count(self, worker: Worker, change: int) -> None:
        worker.waiting += change
        worker.used = time.monotonic()
        if self._watch is not None:
            self._watch(worker.name, worker.waiting)

    def __contains__(self, docket: str) -> bool:
        return docket in self._workers

    @property
    def count(self) -> int:
        return len(self._workers)

    def loading(self) -> list[str]:
        return sorted(name for name, worker in self._workers.items() if worker.loading)

    async def tick(self) -> None:
        """Release idle dockets, and close late panels of those that are due."""
        for name, worker in list(self._workers.items()):
            if time.monotonic() - worker.used > IDLE:
                self.release(name)
        if not self.settings.writer:
            due = await asyncio.to_thread(self.store.due, now())
            behind = [name for name, worker in self._workers.items() if worker.behind]
            await self.each("A tick", dict.fromkeys([*due, *behind]), _tick)

    def release(self, name: str) -> None:
        """Drop a docket from memory, and end its thread, unless it is at work."""
        if name in self._workers and self._workers[name].working is None:
            self._workers.pop(name).thread.shutdown(wait=False)

    async def recompute(self, stop: asyncio.Event, report: Callable[[str, int, int], None]) -> None:
        """Recompute the dockets in use from their first records on, all the time, in a small share
        of a core; ``report`` gets a docket, how far that is, and the number of differences.

        A docket that differs is folded anew, before it decides again.
        """
        following: dict[str, Recomputation] = {}
        while not stop.is_set():
            seconds = LOOK
            for worker in list(self._workers.values()):
                if worker.seq and not stop.is_set():
                    began = time.monotonic()
                    if await asyncio.to_thread(self._recompute, following, worker, report):
                        seconds = 0.0
                    times = BUSY if worker.waiting else CALM
                    await pause(stop, times * (time.monotonic() - began))
            for name in following.keys() - self._workers.keys():
                del following[name]
            await pause(stop, seconds)

    def _recompute(
        self, following: dict[str, Recomputation], worker: Worker,
        report: Callable[[str, int, int], None],
    ) -> bool:  # fmt: skip
        name = worker.name
        try:
            if name not in following:
                following[name] = Recomputation(self.store, name)
            recomputed = following[name]
            before = len(recomputed.differences)
            behind = recomputed.projection.head.seq < worker.seq and recomputed.advance(RECOMPUTED)
        except Exception:  # the database may be back the next time; a ledger may be broken
            LOG.exception("A ledger cannot be recomputed.", extra={"said": {"docket": name}})
            report(name, 0, 1)
            return False
        report(name, recomputed.projection.head.seq, len(recomputed.differences))
        worker.take_certificate(recomputed.one_sided)
        if len(recomputed.differences) > before:
            fields = {"docket": name, "records": recomputed.differences[before:][:10]}
            sentence = "A ledger or a snapshot differs from its recomputation."
            LOG.error(sentence, extra={"said": fields})
            worker.distrusted = True
        return behind

    async def each(
        self, name: str, names: Iterable[str], task: Callable[[Worker], T]
    ) -> dict[str, T]:
        """Run a task for some dockets on the service's own account; return what did not fail.

        ``name`` is for the log.
        """
        results: dict[str, T] = {}
        for docket in names:
            try:
                act = kinds.done_by(kinds.SERVICE, task)
                results[docket] = await self.run(docket, act, writes=True)
            except Exception:  # one docket that fails must not stop the others
                fields = {"docket": docket}
                LOG.exception("%s failed; it is tried again.", name, extra={"said": fields})
        await self._notify()
        return results

    async def _notify(self) -> None:
        """Tell members what awaits them, in dockets that have changed since the last notices."""
        if not (self.settings.webhook or self.settings.smtp):
            return
        for name, worker in list(self._workers.items()):
            seq = worker.seq
            if seq == worker.noticed or time.monotonic() - worker.looked < NOTICE:
                continue
            worker.noticed, worker.looked = seq, time.monotonic()
            try:
                waiting = await self.run(name, lambda worker: contacts.awaiting(worker.docket))
                about = (self.store, self.settings, name, waiting)
                failed = bool((await asyncio.to_thread(contacts.tell, *about))[1])
            except Exception:  # a notice that fails must not stop deadlines
                LOG.exception("Notices failed.", extra={"said": {"docket": worker.name}})
                failed = True
            if failed:
                worker.noticed, worker.looked = 0, time.monotonic() + contacts.AGAIN

    async def close(self) -> None:
        """Wait for all jobs, and end the threads."""
        for worker in self._workers.values():
            if worker.working is not None:
                await worker.working
            worker.thread.shutdown()

    async def _worker(self, docket: str) -> Worker:
        if docket not in self._workers:
            # Checked first, so that made-up names do not make threads.
            if not (await asyncio.to_thread(self.store.head, docket)).seq:
                sentence = f"There is no docket {docket!r}. They are at /v1/dockets."
                raise ServiceError("no-docket", 404, sentence)
            self._workers.setdefault(docket, Worker(self.store, docket, self.settings))
        return self._workers[docket]


async def pause(stop: asyncio.Event, seconds: float) -> bool:
    """Wait so long, or until ``stop`` is set; tell whether to go on."""
    with suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)
    return not stop.is_set()


def _tick(worker: Worker) -> None:
    """Close the panels that are due, mark appeals that are, and record the next deadline."""
    panel.close_late_panels(worker.docket)
    appeals.mark_overdue(worker.docket)
    worker.docket.settle_due()
