"""The results of a sweep as Markdown tables, and the sentences that follow from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from likewise.errors import LikewiseError, ParameterError
from likewise.learner.settings import Learner
from likewise.simulate.counts import Outcome
from likewise.simulate.learners import OURS
from studies.baselines.encoding import Predecessor
from studies.baselines.rates import PROVED, Rates
from studies.growth import Growth, growth
from studies.sweep.points import (
    Kappas,
    Point,
    beaten,
    by_scenario,
    fixed_of,
    fixed_words,
    is_near_constant,
    kappas_of,
    near_constant_line,
    on_the_frontier,
    points_of,
)
from studies.sweep.runs import Row, write_rows
from studies.sweep.spec import Sweep

COMPUTED_AT = 10_000
"""A horizon at which some methods would take more than an hour."""


def calls_markdown(sweep: Sweep, points: Sequence[Point]) -> str:
    """A table for the first scenario: calls hardly depend on who arrives."""
    longest = sweep.horizons[-1]
    scenario, together = next(iter(by_scenario(points).items()))
    lines = [
        f"Oracle calls a round on {scenario}: counted at T = {longest:,}, and computed from "
        f"each method's own formula at T = {COMPUTED_AT:,}.",
        "",
        f"| learner | counted, T = {longest:,} | computed, T = {COMPUTED_AT:,} |",
        "|---|---|---|",
    ]
    world = replace(together[0].game, seed=sweep.seeds[0]).make_world()
    for point in together:
        if not point.plays:
            continue
        game = point.game
        counted = point.mean_of("oracle_calls") / longest
        learner = game.make_learner(game.make_hypotheses(world), world.k, COMPUTED_AT)
        computed = cast(Learner | Predecessor, learner).calls_a_round(COMPUTED_AT)
        lines.append(f"| {point.title} | {counted:,.0f} | {computed:,.0f} |")
    return "\n".join(lines)


# Regret against each of the three comparators: errors less theirs.
_REGRETS = {
    "regret, alpha − eps": "at_alpha_less_eps",
    "regret, alpha − kappa": "at_alpha_less_kappa",
    "regret, alpha": "at_alpha",
}


def growth_of(point: Point, name: str, level: float) -> Growth:
    """The growth of a column over the horizons, or of the regret against a comparator."""
    if name in _REGRETS:
        return growth(point.horizons, _regret(point, _REGRETS[name]), level)
    return growth(point.horizons, point.counts(name), level)


def _regret(point: Point, comparator: str) -> list[list[float]]:
    """Errors less those of a comparator, by seed and horizon; NaN where it was not found."""
    table = []
    for seed in range(len(point.rows[0])):
        rows = [rows[seed] for rows in point.rows]
        fixed = [getattr(row, comparator) for row in rows]
        table.append([
            math.nan if best is None else row.people * (row.error_rate - best)
            for row, best in zip(rows, fixed, strict=True)
        ])  # fmt: skip
    return table


def rates_markdown(sweep: Sweep, points: Sequence[Point]) -> str:
    """A table for every scenario: fitted exponents with intervals, and what was proved."""
    ours = any(point.ours for point in points)
    kappas = f" (ours: {kappas_of(points).text})" if ours else ""
    lines = [
        f"Exponents a of T^a fitted over T = {', '.join(f'{n:,}' for n in sweep.horizons)}, with "
        f"{100 * sweep.level:g} % intervals over {len(sweep.seeds)} seeds. `< 0`: the learner "
        f"makes fewer errors than the comparator; `–`: some count is 0. Each learner has the "
        f"comparator at alpha − kappa for its own kappa{kappas}. An exponent depends on the world "
        f"and on the horizons, and proves nothing."
    ]
    heads = ["learner", *_REGRETS, "violations", "reports", "proved: regret, violations"]
    for scenario, together in by_scenario(points).items():
        lines += ["", f"**{scenario}**", "", f"| {' | '.join(heads)} |"]
        lines.append("|---" * len(heads) + "|")
        for point in together:
            if point.plays:
                lines.append(_row(point, sweep.level))
    return "\n".join(lines)


def _row(point: Point, level: float) -> str:
    cells = []
    for name, comparator in _REGRETS.items():
        last = [row[-1] for row in _regret(point, comparator)]
        if math.fsum(last) < 0:
            cells.append("< 0")
        else:
            cells.append(_exponent(growth_of(point, name, level)))
    cells += [_exponent(growth_of(point, name, level)) for name in ("violations", "reports")]
    proved = proved_rates(point.learner, point.settings, point.game.feedback)
    cells.append("nothing" if proved is None else f"{proved.regret}, {proved.violations}")
    return f"| {point.title} | {' | '.join(cells)} |"


def _exponent(fit: Growth) -> str:
    """An exponent with its interval.

    >>> _exponent(Growth(0.5, 0.4, 0.61)), _exponent(Growth(math.nan, math.nan, math.nan))
    ('0.50 (0.40 to 0.61)', '–')
    """
    if math.isnan(fit.exponent):
        return "–"
    if math.isnan(fit.low):
        return f"{fit.exponent:.2f}"
    return f"{fit.exponent:.2f} ({fit.low:.2f} to {fit.high:.2f})"


def proved_rates(learner: str, settings: Mapping[str, Any], feedback: str) -> Rates | None:
    """The growth that was proved for a learner; None where nothing was.

    >>> proved_rates("paper", {}, "one-sided").violations
    'T^5/6'
    """
    if learner in OURS:
        return _rates_of_ours(settings, feedback)
    if learner == "paper":
        return _rates_of_paper(settings, feedback)
    return PROVED.get((learner, feedback))


def _rates_of_ours(settings: Mapping[str, Any], feedback: str) -> Rates:
    """The rates of the theorems of docs/research/theory.md, by the dual player."""
    reports = {"additive": "T^1/2", "geometric": "log T"}.get(settings.get("dual", ""), "T^3/4")
    regret = "T^2/3" if feedback == "one-sided" else "T^1/2"
    return Rates(regret, reports, reports, "docs/research/theory.md")


def _rates_of_paper(settings: Mapping[str, Any], feedback: str) -> Rates:
    """The paper's two theorems; its frontier's parameter b moves both."""
    b = settings.get("b", 0.0)
    powers = (2 / 3 + 2 * b, 5 / 6 - b) if feedback == "one-sided" else (1 / 2 + 2 * b, 3 / 4 - b)
    names = {2 / 3: "2/3", 5 / 6: "5/6", 1 / 2: "1/2", 3 / 4: "3/4"}
    regret, violations = (f"T^{names.get(power, f'{power:.3g}')}" for power in powers)
    return Rates(regret, violations, violations, "the paper")


RESULTS = Path("studies/results")
"""The rows behind the tables of the documentation, in the project's folder."""


