"""Numbers for Prometheus: requests of all processes, and the state of the dockets.

With several processes, ``PROMETHEUS_MULTIPROC_DIR`` names a folder that they share; the library
reads it when it is first imported.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector

MULTIPROCESS = "PROMETHEUS_MULTIPROC_DIR"
BUCKETS = (0.005, 0.02, 0.1, 0.5, 2.0, 10.0)
DOCKETS = {
    "rounds": "Rounds of a docket.",
    "open_rounds": "Rounds that are not closed.",
    "reports": "Rounds in which a pair was reported.",
    "missing_labels": "Labels that never came.",
    "lam": "The multiplier, the price of a report.",
    "ledger_records": "Records of the ledger.",
}


class Telemetry:
    """Counters of an app: its requests, and how many of them wait."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = registry = CollectorRegistry()
        names = ("route", "method", "status", "role")
        requests = Counter("likewise_requests", "Responses.", names, registry=registry)
        self._seconds = Histogram(
            "likewise_request_seconds", "Seconds until a response.", registry=registry,
            buckets=BUCKETS,
        )  # fmt: skip
        waiting = Gauge(
            "likewise_waiting_requests", "Requests that wait for a docket.", ["docket"],
            registry=registry, multiprocess_mode="livesum",
        )  # fmt: skip
        # Finding a counter by its labels takes longer than counting; there are few of them.
        self._requests = lru_cache(maxsize=None)(requests.labels)
        self._waiting = lru_cache(maxsize=None)(waiting.labels)

    def responded(self, route: str, method: str, status: int, role: str, seconds: float) -> None:
        """Count one response."""
        self._requests(route, method, str(status), role).inc()
        self._seconds.observe(seconds)

    def waiting(self, docket: str, number: int) -> None:
        """Record how many requests wait for a docket."""
        self._waiting(docket).set(number)

    def text(self, dockets: Mapping[str, Mapping[str, float]]) -> bytes:
        """Return all numbers in Prometheus's text format, with those of the dockets."""
        registry = self._registry
        if MULTIPROCESS in os.environ:
            _drop_dead_processes(Path(os.environ[MULTIPROCESS]))
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        numbers = CollectorRegistry()
        numbers.register(_Dockets(dockets))
        return generate_latest(registry) + generate_latest(numbers)


def _drop_dead_processes(folder: Path) -> None:
    """Drop the gauges of processes that have ended; nothing waits there any more."""
    for path in folder.glob("gauge_live*_*.db"):
        number = int(path.stem.rpartition("_")[2])
        try:
            os.kill(number, 0)
        except ProcessLookupError:
            mark_process_dead(number)  # type: ignore[no-untyped-call]


class _Dockets(Collector):
    """The numbers of dockets, for one response."""

    def __init__(self, dockets: Mapping[str, Mapping[str, float]]) -> None:
        self.dockets = dockets

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Yield one gauge for each number."""
        for name, description in DOCKETS.items():
            family = GaugeMetricFamily(f"likewise_{name}", description, labels=["docket"])
            for docket, numbers in self.dockets.items():
                family.add_metric([docket], numbers[name])
            yield family
