"""Limits: how many requests a caller may send, and how large they may be."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

from likewise.service.errors import ServiceError

# The most callers in memory; the buckets of others are full again, or nearly so.
REMEMBERED = 10_000


class TooMany(ServiceError):  # noqa: N818 - the sentence reads better
    """Requests come too fast; the next may come after ``wait`` seconds."""

    def __init__(self, wait: float) -> None:
        self.wait = max(1, round(wait + 0.5))
        super().__init__(
            "too-many-requests", 429, f"Too many requests; wait {self.wait} s and send it again."
        )


class Buckets:
    """A token bucket for each caller: ``burst`` requests at once, ``rate`` a second on average.

    >>> moments = iter([0.0, 0.0, 0.0, 0.5])
    >>> buckets = Buckets(rate=2.0, burst=2, clock=lambda: next(moments))
    >>> [buckets.take("ann") for _ in range(2)]
    [None, None]
    >>> buckets.take("ann")
    Traceback (most recent call last):
    likewise.service.auth.rate_limits.TooMany: Too many requests; wait 1 s and send it again.
    >>> buckets.take("ann")
    """

    def __init__(
        self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.rate, self.burst, self.clock = rate, burst, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str) -> None:
        """Count a request of a caller; refuse it if the bucket is empty."""
        moment = self.clock()
        tokens, since = self._buckets.pop(caller, (float(self.burst), moment))
        tokens = min(float(self.burst), tokens + (moment - since) * self.rate)
        allowed = tokens >= 1
        self._buckets[caller] = (tokens - 1 if allowed else tokens, moment)
        if len(self._buckets) > REMEMBERED:
            self._buckets.popitem(last=False)
        if not allowed:
            raise TooMany((1 - tokens) / self.rate)


def too_large(limit: int) -> ServiceError:
    """Return the refusal of a request whose body is too large."""
    return ServiceError(
        "too-large", 413, f"A request may have {limit} bytes. Send less of it at a time."
    )
