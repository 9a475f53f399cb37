"""The time: moments as text, deadlines, and a clock that is never before a ledger's last record."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from likewise.errors import LikewiseError

LOG = logging.getLogger("likewise_service")
Clock = Callable[[], str]
# Seconds by which clocks may differ before the log says so.
TOLERANCE = 1.0
DAY = 86_400.0  # in seconds


def now() -> str:
    return write(datetime.now(UTC))


def write(moment: datetime, timespec: str = "microseconds") -> str:
    """Return a moment in the form of records, pages and logs.

    >>> write(datetime(2026, 3, 1, 12, tzinfo=UTC))
    '2026-03-01T12:00:00.000000Z'
    """
    return moment.astimezone(UTC).isoformat(timespec=timespec)[: -len("+00:00")] + "Z"


def moment_of(seconds: int) -> str:
    """Return the time some seconds after 1970 began; refuse one after the year 9999.

    >>> moment_of(1_679_315_147)
    '2023-03-20T12:25:47.000000Z'
    """
    try:
        return write(datetime.fromtimestamp(seconds, UTC))
    except (ValueError, OverflowError, OSError) as error:
        raise LikewiseError(f"{seconds} seconds after 1970 is no time: {error}.") from error


def parse(at: str) -> datetime:
    return datetime.fromisoformat(at)


def is_moment(at: str) -> bool:
    """Tell if a text is a time in the form of records."""
    try:
        return write(parse(at)) == at
    except ValueError:
        return False


def later(at: str, seconds: float) -> str:
    return write(parse(at) + timedelta(seconds=seconds))


def due_after(at: str, deadline: float | None) -> str | None:
    """Return when something is due that was asked for at some time; None without a deadline."""
    return None if deadline is None else later(at, deadline)


def passed(due: str | None, at: str) -> bool:
    """Tell if a due date has come.

    >>> passed("2026-03-01T12:00:00Z", "2026-03-01T12:00:00Z"), passed(None, "2026-03-01T12:00:00Z")
    (True, False)
    """
    return due is not None and parse(due) <= parse(at)


def seconds_between(earlier: str, moment: str) -> float:
    return (parse(moment) - parse(earlier)).total_seconds()


class LedgerClock:
    """A clock that is never before a ledger's last record.

    A machine whose clock was ahead leaves records of the future. Until that time comes, the
    ledger's clock runs at half speed, so that deadlines still pass; the log says so.

    >>> moments = iter(["2026-03-01T12:00:00Z", "2026-03-01T12:00:10Z", "2026-03-01T14:00:00Z"])
    >>> clock, ahead = LedgerClock(lambda: next(moments)), "2026-03-01T13:00:00.000000Z"
    >>> [clock.after(ahead, "loans")[11:19] for _ in range(3)]
    ['13:00:00', '13:00:05', '14:00:00']
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._slow: tuple[str, str] | None = None  # the ledger's time, and the machine's

    def after(self, at: str, docket: str) -> str:
        """Return the time, but not before ``at``, that of the docket's last record."""
        moment = self.clock()
        if moment >= at:
            self._slow = None
            return moment
        if self._slow is None:
            self._slow = (at, moment)
            ahead = seconds_between(moment, at)
            if ahead > TOLERANCE:
                fields = {"docket": docket, "seconds_ahead": round(ahead, 3)}
                LOG.warning(
                    "The ledger's last record is ahead of this machine's clock; its time goes on "
                    "at half speed. Set the clocks of all machines.", extra={"said": fields},
                )  # fmt: skip
        before, since = self._slow
        slow = max(at, later(before, max(0.0, seconds_between(since, moment)) / 2))
        if moment < since:  # set back again: go on from here
            self._slow = (slow, moment)
        return slow
