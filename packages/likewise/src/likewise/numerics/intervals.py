"""Confidence intervals: a value with a lower and an upper end."""

from __future__ import annotations

import math
from dataclasses import dataclass

Z = 1.959963984540054
"""The quantile of a two-sided normal interval of 95 %."""


@dataclass(frozen=True)
class Interval:
    """A number with a confidence interval; all three are the same where it was counted.

    >>> print(Interval.exactly(3), Interval(3, 1, 5), sep="; ")
    3; about 3 (1 to 5)
    """

    value: float
    low: float
    high: float

    @classmethod
    def exactly(cls, value: float) -> Interval:
        return cls(value, value, value)

    def times(self, factor: float) -> Interval:
        return Interval(self.value * factor, self.low * factor, self.high * factor)

    def __str__(self) -> str:
        if self.low == self.high:
            return f"{self.value:,.0f}"
        return f"about {self.value:,.0f} ({self.low:,.0f} to {self.high:,.0f})"


def wilson(successes: int, trials: int) -> Interval:
    """Wilson's interval of a share, of 95 %.

    (p + z²/2n ± z·sqrt(p(1−p)/n + z²/4n²)) / (1 + z²/n).

    >>> share = wilson(5, 10)
    >>> round(share.low, 3), share.value, round(share.high, 3)
    (0.237, 0.5, 0.763)
    """
    p, square = successes / trials, Z * Z / trials
    centre, spread = p + square / 2, Z * math.sqrt(p * (1 - p) / trials + square / (4 * trials))
    low = 0.0 if successes == 0 else (centre - spread) / (1 + square)
    high = 1.0 if successes == trials else (centre + spread) / (1 + square)
    return Interval(p, low, high)
