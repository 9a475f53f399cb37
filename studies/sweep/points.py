"""The points of a sweep: every learner in every scenario, over its seeds, and who beats whom."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from likewise.learner.schedules import KAPPA_SHARE
from likewise.simulate.counts import NEAR_CONSTANT, Outcome, beats, frontier, more, remedies
from studies.sweep.runs import Row
from studies.sweep.spec import IGNORING, Entry, Sweep, setting_title


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
        return self.settings.get(name)

    def at(self, place: int = -1) -> Outcome:
        """The means over the seeds at a horizon; the longest unless another is asked for."""
        return self._over_seeds(fmean, place)

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
        return math.nan if None in values else fmean(values)


def points_of(sweep: Sweep, rows: Sequence[Row]) -> list[Point]:
    by_run = {(row.run, row.rounds): row for row in rows}
    listed = []
    for entry in sweep.entries:
        runs = [run.digest for run in sweep.runs_of(entry)]
        table = tuple(tuple(by_run[run, rounds] for run in runs) for rounds in sweep.horizons)
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


@dataclass(frozen=True)
class Fixed:
    """The error rates of the best fixed policies in hindsight, that at alpha − kappa by kappa.

    ``faced_by`` is the learner whose rounds they are of, where the world reacts to each.
    """

    at_alpha_less_eps: float
    at_alpha_less_kappa: Mapping[str, float]
    at_alpha: float
    faced_by: str | None

    def rates(self, kappas: Sequence[str]) -> tuple[str, str, str]:
        """The three as tables have them."""
        middle = (self.at_alpha_less_kappa.get(word) for word in kappas)
        words = _listed(["–" if rate is None else f"{rate:.3f}" for rate in middle])
        return f"{self.at_alpha_less_eps:.3f}", words, f"{self.at_alpha:.3f}"


def kappas_of(points: Sequence[Point]) -> tuple[str, ...]:
    """The kappas of ours from small to large, in words; without ours, that of the first."""
    playing = [point for point in points if point.plays]
    sizes = dict(_kappa(point) for point in playing if point.ours)
    if sizes:
        return tuple(sorted(sizes, key=sizes.__getitem__))
    return tuple(f"kappa of {point.title}" for point in playing[:1]) or ("kappa",)


def kappas_listed(kappas: Sequence[str]) -> str:
    """All of them in one phrase."""
    return _listed([kappas[0], *(word.removeprefix("kappa = ") for word in kappas[1:])])


def fixed_of(together: Sequence[Point], kappas: Sequence[str]) -> Fixed | None:
    """The comparators of one scenario; None where they were not asked for.

    Where each learner faced rounds of its own, all are those of the first of ours.
    """
    playing = [point for point in together if point.plays]
    if not playing:
        return None
    first = next((point for point in playing if point.ours), playing[0])
    outer = (first.mean_of("at_alpha_less_eps"), first.mean_of("at_alpha"))
    if any(map(math.isnan, outer)):
        return None
    reacts = any(abs(point.mean_of("at_alpha") - outer[1]) > 1e-9 for point in playing)
    middle: dict[str, float] = {}
    for point in [first] if reacts else [first, *playing]:
        word = _kappa(point)[0] if point.ours else f"kappa of {point.title}"
        middle.setdefault(word, point.mean_of("at_alpha_less_kappa"))
    ordered = {word: middle[word] for word in kappas if word in middle}
    return Fixed(outer[0], ordered, outer[1], first.title if reacts else None)


def fixed_words(together: Sequence[Point]) -> str:
    """The three comparators of a scenario in words, to follow its title; none if unknown."""
    kappas = kappas_of(together)
    fixed = fixed_of(together, kappas)
    if fixed is None:
        return ""
    first, middle, last = fixed.rates(kappas)
    faced = "" if fixed.faced_by is None else f", for the rounds that {fixed.faced_by} faced"
    return (
        f"; best fixed policies in hindsight{faced}: {first} at alpha − eps; {middle} at alpha − "
        f"kappa ({kappas_listed(kappas)}); {last} at alpha"
    )


def _kappa(point: Point) -> tuple[str, float]:
    """The kappa of one of our learners in words, and as a number."""
    kappa = point.setting("kappa")
    if kappa is not None:
        return setting_title("kappa", kappa), float(kappa)
    share = point.setting("kappa_share")
    share = KAPPA_SHARE if share is None else share
    return setting_title("kappa_share", share), share * point.game.eps_or_alpha


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def is_near_constant(point: Point) -> bool:
    """True for a learner driven to a policy that treats all people nearly alike."""
    if not point.plays or point.learner in IGNORING:
        return False
    return point.mean_of("largest_gap_last_quarter") < NEAR_CONSTANT


def near_constant_line(near: Sequence[Point], *, with_scenario: bool = False) -> str:
    """A sentence about points that are near constant, with their costs, and one about remedies."""
    tuned = any(point.ours for point in near)
    return (
        f"Near constant over the last quarter (the largest gap of a round below "
        f"{NEAR_CONSTANT:g} in the mean), with the error beside that of the best fixed policy at "
        f"alpha: {'; '.join(_cost(point, with_scenario) for point in near)}. What would change "
        f"it: {'; '.join(remedies(tuned=tuned))}."
    )


def _cost(point: Point, with_scenario: bool) -> str:
    title = f"{point.scenario}: {point.title}" if with_scenario else point.title
    cost = point.at().error - point.mean_of("at_alpha")
    return title if math.isnan(cost) else f"{title} ({more(cost)})"
