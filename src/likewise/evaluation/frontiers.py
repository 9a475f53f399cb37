"""Points of error, violations and reports: which beat which, and which no other beats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Outcome", "beats", "frontier"]


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


def beats(one: Outcome, other: Outcome) -> bool:
    """Compare two points: one is nowhere worse and somewhere better, on all three together.

    >>> ours = Outcome(0.30, 5, 90)
    >>> beats(Outcome(0.29, 5, 90), ours), beats(Outcome(0.29, 5, 91), ours), beats(ours, ours)
    (True, False, False)
    """
    return one.all != other.all and all(
        mine <= theirs for mine, theirs in zip(one.all, other.all, strict=True)
    )


def frontier(points: Sequence[Outcome]) -> list[int]:
    """The places of the points that no other beats, in order.

    >>> frontier([Outcome(0.3, 5, 9), Outcome(0.3, 6, 9), Outcome(0.2, 7, 9)])
    [0, 2]
    """
    return [
        place for place, one in enumerate(points) if not any(beats(other, one) for other in points)
    ]
