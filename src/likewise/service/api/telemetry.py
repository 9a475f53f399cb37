"""Logs as JSON lines, and counters in Prometheus's text format."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from threading import Lock

__all__ = ["JsonLines", "Telemetry", "exposition", "log_as_json"]

BUCKETS = (0.005, 0.02, 0.1, 0.5, 2.0, 10.0)

Sample = tuple[Mapping[str, str], float]


class JsonLines(logging.Formatter):
    """One JSON object a line: the time, the level, the message, and what was said with it."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, object] = {
            "at": moment.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        said = getattr(record, "said", None)
        if isinstance(said, Mapping):
            line.update(said)
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=True, default=str)


def log_as_json() -> None:
    """Write all logs of this process to standard error, as JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(handlers=[handler], level=logging.INFO, force=True)


class Telemetry:
    """What this process has answered."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._answers: dict[tuple[str, str, str, str], int] = {}
        self._seconds = 0.0
        self._within = [0] * len(BUCKETS)

    def answered(self, route: str, method: str, status: int, role: str, seconds: float) -> None:
        """Count one answer."""
        key = (route, method, str(status), role)
        with self._lock:
            self._answers[key] = self._answers.get(key, 0) + 1
            self._seconds += seconds
            for place, bound in enumerate(BUCKETS):
                self._within[place] += seconds <= bound

    def text(self) -> str:
        """The counters."""
        names = ("route", "method", "status", "role")
        with self._lock:
            answers = [
                (dict(zip(names, key, strict=True)), float(n))
                for key, n in sorted(self._answers.items())
            ]
            within, seconds = list(self._within), self._seconds
        count = sum(int(value) for _, value in answers)
        bounds = [*map(str, BUCKETS), "+Inf"]
        lines = exposition(
            "likewise_requests_total", "counter", "Answers of this process.", answers
        )
        lines += "# HELP likewise_request_seconds How long answers took, in this process.\n"
        lines += "# TYPE likewise_request_seconds histogram\n"
        for bound, n in zip(bounds, [*within, count], strict=True):
            lines += f'likewise_request_seconds_bucket{{le="{bound}"}} {n}\n'
        lines += f"likewise_request_seconds_sum {seconds:.6f}\n"
        return lines + f"likewise_request_seconds_count {count}\n"


def exposition(name: str, kind: str, words: str, samples: Iterable[Sample]) -> str:
    r"""One metric in Prometheus's text format.

    >>> print(exposition("up", "gauge", "Whether it is up.", [({"who": 'a"b'}, 1.0)]), end="")
    # HELP up Whether it is up.
    # TYPE up gauge
    up{who="a\"b"} 1
    """
    lines = [f"# HELP {name} {words}", f"# TYPE {name} {kind}"]
    for labels, value in samples:
        inside = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
        lines.append(f"{name}{{{inside}}} {value:.17g}" if inside else f"{name} {value:.17g}")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
