"""Limits: how large a request may be, how many may come, and how much one may ask for."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from likewise.service.dockets.spec import DocketSpec
from likewise.service.errors import ServiceError
from likewise.service.settings import Settings

__all__ = ["Buckets", "TooMany", "check_docket", "check_features", "check_many", "too_large"]

# So many callers are remembered; of the others the bucket is full again anyway, or nearly so.
REMEMBERED = 10_000


class TooMany(ServiceError):  # noqa: N818 - the sentence reads better
    """Requests come too fast; ``wait`` is after how many seconds the next may come."""

    def __init__(self, wait: float) -> None:
        self.wait = max(1, round(wait + 0.5))
        super().__init__(
            "too-many-requests", 429, f"Too many requests; wait {self.wait} s and send it again."
        )


class Buckets:
    """A token bucket for every caller: ``burst`` requests at once, ``rate`` a second on average.

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
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str) -> None:
        """One request of a caller; refused if the bucket is empty."""
        moment = self.clock()
        left, since = self._left.pop(caller, (float(self.burst), moment))
        left = min(float(self.burst), left + (moment - since) * self.rate)
        allowed = left >= 1
        self._left[caller] = (left - 1 if allowed else left, moment)
        if len(self._left) > REMEMBERED:
            self._left.popitem(last=False)
        if not allowed:
            raise TooMany((1 - left) / self.rate)


def too_large(limit: int) -> ServiceError:
    """The refusal of a request with too large a body."""
    return ServiceError(
        "too-large", 413, f"A request may have {limit} bytes. Send less of it at a time."
    )


def check_many(what: str, listed: Sequence[object], limit: int) -> None:
    """Refuse a list that is too long for one request."""
    if len(listed) > limit:
        raise ServiceError(
            "too-many", 422,
            f"A request may have {limit} {what}; this one has {len(listed)}. Split it.",
        )  # fmt: skip


def check_features(settings: Settings, features: Mapping[str, Any]) -> None:
    """Refuse a person with too many features."""
    if len(features) > settings.feature_limit:
        raise ServiceError(
            "too-many", 422,
            f"A person may have {settings.feature_limit} features; this one has {len(features)}. "
            f"Send those of the docket's schema only.",
        )  # fmt: skip


def check_docket(settings: Settings, spec: DocketSpec) -> None:
    """Refuse a docket whose rounds would be larger than a request may be."""
    k, features = spec.learner["k"], len(spec.learner["hypotheses"]["schema"]["features"])
    if k > settings.people_limit or features > settings.feature_limit:
        raise ServiceError(
            "too-many", 422,
            f"A docket may have k = {settings.people_limit} and {settings.feature_limit} features "
            f"here; this one has {k} and {features}. Ask for less, or raise people_limit and "
            f"feature_limit of the server.",
        )  # fmt: skip
