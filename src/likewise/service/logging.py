"""Logs as JSON lines."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime

from likewise.service.clock import write

__all__ = ["JsonLines", "log_as_json"]

_JSON = json.JSONEncoder(ensure_ascii=True, default=str)


class JsonLines(logging.Formatter):
    """One JSON object a line: the time, the level, the message, and what was said with it."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        line: dict[str, object] = {
            "at": write(datetime.fromtimestamp(record.created, UTC), "milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        said = getattr(record, "said", None)
        if isinstance(said, Mapping):
            line.update(said)
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return _JSON.encode(line)


def log_as_json() -> None:
    """Write all logs of this process to standard error, as JSON lines."""
    # What no line says need not be found out for each.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(handlers=[handler], level=logging.INFO, force=True)
