"""Tasks on the workers of a Dask cluster; ``distributed`` is imported here alone."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeVar

from likewise import __version__
from likewise.errors import LikewiseError, ParameterError
from likewise.simulate.parallel import quietly
from likewise.validation import text

T = TypeVar("T")
CONNECT_SECONDS = 10.0
# A cluster that restarts its workers may be without any for a while.
WORKERS_SECONDS = 60.0
POLL_SECONDS = 1.0


def version() -> str:
    """The version of Likewise; every worker is asked for it."""
    return __version__


_ADDRESS = "It is that of a scheduler, such as tcp://127.0.0.1:8786."


@dataclass(frozen=True)
class Cluster:
    """A Dask cluster by the address of its scheduler, such as ``tcp://127.0.0.1:8786``.

    Its workers need this version of Likewise. If a worker dies, another one repeats its task, with
    the same result.
    """

    address: str
    connect_seconds: float = CONNECT_SECONDS
    workers_seconds: float = WORKERS_SECONDS

    def __post_init__(self) -> None:
        text("cluster", self.address, _ADDRESS)
        parts = re.fullmatch(r"([a-z]+://)?[^\s:/]+:(\d{1,5})", self.address)
        if parts is None or not 0 < int(parts[2]) < 1 << 16:
            raise ParameterError(
                "cluster", "must be an address with a port", self.address, _ADDRESS
            )

    def map(self, function: Callable[..., T], tasks: Sequence[tuple[Any, ...]]) -> Iterator[T]:
        """Yield function(*task) for every task, in the order in which they finish."""
        distributed = _distributed()
        client = self._client(distributed)
        try:
            self._check_workers(client)
            futures = {client.submit(quietly, function, *task, pure=False): task for task in tasks}
            yield from self._gathered(distributed, client, list(futures))
        finally:
            client.close()

    def _client(self, distributed: Any) -> Any:
        try:
            return distributed.Client(self.address, timeout=self.connect_seconds)
        except (OSError, TimeoutError, ValueError) as error:
            raise LikewiseError(
                f"The cluster at {self.address!r} cannot be reached ({error}). Start one with "
                f"`dask scheduler` and `dask worker {self.address}`, or leave --cluster out. "
                f"Results so far are kept."
            ) from error

    def _check_workers(self, client: Any) -> None:
        """Refuse a cluster without workers, or with one of another version."""
        try:
            client.wait_for_workers(1, timeout=self.workers_seconds)
        except TimeoutError as error:
            raise self._no_workers() from error
        try:
            versions = client.run(version)
        except Exception as error:  # whatever importing Likewise does over there
            raise LikewiseError(
                f"A worker of the cluster at {self.address!r} has no Likewise "
                f"({type(error).__name__}: {error}). Install version {__version__} on all of them."
            ) from error
        for worker, installed in versions.items():
            if installed != __version__:
                raise LikewiseError(
                    f"The worker {worker} has version {installed} of Likewise, and here it is "
                    f"{__version__}. Results must not depend on who plays: install the same one."
                )

    def _no_workers(self) -> LikewiseError:
        return LikewiseError(
            f"The cluster at {self.address!r} has had no worker for {self.workers_seconds:.0f} "
            f"seconds. Start one with `dask worker {self.address}`. Results so far are kept."
        )

    def _gathered(self, distributed: Any, client: Any, waiting: list[Any]) -> Iterator[Any]:
        """Yield results as they come; raise errors of a task unchanged, those of Dask as ours."""
        last_sign = time.monotonic()
        pending = set(waiting)
        while pending:
            try:
                finished = distributed.wait(
                    list(pending), timeout=POLL_SECONDS, return_when="FIRST_COMPLETED"
                ).done
            except TimeoutError:
                finished = set()
            if client.status != "running":
                raise self._lost()
            if finished or client.scheduler_info()["workers"]:
                last_sign = time.monotonic()
            elif time.monotonic() - last_sign > self.workers_seconds:
                raise self._no_workers()
            for future in finished:
                pending.discard(future)
                yield self._result(distributed, future)

    def _result(self, distributed: Any, future: Any) -> Any:
        try:
            return future.result()
        except distributed.KilledWorker as error:
            raise LikewiseError(
                f"The same run has ended one worker of the cluster after another: {error}. "
                f"Results so far are kept."
            ) from error
        except (distributed.CancelledError, OSError) as error:
            raise self._lost() from error

    def _lost(self) -> LikewiseError:
        return LikewiseError(
            f"The cluster at {self.address!r} was lost. Results so far are kept; run the same "
            f"command again to go on."
        )


def _distributed() -> Any:
    try:
        return import_module("distributed")
    except ImportError as error:
        raise LikewiseError(
            f"--cluster needs distributed ({error}). Install it with: pip install distributed"
        ) from error
