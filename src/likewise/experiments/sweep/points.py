"""The points of a sweep: every learner in every scenario, over its seeds, and who beats whom."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from likewise.evaluation.frontiers import Outcome, beats, frontier
from likewise.evaluation.growth import mean_interval
from likewise.experiments.configurations import Configuration, Scenario
from likewise.experiments.sweep.runs import Row
from likewise.experiments.sweep.spec import HINDSIGHT, Sweep
from likewise.intervals import Interval

__all__ = ["Point", "beaten", "by_scenario", "on_the_frontier", "points"]


@dataclass(frozen=True)
class Point:
    """One learner in one scenario: the rows of its seeds, horizon by horizon."""

    scenario: Scenario
    configuration: Configuration
    horizons: tuple[int, ...]
    rows: tuple[tuple[Row, ...], ...]

    def at(self, place: int = -1) -> Outcome:
        """The means over the seeds at a horizon; the longest unless another is asked for."""
        return self._over_seeds(mean, place)

    def worst(self, place: int = -1) -> Outcome:
        """The largest error, and the most violations and reports, of any seed."""
        return self._over_seeds(max, place)

    def _over_seeds(self, one_of: Callable[[list[float]], float], place: int) -> Outcome:
        names = ("error_rate", "violations", "reports")
        columns = ([float(getattr(row, name)) for row in self.rows[place]] for name in names)
        return Outcome(*map(one_of, columns))

    def counts(self, name: str) -> list[list[float]]:
        """A column as a table: a row for each seed, with a value for each horizon."""
        seeds = range(len(self.rows[0]))
        return [[float(getattr(rows[seed], name)) for rows in self.rows] for seed in seeds]

    def interval(self, name: str, level: float, place: int = -1) -> Interval:
        """The mean of a column at a horizon with its interval over the seeds."""
        return mean_interval([float(getattr(row, name)) for row in self.rows[place]], level)

    def mean_of(self, name: str, place: int = -1) -> float:
        """The mean of a column at a horizon; NaN where it was not asked for."""
        values = [getattr(row, name) for row in self.rows[place]]
        return math.nan if None in values else mean(values)

    @property
    def title(self) -> str:
        """The learner with its settings."""
        return self.configuration.title


def mean(values: Iterable[float]) -> float:
    """The mean of some numbers, the same in any order."""
    listed = list(values)
    return math.fsum(listed) / len(listed)


def points(sweep: Sweep, rows: Sequence[Row]) -> list[Point]:
    """All points of a sweep, in its order."""
    found: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        found.setdefault((row.run, row.rounds), []).append(row)
    made = []
    runs: dict[tuple[Scenario, Configuration], list[str]] = {}
    for run in sweep.runs():
        runs.setdefault((run.scenario, run.configuration), []).append(run.digest)
    for (scenario, configuration), digests in runs.items():
        table = tuple(
            tuple(row for digest in digests for row in found[digest, rounds])
            for rounds in sweep.horizons
        )
        made.append(Point(scenario, configuration, sweep.horizons, table))
    return made


def by_scenario(found: Sequence[Point]) -> dict[Scenario, list[Point]]:
    """The points of every scenario, in order."""
    grouped: dict[Scenario, list[Point]] = {}
    for point in found:
        grouped.setdefault(point.scenario, []).append(point)
    return grouped


def beaten(found: Sequence[Point], place: int = -1) -> list[tuple[Point, Point]]:
    """Every pair (other, ours) of one scenario in which another's point beats one of ours.

    Fixed policies in hindsight know what is to come, and are no learners.
    """
    return [
        (other, mine)
        for together in by_scenario(found).values()
        for other in together
        for mine in together
        if mine.configuration.ours
        and not other.configuration.ours
        and other.configuration.learner != HINDSIGHT
        and beats(other.at(place), mine.at(place))
    ]


def on_the_frontier(found: Sequence[Point], place: int = -1) -> list[Point]:
    """The points of one scenario that no other beats."""
    playing = [point for point in found if point.configuration.learner != HINDSIGHT]
    return [playing[n] for n in frontier([point.at(place) for point in playing])]
