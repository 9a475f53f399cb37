"""The demo: learners side by side on one stream, and one of its rounds to look at closely."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache

from likewise.errors import LikewiseError, ParameterError
from likewise.evaluation import (
    BestFair,
    Comparators,
    Faced,
    best_fair_policy,
    faced_rounds,
    slacks_of,
)
from likewise.evaluation.counts import Summary, summarise
from likewise.evaluation.near_constant import NearConstant, near_constant
from likewise.experiments.configurations import Configuration
from likewise.experiments.learners import Task, make_learner
from likewise.experiments.parallel import Progress, in_processes, silent
from likewise.game import Moment, Transcript, play
from likewise.learning import Learner, SelfTuned
from likewise.worlds import Loans, Recorded, Steady, World

__all__ = ["GAMES", "Demo", "FrontierPoint", "Shown", "run_demo"]

SHOWN = ("accuracy-only", "constant", "untaught", "paper", "self-tuned", "exact")
# The knob of our two players; that of the one that draws less often, since its games take longer.
DEFAULT_ETA = SelfTuned().eta
FRONTIER_ETAS = {
    "self-tuned": (1.0, 0.25, DEFAULT_ETA),
    "exact": (1.0, 0.25, 0.125, DEFAULT_ETA, DEFAULT_ETA / 4),
}


PAPER = Configuration.of("paper", draws="r", noise="repeated")


def _shown_as(name: str) -> Configuration:
    if name == "paper":
        return PAPER
    return _game(name, DEFAULT_ETA) if name in FRONTIER_ETAS else Configuration(name)


def _game(name: str, eta: float) -> Configuration:
    return Configuration.of(name, eta=eta)


# Each once, and those that take longest first, so that nobody waits for them at the end.
GAMES = tuple(
    dict.fromkeys([
        # That of the paper with fewer draws than its own, for time.
        PAPER,
        *(_game(name, eta) for name, etas in FRONTIER_ETAS.items() for eta in etas),
        *map(_shown_as, SHOWN),
    ])
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Shown:
    """One learner's game."""

    name: str
    learner: Learner
    transcript: Transcript
    summary: Summary
    near_constant: NearConstant | None


@dataclass(frozen=True)
class FrontierPoint:
    """The counts of one setting of eta."""

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

    @property
    def paper_draws(self) -> int:
        """How many draws a round the learner ``paper`` made: by the rule ``r``, not by its own."""
        calls = next(s.summary.oracle_calls for s in self.shown if s.name == "paper")
        return calls // self.rounds


@dataclass(frozen=True)
class _Plan:
    """The settings that all games of a demo have in common."""

    rounds: int
    seed: int
    alpha: float
    eps: float

    def learner(self, game: Configuration) -> Learner:
        """The learner of a game."""
        world = Loans(self.seed)
        task = Task(world.hypotheses(), world.k, self.seed, self.rounds, self.alpha, self.eps)
        made = make_learner(game.learner, task, dict(game.settings))
        if not isinstance(made, Learner):
            raise LikewiseError(f"The demo shows learners that are folds; {game.title} is none.")
        return made


def run_demo(
    rounds: int,
    seed: int,
    *,
    alpha: float = 0.3,
    eps: float | None = None,
    jobs: int = 1,
    progress: Progress = silent,
) -> Demo:
    """Play the demo's games, ``jobs`` of them at a time; without one, eps is alpha.

    ``progress`` is told what was done last, and how many games have been played.
    """
    if rounds < 8:
        raise ParameterError("rounds", "must be at least 8 for a demo", rounds, "Try 2000.")
    began = time.perf_counter()
    plan = _Plan(rounds, seed, alpha, alpha if eps is None else eps)
    for game in GAMES:
        plan.learner(game)  # refuses bad settings before anything takes time
    played = _play_all(plan, jobs, progress)
    best = _best_fixed(plan.seed, plan.rounds, round(plan.alpha - plan.eps, 9))
    games = {name: played[_shown_as(name)] for name in SHOWN}
    return Demo(
        world=_world(seed, rounds),
        alpha=plan.alpha,
        eps=plan.eps,
        rounds=rounds,
        seed=seed,
        shown=tuple(_shown(plan, name, game) for name, game in games.items()),
        frontier=tuple(
            _frontier_point(name, eta, played[_game(name, eta)])
            for name, etas in FRONTIER_ETAS.items()
            for eta in etas
        ),
        best_fair=best,
        moment=_telling_moment(games[SHOWN[-1]]),
        seconds=time.perf_counter() - began,
    )


@lru_cache(maxsize=1)
def _world(seed: int, rounds: int) -> Steady:
    """The stream, made once in every process."""
    return Recorded(Loans(seed), rounds)


@lru_cache(maxsize=1)
def _faced(seed: int, rounds: int) -> list[Faced]:
    world = _world(seed, rounds)
    return faced_rounds(map(world.encounter, range(1, rounds + 1)), world.hypotheses())


@lru_cache(maxsize=64)
def _best_fixed(seed: int, rounds: int, slack: float) -> BestFair:
    """The best fixed policy in hindsight that exceeds no distance by more than the slack."""
    return best_fair_policy(_world(seed, rounds).hypotheses(), _faced(seed, rounds), slack)


def _shown(plan: _Plan, name: str, game: Transcript) -> Shown:
    """A learner's game beside the three best fixed policies."""
    learner = plan.learner(_shown_as(name))
    errors = [_best_fixed(plan.seed, plan.rounds, slack).error for slack in slacks_of(learner)]
    summary = summarise(game, Comparators(*errors))
    return Shown(name, learner, game, summary, near_constant(learner, summary))


def _play_all(plan: _Plan, jobs: int, progress: Progress) -> dict[Configuration, Transcript]:
    """All games, by several processes; a game does not depend on which of them plays it."""
    found: dict[Configuration, Transcript] = {}
    for game, transcript in in_processes(_play, [(plan, game) for game in GAMES], jobs):
        found[game] = transcript
        progress(game.title, len(found))
    return found


def _play(plan: _Plan, game: Configuration) -> tuple[Configuration, Transcript]:
    """One game; of those that are shown, every moment of the second half is kept."""
    kept = plan.rounds // 2 if _shown_as(game.learner) == game else plan.rounds + 1
    world = _world(plan.seed, plan.rounds)
    return game, play(world, plan.learner(game), plan.rounds, keep=lambda t: t >= kept)


def _frontier_point(name: str, eta: float, transcript: Transcript) -> FrontierPoint:
    s = summarise(transcript)
    return FrontierPoint(name, eta, s.error_rate, s.violations, s.reports)


def _telling_moment(transcript: Transcript) -> Moment:
    """The first round of the second half in which the panel reported a pair, or the last kept."""
    reported = [moment for moment in transcript.moments if moment.report]
    return reported[0] if reported else transcript.moments[-1]
