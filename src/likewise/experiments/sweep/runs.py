"""One run of a sweep: a game, counted at every horizon beside the best fixed policies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from likewise.algorithms import Algorithm
from likewise.errors import LikewiseError, ParameterError
from likewise.evaluation import (
    Comparators,
    Faced,
    best_fair_policy,
    faced_rounds,
    priced_policies,
    slacks_of,
)
from likewise.evaluation.counts import Summary, summarise
from likewise.experiments.games import Game
from likewise.experiments.sweep.spec import Entry, Run, Sweep
from likewise.game import Transcript, play
from likewise.learning import Learner
from likewise.worlds import Recorded, Steady, World


@dataclass(frozen=True)
class Row:
    """The counts of one run by one horizon; a line of the results.

    ``at_alpha_less_eps``, ``at_alpha_less_kappa`` and ``at_alpha`` are the error rates of the best
    fixed policies in hindsight; empty where they were not asked for.
    """

    run: str
    scenario: str
    world: str
    world_settings: str
    hypotheses: str
    alpha: float
    eps: float
    feedback: str
    delay: str
    audit_share: float
    report: str
    learner: str
    settings: str
    configuration: str
    seed: int
    rounds: int
    people: int
    error_rate: float
    realised_error_rate: float
    violations: int
    reports: int
    audits: int
    violations_per_1000_last_quarter: float
    largest_gap_last_quarter: float
    oracle_calls: int
    regret: float | None
    at_alpha_less_eps: float | None
    at_alpha_less_kappa: float | None
    at_alpha: float | None


def refuse_early(sweep: Sweep) -> None:
    """Make every world and every learner once, before anything takes time."""
    scenarios: dict[str, World] = {}
    for entry in sweep.entries:
        if entry.scenario not in scenarios:
            scenarios[entry.scenario] = Run(entry, sweep.seeds[0], sweep.horizons).game.make_world()
        _check_entry(entry, scenarios[entry.scenario])


def _check_entry(entry: Entry, world: World) -> None:
    """Refuse a learner that cannot play there."""
    if entry.price is not None:
        if not isinstance(world, Steady):
            raise ParameterError(
                "prices", "must be left out where the world reacts", entry.scenario,
                "What everybody faces there depends on the learner.",
            )  # fmt: skip
        return
    try:
        learner = entry.game.make_learner(entry.game.make_hypotheses(world), world.k)
    except LikewiseError as error:
        raise LikewiseError(
            f"{entry.title!r} cannot play in {entry.scenario!r}: {error}"
        ) from error
    if isinstance(learner, Algorithm) and entry.game.delay != "0":
        raise ParameterError(
            "delay", f"must be 0 for the learner {entry.learner}", entry.game.delay,
            "It is defined for feedback that comes at once only; restrict it with only.",
        )  # fmt: skip


def play_run(run: Run) -> list[Row]:
    """All rows of a run, a function of the run alone; what does not react is made once."""
    game = run.game
    settings = json.dumps(dict(game.world_settings), sort_keys=True)
    stage = _shared_stage(game.world, settings, game.hypotheses, game.seed, game.rounds)
    price = run.entry.price
    return list(_played(run, game, stage) if price is None else _in_hindsight(run, price, stage))


class _Stage:
    """A world with its class; if it is steady, the rounds that everybody faces there."""

    def __init__(self, game: Game) -> None:
        self.world: World = game.make_world()
        self.hypotheses = game.make_hypotheses(self.world)
        self.steady = isinstance(self.world, Steady)
        self._rounds = game.rounds
        self._faced: list[Faced] = []
        self._errors: dict[tuple[int, float], float] = {}
        if isinstance(self.world, Steady):
            self.world = Recorded(self.world, game.rounds)

    @property
    def faced(self) -> list[Faced]:
        """The rounds of a steady world."""
        if not self._faced and isinstance(self.world, Recorded):
            rounds = range(1, self._rounds + 1)
            self._faced = faced_rounds(map(self.world.encounter, rounds), self.hypotheses)
        return self._faced

    def best(self, rounds: int, slack: float) -> float:
        """The error of the best fixed policy by then."""
        if (rounds, slack) not in self._errors:
            policy = best_fair_policy(self.hypotheses, self.faced[:rounds], slack)
            self._errors[rounds, slack] = policy.error
        return self._errors[rounds, slack]


@lru_cache(maxsize=2)
def _shared_stage(
    world: str, settings: str, hypotheses: str | None, seed: int, rounds: int
) -> _Stage:
    """The same for all games that differ in the learner and in the rules alone."""
    return _Stage(Game(world, "auto", rounds, seed, hypotheses=hypotheses,
                       world_settings=json.loads(settings)))  # fmt: skip


def _played(run: Run, game: Game, stage: _Stage) -> Iterator[Row]:
    """The rows of a game; a learner that knows its horizon plays a game for each of them."""
    longest = game.make_learner(stage.hypotheses, stage.world.k)
    long_game: Transcript | None = None
    for rounds in run.horizons:
        learner = game.make_learner(stage.hypotheses, stage.world.k, rounds)
        # To a learner that does not know the horizon, the first rounds of a long game are a short
        # game.
        if learner.settings() != longest.settings():
            played = _play(run, game, stage, learner, rounds)
        else:
            long_game = long_game or _play(run, game, stage, longest, game.rounds)
            played = long_game.first(rounds)
        yield _row(run, summarise(played, _comparators(run, stage, learner, played)))


def _play(
    run: Run, game: Game, stage: _Stage, learner: Learner | Algorithm, rounds: int
) -> Transcript:
    return play(
        stage.world, learner, rounds, delay=game.delays, selection=game.make_selection(),
        record=run.comparators and not stage.steady, evaluation_draws=run.evaluation_draws,
    )  # fmt: skip


def _comparators(
    run: Run, stage: _Stage, learner: Learner | Algorithm, played: Transcript
) -> Comparators | None:
    """The best fixed policies for the rounds that were faced; in a world that reacts, its own."""
    if not run.comparators:
        return None
    slacks = slacks_of(learner)
    if stage.steady:
        return Comparators(*(stage.best(played.rounds, slack) for slack in slacks))
    faced = faced_rounds(played.encounters, stage.hypotheses)
    errors = (best_fair_policy(stage.hypotheses, faced, slack).error for slack in slacks)
    return Comparators(*errors)


def _row(run: Run, summary: Summary) -> Row:
    fixed = summary.comparators
    return Row(
        **_about(run), rounds=summary.rounds, people=summary.people,
        error_rate=summary.error_rate, realised_error_rate=summary.realised_error_rate,
        violations=summary.violations, reports=summary.reports, audits=summary.audits,
        violations_per_1000_last_quarter=summary.violations_per_1000_last_quarter,
        largest_gap_last_quarter=summary.largest_gap_last_quarter,
        oracle_calls=summary.oracle_calls,
        regret=None if summary.regret is None else round(summary.regret, 3),
        at_alpha_less_eps=None if fixed is None else round(fixed.at_alpha_less_eps, 6),
        at_alpha_less_kappa=None if fixed is None else round(fixed.at_alpha_less_kappa, 6),
        at_alpha=None if fixed is None else round(fixed.at_alpha, 6),
    )  # fmt: skip


def _about(run: Run) -> dict[str, Any]:
    entry, game = run.entry, run.entry.game
    return {
        "run": run.digest, "scenario": entry.scenario, "world": game.world,
        "world_settings": json.dumps(dict(game.world_settings)),
        "hypotheses": game.hypotheses or "", "alpha": game.alpha, "eps": game.eps_or_alpha,
        "feedback": game.feedback, "delay": game.delay, "audit_share": game.audit_share,
        "report": game.selection or "largest-gap", "learner": entry.learner,
        "settings": json.dumps(dict(entry.settings)), "configuration": entry.title,
        "seed": run.seed,
    }  # fmt: skip


def _in_hindsight(run: Run, price: float, stage: _Stage) -> Iterator[Row]:
    """Fixed policies that pay for their violations; nobody audits them, so reports are 0."""
    for rounds in run.horizons:
        faced = stage.faced[:rounds]
        (policy,) = priced_policies(stage.hypotheses, faced, run.entry.game.alpha, [price])
        error_rate = round(policy.error_rate, 6)
        yield Row(
            **_about(run), rounds=rounds, people=sum(len(round_.labels) for round_ in faced),
            error_rate=error_rate, realised_error_rate=error_rate, violations=policy.violations,
            reports=0, audits=0, violations_per_1000_last_quarter=0.0,
            largest_gap_last_quarter=0.0, oracle_calls=0, regret=None, at_alpha_less_eps=None,
            at_alpha_less_kappa=None, at_alpha=None,
        )  # fmt: skip
