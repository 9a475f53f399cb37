"""The points of a sweep, who beats whom, and the Markdown tables and sentences made of them."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any, cast

import numpy as np

from likewise import Learner
from likewise.errors import ParameterError
from likewise.learner.schedules import KAPPA_SHARE
from likewise.numerics.intervals import Interval
from likewise.numerics.randomness import Purpose, Stream
from likewise.simulate.counts import NEAR_CONSTANT, Outcome, beats, frontier, more, remedies
from studies.baselines.predecessors import Predecessor
from studies.pages import RESULTS, table, write_between_marks
from studies.sweep.runs import Row, stored_rows, write_rows
from studies.sweep.spec import IGNORING, Entry, Sweep, read_sweep, setting_title


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


def stored_points(name: str) -> list[Point]:
    return points_of(read_sweep(name), stored_rows(name))


def by_scenario(points: Sequence[Point]) -> dict[str, list[Point]]:
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


COMPUTED_AT = 10_000  # some methods would take more than an hour there


def calls_markdown(sweep: Sweep, points: Sequence[Point]) -> str:
    """A table for the first scenario: calls hardly depend on who arrives."""
    longest = sweep.horizons[-1]
    scenario, together = next(iter(by_scenario(points).items()))
    about = (
        f"Oracle calls a round on {scenario}: counted at T = {longest:,}, and computed from "
        f"each method's own formula at T = {COMPUTED_AT:,}."
    )
    heads = ("learner", f"counted, T = {longest:,}", f"computed, T = {COMPUTED_AT:,}")
    rows = []
    world = replace(together[0].game, seed=sweep.seeds[0]).make_world()
    for point in (point for point in together if point.plays):
        game = point.game
        counted = point.mean_of("oracle_calls") / longest
        learner = game.make_learner(game.make_hypotheses(world), world.k, COMPUTED_AT)
        computed = cast(Learner | Predecessor, learner).calls_a_round(COMPUTED_AT)
        rows.append((point.title, f"{counted:,.0f}", f"{computed:,.0f}"))
    return f"{about}\n\n{table(heads, rows)}"


RESAMPLES, LEVEL = 2000, 0.95
# The seed of the bootstrap: the same table whoever makes it.
SEED = 20_201


def growth(rounds: Sequence[int], counts: Sequence[Sequence[float]]) -> Interval:
    """The slope of log mean count against log rounds, with a percentile bootstrap over the seeds.

    ``counts`` has a row for each seed, with a count for each horizon. Resamples with a count of 0
    have no slope and are left out; where that is more than a tenth, so is the interval.
    """
    by_seed = np.array(counts, dtype=np.float64)
    mean, x = by_seed.mean(axis=0), np.log(rounds)
    if not (mean > 0).all():  # nor where a comparator was not found
        return Interval(math.nan, math.nan, math.nan)
    x -= x.mean()
    slope = float(np.log(mean) @ x / (x @ x))
    uniforms = Stream(SEED, Purpose.PROBE, 0).uniforms(0, RESAMPLES, len(by_seed))
    means = by_seed[np.floor(uniforms * len(by_seed)).astype(np.int64)].mean(axis=1)
    means = means[(means > 0).all(axis=1)]
    if len(by_seed) < 2 or len(means) < 0.9 * RESAMPLES:
        return Interval(slope, math.nan, math.nan)
    tail = 50 * (1 - LEVEL)
    ends = np.percentile(np.log(means) @ x / (x @ x), [tail, 100 - tail])
    return Interval(slope, *ends.tolist())


# Rates of regret and violations that were proved for the predecessors, by name and feedback.
PROVED = {
    ("bechavod-roth", "one-sided"): "T^41/45, T^41/45",
    ("exp2", "one-sided"): "T^4/5, T^4/5",
    ("bechavod-jung-wu", "full"): "T^7/9, T^7/9",
    ("gillen", "one-sided"): "T^1/2, log T",
    ("paper", "one-sided"): "T^2/3, T^5/6",
    ("paper", "full"): "T^1/2, T^3/4",
}
# Regret against each of the three comparators: errors less theirs.
_REGRETS = {
    "regret, alpha − eps": "at_alpha_less_eps",
    "regret, alpha − kappa": "at_alpha_less_kappa",
    "regret, alpha": "at_alpha",
}


def _regret(point: Point, comparator: str) -> list[list[float]]:
    """Errors less those of a comparator, by seed and horizon; NaN where it was not found."""
    return [
        [
            math.nan if (best := getattr(row, comparator)) is None
            else row.people * (row.error_rate - best)
            for row in rows
        ]
        for rows in zip(*point.rows, strict=True)
    ]  # fmt: skip


def rates_markdown(sweep: Sweep, points: Sequence[Point]) -> str:
    """A table for every scenario: fitted exponents with intervals, and what was proved."""
    ours = any(point.ours for point in points)
    kappas = f" (ours: {kappas_listed(kappas_of(points))})" if ours else ""
    lines = [
        f"Exponents a of T^a fitted over T = {', '.join(f'{n:,}' for n in sweep.horizons)}, with "
        f"{100 * LEVEL:g} % intervals over {len(sweep.seeds)} seeds. `< 0`: the learner "
        f"makes fewer errors than the comparator; `–`: some count is 0. Each learner has the "
        f"comparator at alpha − kappa for its own kappa{kappas}. An exponent depends on the world "
        f"and on the horizons, and proves nothing."
    ]
    heads = ["learner", *_REGRETS, "violations", "reports", "proved: regret, violations"]
    for scenario, together in by_scenario(points).items():
        rows = (_rates(point) for point in together if point.plays)
        lines += ["", f"**{scenario}**", "", table(heads, rows)]
    return "\n".join(lines)


def _rates(point: Point) -> list[str]:
    cells = [point.title]
    for comparator in _REGRETS.values():
        regret = _regret(point, comparator)
        gains = math.fsum(row[-1] for row in regret) < 0
        cells.append("< 0" if gains else _exponent(growth(point.horizons, regret)))
    for name in ("violations", "reports"):
        cells.append(_exponent(growth(point.horizons, point.counts(name))))
    proved = PROVED.get((point.learner, point.game.feedback), "nothing")
    return [*cells, _rates_of_ours(point) if point.ours else proved]


def _exponent(fit: Interval) -> str:
    if math.isnan(fit.value):
        return "–"
    if math.isnan(fit.low):
        return f"{fit.value:z.2f}"
    return f"{fit.value:z.2f} ({fit.low:z.2f} to {fit.high:z.2f})"


def _rates_of_ours(point: Point) -> str:
    """The rates of the theorems of docs/research/theory.md, by the dual player."""
    reports = {"additive": "T^1/2", "geometric": "log T"}.get(point.setting("dual"), "T^3/4")
    regret = "T^2/3" if point.game.feedback == "one-sided" else "T^1/2"
    return f"{regret}, {reports}"


def cell(outcome: Outcome) -> str:
    """A point as it stands in tables: error / rounds in violation / reports."""
    return f"{outcome.error:.3f} / {outcome.violations:.0f} / {outcome.reports:.0f}"


def points_markdown(sweep: Sweep, points: Sequence[Point]) -> str:
    """A table for every scenario, with the best fixed policies above and the worst seed beside."""
    lines = []
    if sweep.about:
        lines += [sweep.about, ""]
    lines.append(
        f"Means of {len(sweep.seeds)} seed{'s' * (len(sweep.seeds) > 1)}; cells: error / rounds "
        f"in violation / reports."
    )
    for scenario, together in by_scenario(points).items():
        lines += ["", *_scenario_lines(sweep, scenario, together)]
    if len({point.ours for point in points}) == 2:
        lines += ["", verdict(points)]
    return "\n".join(lines)


def _scenario_lines(sweep: Sweep, scenario: str, together: Sequence[Point]) -> Iterator[str]:
    yield f"**{scenario}**{fixed_words(together)}"
    yield ""
    heads = ["learner", *(f"T = {n:,}" for n in sweep.horizons)]
    if len(sweep.seeds) > 1:
        heads.append(f"worst seed, T = {sweep.horizons[-1]:,}")
    rows = []
    for point in together:
        cells = [cell(point.at(n)) for n in range(len(point.horizons))]
        if len(sweep.seeds) > 1:
            cells.append(cell(point.worst()))
        if not point.plays:
            cells = [text.rpartition(" / ")[0] for text in cells]
        rows.append([point.title, *cells])
    yield table(heads, rows)
    if near := [point for point in together if is_near_constant(point)]:
        yield ""
        yield near_constant_line(near)


def verdict(points: Sequence[Point]) -> str:
    """Name those of the others who beat a point of ours, at the longest horizon."""
    pairs = beaten(points)
    if not pairs:
        return (
            "No other learner has a point that beats a point of ours on error, violations and "
            "reports together."
        )
    titles: dict[str, list[str]] = {}
    for rival, ours in pairs:
        titles.setdefault(f"{rival.scenario}: {rival.title}", []).append(ours.title)
    listed = "; ".join(f"{rival} beats {', '.join(ours)}" for rival, ours in titles.items())
    return f"Points of others that beat one of ours on all three together: {listed}."


def frontier_markdown(sweep: Sweep, points: Sequence[Point]) -> str:
    """The points that no other beats, in error, violations and reports, for every scenario."""
    lines = [
        f"Points that no other beats on error, violations and reports together, at T = "
        f"{sweep.horizons[-1]:,}; means of {len(sweep.seeds)} seeds."
    ]
    for scenario, together in by_scenario(points).items():
        best = sorted(on_the_frontier(together), key=Point.at)
        playing = sum(point.plays for point in together)
        rows = ([point.title, *cell(point.at()).split(" / ")] for point in best)
        lines += ["", f"**{scenario}**: {len(best)} of {playing} points{fixed_words(together)}", ""]
        lines.append(table(("learner", "error", "violations", "reports"), rows))
    return "\n".join(lines)


def summary_markdown(sweep: Sweep, points: Sequence[Point]) -> str:
    """One line for every scenario, a column for every learner: for many scenarios at once."""
    titles = list(dict.fromkeys(point.title for point in points))
    kappas = kappas_of(points)
    fixed = f"best fixed: alpha − eps; alpha − kappa ({kappas_listed(kappas)}); alpha"
    several = len(sweep.seeds) > 1
    means = f"means of {len(sweep.seeds)} seeds, in brackets the worst seed"
    seeds = means if several else "one seed"
    near = [point for point in points if is_near_constant(point)]
    marked = "; ° near constant, see below" if near else ""
    about = f"T = {sweep.horizons[-1]:,}, {seeds}; error / rounds in violation / reports{marked}."
    rows = []
    for scenario, together in by_scenario(points).items():
        by_title = {point.title: point for point in together}
        cells = [_summary_cell(by_title[t], several) if t in by_title else "–" for t in titles]
        rows.append([scenario, _fixed_cell(together, kappas), *cells])
    lines = [about, "", table(["scenario", fixed, *titles], rows)]
    if near:
        lines += ["", f"° {near_constant_line(near, with_scenario=True)}"]
    return "\n".join(lines)


def _summary_cell(point: Point, several: bool) -> str:
    worst = f" ({cell(point.worst())})" if several else ""
    return f"{cell(point.at())}{worst}{' °' if is_near_constant(point) else ''}"


def _fixed_cell(together: Sequence[Point], kappas: Sequence[str]) -> str:
    fixed = fixed_of(together, kappas)
    if fixed is None:
        return "–"
    faced = "" if fixed.faced_by is None else f" (rounds of {fixed.faced_by})"
    return "; ".join(fixed.rates(kappas)) + faced


def plain_markdown(sweep: Sweep, points: Sequence[Point]) -> str:
    """The first learner beside the first that ignores the panel, for readers who know no terms."""
    rounds = f"{sweep.horizons[-1]:,}"
    heads = (
        "world", "error", f"unfair rounds of {rounds}", "reports",
        "error if the panel is ignored", "unfair rounds then", "error of the best fair policy",
    )  # fmt: skip
    rows = []
    for scenario, together in by_scenario(points).items():
        fixed = fixed_of(together, kappas_of(points))
        best = "–" if fixed is None else f"{fixed.at_alpha:.3f}"
        ours = cell(together[0].at()).split(" / ")
        others = [point for point in together if point.learner in IGNORING]
        ignoring = cell(others[0].at()).split(" / ")[:2] if others else ["–", "–"]
        rows.append([scenario, *ours, *ignoring, best])
    return table(heads, rows)


def looks_markdown(sweep: Sweep, points: Sequence[Point]) -> str:
    """Looks of the panel: error, violations, reports, rounds and pairs, a line a learner."""
    seeds = f"means of {len(sweep.seeds)} seeds" if len(sweep.seeds) > 1 else "one seed"
    heads = (
        "world", "attention", "error", "rounds in violation", "reports", "rounds looked at",
        "pairs",
    )  # fmt: skip
    rows = (
        (scenario, point.title, f"{at.error:.4f}", f"{at.violations:.1f}", f"{at.reports:.0f}",
         *(f"{point.mean_of(name):,.0f}" for name in ("looks", "pairs_shown")))
        for scenario, together in by_scenario(points).items()
        for point, at in ((point, point.at()) for point in together)
    )  # fmt: skip
    return f"T = {sweep.horizons[-1]:,}, {seeds}.\n\n{table(heads, rows)}"


Table = Callable[[Sweep, Sequence[Point]], str]
TABLES: Mapping[str, Table] = {
    "points": points_markdown,
    "plain": plain_markdown,
    "summary": summary_markdown,
    "frontier": frontier_markdown,
    "rates": rates_markdown,
    "calls": calls_markdown,
    "looks": looks_markdown,
}


def sweep_markdown(sweep: Sweep, rows: Sequence[Row], kind: str = "points") -> str:
    if kind not in TABLES:
        raise ParameterError("table", f"must be one of {', '.join(TABLES)}", kind, "Choose one.")
    return TABLES[kind](sweep, points_of(sweep, rows))


def write_documents(sweep: Sweep, name: str, rows: Sequence[Row]) -> None:
    """Put the tables of a sweep into its documents, and its rows beside them, to be checked by."""
    for document in sweep.documents:
        text = sweep_markdown(sweep, rows, document.table)
        write_between_marks(Path(document.file), document.mark, text)
    write_rows(RESULTS / f"{name}.csv", rows)
    if sweep.figure is not None:
        from studies.sweep.figures import figure_svg

        picture = figure_svg(points_of(sweep, rows))
        Path(sweep.figure).write_text(picture, encoding="utf-8", newline="\n")
