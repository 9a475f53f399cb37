"""Clients who go on whatever the server says: what is not acknowledged is sent again."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from studies.scripts.http_load import Load
from tests.service.live import PATIENCE


class Counted(httpx.HTTPTransport):
    """Counts the statuses of all responses."""

    def __init__(self) -> None:
        super().__init__()
        self.statuses: Counter[int] = Counter()
        self._lock = threading.Lock()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        with self._lock:
            self.statuses[response.status_code] += 1
        return response


class LoadClients:
    """Threads that open rounds, review and label them; all statuses and receipts are kept."""

    def __init__(self, address: str, tokens: dict[str, str], count: int = 4) -> None:
        chosen, transport = (tokens[who] for who in ("client", "auditor", "auditor-bob")), Counted()
        self.load = Load(address, chosen, "loans", transport, purpose="car")
        self.statuses, self.receipts = transport.statuses, self.load.receipts
        self.lived, self.failures = 0, list[str]()
        self._stop, self._lock = threading.Event(), threading.Lock()
        self._threads = [threading.Thread(target=self._work, args=(n, count)) for n in range(count)]

    @contextmanager
    def working(self) -> Iterator[LoadClients]:
        """At work within the block; what has begun is ended after it."""
        for thread in self._threads:
            thread.start()
        try:
            yield self
        finally:
            self._stop.set()
            for thread in self._threads:
                thread.join(PATIENCE)
            for client in (self.load.bank, *self.load.members):
                client.close()

    def until(self, more: int) -> None:
        """Wait for so many rounds more."""
        wanted, ends = self.lived + more, time.monotonic() + PATIENCE
        while self.lived < wanted:
            assert not self.failures, self.failures
            assert time.monotonic() < ends, f"{self.statuses}"
            time.sleep(0.02)

    def seen(self, status: int) -> None:
        """Wait until somebody was told that."""
        ends = time.monotonic() + PATIENCE
        while not self.statuses[status]:
            assert time.monotonic() < ends, f"{self.statuses}"
            time.sleep(0.02)

    def _work(self, turn: int, step: int) -> None:
        try:
            while not self._stop.is_set():
                self.load.round(turn)
                turn += step
                with self._lock:
                    self.lived += 1
        except Exception as error:  # noqa: BLE001 - whatever it is, the run has failed
            self.failures.append(repr(error))