def cell(outcome: Outcome) -> str:
    """A point as it stands in tables: error / rounds in violation / reports.

    >>> cell(Outcome(0.36591, 31.2, 135.0))
    '0.366 / 31 / 135'
    """
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
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    for point in together:
        cells = [cell(point.at(n)) for n in range(len(point.horizons))]
        if len(sweep.seeds) > 1:
            cells.append(cell(point.worst()))
        if not point.plays:
            cells = [text.rpartition(" / ")[0] for text in cells]
        yield f"| {point.title} | {' | '.join(cells)} |"
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
        best = on_the_frontier(together)
        playing = sum(point.plays for point in together)
        lines += [
            "",
            f"**{scenario}**: {len(best)} of {playing} points{fixed_words(together)}",
            "",
            "| learner | error | violations | reports |",
            "|---|---|---|---|",
            *(
                f"| {p.title} | {p.at().error:.3f} | {p.at().violations:.0f} | "
                f"{p.at().reports:.0f} |"
                for p in sorted(best, key=lambda p: p.at().all)
            ),
        ]
    return "\n".join(lines)


def summary_markdown(sweep: Sweep, points: Sequence[Point]) -> str:
    """One line for every scenario, a column for every learner: for many scenarios at once."""
    titles = list(dict.fromkeys(point.title for point in points))
    kappas = kappas_of(points)
    fixed = f"best fixed: alpha − eps; alpha − kappa ({kappas.text}); alpha"
    several = len(sweep.seeds) > 1
    means = f"means of {len(sweep.seeds)} seeds, in brackets the worst seed"
    seeds = means if several else "one seed"
    near = [point for point in points if is_near_constant(point)]
    marked = "; ° near constant, see below" if near else ""
    lines = [
        f"T = {sweep.horizons[-1]:,}, {seeds}; error / rounds in violation / reports{marked}.",
        "",
        f"| {' | '.join(['scenario', fixed, *titles])} |",
        "|---" * (2 + len(titles)) + "|",
    ]
    for scenario, together in by_scenario(points).items():
        by_title = {point.title: point for point in together}
        cells = [_summary_cell(by_title[t], several) if t in by_title else "–" for t in titles]
        lines.append(f"| {scenario} | {_fixed_cell(together, kappas)} | {' | '.join(cells)} |")
    if near:
        lines += ["", f"° {near_constant_line(near, with_scenario=True)}"]
    return "\n".join(lines)


