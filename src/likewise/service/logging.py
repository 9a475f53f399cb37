"""Logs as JSON lines."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

from likewise.service.clock import write

_JSON = json.JSONEncoder(ensure_ascii=True, default=str)


class JsonLines(logging.Formatter):
    """One JSON object a line: the time, the level, the message, and the fields in ``said``."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        line: dict[str, object] = {
            "at": write(datetime.fromtimestamp(record.created, UTC), "milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line.update(getattr(record, "said", {}))
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return _JSON.encode(line)


def log_as_json() -> None:
    """Write all logs of this process to standard error, as JSON lines."""
    # No line holds these, so that none has to look them up.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(handlers=[handler], level=logging.INFO, force=True)
