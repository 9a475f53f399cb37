"""Oracle calls a round: counted in the games, and computed from each method's formula."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from likewise.experiments.sweep.points import Point, by_scenario
from likewise.experiments.sweep.spec import Sweep

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
        computed = learner.calls_a_round(COMPUTED_AT)
        lines.append(f"| {point.title} | {counted:,.0f} | {computed:,.0f} |")
    return "\n".join(lines)