def _summary_cell(point: Point, several: bool) -> str:
    worst = f" ({cell(point.worst())})" if several else ""
    return f"{cell(point.at())}{worst}{' °' if is_near_constant(point) else ''}"


def _fixed_cell(together: Sequence[Point], kappas: Kappas) -> str:
    fixed = fixed_of(together, kappas)
    if fixed is None:
        return "–"
    faced = "" if fixed.faced_by is None else f" (rounds of {fixed.faced_by})"
    return "; ".join(fixed.rates(kappas)) + faced


def plain_markdown(sweep: Sweep, points: Sequence[Point]) -> str:
    """The first learner alone, a number a column, for readers who have met none of the words."""
    rounds = f"{sweep.horizons[-1]:,}"
    lines = [
        f"| world | error of the best fixed policy | error of the learner | unfair rounds of "
        f"{rounds} | reports of {rounds} |",
        "|---|---|---|---|---|",
    ]
    for scenario, together in by_scenario(points).items():
        fixed, outcome = fixed_of(together, kappas_of(points)), together[0].at()
        best = "–" if fixed is None else f"{fixed.at_alpha:.3f}"
        lines.append(
            f"| {scenario} | {best} | {outcome.error:.3f} | {outcome.violations:.0f} | "
            f"{outcome.reports:.0f} |"
        )
    return "\n".join(lines)


def looks_markdown(sweep: Sweep, points: Sequence[Point]) -> str:
    """Looks of the panel: error, violations, reports, rounds and pairs, a line a learner."""
    seeds = f"means of {len(sweep.seeds)} seeds" if len(sweep.seeds) > 1 else "one seed"
    lines = [
        f"T = {sweep.horizons[-1]:,}, {seeds}.", "",
        "| world | attention | error | rounds in violation | reports | rounds looked at | pairs |",
        "|---" * 7 + "|",
    ]  # fmt: skip
    for scenario, together in by_scenario(points).items():
        for point in together:
            at, looks, pairs = point.at(), point.mean_of("looks"), point.mean_of("pairs_shown")
            lines.append(
                f"| {scenario} | {point.title} | {at.error:.4f} | {at.violations:.1f} | "
                f"{at.reports:.0f} | {looks:,.0f} | {pairs:,.0f} |"
            )
    return "\n".join(lines)


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


def sweep_markdown(sweep: Sweep, rows: Sequence[Row], table: str = "points") -> str:
    """The table of that kind."""
    if table not in TABLES:
        raise ParameterError("table", f"must be one of {', '.join(TABLES)}", table, "Choose one.")
    return TABLES[table](sweep, points_of(sweep, rows))


def write_documents(sweep: Sweep, name: str, rows: Sequence[Row]) -> None:
    """Put the tables of a sweep into its documents, and its rows beside them, to be checked by."""
    for document in sweep.documents:
        text = sweep_markdown(sweep, rows, document.table)
        write_between_marks(Path(document.file), document.mark, text)
    write_rows(RESULTS / f"{name}.csv", rows)
    if sweep.figure is not None:
        from studies.sweep.figures import write_figure

        write_figure(Path(sweep.figure), points_of(sweep, rows))


def write_between_marks(path: Path, mark: str, text: str) -> None:
    """Replace what stands between ``<!-- mark: begin -->`` and ``<!-- mark: end -->``."""
    begin, end = f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"
    document = path.read_text(encoding="utf-8") if path.exists() else ""
    if document.count(begin) != 1 or document.count(end) != 1:
        raise LikewiseError(
            f"{path} must contain {begin!r} and {end!r} once each, for the tables to go between. "
            f"Run this in the project's folder."
        )
    before, rest = document.split(begin)
    after = rest.split(end)[1]
    path.write_text(f"{before}{begin}\n{text.strip()}\n{end}{after}", encoding="utf-8")
