"""Pareto frontiers of error, violations and reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    """A point in three dimensions, of which less is better in each."""

    error: float
    violations: float
    reports: float

    @property
    def all(self) -> tuple[float, float, float]:
        """The three together."""
        return self.error, self.violations, self.reports


def beats(left: Outcome, right: Outcome) -> bool:
    """Say if the left is nowhere worse than the right, and somewhere better (Pareto dominance).

    >>> middle = Outcome(0.30, 5, 90)
    >>> beats(Outcome(0.29, 5, 90), middle), beats(Outcome(0.29, 5, 91), middle)
    (True, False)
    """
    return left != right and all(a <= b for a, b in zip(left.all, right.all, strict=True))


def frontier(points: Sequence[Outcome]) -> list[int]:
    """Return the indices of the points that no other beats, in order.

    >>> frontier([Outcome(0.3, 5, 9), Outcome(0.3, 6, 9), Outcome(0.2, 7, 9)])
    [0, 2]
    """
    return [i for i, point in enumerate(points) if not any(beats(rival, point) for rival in points)]
