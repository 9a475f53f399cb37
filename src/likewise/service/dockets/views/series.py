"""Curves over the rounds of a docket, in a size that does not grow with them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import accumulate
from typing import Any

__all__ = ["Curves", "Point"]

# So many stretches of rounds are told apart; when there would be more, each becomes twice as long.
MOST = 800


@dataclass
class Stretch:
    """Some rounds in a row: what they add up to, and how the last of them began."""

    number: int
    opened: str
    lam: float
    gap: int = 0
    reports: int = 0
    labels: int = 0
    missed: int = 0

    def joined(self, later: Stretch) -> Stretch:
        """Two stretches as one."""
        return Stretch(
            later.number, later.opened, later.lam, later.gap, self.reports + later.reports,
            self.labels + later.labels, self.missed + later.missed,
        )  # fmt: skip


@dataclass(frozen=True)
class Point:
    """A round on the curves: sums of all rounds up to it, and its own gap and multiplier."""

    number: int
    opened: str
    lam: float
    gap: int
    reports: int
    labels: int
    missed: int


class Curves:
    """Reports, labels and mistakes up to a round, and its gap: exact, at the end of each stretch.

    A label that comes late is counted for the round that it is about.

    >>> curves = Curves()
    >>> for number in range(1, 4):
    ...     curves.begin(number, "2026-03-01T12:00:00Z", 0.0)
    >>> curves.add(2, reports=1)
    >>> [(point.number, point.reports) for point in curves.points()]
    [(1, 0), (2, 1), (3, 1)]
    """

    def __init__(self) -> None:
        self.length = 1
        self.stretches: list[Stretch] = []

    def begin(self, number: int, opened: str, lam: float) -> None:
        """One more round."""
        fresh = Stretch(number, opened, lam)
        if (number - 1) // self.length < len(self.stretches):
            self.stretches[-1] = self.stretches[-1].joined(fresh)
            return
        if len(self.stretches) == MOST:
            pairs = zip(self.stretches[::2], self.stretches[1::2], strict=True)
            self.stretches = [first.joined(second) for first, second in pairs]
            self.length *= 2
        self.stretches.append(fresh)

    def add(self, number: int, *, reports: int = 0, labels: int = 0, missed: int = 0) -> None:
        """Something has become known about a round."""
        stretch = self.stretches[(number - 1) // self.length]
        stretch.reports += reports
        stretch.labels += labels
        stretch.missed += missed

    def widen(self, number: int, gap: int) -> None:
        """The largest gap of a round, if it is one of those on the curves."""
        stretch = self.stretches[(number - 1) // self.length]
        if stretch.number == number:
            stretch.gap = gap

    def points(self) -> Iterator[Point]:
        """The last round of every stretch, with sums over all rounds up to it."""
        sums = {
            name: list(accumulate(getattr(stretch, name) for stretch in self.stretches))
            for name in ("reports", "labels", "missed")
        }
        for place, one in enumerate(self.stretches):
            yield Point(
                one.number, one.opened, one.lam, one.gap, sums["reports"][place],
                sums["labels"][place], sums["missed"][place],
            )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """The curves as JSON."""
        return {"length": self.length, "stretches": [[*asdict(s).values()] for s in self.stretches]}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Curves:
        """Read them back."""
        made = cls()
        made.length = data["length"]
        made.stretches = [Stretch(*values) for values in data["stretches"]]
        return made
