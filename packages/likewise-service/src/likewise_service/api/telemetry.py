"""Telemetry: what a server counts of itself and of its dockets, for Prometheus."""

import math
import os
import time
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import prometheus_client as prometheus
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

MULTIPROCESS = "PROMETHEUS_MULTIPROC_DIR"
BUCKETS = (0.005, 0.02, 0.1, 0.5, 2.0, 10.0)
DOCKETS = {
    "rounds": "Rounds of a docket.",
    "open_rounds": "Rounds that are not closed.",
    "reports": "Rounds in which a pair was reported.",
    "missing_labels": "Labels that never came.",
    "lam": "The multiplier, the price of a report.",
    "looked_at": "Rounds that a panel was asked about.",
    "pairs_shown": "Pairs put before the members of panels, each counted once.",
    "members_asked": "Members who were asked, over all rounds.",
    "member_pairs": "Pairs put before a member, for each member.",
    "unseen_reports": "Estimate of the reports that nobody was asked about.",
    "unseen_reports_low": "Its lower end, with 95 % probability at all times.",
    "unseen_reports_high": "Its upper end, with 95 % probability at all times.",
    "ledger_records": "Records of the ledger.",
    "appeals": "Appeals of applicants.",
    "open_appeals": "Appeals that are not decided.",
    "overdue_appeals": "Those of them whose time is over: any at all is an alarm.",
    "late_appeals": "Appeals that were decided after their time.",
    "anchors_failing": "Places outside where the last receipt could not be anchored.",
    "unanchored_records": "Records since the last one that is anchored at every place.",
    "anchored_time_seconds": "When that was, as Unix time; 0: never.",
    "ledger_time_seconds": "The time of the last record; ahead of now, some clock is wrong.",
}


_STATM = Path("/proc/self/statm")


def resident_memory() -> int:
    """Return the bytes of memory that this process occupies; 0 where the system does not say."""
    if not _STATM.exists():
        return 0
    return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


# Processor seconds from which counting takes long; seconds after which a request for the numbers no
# longer keeps them fresh; the most seconds between two counts.
LONG, ASKED, COUNTED = 0.05, 300.0, 30.0
AGE = "likewise_dockets_age_seconds"


class DocketNumbers:
    """The numbers of all dockets as text, from ``count``.

    If counting takes long, the text is kept, renewed in the background while somebody asks for it,
    and says how old it is.
    """

    def __init__(self, count: Callable[[], Mapping[str, Mapping[str, float]]]) -> None:
        self._count = count
        self._text, self._took = b"", 0.0
        self._at = self._asked = -math.inf

    def text(self) -> bytes:
        """Return the numbers of this moment, or the last ones."""
        self._asked = time.monotonic()
        if self._took < LONG or self._asked - self._at > COUNTED:
            self._renew()
        age = time.monotonic() - self._at
        head = f"# HELP {AGE} Seconds since the dockets were counted.\n# TYPE {AGE} gauge\n"
        return f"{head}{AGE} {age:.3f}\n".encode() + self._text

    def keep_fresh(self) -> None:
        """Count them again if that takes long, and somebody has asked for them of late."""
        if self._took >= LONG and time.monotonic() - self._asked < ASKED:
            self._renew()

    def _renew(self) -> None:
        moment, worked = time.monotonic(), time.thread_time()
        text = "".join(_docket_numbers(self._count())).encode()
        self._text, self._at, self._took = text, moment, time.thread_time() - worked


class Telemetry:
    """Counters of an app: its requests, and how many of them wait; and the dockets' numbers."""

    def __init__(self, dockets: DocketNumbers) -> None:
        self.dockets = dockets
        prometheus.disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = registry = prometheus.CollectorRegistry()
        names = ("route", "method", "status", "role")
        requests = prometheus.Counter("likewise_requests", "Responses.", names, registry=registry)
        self._seconds = prometheus.Histogram(
            "likewise_request_seconds", "Seconds until a response.", registry=registry,
            buckets=BUCKETS,
        )  # fmt: skip

        def gauge(name: str, text: str, mode: Any, *labels: str) -> prometheus.Gauge:
            return prometheus.Gauge(
                f"likewise_{name}", text, labels, registry=registry, multiprocess_mode=mode
            )

        waiting = gauge("waiting_requests", "Requests that wait for a docket.", "livesum", "docket")
        text = "Records up to which the ledger has been recomputed in the background."
        self._recomputed = gauge("recomputed_records", text, "livemax", "docket")
        text = "Records and snapshots that differ: any at all is an alarm."
        self._differences = gauge("recomputed_differences", text, "livemax", "docket")
        self._memory = gauge("memory_bytes", "Resident memory of all processes.", "livesum")
        text = "Dockets in the memory of a process, added up."
        self._dockets = gauge("open_dockets", text, "livesum")
        text = "The time of what is read, as Unix time: of a replica, that of its last change."
        self._as_of = gauge("as_of_time_seconds", text, "livemin")
        # Finding a counter by its labels takes longer than counting; there are few of them.
        self._requests = lru_cache(maxsize=None)(requests.labels)
        self._waiting = lru_cache(maxsize=None)(waiting.labels)

    def responded(self, route: str, method: str, status: int, role: str, seconds: float) -> None:
        self._requests(route, method, str(status), role).inc()
        self._seconds.observe(seconds)

    def waiting(self, docket: str, number: int) -> None:
        self._waiting(docket).set(number)

    def measured(self, dockets: int, as_of: float) -> None:
        """Measure the process, which has so many dockets in memory and reads as of some time."""
        self._memory.set(resident_memory())
        self._dockets.set(dockets)
        self._as_of.set(as_of)
        self.dockets.keep_fresh()

    def recomputed(self, docket: str, records: int, differences: int) -> None:
        self._recomputed.labels(docket).set(records)
        self._differences.labels(docket).set(differences)

    def text(self) -> bytes:
        """Return all numbers in Prometheus's text format, with those of the dockets."""
        registry = self._registry
        if MULTIPROCESS in os.environ:
            _drop_dead_processes(Path(os.environ[MULTIPROCESS]))
            registry = prometheus.CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return prometheus.generate_latest(registry) + self.dockets.text()


def _drop_dead_processes(folder: Path) -> None:
    """Drop the gauges of processes that have ended; nothing waits there any more."""
    for path in folder.glob("gauge_live*_*.db"):
        number = int(path.stem.rpartition("_")[2])
        try:
            os.kill(number, 0)
        except ProcessLookupError:
            mark_process_dead(number)  # type: ignore[no-untyped-call]


def _docket_numbers(dockets: Mapping[str, Mapping[str, float]]) -> Iterable[str]:
    """Yield numbers by names that need no escaping: the library takes twenty times as long."""
    for name, description in DOCKETS.items():
        yield f"# HELP likewise_{name} {description}\n# TYPE likewise_{name} gauge\n"
        for docket, numbers in dockets.items():
            # What only a newer version counts is missing until the docket's next record.
            yield f'likewise_{name}{{docket="{docket}"}} {float(numbers.get(name, 0.0))!r}\n'
