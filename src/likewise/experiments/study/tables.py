"""The study's results as Markdown tables, and the claim they must bear out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from likewise.errors import LikewiseError
from likewise.evaluation.counts import growth_exponent
from likewise.experiments.configurations import Configuration
from likewise.experiments.environments import environment, hypotheses_of
from likewise.experiments.study.spec import ALPHA, Result, StudySpec
from likewise.worlds import Steady

__all__ = ["Point", "beaten", "points", "study_markdown", "write_between_marks"]


@dataclass(frozen=True)
class Point:
    """One configuration at one eps: means over the seeds, by horizon."""

    configuration: Configuration
    eps: float
    rounds: tuple[int, ...]
    error: tuple[float, ...]
    violations: tuple[float, ...]
    reports: tuple[float, ...]
    last_quarter: float
    comparator: float

    def beats(self, other: Point) -> tuple[int, ...]:
        """The horizons at which it is nowhere worse and somewhere better, on all three together."""
        found = []
        for place, rounds in enumerate(self.rounds):
            mine = (self.error[place], self.violations[place], self.reports[place])
            theirs = (other.error[place], other.violations[place], other.reports[place])
            if mine != theirs and all(a <= b for a, b in zip(mine, theirs, strict=True)):
                found.append(rounds)
        return tuple(found)


def points(spec: StudySpec, results: Sequence[Result]) -> list[Point]:
    """Average over the seeds."""
    found = []
    for eps in spec.eps:
        for configuration in spec.configurations():
            mine = [r for r in results if r.eps == eps and r.configuration == configuration]
            by_rounds = [[r for r in mine if r.rounds == n] for n in spec.horizons]
            found.append(
                Point(
                    configuration,
                    eps,
                    spec.horizons,
                    tuple(_mean([r.error_rate for r in rows]) for rows in by_rounds),
                    tuple(_mean([r.violations for r in rows]) for rows in by_rounds),
                    tuple(_mean([r.reports for r in rows]) for rows in by_rounds),
                    _mean([r.last_quarter for r in by_rounds[-1]]),
                    _mean([r.comparator_error_rate for r in by_rounds[-1]]),
                )
            )
    return found


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def beaten(found: Sequence[Point]) -> list[tuple[Point, Point]]:
    """Every pair (paper, ours) at the same eps in which the paper's point beats ours."""
    return [
        (paper, mine)
        for paper in found
        for mine in found
        if paper.configuration.learner == "paper"
        and mine.configuration.self_tuned
        and paper.eps == mine.eps
        and paper.beats(mine)
    ]


def study_markdown(spec: StudySpec, found: Sequence[Point]) -> str:
    """A table for each eps, and what follows from them."""
    world = environment(spec.world).make(spec.seeds[0])
    hypotheses = hypotheses_of(world, spec.hypotheses)
    reacts = not isinstance(world, Steady)
    lines = [
        f"World `{spec.world}`, class `{spec.hypotheses or world.classes[0]}`: "
        f"|H| = {hypotheses.size:.1e}, separating set of {hypotheses.separators}, k = {world.k}; "
        f"means of {len(spec.seeds)} seeds. Cells: error / rounds in violation / reports."
        + (" The world reacts, so each learner has a best fair policy of its own." * reacts),
    ]
    for eps in spec.eps:
        at = [point for point in found if point.eps == eps]
        best = "" if reacts else f": error {at[0].comparator:.3f}"
        heads = ["learner", *(f"T = {n}" for n in spec.horizons), "growth of violations, reports"]
        heads += ["violations per 1,000, last quarter", *(["best fair policy"] * reacts)]
        lines += [
            "",
            f"**alpha = {ALPHA:g}, eps = {eps:g}**; best fair policy in hindsight at T = "
            f"{spec.horizons[-1]}{best or ' in the last column'}",
            "",
            f"| {' | '.join(heads)} |",
            "|---" * len(heads) + "|",
            *(_row(point, own_comparator=reacts) for point in at),
        ]
    if spec.noise_divisors:
        lines += ["", _verdict(found)]
    if len(spec.heard) > 1:
        lines += ["", *_prices(found)]
    return "\n".join(lines)


def _row(point: Point, *, own_comparator: bool) -> str:
    cells = [
        f"{error:.3f} / {violations:.0f} / {reports:.0f}"
        for error, violations, reports in zip(
            point.error, point.violations, point.reports, strict=True
        )
    ]
    growth = [growth_exponent(point.rounds, counts) for counts in (point.violations, point.reports)]
    cells.append(", ".join("–" if math.isnan(g) else f"T^{g:.2f}" for g in growth))
    cells.append(f"{point.last_quarter:.1f}")
    if own_comparator:
        cells.append(f"{point.comparator:.3f}")
    return f"| {point.configuration.title} | {' | '.join(cells)} |"


def _verdict(found: Sequence[Point]) -> str:
    pairs = beaten(found)
    if not pairs:
        return (
            "No point of the paper's schedule beats a point of ours on error, violations and "
            "reports together, at any of the horizons."
        )
    said = "; ".join(
        f"{p.configuration.title} beats {o.configuration.title} at eps = {p.eps:g}, T = "
        f"{', '.join(map(str, p.beats(o)))}"
        for p, o in pairs
    )
    return f"Points of the paper's schedule that beat one of ours: {said}."


def _prices(found: Sequence[Point]) -> Iterator[str]:
    """The price of hearing less, or later, beside the same learner that hears all at once."""
    for point in found:
        mine = point.configuration
        if not mine.self_tuned or mine == Configuration(mine.learner, mine.eta):
            continue
        whole = Configuration(mine.learner, mine.eta)
        full = next(p for p in found if p.configuration == whole and p.eps == point.eps)
        ratio, more = point.violations[-1] / full.violations[-1], point.error[-1] - full.error[-1]
        yield (
            f"- {mine.title}: {ratio:.2f} times the violations and {more:+.3f} error, beside "
            f"{whole.title}, at T = {point.rounds[-1]}."
        )


def write_between_marks(path: Path, mark: str, text: str) -> None:
    """Replace what stands between ``<!-- mark: begin -->`` and ``<!-- mark: end -->``."""
    begin, end = f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"
    document = path.read_text() if path.exists() else ""
    if document.count(begin) != 1 or document.count(end) != 1:
        raise LikewiseError(
            f"{path} must contain {begin!r} and {end!r} once each, for the tables to go between. "
            f"Run this in the project's folder."
        )
    before, rest = document.split(begin)
    after = rest.split(end)[1]
    path.write_text(f"{before}{begin}\n{text.strip()}\n{end}{after}")
