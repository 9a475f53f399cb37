"""A proposal for eta and kappa, from a simulation on one's own people, class and panel.

eta weighs accuracy against fairness, kappa says how early the panel is asked, which is the
auditors' time. Both move error, violations and reports. Whoever knows how many reports a panel can
look at, and how many violations are bearable, need not know eta and kappa.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from likewise.errors import LikewiseError, ParameterError
from likewise.evaluation.counts import summarise
from likewise.evaluation.frontiers import Outcome, frontier
from likewise.experiments.configurations import checked_delay
from likewise.experiments.parallel import Processes, Progress, Workers, silent
from likewise.game import Delays, play
from likewise.learning import Learner, SelfTuned
from likewise.learning.schedules.self_tuned import KAPPA_SHARE
from likewise.validation import integer, real
from likewise.worlds import Steady

__all__ = ["ETAS", "KAPPA_SHARES", "Proposal", "Tried", "propose"]

ETAS = (1.0, 1 / 4, 1 / 16, 1 / 24, 1 / 64, 1 / 128)
KAPPA_SHARES = (0.5, KAPPA_SHARE, 1 / 6, 1 / 12)


@dataclass(frozen=True)
class Tried:
    """One pair of settings and the counts of its games: error, and per 1,000 rounds."""

    eta: float
    kappa: float
    error_rate: float
    violations: float
    reports: float

    @property
    def outcome(self) -> Outcome:
        """The counts as a point."""
        return Outcome(self.error_rate, self.violations, self.reports)


@dataclass(frozen=True)
class Proposal:
    """The settings that are proposed, and all that were tried.

    ``within`` says that violations are within the limit too; where none is, the one with the fewest
    of those within the budget is proposed.
    """

    chosen: Tried
    within: bool
    tried: tuple[Tried, ...]
    budget: float
    limit: float

    @property
    def best(self) -> list[Tried]:
        """Those of the tried that no other beats on error, violations and reports together."""
        return [self.tried[n] for n in frontier([one.outcome for one in self.tried])]


def propose(
    worlds: Sequence[Steady],
    budget: float,
    *,
    alpha: float = 0.3,
    eps: float | None = None,
    rounds: int = 1000,
    limit: float = 10.0,
    feedback: str = "full",
    audit_share: float = 1.0,
    delay: str = "0",
    workers: Workers | None = None,
    progress: Progress = silent,
) -> Proposal:
    """The most accurate of a grid of eta and kappa within a budget of reports a thousand rounds.

    Parameters
    ----------
    worlds: who arrives before which panel, once for every seed; each setting plays a game in every
        one, and counts are averaged. For people of your own it is
        :class:`likewise.worlds.Resampled`, which draws k of them a round:
        ``[Resampled(seed, 8, people, labels, panel, pool) for seed in (1, 2)]``, with the people of
        the pool's schema (``pool.people(frame)``) and labels 0 or 1 in their order.
    budget: the most reports that the panel can look at, in a thousand rounds.
    alpha, eps, feedback, audit_share: of the learner, as it will be deployed.
    delay: how late feedback will be, as ``likewise simulate --delay`` takes it: ``50``,
        ``geometric:0.02``, ``audits:0,labels:200``.
    rounds: of each game.
    limit: the most rounds in violation that are bearable, in a thousand.
    workers: processes to play in; one by default.
    progress: a function that is told what was played, and how many games are done.

    >>> import numpy as np
    >>> from likewise import Feature, FeatureSchema, MetricAuditor, Panel, Segments
    >>> from likewise.auditing import WeightedL1
    >>> from likewise.worlds import Resampled
    >>> schema = FeatureSchema((Feature("income", low=0, high=100),))
    >>> people = schema.people([[10], [40], [60], [90]])
    >>> panel = Panel([MetricAuditor("banker", WeightedL1({"income": 1.0}))], "any")
    >>> lender = Segments(schema, score="income", cuts=[25, 50, 75])
    >>> world = Resampled(1, 2, people, np.array([0, 0, 1, 1]), panel, lender)
    >>> found = propose([world], budget=1000, rounds=10)
    >>> found.chosen in found.best, len(found.tried)
    (True, 24)
    """
    budget = _per_thousand("budget", budget, 1000.0 * audit_share)
    limit = _per_thousand("limit", limit, 1000.0)
    rounds = integer("rounds", rounds, 10, 1 << 32, "Ten at least.")
    if not worlds:
        raise ParameterError("worlds", "must not be empty", worlds, "One for each seed.")
    late = checked_delay(delay, rounds)
    fair = alpha if eps is None else eps
    grid = [(eta, share * fair) for eta in ETAS for share in KAPPA_SHARES]
    rules = (alpha, fair, feedback, audit_share, late)
    tasks = [
        (n, world, seed, rounds, *one, *rules)
        for n, one in enumerate(grid)
        for seed, world in enumerate(worlds, start=1)
    ]
    found: dict[int, list[Outcome]] = {}
    for done, (n, outcome) in enumerate(
        (Processes(1) if workers is None else workers).map(_tried, tasks), start=1
    ):
        found.setdefault(n, []).append(outcome)
        progress(f"eta = {grid[n][0]:g}", done)
    tried = [Tried(*grid[n], *_mean(found[n])) for n in range(len(grid))]
    return _chosen(tried, budget, limit)


def _per_thousand(name: str, value: float, most: float) -> float:
    number = real(name, value, "It counts rounds of a thousand.")
    if not 0 <= number <= most:
        raise ParameterError(
            name, f"must be in [0, {most:g}], since there are so many audits in a thousand rounds",
            value, "A report needs an audit.",
        )  # fmt: skip
    return number


def _tried(
    n: int, world: Steady, seed: int, rounds: int, eta: float, kappa: float, alpha: float,
    eps: float, feedback: str, audit_share: float, delay: Delays,
) -> tuple[int, Outcome]:  # fmt: skip
    """One game with one setting, its counts per 1,000 rounds."""
    learner = Learner(
        world.hypotheses(), world.k, alpha, eps, seed, schedule=SelfTuned(eta, kappa=kappa),
        feedback=feedback, audit_share=audit_share,
    )  # fmt: skip
    counted = summarise(play(world, learner, rounds, delay=delay, evaluation_draws=1000))
    per = 1000.0 / rounds
    return n, Outcome(counted.error_rate, per * counted.violations, per * counted.reports)


def _mean(outcomes: Sequence[Outcome]) -> tuple[float, float, float]:
    sums = [math.fsum(values) for values in zip(*(one.all for one in outcomes), strict=True)]
    error, violations, reports = (value / len(outcomes) for value in sums)
    return error, violations, reports


def _chosen(tried: Sequence[Tried], budget: float, limit: float) -> Proposal:
    affordable = [one for one in tried if one.reports <= budget]
    if not affordable:
        least = min(tried, key=lambda one: one.reports)
        raise LikewiseError(
            f"No setting that was tried keeps to a budget of {budget:g} reports a thousand rounds: "
            f"the fewest are {least.reports:.0f}, with eta = {least.eta:g} and kappa = "
            f"{least.kappa:g}. Allow for more, or take a rule that needs more objections, or a "
            f"larger alpha."
        )
    bearable = [one for one in affordable if one.violations <= limit]
    if bearable:
        chosen = min(bearable, key=lambda one: one.outcome.all)
    else:
        chosen = min(affordable, key=lambda one: (one.violations, one.error_rate, one.reports))
    return Proposal(chosen, bool(bearable), tuple(tried), budget, limit)
