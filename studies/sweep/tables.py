"""The results of a sweep as Markdown tables, and the sentences that follow from them."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np

from likewise.errors import ParameterError
from likewise.learner.settings import Learner
from likewise.numerics.intervals import Interval
from likewise.numerics.randomness import Purpose, Stream
from likewise.simulate.counts import Outcome
from studies.baselines.encoding import Predecessor
from studies.pages import RESULTS, table, write_between_marks
from studies.sweep.points import (
    Point,
    beaten,
    by_scenario,
    fixed_of,
    fixed_words,
    is_near_constant,
    kappas_listed,
    kappas_of,
    near_constant_line,
    on_the_frontier,
    points_of,
)
from studies.sweep.runs import Row, write_rows
from studies.sweep.spec import Sweep

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
    """An exponent with its interval."""
    if math.isnan(fit.value):
        return "–"
    if math.isnan(fit.low):
        return f"{fit.value:.2f}"
    return f"{fit.value:.2f} ({fit.low:.2f} to {fit.high:.2f})"


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
    """The first learner alone, a number a column, for readers who have met none of the words."""
    rounds = f"{sweep.horizons[-1]:,}"
    heads = (
        "world", "error of the best fixed policy", "error of the learner",
        f"unfair rounds of {rounds}", f"reports of {rounds}",
    )  # fmt: skip
    rows = []
    for scenario, together in by_scenario(points).items():
        fixed = fixed_of(together, kappas_of(points))
        best = "–" if fixed is None else f"{fixed.at_alpha:.3f}"
        rows.append([scenario, best, *cell(together[0].at()).split(" / ")])
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
