"""Oracle calls a round: counted in the games, and computed from each method's formula."""

from __future__ import annotations

from collections.abc import Sequence

from likewise.experiments.learners import make_learner
from likewise.experiments.sweep.points import Point, by_scenario
from likewise.experiments.sweep.spec import HINDSIGHT, Sweep

__all__ = ["COMPUTED_AT", "calls_markdown"]

COMPUTED_AT = 10_000
"""A horizon at which some methods would take more than an hour."""


def calls_markdown(sweep: Sweep, found: Sequence[Point]) -> str:
    """A table for the first scenario: calls hardly depend on who arrives."""
    longest = sweep.horizons[-1]
    scenario, together = next(iter(by_scenario(found).items()))
    lines = [
        f"Oracle calls a round on {scenario.title}: counted at T = {longest:,}, and computed from "
        f"each method's own formula at T = {COMPUTED_AT:,}.",
        "",
        f"| learner | counted, T = {longest:,} | computed, T = {COMPUTED_AT:,} |",
        "|---|---|---|",
    ]
    world = scenario.make(sweep.seeds[0])
    task = scenario.task(world, sweep.seeds[0], COMPUTED_AT)
    for point in together:
        one = point.configuration
        if one.learner == HINDSIGHT:
            continue
        counted = point.mean_of("oracle_calls") / longest
        learner = make_learner(one.learner, task, dict(one.settings))
        computed = learner.calls_a_round(COMPUTED_AT)
        lines.append(f"| {point.title} | {counted:,.0f} | {computed:,.0f} |")
    return "\n".join(lines)
