"""How regret, violations and reports grow with the horizon, beside the rates that were proved."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from likewise.evaluation.growth import Growth, growth
from likewise.experiments.learners import OURS
from likewise.experiments.sweep.points import Point, by_scenario
from likewise.experiments.sweep.spec import Sweep
from likewise.experiments.sweep.views.comparators import kappas_of
from likewise.game.baselines import Rates
from likewise.registry import BASELINES

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
    prove = getattr(BASELINES[learner], "rates", None) if learner in BASELINES else None
    return None if prove is None else prove(settings, feedback)


def _rates_of_ours(settings: Mapping[str, Any], feedback: str) -> Rates:
    """The rates of the theorems of docs/theory.md, by the dual player."""
    reports = {"additive": "T^1/2", "geometric": "log T"}.get(settings.get("dual", ""), "T^3/4")
    regret = "T^2/3" if feedback == "one-sided" else "T^1/2"
    return Rates(regret, reports, reports, "docs/theory.md")


def _rates_of_paper(settings: Mapping[str, Any], feedback: str) -> Rates:
    """The paper's two theorems; its frontier's parameter b moves both."""
    b = settings.get("b", 0.0)
    powers = (2 / 3 + 2 * b, 5 / 6 - b) if feedback == "one-sided" else (1 / 2 + 2 * b, 3 / 4 - b)
    names = {2 / 3: "2/3", 5 / 6: "5/6", 1 / 2: "1/2", 3 / 4: "3/4"}
    regret, violations = (f"T^{names.get(power, f'{power:.3g}')}" for power in powers)
    return Rates(regret, violations, violations, "the paper")
