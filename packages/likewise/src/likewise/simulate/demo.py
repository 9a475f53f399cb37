"""The demo: learners side by side on one stream, and one of its rounds to look at closely."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from likewise.errors import ParameterError
from likewise.learner import Certificate, Learner
from likewise.learner.bounds import Bound
from likewise.learner.costs import report_cost
from likewise.numerics.fixed_point import ONE, from_units, to_units
from likewise.panel.reports import exceeds
from likewise.registry import WORLDS
from likewise.simulate import counts
from likewise.simulate.game import Game
from likewise.simulate.parallel import Processes, Progress, silent
from likewise.simulate.rounds import Moment, Transcript, play
from likewise.simulate.world import Recorded, Steady, World

if TYPE_CHECKING:
    from likewise.simulate.hindsight import Comparators


SHOWN = ("accuracy-only", "constant", "untaught", "paper", "self-tuned", "exact")
# The paper's learner has fewer draws than its own, for time.
_SETTINGS: Mapping[str, Mapping[str, Any]] = {"paper": {"draws": "r"}}
# Those that draw take longest, so they begin.
_FIRST = ("paper", "self-tuned")


def games(common: Game) -> list[Game]:
    """A game of every learner, in the order in which they begin."""
    return [
        replace(common, learner=name, learner_settings=_SETTINGS.get(name, {}))
        for name in sorted(SHOWN, key=lambda name: name not in _FIRST)
    ]


@dataclass(frozen=True, eq=False)
class Shown:
    """One learner's game."""

    name: str
    transcript: Transcript
    summary: counts.Summary

    @property
    def learner(self) -> Learner:
        return self.transcript.state.learner

    @property
    def near_constant(self) -> str | None:
        return counts.near_constant(self.learner, self.summary)

    @property
    def certificate(self) -> Certificate | None:
        """The limit on regret after the run; a learner that ignores the panel has none."""
        return counts.certificate_of(self.transcript)

    @property
    def promised(self) -> Bound | None:
        """The least bound on regret before the run, if a theorem covers the settings."""
        bounds = counts.bounds_of(self.transcript)
        return min(bounds, key=lambda bound: bound.regret, default=None)


@dataclass(frozen=True, eq=False)
class Demo:
    """All that the demo's table and report show.

    ``moment`` is the first round of the second half in which the last learner was reported.
    """

    game: Game
    world: World
    shown: tuple[Shown, ...]
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
    rounds: int, seed: int = 1, *, jobs: int = 1, compare: bool = True, progress: Progress = silent
) -> Demo:
    """Play the demo's games, ``jobs`` of them at a time.

    With ``compare`` the best fixed policies in hindsight are found too, which needs scipy.
    ``progress`` is told what was done last, and how many games have been played.
    """
    if rounds < 8:
        raise ParameterError("rounds", "must be at least 8 for a demo", rounds, "Try 2000.")
    began = time.perf_counter()
    common = Game("loans", rounds=rounds, seed=seed)
    played: dict[str, Transcript] = {}
    for name, transcript in Processes(jobs).map(_play, [(game,) for game in games(common)]):
        played[name] = transcript
        progress(name, len(played))
    last, world = played[SHOWN[-1]], _world(seed, rounds)
    fixed = _comparators(world, played) if compare else {}
    return Demo(
        common,
        world,
        tuple(
            Shown(name, played[name], counts.summarise(played[name], fixed.get(name)))
            for name in SHOWN
        ),
        next((m for m in last.moments if m.report), last.moments[-1]),
        time.perf_counter() - began,
    )


@lru_cache(maxsize=1)
def _world(seed: int, rounds: int) -> Steady:
    return Recorded(cast(Steady, WORLDS["loans"].make(seed)), rounds)


