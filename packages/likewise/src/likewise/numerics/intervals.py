"""Confidence intervals: a value with a lower and an upper end."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Interval:
    """A number with a confidence interval; all three are the same if it was counted.

    >>> print(Interval.exactly(3), Interval(3, 1, 5), sep="; ")
    3; about 3 (1 to 5)
    >>> Interval(0.25, 0.125, 0.5).percent(1)
    '25.0 % (12.5 to 50.0)'
    """

    value: float
    low: float
    high: float

    @classmethod
    def exactly(cls, value: float) -> Interval:
        return cls(value, value, value)

    def times(self, factor: float) -> Interval:
        return Interval(self.value * factor, self.low * factor, self.high * factor)

    def minus(self, other: Interval) -> Interval:
        """The difference of two that are independent (Newcombe 1998).

        The squares of the distances from values to ends add up.
        """
        value = self.value - other.value
        below = math.hypot(self.value - self.low, other.high - other.value)
        above = math.hypot(self.high - self.value, other.value - other.low)
        return Interval(value, value - below, value + above)

    def percent(self, digits: int = 2) -> str:
        """A share in per cent."""
        value, low, high = (f"{100 * x:.{digits}f}" for x in (self.value, self.low, self.high))
        return f"{value} %" if self.low == self.high else f"{value} % ({low} to {high})"

    def __str__(self) -> str:
        if self.low == self.high:
            return f"{self.value:,.0f}"
        return f"about {self.value:,.0f} ({self.low:,.0f} to {self.high:,.0f})"


def share(successes: float, trials: int, confidence: float = CONFIDENCE) -> Interval:
    """The interval of Clopper and Pearson (1934) for a share.

    With x of n, its ends are the quantiles of Beta(x, n − x + 1) and Beta(x + 1, n − x) at
    (1 − confidence)/2 and (1 + confidence)/2. It covers the share at least as often as it claims.
    ``successes`` may be a sum of numbers within [0, 1], whose mean varies less than a share.

    >>> some, none = share(5, 10), share(0, 100)
    >>> [round(end, 3) for end in (some.low, some.high, none.low, none.high)]
    [0.187, 0.813, 0.0, 0.036]
    """
    tail, failures = (1 - confidence) / 2, trials - successes
    low = 0.0 if successes <= 0 else _beta_quantile(tail, successes, failures + 1)
    high = 1.0 if failures <= 0 else _beta_quantile(1 - tail, successes + 1, failures)
    return Interval(successes / trials, low, high)


def _beta_quantile(p: float, a: float, b: float) -> float:
    """The p-quantile of Beta(a, b): Newton's steps, and halving where one leads out."""
    low, high = 0.0, 1.0
    mean = a / (a + b)
    x = mean + NormalDist().inv_cdf(p) * math.sqrt(mean * (1 - mean) / (a + b + 1))
    while high - low > 1e-15:
        if not low < x < high:
            x = (low + high) / 2
        below, density = _beta(x, a, b)
        low, high = (x, high) if below < p else (low, x)
        step = (below - p) / density if density else math.inf
        if abs(step) <= 1e-12 * x:
            break
        x -= step
    return min(max(x, low), high)


def _beta(x: float, a: float, b: float) -> tuple[float, float]:
    """The distribution function and the density of Beta(a, b), by Lentz's continued fraction."""
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    density = math.exp(front + (a - 1) * math.log(x) + (b - 1) * math.log1p(-x))
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast on the other side alone
        return 1 - density * x * (1 - x) / b * _fraction(1 - x, b, a), density
    return density * x * (1 - x) / a * _fraction(x, a, b), density


def _fraction(x: float, a: float, b: float) -> float:
    """The continued fraction of the incomplete beta function (DLMF 8.17.22)."""
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    value, m = d, 0
    while True:
        m += 1
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            c, d = 1 + term / c, 1 / (1 + term * d)
            value *= c * d
        if abs(c * d - 1) < 1e-14:
            return value
