"""How the defaults were chosen: grids of noise and eta, on worlds that judge nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from likewise.evaluation.summary import summarise
from likewise.experiments.arenas import CHOOSING
from likewise.game import play
from likewise.learning import Learner, SelfTuned
from likewise.learning.learner import player_named

__all__ = ["ETAS", "SHARES", "Trial", "trials", "tuning_markdown"]

ALPHA = EPS = 0.3

SHARES = {
    "context-ftpl": (0.05, 0.1, 0.2, 0.4, 0.8),
    "exponential-weights": (0.35, 0.7, 1.4, 2.0, 2.8),
}
ETAS = (1.0, 0.25, 0.0625)


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
    rounds: int,
    seeds: tuple[int, ...],
    *,
    jobs: int = 2,
    progress: Callable[[str, int], None] = lambda what, done: None,  # noqa: ARG005
) -> list[Trial]:
    """Every share of the bound's best x and every eta, for both players, on all of the worlds."""
    from joblib import Parallel, delayed

    settings = [
        (world, player, share, eta)
        for world in CHOOSING
        for player, shares in SHARES.items()
        for share in shares
        for eta in ETAS
    ]
    parallel = Parallel(n_jobs=jobs, return_as="generator")
    found = []
    for trial in parallel(delayed(_trial)(*setting, rounds, seeds) for setting in settings):
        found.append(trial)
        progress(trial.player, len(found))
    return found


def _trial(
    world_name: str, player: str, share: float, eta: float, rounds: int, seeds: tuple[int, ...]
) -> Trial:
    summaries = []
    for seed in seeds:
        world = CHOOSING[world_name](seed)
        hypotheses = world.hypotheses()
        x = share * player_named(player, hypotheses, "compiled").best_x(hypotheses)
        schedule = SelfTuned(eta=eta, x=x)
        learner = Learner(hypotheses, world.k, ALPHA, EPS, seed, schedule=schedule, player=player)
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


def tuning_markdown(found: list[Trial], rounds: int, seeds: tuple[int, ...]) -> str:
    """A table for each player and world: error / violations / reports."""
    lines = [f"T = {rounds}, alpha = eps = {ALPHA:g}, means of {len(seeds)} seeds."]
    for player, shares in SHARES.items():
        for world in CHOOSING:
            lines += [
                "",
                f"**{player}** on *{world}*: error / rounds in violation / reports",
                "",
                "| x, as a share of the bound's best | "
                + " | ".join(f"eta = {eta:g}" for eta in ETAS)
                + " |",
                "|---|" + "---|" * len(ETAS),
            ]
            for share in shares:
                row = [
                    t
                    for eta in ETAS
                    for t in found
                    if (t.world, t.player, t.share, t.eta) == (world, player, share, eta)
                ]
                cells = (f"{t.error_rate:.3f} / {t.violations:.0f} / {t.reports:.0f}" for t in row)
                lines.append(f"| {share:g} | {' | '.join(cells)} |")
    return "\n".join(lines)
