"""The demo: learners side by side on one stream, and one of its rounds to look at closely."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from likewise.errors import LikewiseError, ParameterError
from likewise.evaluation.counts import Summary, summarise
from likewise.evaluation.near_constant import NearConstant, near_constant
from likewise.experiments.games import Game
from likewise.experiments.parallel import Processes, Progress, silent
from likewise.game import Moment, Transcript, play
from likewise.learning import Learner, SelfTuned
from likewise.worlds import Recorded, Steady, World

if TYPE_CHECKING:
    from likewise.evaluation import Comparators, Faced

SHOWN = ("accuracy-only", "constant", "untaught", "paper", "self-tuned", "exact")
# The knob of our two players; that of the one that draws less often, since its games take longer.
DEFAULT_ETA = SelfTuned.eta
FRONTIER_ETAS: Mapping[str, tuple[float, ...]] = {
    "self-tuned": (1.0, 0.25, DEFAULT_ETA),
    "exact": (1.0, 0.25, 0.125, DEFAULT_ETA, DEFAULT_ETA / 4),
}
# The settings of those that are shown; the paper's learner has fewer draws than its own, for time.
_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "paper": {"draws": "r", "noise": "repeated"},
    **{name: {"eta": DEFAULT_ETA} for name in FRONTIER_ETAS},
}


def games(common: Game) -> list[Game]:
    """Every game of the demo once, those that take longest first: nobody waits for them then."""
    settings = [("paper", _SETTINGS["paper"])]
    settings += [(name, {"eta": eta}) for name, etas in FRONTIER_ETAS.items() for eta in etas]
    settings += [(name, {}) for name in SHOWN if name not in _SETTINGS]
    return [replace(common, learner=name, learner_settings=values) for name, values in settings]


def _is_shown(game: Game) -> bool:
    return game.learner_settings == _SETTINGS.get(game.learner, {})


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

    game: Game
    world: World
    shown: tuple[Shown, ...]
    frontier: tuple[FrontierPoint, ...]
    moment: Moment
    seconds: float

    @property
    def comparators(self) -> Comparators | None:
        """The error rates of the best fixed policies; kappa is that of the last learner."""
        return self.shown[-1].summary.comparators

    @property
    def paper_draws(self) -> int:
        """How many draws a round the learner ``paper`` made: by the rule ``r``, not by its own."""
        calls = next(s.summary.oracle_calls for s in self.shown if s.name == "paper")
        return calls // self.game.rounds


def run_demo(
    rounds: int,
    seed: int,
    *,
    jobs: int = 1,
    compare: bool = True,
    progress: Progress = silent,
) -> Demo:
    """Play the demo's games, ``jobs`` of them at a time.

    With ``compare`` the best fixed policies in hindsight are found too, which needs scipy.
    ``progress`` is told what was done last, and how many games have been played.
    """
    if rounds < 8:
        raise ParameterError("rounds", "must be at least 8 for a demo", rounds, "Try 2000.")
    began = time.perf_counter()
    common = Game("loans", rounds=rounds, seed=seed)
    played: list[tuple[Game, Transcript]] = []
    for game, transcript in Processes(jobs).map(_play, [(game,) for game in games(common)]):
        played.append((game, transcript))
        progress(game.learner, len(played))
    played.sort(key=lambda pair: -pair[0].learner_settings.get("eta", 0.0))
    by_name = {game.learner: transcript for game, transcript in played if _is_shown(game)}
    return Demo(
        common,
        _world(seed, rounds),
        tuple(_shown(name, by_name[name], compare) for name in SHOWN),
        tuple(
            _frontier_point(game, transcript)
            for name in FRONTIER_ETAS
            for game, transcript in played
            if game.learner == name
        ),
        _telling_moment(by_name[SHOWN[-1]]),
        time.perf_counter() - began,
    )


@lru_cache(maxsize=1)
def _world(seed: int, rounds: int) -> Steady:
    """The stream, made once in every process."""
    world = Game("loans", rounds=rounds, seed=seed).make_world()
    if not isinstance(world, Steady):
        raise LikewiseError("The demo's world must not react to the learners.")
    return Recorded(world, rounds)


@lru_cache(maxsize=1)
def _faced(seed: int, rounds: int) -> list[Faced]:
    from likewise.evaluation import faced_rounds

    world = _world(seed, rounds)
    return faced_rounds(map(world.encounter, range(1, rounds + 1)), world.hypotheses())


@lru_cache(maxsize=64)
def _best_fixed(seed: int, rounds: int, slack: float) -> float:
    """The errors of the best fixed policy that exceeds no distance by more than the slack."""
    from likewise.evaluation import best_fair_policy

    return best_fair_policy(_world(seed, rounds).hypotheses(), _faced(seed, rounds), slack).error


def _comparators(learner: Learner, rounds: int) -> Comparators:
    from likewise.evaluation import Comparators, slacks_of

    return Comparators(*(_best_fixed(learner.seed, rounds, slack) for slack in slacks_of(learner)))


def _shown(name: str, played: Transcript, compare: bool) -> Shown:
    """A learner's game beside the three best fixed policies."""
    learner = played.learner
    if not isinstance(learner, Learner):
        raise LikewiseError(f"The demo shows learners that are folds; {name} is none.")
    summary = summarise(played, _comparators(learner, played.rounds) if compare else None)
    return Shown(name, learner, played, summary, near_constant(learner, summary))


def _play(game: Game) -> tuple[Game, Transcript]:
    """One game; of those that are shown, every moment of the second half is kept."""
    kept_from = game.rounds // 2 if _is_shown(game) else game.rounds + 1
    world = _world(game.seed, game.rounds)
    learner = game.make_learner(world.hypotheses(), world.k)
    return game, play(world, learner, game.rounds, keep=lambda t: t >= kept_from)


def _frontier_point(game: Game, transcript: Transcript) -> FrontierPoint:
    s = summarise(transcript)
    eta = game.learner_settings["eta"]
    return FrontierPoint(game.learner, eta, s.error_rate, s.violations, s.reports)


def _telling_moment(transcript: Transcript) -> Moment:
    """The first round of the second half in which the panel reported a pair, or the last kept."""
    reported = [moment for moment in transcript.moments if moment.report]
    return reported[0] if reported else transcript.moments[-1]
