"""The points of a sweep: every learner in every scenario, over its seeds, and who beats whom."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from likewise.evaluation.frontiers import Outcome, beats, frontier
from likewise.experiments.sweep.runs import Row
from likewise.experiments.sweep.spec import Entry, Sweep


@dataclass(frozen=True)
class Point(Entry):
    """One learner in one scenario, with the rows of its seeds, horizon by horizon."""

    horizons: tuple[int, ...] = ()
    rows: tuple[tuple[Row, ...], ...] = ()

    @property
    def plays(self) -> bool:
        """False for a fixed policy in hindsight, which knows the whole stream."""
        return self.price is None

    def setting(self, name: str) -> Any:
        """The value of a setting; None where it is left out."""
        return self.settings.get(name)

    def at(self, place: int = -1) -> Outcome:
        """The means over the seeds at a horizon; the longest unless another is asked for."""
        return self._over_seeds(mean, place)

    def worst(self, place: int = -1) -> Outcome:
        """The largest error, and the most violations and reports, of any seed."""
        return self._over_seeds(max, place)

    def _over_seeds(self, statistic: Callable[[list[float]], float], place: int) -> Outcome:
        names = ("error_rate", "violations", "reports")
        columns = ([float(getattr(row, name)) for row in self.rows[place]] for name in names)
        return Outcome(*map(statistic, columns))

    def counts(self, name: str) -> list[list[float]]:
        """A column as a table: a row for each seed, with a value for each horizon."""
        seeds = range(len(self.rows[0]))
        return [[float(getattr(rows[seed], name)) for rows in self.rows] for seed in seeds]

    def mean_of(self, name: str, place: int = -1) -> float:
        """The mean of a column at a horizon; NaN where it was not asked for."""
        values = [getattr(row, name) for row in self.rows[place]]
        return math.nan if None in values else mean(values)


def mean(values: Iterable[float]) -> float:
    """The mean of some numbers, the same in any order."""
    listed = list(values)
    return math.fsum(listed) / len(listed)


def points_of(sweep: Sweep, rows: Sequence[Row]) -> list[Point]:
    """All points of a sweep, in its order."""
    by_run: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        by_run.setdefault((row.run, row.rounds), []).append(row)
    runs: dict[tuple[str, str], list[str]] = {}
    for run in sweep.runs():
        runs.setdefault((run.entry.scenario, run.entry.title), []).append(run.digest)
    listed = []
    for entry in sweep.entries:
        table = tuple(
            tuple(row for run in runs[entry.scenario, entry.title] for row in by_run[run, rounds])
            for rounds in sweep.horizons
        )
        fields = (entry.game, entry.scenario, entry.title, entry.price)
        listed.append(Point(*fields, sweep.horizons, table))
    return listed


def by_scenario(points: Sequence[Point]) -> dict[str, list[Point]]:
    """The points of every scenario, in order, by its title."""
    grouped: dict[str, list[Point]] = {}
    for point in points:
        grouped.setdefault(point.scenario, []).append(point)
    return grouped


def beaten(points: Sequence[Point]) -> list[tuple[Point, Point]]:
    """Every pair (rival, ours) of one scenario in which a rival's point beats one of ours.

    Fixed policies in hindsight know what is to come, and are no learners.
    """
    return [
        (rival, point)
        for together in by_scenario(points).values()
        for rival in together
        for point in together
        if point.ours and not rival.ours and rival.plays and beats(rival.at(), point.at())
    ]


def on_the_frontier(points: Sequence[Point]) -> list[Point]:
    """The points of one scenario that no other beats."""
    playing = [point for point in points if point.plays]
    return [playing[n] for n in frontier([point.at() for point in playing])]
