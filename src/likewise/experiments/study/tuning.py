"""How the defaults were chosen: grids of noise and eta, on worlds that judge nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from likewise.evaluation.counts import summarise
from likewise.experiments.environments import CHOOSING
from likewise.experiments.learners import Settings, Task, make_learner
from likewise.experiments.parallel import Progress, in_processes, silent
from likewise.game import play
from likewise.learning.learner import player_named

__all__ = ["GRIDS", "Grid", "Trial", "trials", "tuning_markdown"]

ALPHA = EPS = 0.3


@dataclass(frozen=True)
class Grid:
    """A grid to try: shares of the bound's best x for each player, and weights of the error."""

    feedback: str
    shares: Mapping[str, tuple[float, ...]]
    etas: tuple[float, ...]

    def settings(self) -> list[tuple[str, str, float, float]]:
        """World, player, share and eta of every trial."""
        return [
            (world, player, share, eta)
            for world in CHOOSING
            for player, shares in self.shares.items()
            for share in shares
            for eta in self.etas
        ]


GRIDS = {
    "full": Grid(
        "full",
        {
            "context-ftpl": (0.05, 0.1, 0.2, 0.4, 0.8),
            "exponential-weights": (0.35, 0.7, 1.4, 2.0, 2.8),
        },
        (1.0, 0.25, 0.0625),
    ),
    "one-sided": Grid(
        "one-sided",
        {
            "context-ftpl": (0.025, 0.05, 0.1, 0.2),
            "exponential-weights": (0.1, 0.2, 0.35, 0.7, 1.4),
        },
        (0.25,),
    ),
}


@dataclass(frozen=True)
class Trial:
    """One setting on one world: means over the seeds."""

    world: str
    player: str
    share: float
    eta: float
    error_rate: float
    violations: float
    reports: float


def trials(
    grid: Grid,
    rounds: int,
    seeds: tuple[int, ...],
    *,
    jobs: int = 2,
    progress: Progress = silent,
) -> list[Trial]:
    """Every share of the bound's best x and every eta, for both players, on all of the worlds."""
    tasks = [(grid.feedback, *setting, rounds, seeds) for setting in grid.settings()]
    found = []
    for trial in in_processes(_trial, tasks, jobs):
        found.append(trial)
        progress(trial.player, len(found))
    return found


# By the name of the player, how the registry of learners calls it with the self-tuned schedule.
LEARNER_OF = {"context-ftpl": "self-tuned", "exponential-weights": "exact"}


def _trial(
    feedback: str,
    world_name: str,
    player: str,
    share: float,
    eta: float,
    rounds: int,
    seeds: tuple[int, ...],
) -> Trial:
    summaries = []
    for seed in seeds:
        world = CHOOSING[world_name].make(seed)
        hypotheses = world.hypotheses()
        chosen = player_named(player, hypotheses, "compiled")
        estimated = chosen.exact and feedback == "one-sided"
        x = share * chosen.best_x(hypotheses, estimated=estimated)
        settings = Settings(ALPHA, EPS, eta=eta, x=x, feedback=feedback)
        task = Task(hypotheses, world.k, seed, rounds)
        learner = make_learner(LEARNER_OF[player], task, settings)
        summaries.append(summarise(play(world, learner, rounds)))
    return Trial(
        world_name,
        player,
        share,
        eta,
        sum(s.error_rate for s in summaries) / len(seeds),
        sum(s.violations for s in summaries) / len(seeds),
        sum(s.reports for s in summaries) / len(seeds),
    )


def tuning_markdown(grid: Grid, found: list[Trial], rounds: int, seeds: tuple[int, ...]) -> str:
    """A table for each player and world: error / violations / reports."""
    lines = [
        f"T = {rounds}, alpha = eps = {ALPHA:g}, {grid.feedback} feedback, means of {len(seeds)} "
        f"seeds."
    ]
    for player, shares in grid.shares.items():
        for world in CHOOSING:
            lines += [
                "",
                f"**{player}** on *{world}*: error / rounds in violation / reports",
                "",
                "| x, as a share of the bound's best | "
                + " | ".join(f"eta = {eta:g}" for eta in grid.etas)
                + " |",
                "|---|" + "---|" * len(grid.etas),
            ]
            for share in shares:
                row = [
                    t
                    for eta in grid.etas
                    for t in found
                    if (t.world, t.player, t.share, t.eta) == (world, player, share, eta)
                ]
                cells = (f"{t.error_rate:.3f} / {t.violations:.0f} / {t.reports:.0f}" for t in row)
                lines.append(f"| {share:g} | {' | '.join(cells)} |")
    return "\n".join(lines)
