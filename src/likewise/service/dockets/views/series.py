"""Curves over the rounds of a docket, of a size that does not grow with them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate

# The most points; at this number neighbours are merged, so that each covers twice as many rounds.
MOST = 800


@dataclass
class Point:
    """Consecutive rounds: sums over all of them; number, time, multiplier and gap of the last."""

    number: int
    opened: str
    lam: float
    gap: int = 0
    reports: int = 0
    labels: int = 0
    missed: int = 0

    def merged(self, later: Point) -> Point:
        """Return both as one point."""
        return Point(
            later.number, later.opened, later.lam, later.gap, self.reports + later.reports,
            self.labels + later.labels, self.missed + later.missed,
        )  # fmt: skip


@dataclass
class Curves:
    """Points of ``length`` rounds each; a label that comes late counts for its own round.

    >>> curves = Curves()
    >>> for number in range(1, 4):
    ...     curves.begin(number, "2026-03-01T12:00:00Z", 0.0)
    >>> curves.add(2, reports=1)
    >>> [(point.number, point.reports) for point in curves.cumulative()]
    [(1, 0), (2, 1), (3, 1)]
    """

    length: int = 1
    points: list[Point] = field(default_factory=list)

    def begin(self, number: int, opened: str, lam: float) -> None:
        """Add a round."""
        fresh = Point(number, opened, lam)
        if (number - 1) // self.length < len(self.points):
            self.points[-1] = self.points[-1].merged(fresh)
            return
        if len(self.points) == MOST:
            pairs = zip(self.points[::2], self.points[1::2], strict=True)
            self.points = [first.merged(second) for first, second in pairs]
            self.length *= 2
        self.points.append(fresh)

    def _point(self, number: int) -> Point:
        return self.points[(number - 1) // self.length]

    def add(self, number: int, *, reports: int = 0, labels: int = 0, missed: int = 0) -> None:
        """Count what has become known about a round."""
        point = self._point(number)
        point.reports += reports
        point.labels += labels
        point.missed += missed

    def set_gap(self, number: int, gap: int) -> None:
        """Keep the largest gap of a round, if it is the last of its point."""
        point = self._point(number)
        if point.number == number:
            point.gap = gap

    def cumulative(self) -> Iterator[Point]:
        """Return the points with sums over all rounds up to each."""
        return accumulate(self.points, Point.merged)
