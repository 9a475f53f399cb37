"""How regret, violations and reports grow with the horizon, beside the rates that were proved."""

from __future__ import annotations

import math
from collections.abc import Sequence

from likewise.evaluation.growth import Growth, growth
from likewise.experiments.learners import LEARNERS
from likewise.experiments.sweep.points import Point, by_scenario
from likewise.experiments.sweep.spec import HINDSIGHT, Sweep
from likewise.experiments.sweep.views.comparators import kappas_of

__all__ = ["growth_of", "rates_markdown"]

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


def rates_markdown(sweep: Sweep, found: Sequence[Point]) -> str:
    """A table for every scenario: fitted exponents with intervals, and what was proved."""
    ours = any(point.configuration.ours for point in found)
    kappas = f" (ours: {kappas_of(found).said})" if ours else ""
    lines = [
        f"Exponents a of T^a fitted over T = {', '.join(f'{n:,}' for n in sweep.horizons)}, with "
        f"{100 * sweep.level:g} % intervals over {len(sweep.seeds)} seeds. `< 0`: the learner "
        f"makes fewer errors than the comparator; `–`: some count is 0. Each learner has the "
        f"comparator at alpha − kappa for its own kappa{kappas}. An exponent depends on the world "
        f"and on the horizons, and proves nothing."
    ]
    heads = ["learner", *_REGRETS, "violations", "reports", "proved: regret, violations"]
    for scenario, together in by_scenario(found).items():
        lines += ["", f"**{scenario.title}**", "", f"| {' | '.join(heads)} |"]
        lines.append("|---" * len(heads) + "|")
        for point in together:
            if point.configuration.learner != HINDSIGHT:
                lines.append(_row(point, sweep.level))
    return "\n".join(lines)


def _row(point: Point, level: float) -> str:
    cells = []
    for name, comparator in _REGRETS.items():
        last = [row[-1] for row in _regret(point, comparator)]
        if math.fsum(last) < 0:
            cells.append("< 0")
        else:
            cells.append(_said(growth_of(point, name, level)))
    cells += [_said(growth_of(point, name, level)) for name in ("violations", "reports")]
    named = LEARNERS[point.configuration.learner]
    proved = named.rates(dict(point.configuration.settings), point.scenario.feedback)
    cells.append("nothing" if proved is None else f"{proved.regret}, {proved.violations}")
    return f"| {point.title} | {' | '.join(cells)} |"


def _said(found: Growth) -> str:
    """An exponent with its interval.

    >>> _said(Growth(0.5, 0.4, 0.61)), _said(Growth(math.nan, math.nan, math.nan))
    ('0.50 (0.40 to 0.61)', '–')
    """
    if math.isnan(found.exponent):
        return "–"
    if math.isnan(found.low):
        return f"{found.exponent:.2f}"
    return f"{found.exponent:.2f} ({found.low:.2f} to {found.high:.2f})"
