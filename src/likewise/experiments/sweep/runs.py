"""One run of a sweep: a game, counted at every horizon beside the best fixed policies."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from likewise.algorithms import Algorithm
from likewise.auditing import Selection
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
from likewise.experiments.configurations import Scenario, checked_delay
from likewise.experiments.environments import hypotheses_of
from likewise.experiments.learners import make_learner
from likewise.experiments.sweep.spec import HINDSIGHT, Run, Sweep
from likewise.game import Transcript, play
from likewise.hypotheses import HypothesisClass
from likewise.learning import Learner
from likewise.registry import SELECTIONS
from likewise.worlds import Recorded, Steady, World

__all__ = ["Row", "play_run", "refuse_early"]


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
    longest = max(sweep.horizons)
    for scenario in sweep.scenarios:
        scenario.check(longest)
        world = scenario.make(sweep.seeds[0])
        task = scenario.task(world, sweep.seeds[0], longest)
        for one in sweep.learners_in(scenario):
            if one.learner == HINDSIGHT:
                _check_steady(world, scenario)
                continue
            try:
                learner = make_learner(one.learner, task, dict(one.settings))
            except LikewiseError as error:
                raise LikewiseError(
                    f"{one.title!r} cannot play in {scenario.title!r}: {error}"
                ) from error
            if isinstance(learner, Algorithm) and scenario.delay != "0":
                raise ParameterError(
                    "delay", f"must be 0 for the learner {one.learner}", scenario.delay,
                    "It is defined for feedback that comes at once only; restrict it with only.",
                )  # fmt: skip


def play_run(run: Run) -> list[Row]:
    """All rows of a run, a function of the run alone; what does not react is made once."""
    place = _place(run.scenario, run.seed, max(run.horizons))
    if run.configuration.learner == HINDSIGHT:
        return list(_in_hindsight(run, place))
    return list(_played(run, place))


class _Place:
    """A world with its class; if it is steady, the rounds that everybody faces there."""

    def __init__(self, scenario: Scenario, seed: int, longest: int) -> None:
        self.world: World = scenario.make(seed)
        self.hypotheses = hypotheses_of(self.world, scenario.hypotheses)
        self.steady = isinstance(self.world, Steady)
        self._longest = longest
        self._faced: list[Faced] = []
        self._errors: dict[tuple[int, float], float] = {}
        if isinstance(self.world, Steady):
            self.world = Recorded(self.world, longest)

    @property
    def faced(self) -> list[Faced]:
        """The rounds of a steady world."""
        if not self._faced and isinstance(self.world, Recorded):
            rounds = range(1, self._longest + 1)
            self._faced = faced_rounds(map(self.world.encounter, rounds), self.hypotheses)
        return self._faced

    def best(self, rounds: int, slack: float) -> float:
        """The error of the best fixed policy by then."""
        if (rounds, slack) not in self._errors:
            found = best_fair_policy(self.hypotheses, self.faced[:rounds], slack)
            self._errors[rounds, slack] = found.error
        return self._errors[rounds, slack]


@lru_cache(maxsize=2)
def _shared_place(world: str, settings: str, name: str | None, seed: int, longest: int) -> _Place:
    scenario = Scenario(world, tuple(json.loads(settings).items()), name)
    return _Place(scenario, seed, longest)


def _place(scenario: Scenario, seed: int, longest: int) -> _Place:
    """The same for all scenarios that differ in the rules of the game alone."""
    settings = json.dumps(dict(scenario.settings), sort_keys=True)
    return _shared_place(scenario.world, settings, scenario.hypotheses, seed, longest)


def _played(run: Run, place: _Place) -> Iterator[Row]:
    """The rows of a game; a learner that knows its horizon plays a game for each of them."""
    longest = _learner(run, place, max(run.horizons))
    game: Transcript | None = None
    for rounds in run.horizons:
        learner = _learner(run, place, rounds)
        # To a learner that does not know the horizon, the first rounds of a long game are a short
        # game.
        if learner.settings() != longest.settings():
            played = _play(run, place, learner, rounds)
        else:
            game = game or _play(run, place, longest, max(run.horizons))
            played = game.first(rounds)
        yield _row(run, summarise(played, _comparators(run, place, learner, played)))


def _learner(run: Run, place: _Place, rounds: int) -> Learner | Algorithm:
    configuration = run.configuration
    task = run.scenario.task(place.world, run.seed, rounds)
    return make_learner(configuration.learner, task, dict(configuration.settings))


def _play(run: Run, place: _Place, learner: Learner | Algorithm, rounds: int) -> Transcript:
    scenario = run.scenario
    delay = checked_delay(scenario.delay, max(run.horizons))
    selection: Selection | None = SELECTIONS[scenario.report].make(run.seed)
    if isinstance(learner, Algorithm) and learner.selection is not None:
        selection = None
    return play(
        place.world, learner, rounds, delay=delay, record=run.comparators and not place.steady,
        selection=selection,
        evaluation_draws=run.evaluation_draws,
    )  # fmt: skip


def _comparators(
    run: Run, place: _Place, learner: Learner | Algorithm, played: Transcript
) -> Comparators | None:
    """The best fixed policies for the rounds that were faced; in a world that reacts, its own."""
    if not run.comparators:
        return None
    slacks = slacks_of(learner)
    if place.steady:
        return Comparators(*(place.best(played.rounds, slack) for slack in slacks))
    hypotheses: HypothesisClass = place.hypotheses
    faced = faced_rounds(played.encounters, hypotheses)
    return Comparators(*(best_fair_policy(hypotheses, faced, slack).error for slack in slacks))


def _row(run: Run, summary: Summary) -> Row:
    fixed = summary.comparators
    return Row(
        **_about(run),
        rounds=summary.rounds,
        people=summary.people,
        error_rate=summary.error_rate,
        realised_error_rate=summary.realised_error_rate,
        violations=summary.violations,
        reports=summary.reports,
        audits=summary.audits,
        violations_per_1000_last_quarter=summary.violations_per_1000_last_quarter,
        largest_gap_last_quarter=summary.largest_gap_last_quarter,
        oracle_calls=summary.oracle_calls,
        regret=None if summary.regret is None else round(summary.regret, 3),
        at_alpha_less_eps=None if fixed is None else round(fixed.at_alpha_less_eps, 6),
        at_alpha_less_kappa=None if fixed is None else round(fixed.at_alpha_less_kappa, 6),
        at_alpha=None if fixed is None else round(fixed.at_alpha, 6),
    )


def _about(run: Run) -> dict[str, Any]:
    scenario, configuration = run.scenario, run.configuration
    return {
        "run": run.digest, "scenario": scenario.title, "world": scenario.world,
        "world_settings": json.dumps(dict(scenario.settings)),
        "hypotheses": scenario.hypotheses or "", "alpha": scenario.alpha, "eps": scenario.fair,
        "feedback": scenario.feedback, "delay": scenario.delay,
        "audit_share": scenario.audit_share, "report": scenario.report,
        "learner": configuration.learner, "settings": json.dumps(dict(configuration.settings)),
        "configuration": configuration.title, "seed": run.seed,
    }  # fmt: skip


def _check_steady(world: World, scenario: Scenario) -> None:
    if not isinstance(world, Steady):
        raise ParameterError(
            "prices", "must be left out where the world reacts", scenario.title,
            "What everybody faces there depends on the learner.",
        )  # fmt: skip


def _in_hindsight(run: Run, place: _Place) -> Iterator[Row]:
    """Fixed policies that pay for their violations; nobody audits them, so reports are 0."""
    price = float(run.configuration.get("price"))
    for rounds in run.horizons:
        faced: Sequence[Faced] = place.faced[:rounds]
        (found,) = priced_policies(place.hypotheses, faced, run.scenario.alpha, [price])
        people = sum(len(one.labels) for one in faced)
        yield Row(
            **_about(run), rounds=rounds, people=people,
            error_rate=round(found.error_rate, 6), realised_error_rate=round(found.error_rate, 6),
            violations=found.violations, reports=0, audits=0,
            violations_per_1000_last_quarter=0.0, largest_gap_last_quarter=0.0, oracle_calls=0,
            regret=None, at_alpha_less_eps=None, at_alpha_less_kappa=None, at_alpha=None,
        )  # fmt: skip
