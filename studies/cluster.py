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
        """Yield function(*task) for every task, in the order in which they finish.

        Errors of a task are raised unchanged, those of Dask as ours.
        """
        try:
            distributed: Any = import_module("distributed")
        except ImportError as error:
            raise LikewiseError(
                f"--cluster needs distributed ({error}). Install it with: pip install distributed"
            ) from error
        try:
            client = distributed.Client(self.address, timeout=self.connect_seconds)
        except (OSError, TimeoutError, ValueError) as error:
            raise self._refused(
                f"cannot be reached ({error}). Start one with `dask scheduler` and `dask worker "
                f"{self.address}`, or leave --cluster out"
            ) from error
        try:
            self._check_workers(client)
            futures = {client.submit(quietly, function, *task, pure=False) for task in tasks}
            for future in self._finished(distributed, client, futures):
                yield future.result()
        except distributed.KilledWorker as error:
            raise self._refused(f"has lost one worker after another by a run: {error}") from error
        except (distributed.CancelledError, OSError) as error:
            raise self._refused("was lost") from error
        finally:
            client.close()

    def _check_workers(self, client: Any) -> None:
        """Refuse a cluster without workers, or with one of another version."""
        try:
            client.wait_for_workers(1, timeout=self.workers_seconds)
        except TimeoutError as error:
            raise self._no_workers() from error
        try:
            versions = client.run(version)
        except Exception as error:  # whatever importing Likewise does over there
            raise self._refused(
                f"has a worker without Likewise ({type(error).__name__}: {error}). Install version "
                f"{__version__} on all of them"
            ) from error
        for worker, installed in versions.items():
            if installed != __version__:
                raise self._refused(
                    f"has the worker {worker} with version {installed}, and here it is "
                    f"{__version__}. Results must not depend on who plays: install the same one"
                )

    def _finished(self, distributed: Any, client: Any, pending: set[Any]) -> Iterator[Any]:
        """Yield futures as they finish, as long as there are workers now and then."""
        last_sign = time.monotonic()
        while pending:
            try:
                done = distributed.wait(
                    list(pending), timeout=POLL_SECONDS, return_when="FIRST_COMPLETED"
                ).done
            except TimeoutError:
                done = set()
            if client.status != "running":
                raise self._refused("was lost")
            if done or client.scheduler_info()["workers"]:
                last_sign = time.monotonic()
            elif time.monotonic() - last_sign > self.workers_seconds:
                raise self._no_workers()
            pending -= done
            yield from done

    def _no_workers(self) -> LikewiseError:
        return self._refused(
            f"has had no worker for {self.workers_seconds:.0f} seconds. Start one with `dask "
            f"worker {self.address}`"
        )

    def _refused(self, what: str) -> LikewiseError:
        return LikewiseError(
            f"The cluster at {self.address!r} {what}. Results so far are kept; the same command "
            f"goes on from there."
        )
