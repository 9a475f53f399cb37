"""Clients who go on whatever the server says: what is not acknowledged is sent again."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from tests.service.live import PATIENCE, people

MEMBERS = ("auditor", "auditor-bob")
AT = "/v1/dockets/loans"


class LoadClients:
    """Threads that open rounds, review and label them; all statuses and receipts are kept."""

    def __init__(self, address: str, tokens: dict[str, str], count: int = 4) -> None:
        self.address, self.tokens = address, tokens
        self.statuses: Counter[int] = Counter()
        self.receipts: list[str] = []
        self.lived, self.failures = 0, list[str]()
        self._stop, self._lock = threading.Event(), threading.Lock()
        self._threads = [threading.Thread(target=self._work, args=(n,)) for n in range(count)]

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

    def _work(self, number: int) -> None:
        try:
            with httpx.Client(base_url=self.address, timeout=PATIENCE) as http:
                turn = 0
                while not self._stop.is_set():
                    self._life(http, f"c{number}-{turn}")
                    turn += 1
                    with self._lock:
                        self.lived += 1
        except Exception as error:  # noqa: BLE001 - whatever it is, the run has failed
            self.failures.append(repr(error))

    def _life(self, http: httpx.Client, key: str) -> None:
        listed = [{"id": f"{key}-{n}", "features": f} for n, f in people(1, 3).items()]
        opened = self._ask(http, "POST", "/rounds", "client", {"people": listed}, key)
        assert opened is not None
        for member in MEMBERS:
            waiting = self._ask(http, "GET", "/reviews?limit=3", member)
            assert waiting is not None
            for review in waiting["reviews"][:1]:
                path = f"/reviews/{review['id']}"
                shown = self._ask(http, "GET", path, member)
                if shown is not None and shown["pairs"]:
                    pair = [shown["pairs"][0]["over"], shown["pairs"][0]["under"]]
                    said = {"pair": pair, "reason": "alike"}
                    self._ask(http, "POST", f"{path}/objections", member, said, f"{key}-o")
                self._ask(http, "POST", f"{path}/finish", member, None, f"{key}-d")
        labels = [{"round": opened["id"], "person": person["id"], "label": 1} for person in listed]
        self._ask(http, "POST", "/labels", "client", {"labels": labels})

    def _ask(
        self, http: httpx.Client, method: str, path: str, who: str, body: Any = None, key: str = ""
    ) -> Any:
        """Until it is acknowledged; None where somebody was faster."""
        headers = {"Authorization": f"Bearer {self.tokens[who]}"}
        if key:
            headers["Idempotency-Key"] = key
        ends = time.monotonic() + PATIENCE
        while True:
            assert time.monotonic() < ends, "it was never acknowledged"
            try:
                response = http.request(method, AT + path, json=body, headers=headers)
            except httpx.HTTPError:
                time.sleep(0.05)
                continue
            with self._lock:
                self.statuses[response.status_code] += 1
            if response.status_code == 409:
                return None
            if response.status_code == 503:
                time.sleep(0.05)
                continue
            assert response.status_code in (200, 201), response.text
            found = response.json()
            with self._lock:
                self.receipts.append(found["receipt"]["text"])
            return found