def _comparators(world: Steady, games: Mapping[str, Transcript]) -> dict[str, Comparators]:
    """The three best fixed policies for every learner; each slack is solved once."""
    from likewise.simulate.hindsight import Comparators, best_fair_policy, faced_rounds, slacks_of

    hypotheses = world.hypotheses()
    rounds = range(1, next(iter(games.values())).rounds + 1)
    faced = faced_rounds(map(world.encounter, rounds), hypotheses)
    slacks = {name: slacks_of(played.learner) for name, played in games.items()}
    errors = {
        slack: best_fair_policy(hypotheses, faced, slack).error
        for slack in {slack for three in slacks.values() for slack in three}
    }
    return {name: Comparators(*(errors[s] for s in three)) for name, three in slacks.items()}


def _play(game: Game) -> tuple[str, Transcript]:
    """Play a game, and keep every moment of its second half."""
    world = _world(game.seed, game.rounds)
    learner = game.make_learner(world.hypotheses(), world.k)
    played = play(world, learner, game.rounds, keep=lambda t: t >= game.rounds // 2)
    return game.learner, played


@dataclass(frozen=True)
class Case:
    """One pair of a round under the eyes of the panel; distances and scores in units of 2^-20.

    ``over`` is the place of the favoured person. An auditor objects if the gap exceeds their
    distance by more than ``sensitivity`` = alpha − kappa.
    """

    over: int
    under: int
    gap: int
    sensitivity: int
    distances: Mapping[str, int]
    pivot: str | None
    reported: bool

    def objects(self, auditor: str) -> bool:
        return bool(exceeds(self.gap, self.distances[auditor], self.sensitivity))

    @property
    def nearest_first(self) -> list[str]:
        """The auditors by their distance on this pair, as the paper's figure lines them up."""
        return sorted(self.distances, key=lambda name: self.distances[name])


def case_of(moment: Moment) -> Case:
    """The pair that was reported; in a quiet round, the one that came closest to it."""
    people, scores = moment.encounter.people, moment.deployment.units
    pivots = moment.encounter.pivots
    if moment.report:
        over, under = (people.ids.index(person) for person in moment.report[0])
    else:
        excess = scores[:, None] - scores[None, :] - pivots.distance
        np.fill_diagonal(excess, -2 * ONE)
        over, under = divmod(int(excess.argmax()), len(people))
    distances = moment.encounter.distances[:, over, under].tolist()
    return Case(
        over=over,
        under=under,
        gap=int(scores[over] - scores[under]),
        sensitivity=moment.asking.sensitivity,
        distances=dict(zip(pivots.members, distances, strict=True)),
        pivot=pivots.member(over, under),
        reported=bool(moment.report),
    )


def points(units: int) -> str:
    """A number of units as points of a hundred, with a decimal where it says something."""
    return f"{100 * from_units(units):.1f}".removesuffix(".0")


def explain(moment: Moment, learner: Learner) -> dict[str, tuple[str, ...]]:
    """A round in plain words, for readers who are not programmers: sentences by heading."""
    case = case_of(moment)
    return {
        "The two people": _people(moment, case),
        "The panel": _panel(moment, case),
        "The pivot": _pivot(moment, case, to_units(learner.alpha)),
        "What the learner did": _learner(moment, case, learner),
    }


def _people(moment: Moment, case: Case) -> tuple[str, ...]:
    people, deployment = moment.encounter.people, moment.deployment
    pair = (case.over, case.under)
    over, under = (people.ids[i] for i in pair)
    chances = [f"{points(int(deployment.units[i]))}\u00a0%" for i in pair]
    decided = ["approved" if deployment.approved[i] else "turned down" for i in pair]
    right = ["approve" if moment.encounter.labels[i] else "turn down" for i in pair]
    was = f"{over} was {decided[0]}, {under} {decided[1]}"
    best = f"{right[0]} {over} and {right[1]} {under}"
    favoured, disfavoured = (people.say(i) for i in pair)
    differ = [
        f"{name} ({favoured[name]} against {disfavoured[name]})"
        for name in favoured
        if favoured[name] != disfavoured[name]
    ]
    alike = [name for name in favoured if favoured[name] == disfavoured[name]]
    sentences = [
        f"In round {moment.t} there were {len(people)} applicants, and the learner gave each a "
        f"chance of approval.",
        f"{over} had a chance of {chances[0]} and {under} one of {chances[1]}: a gap of "
        f"{points(case.gap)} points.",
        f"They differ in {_listed(differ)}." if differ else "The auditors see no difference.",
    ]
    if alike and differ:
        sentences.append(f"They do not differ in {_listed(alike)}.")
    sentences.append(
        f"One draw then decided: {was if decided[0] != decided[1] else f'both were {decided[0]}'}. "
        f"In hindsight it was right to {best if right[0] != right[1] else f'{right[0]} both'}; the "
        f"auditors do not know that."
    )
    return tuple(sentences)


def _panel(moment: Moment, case: Case) -> tuple[str, ...]:
    sentences = [
        f"An auditor objects if the gap is more than the distance they see between the two and "
        f"{points(case.sensitivity)} points (alpha − kappa) on top."
    ]
    for name in case.nearest_first:
        allowed = case.distances[name] + case.sensitivity
        verdict = "objects" if case.objects(name) else "does not object"
        sentences.append(
            f"{name} sees {points(case.distances[name])} points between them, would accept a gap "
            f"of {points(allowed)}, and {verdict}."
        )
    count = sum(map(case.objects, case.distances))
    result = "so the pair was reported" if case.reported else "so nothing was reported"
    sentences.append(
        f"The panel’s rule is “{moment.encounter.panel.rule}”; {count} of {len(case.distances)} "
        f"object, {result}."
    )
    if not case.reported:
        sentences.append("Of all pairs in the round, this one came closest to a report.")
    return tuple(sentences)


def _pivot(moment: Moment, case: Case, alpha: int) -> tuple[str, ...]:
    if case.pivot is None:
        return ("There is none: under this rule the panel can never report the pair.",)
    bar = case.distances[case.pivot] + alpha
    gap = int(moment.policy[case.over] - moment.policy[case.under])
    beyond = bool(exceeds(gap, case.distances[case.pivot], alpha))
    counted = "is more than that" if beyond else "is not more than that"
    if beyond:
        end = "so the round also counts as a violation"
    elif moment.violated(alpha):
        end = "though another pair makes the round a violation"
    elif case.reported:
        end = "so the report came as an early warning, and the round is not a violation"
    else:
        end = "so the round is not a violation"
    return (
        f"On this pair everything depends on {case.pivot}, its pivot: under this rule the panel "
        f"reports the pair exactly when {case.pivot} objects, whatever the chances are.",
        f"A violation would need a gap of more than {points(bar)} points, the pivot’s distance and "
        f"alpha = {points(alpha)} points on top. The gap of {points(gap)} {counted}, {end}.",
    )


def _learner(moment: Moment, case: Case, learner: Learner) -> tuple[str, ...]:
    if learner.ignores_reports:
        return ("Nothing: this learner does not listen to the panel.",)
    margins, schedule = learner.margins, learner.schedule
    after = learner.multiplier.step(
        moment.lam, reported=case.reported, beta=margins.beta, mu=schedule.mu(moment.t)
    )
    move = "rose" if after > moment.lam else "fell" if after < moment.lam else "stayed"
    if not case.reported:
        return (
            f"Nothing was reported, so no cost was added, and lam, the price of a report, {move} "
            f"from {moment.lam:.3f} to {after:.3f}.",
        )
    over, under = (moment.encounter.people.ids[i] for i in (case.over, case.under))
    amount = from_units(report_cost(moment.lam, len(moment.report)))
    label = schedule.error_weight() / learner.k
    return (
        f"The price of a report, lam, stood at {moment.lam:.3f}. Approving applicants like {over} "
        f"now costs the learner {amount:.3f} more, approving applicants like {under} {amount:.3f} "
        f"less: as much as {amount / label:.0f} known outcomes weigh, at eta/k = {label:.3f} each.",
        f"This pulls the two chances towards each other, and with them those of everybody whom the "
        f"learner cannot tell from {over} or {under}.",
        f"Then lam {move} to {after:.3f}: a report pushes it up, and in quiet rounds it sinks.",
    )


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
