"""The one clock of the service: times are text in UTC, to the microsecond."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

__all__ = [
    "Clock",
    "compact",
    "due_after",
    "later",
    "now",
    "parse",
    "passed",
    "seconds_between",
    "write",
]

Clock = Callable[[], str]


def now() -> str:
    """The time.

    >>> now()[-1], len(now())
    ('Z', 27)
    """
    return write(datetime.now(UTC))


def write(moment: datetime, timespec: str = "microseconds") -> str:
    """A moment as records, pages and logs have it.

    >>> write(datetime(2026, 3, 1, 12, tzinfo=UTC))
    '2026-03-01T12:00:00.000000Z'
    """
    return moment.astimezone(UTC).isoformat(timespec=timespec).replace("+00:00", "Z")


def compact(at: str) -> str:
    """A time to the second, without colons, as receipts have it.

    >>> compact("2026-03-01T12:00:00.250000Z")
    '20260301T120000Z'
    """
    return parse(at).strftime("%Y%m%dT%H%M%SZ")


def parse(at: str) -> datetime:
    """The moment that a text stands for.

    >>> parse("2026-03-01T12:00:00.000000Z").hour
    12
    """
    return datetime.fromisoformat(at)


def later(at: str, seconds: float) -> str:
    """Some seconds after a time.

    >>> later("2026-03-01T12:00:00.000000Z", 60)
    '2026-03-01T12:01:00.000000Z'
    """
    return write(parse(at) + timedelta(seconds=seconds))


def due_after(at: str, deadline: float | None) -> str | None:
    """The end of a review that was asked for at some time; None without a deadline."""
    return None if deadline is None else later(at, deadline)


def passed(due: str | None, at: str) -> bool:
    """Tell if a due date has come.

    >>> passed("2026-03-01T12:00:00Z", "2026-03-01T12:00:00Z"), passed(None, "2026-03-01T12:00:00Z")
    (True, False)
    """
    return due is not None and parse(due) <= parse(at)


def seconds_between(earlier: str, moment: str) -> float:
    """The seconds from one time to another.

    >>> seconds_between("2026-03-01T12:00:00Z", "2026-03-01T12:01:30Z")
    90.0
    """
    return (parse(moment) - parse(earlier)).total_seconds()
