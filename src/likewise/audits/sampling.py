"""More people than can all be paired: a stated sample with intervals, and a search for the worst.

Three samples, each for what it can tell. *Pairs* drawn at random say how many pairs would be
reported. *Anchors*, people drawn at random and paired with everybody, say how many people are
touched by a report. The *search* begins with the worst pairs so far and exchanges one of the two
for whoever is worst with the other, until nobody is: it finds bad pairs, though not surely the
worst.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from likewise.audits.scan import Block, Question, Tally, scan
from likewise.fixed_point import IntArray

__all__ = ["Interval", "Sample", "sample", "wilson"]

SIDE = 1 << 15
# The search goes on from so many of the worst pairs, at most so many times.
STARTS, EXCHANGES = 5, 8
Z = 1.959963984540054
"""Intervals are of 95 %."""


@dataclass(frozen=True)
class Interval:
    """A number with an interval of 95 %; where it was counted, all three are the same.

    >>> Interval.exactly(3).exact, Interval(3, 1, 5).exact
    (True, False)
    """

    value: float
    low: float
    high: float

    @classmethod
    def exactly(cls, value: float) -> Interval:
        """A number that was counted."""
        return cls(value, value, value)

    @property
    def exact(self) -> bool:
        """True where it was counted."""
        return self.low == self.high

    def times(self, factor: float) -> Interval:
        """The interval of a multiple."""
        return Interval(self.value * factor, self.low * factor, self.high * factor)

    def __str__(self) -> str:
        if self.exact:
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


@dataclass(frozen=True, eq=False)
class Sample:
    """The counts of pairs drawn at random, of anchors, and the worst pairs that were found."""

    pairs: Tally
    anchors: IntArray
    everybody: Tally
    seed: int


def sample(
    question: Question,
    pairs: int,
    anchors: int,
    seed: int,
    jobs: int | None,
    progress: Callable[[int, int], None],
) -> Sample:
    """Draw pairs and anchors, look at them, and search from the worst of them."""
    n = len(question.people)
    rng = np.random.Generator(np.random.Philox(seed))
    left = rng.integers(0, n, pairs)
    right = (left + rng.integers(1, n, pairs)) % n  # anybody but oneself
    chosen = np.sort(rng.choice(n, anchors, replace=False))
    drawn = [
        Block(left[start : start + SIDE], right[start : start + SIDE], paired=True)
        for start in range(0, pairs, SIDE)
    ]
    width = max(1, SIDE // anchors)
    wide = [Block(chosen, np.arange(start, min(start + width, n))) for start in range(0, n, width)]
    total, done = len(drawn) + len(wide), len(drawn)
    found = scan(question, drawn, jobs, lambda at, _: progress(at, total))
    everybody = scan(question, wide, jobs, lambda at, _: progress(done + at, total))
    everybody.worst += found.worst
    everybody.sort_worst()
    _search(replace(question, rules=()), everybody, jobs)
    return Sample(found, chosen, everybody, seed)


def _search(question: Question, best: Tally, jobs: int | None) -> None:
    """Exchange one of the two for whoever is worst with the other, while that makes it worse."""
    n = len(question.people)
    tried: set[int] = set()
    for _ in range(EXCHANGES):
        people = {person for _, i, j in best.worst[:STARTS] for person in (i, j)} - tried
        if not people:
            return
        tried |= people
        these = np.array(sorted(people))
        width = max(1, SIDE // len(these))
        wide = [
            Block(these, np.arange(start, min(start + width, n))) for start in range(0, n, width)
        ]
        found = scan(question, wide, jobs)
        best.worst += found.worst
        best.sort_worst()
