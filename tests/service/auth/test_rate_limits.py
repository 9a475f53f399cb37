"""Buckets: how many requests may come."""

from __future__ import annotations

import pytest

from likewise_service.auth.tokens import REMEMBERED, Buckets, TooMany


def test_buckets_fill_up_again_and_are_forgotten() -> None:
    moment = 0.0
    buckets = Buckets(rate=1.0, burst=1, clock=lambda: moment)
    buckets.take("ann")
    with pytest.raises(TooMany):
        buckets.take("ann")
    moment = 1.0
    buckets.take("ann")
    for number in range(2 * REMEMBERED):
        buckets.take(str(number))
    assert len(buckets._buckets) == REMEMBERED
