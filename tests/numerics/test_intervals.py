"""One interval for all shares: exact ends, and the coverage that it claims."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import beta, binom

from likewise.numerics.intervals import Interval, share
from studies.intervals import KINDS, SHARES, measured


@pytest.mark.parametrize("n", [1, 2, 10, 64, 1000, 10**6])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 1 - 0.05 / 22])
def test_the_ends_are_quantiles_of_beta_distributions(n: int, confidence: float) -> None:
    tail = (1 - confidence) / 2
    for x in {0, 1, n // 2, n - 1, n, 0.3, n - 0.3, 0.01 * n}:
        interval = share(x, n, confidence)
        low = 0 if x <= 0 else beta.ppf(tail, x, n - x + 1)
        high = 1 if x >= n else beta.ppf(1 - tail, x + 1, n - x)
        assert interval.low == pytest.approx(low, rel=1e-7, abs=1e-15)
        assert interval.high == pytest.approx(high, rel=1e-7)
        assert 0 <= interval.low <= interval.value <= interval.high <= 1


@pytest.mark.parametrize("n", [5, 40])
def test_every_share_is_covered_as_often_as_it_says(n: int) -> None:
    """No simulation: the chance of each count. Wilson's interval falls below 0.9 here."""
    ends = [(share(x, n).low, share(x, n).high) for x in range(n + 1)]
    for p in np.linspace(0.0005, 0.9995, 400):
        inside = [x for x, (low, high) in enumerate(ends) if low <= p <= high]
        assert np.sum(binom.pmf(inside, n, p)) >= 0.95 - 1e-12


# Those that need whole audits are the study's; samples have a test of their own.
QUICK = [kind for kind in KINDS if "pairs" not in kind and "curve" not in kind]


@pytest.mark.parametrize("kind", QUICK)
def test_every_interval_of_an_audit_covers_at_the_shares_that_are_hard(kind: str) -> None:
    """200 repeats with fixed seeds; at 95 % fewer than 0.9 are covered once in 700 times."""
    for p in SHARES:
        assert measured(kind, p, repeats=200)["covered"] >= 0.9


def test_a_difference_has_the_signs_of_its_ends() -> None:
    later, earlier = Interval(0.5, 0.4, 0.7), Interval(0.2, 0.1, 0.3)
    change = later.minus(earlier)
    assert change.value == pytest.approx(0.3)
    assert change.low == pytest.approx(0.3 - np.hypot(0.1, 0.1))
    assert change.high == pytest.approx(0.3 + np.hypot(0.2, 0.1))
    for a, b in itertools.product((Interval.exactly(1), Interval.exactly(3)), repeat=2):
        assert a.minus(b) == Interval.exactly(a.value - b.value)
