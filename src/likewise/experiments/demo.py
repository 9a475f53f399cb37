"""The demo: learners side by side on one stream, and one of its rounds to look at closely."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from likewise.errors import ParameterError
from likewise.evaluation.comparator import BestFair, best_fair_policy
from likewise.evaluation.faced import faced_rounds
from likewise.evaluation.summary import Summary, summarise
from likewise.experiments.roster import Settings, make_learner
from likewise.game import Moment, Transcript, play
from likewise.worlds import Loans, Recorded, World

__all__ = ["Demo", "FrontierPoint", "Shown", "run_demo"]

SHOWN = ("accuracy-only", "constant", "untaught", "paper", "self-tuned", "exact")
FRONTIER_ETAS = (1.0, 0.5, 0.25, 0.125, 0.0625)


@dataclass(frozen=True, eq=False)
class Shown:
    """One learner's game."""

    name: str
    transcript: Transcript
    summary: Summary


@dataclass(frozen=True)
class FrontierPoint:
    """What one setting of eta costs and brings."""

    learner: str
    eta: float
    error_rate: float
    violations: int
    reports: int


@dataclass(frozen=True, eq=False)
class Demo:
    """All that the demo's table and report show."""

    world: World
    alpha: float
    eps: float
    rounds: int
    seed: int
    shown: tuple[Shown, ...]
    frontier: tuple[FrontierPoint, ...]
    best_fair: BestFair
    moment: Moment
    seconds: float


def run_demo(
    rounds: int,
    seed: int,
    *,
    alpha: float = 0.3,
    eps: float = 0.3,
    progress: Callable[[str, int], None] = lambda what, rounds: None,  # noqa: ARG005
) -> Demo:
    """Play the demo's games; ``progress`` is told what is being played and how far it got."""
    if rounds < 8:
        raise ParameterError("rounds", "must be at least 8 for a demo", rounds, "Try 2000.")
    began = time.perf_counter()
    world = Recorded(Loans(seed), rounds)
    hypotheses = world.hypotheses()
    settings = Settings(hypotheses, world.schema, world.k, seed, rounds, alpha=alpha, eps=eps)
    encounters = (world.encounter(t) for t in range(1, rounds + 1))
    faced = faced_rounds(encounters, hypotheses, lambda t: progress("best fair policy", t))
    best = best_fair_policy(hypotheses, faced, alpha - eps)
    shown = []
    for name in SHOWN:
        transcript = _play(world, name, settings, progress)
        shown.append(Shown(name, transcript, summarise(transcript, best.error)))
    frontier = []
    for eta in FRONTIER_ETAS:
        played = _play(
            world, "exact", replace(settings, eta=eta), progress, f"exact, eta = {eta:g}"
        )
        summary = summarise(played)
        frontier.append(
            FrontierPoint("exact", eta, summary.error_rate, summary.violations, summary.reports)
        )
    return Demo(
        world, alpha, eps, rounds, seed, tuple(shown), tuple(frontier), best,
        _telling_moment(shown[-1].transcript), time.perf_counter() - began,
    )  # fmt: skip


def _play(
    world: World,
    name: str,
    settings: Settings,
    progress: Callable[[str, int], None],
    title: str | None = None,
) -> Transcript:
    learner = make_learner(name, settings)

    def seen(moment: Moment) -> None:
        progress(title or name, moment.t)

    return play(
        world, learner, settings.rounds, keep=lambda t: t >= settings.rounds // 2, progress=seen
    )


def _telling_moment(transcript: Transcript) -> Moment:
    """The first round of the second half in which the panel reported a pair, or the last kept."""
    reported = [moment for moment in transcript.moments if moment.report]
    return reported[0] if reported else transcript.moments[-1]
