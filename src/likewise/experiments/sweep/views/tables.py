"""The results of a sweep as Markdown tables, and the sentences that follow from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from likewise.errors import LikewiseError, ParameterError
from likewise.evaluation.frontiers import Outcome
from likewise.experiments.sweep.points import (
    Point,
    beaten,
    by_scenario,
    on_the_frontier,
    points_of,
)
from likewise.experiments.sweep.runs import Row
from likewise.experiments.sweep.spec import Sweep
from likewise.experiments.sweep.store import write_rows
from likewise.experiments.sweep.views.calls import calls_markdown
from likewise.experiments.sweep.views.comparators import (
    Kappas,
    fixed_of,
    fixed_words,
    kappas_of,
)
from likewise.experiments.sweep.views.near_constant import is_near_constant, near_constant_line
from likewise.experiments.sweep.views.rates import rates_markdown

RESULTS = Path("docs/results")
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


Table = Callable[[Sweep, Sequence[Point]], str]
TABLES: Mapping[str, Table] = {
    "points": points_markdown,
    "summary": summary_markdown,
    "frontier": frontier_markdown,
    "rates": rates_markdown,
    "calls": calls_markdown,
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
        from likewise.experiments.sweep.views.figures import write_figure

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
