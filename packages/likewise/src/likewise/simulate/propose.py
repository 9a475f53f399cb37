"""A proposal for eta and kappa, from a simulation on one's own people, class and panel.

eta weighs errors against reports, kappa says how early the panel is asked; both move error,
violations, and how often the panel has to look. You say how many rounds in a thousand a panel can
look at, and how many violations are bearable, and need not know eta and kappa.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from likewise.errors import LikewiseError, ParameterError
from likewise.learner.schedules import KAPPA_SHARE
from likewise.simulate.counts import Outcome, frontier, summarise
from likewise.simulate.game import Game
from likewise.simulate.parallel import Processes, Progress, silent
from likewise.simulate.rounds import play
from likewise.simulate.world import Steady
from likewise.validation import integer, within

ETAS = (1.0, 1 / 4, 1 / 16, 1 / 24, 1 / 64, 1 / 128)
KAPPA_SHARES = (0.5, KAPPA_SHARE, 1 / 6, 1 / 12)


@dataclass(frozen=True)
class Trial:
    """One pair of settings and the counts of its games: error, and per 1,000 rounds."""

    eta: float
    kappa: float
    error_rate: float
    violations: float
    reports: float
    looks: float

    @property
    def counts(self) -> Outcome:
        return Outcome(self.error_rate, self.violations, self.looks)


@dataclass(frozen=True)
class Proposal:
    """The settings that are proposed, and all trials.

    ``within`` says that violations are within the limit too; where none is, the trial with the
    fewest of those within the budget is proposed.
    """

    chosen: Trial
    within: bool
    trials: tuple[Trial, ...]
    budget: float
    limit: float

    @property
    def best(self) -> list[Trial]:
        """The trials that no other beats on error, violations and looks together."""
        return [self.trials[n] for n in frontier([trial.counts for trial in self.trials])]


def propose(
    worlds: Sequence[Steady],
    budget: float,
    game: Game | None = None,
    *,
    limit: float = 10.0,
    workers: Processes | None = None,
    progress: Progress = silent,
) -> Proposal:
    """The most accurate of a grid of eta and kappa within a budget of looks a thousand rounds.

    Args:
        worlds: who arrives before which panel, once for every seed; each setting plays a game in
            every one, and counts are averaged. For people of your own it is
            :class:`likewise.simulate.Resampled`, which draws k of them a round: ``[Resampled(seed,
            8, people, labels, panel, pool) for seed in (1, 2)]``, with the people of the pool's
            schema (``pool.people(frame)``) and labels 0 or 1 in their order.
        budget: the most rounds that the panel can look at, in a thousand.
        game: rounds, alpha, eps, feedback, attention and delay, as they will be; the worlds, eta
            and kappa take the place of its own.
        limit: the most rounds in violation that are bearable, in a thousand.
        workers: processes to play in; one by default.
        progress: a function that is told what was played, and how many games are done.

    >>> import numpy as np
    >>> from likewise import Feature, FeatureSchema, MetricAuditor, Panel, Segments
    >>> from likewise.panel import WeightedL1
    >>> from likewise.simulate import Resampled
    >>> schema = FeatureSchema((Feature("income", low=0, high=100),))
    >>> people = schema.people([[10], [40], [60], [90]])
    >>> panel = Panel([MetricAuditor("banker", WeightedL1({"income": 1.0}))], "any")
    >>> lender = Segments(schema, score="income", cuts=[25, 50, 75])
    >>> world = Resampled(1, 2, people, np.array([0, 0, 1, 1]), panel, lender)
    >>> proposal = propose([world], budget=1000, game=Game(rounds=10))
    >>> proposal.chosen in proposal.best, len(proposal.trials)
    (True, 24)
    """
    game = Game() if game is None else game
    budget, limit = _per_thousand("budget", budget), _per_thousand("limit", limit)
    integer("rounds", game.rounds, 10, 1 << 32, "Ten at least.")
    if not worlds:
        raise ParameterError("worlds", "must not be empty", worlds, "One for each seed.")
    grid = [(eta, share * game.eps_or_alpha) for eta in ETAS for share in KAPPA_SHARES]
    tasks = [
        (n, world, replace(game, learner="auto", learner_settings={"eta": eta, "kappa": kappa},
                           seed=seed))
        for n, (eta, kappa) in enumerate(grid)
        for seed, world in enumerate(worlds, start=1)
    ]  # fmt: skip
    games: dict[int, list[tuple[float, ...]]] = {}
    results = (Processes(1) if workers is None else workers).map(_play, tasks)
    for count, (n, counts) in enumerate(results, start=1):
        games.setdefault(n, []).append(counts)
        progress(f"eta = {grid[n][0]:g}", count)
    trials = []
    for n, settings in enumerate(grid):
        columns = zip(*games[n], strict=True)
        trials.append(Trial(*settings, *(math.fsum(c) / len(games[n]) for c in columns)))
    return _choose(trials, budget, limit)


def _per_thousand(name: str, value: float) -> float:
    return within(name, value, 0, 1000, "It counts rounds of a thousand.")


def _play(n: int, world: Steady, game: Game) -> tuple[int, tuple[float, ...]]:
    """One game with one setting: its error, and its counts per 1,000 rounds."""
    learner = game.make_learner(world.hypotheses(), world.k)
    played = play(world, learner, game.rounds, delay=game.delays, evaluation_draws=1000)
    summary, per = summarise(played), 1000.0 / game.rounds
    counts = (summary.violations, summary.reports, summary.looks)
    return n, (summary.error_rate, *(per * count for count in counts))


def _choose(trials: Sequence[Trial], budget: float, limit: float) -> Proposal:
    affordable = [trial for trial in trials if trial.looks <= budget]
    if not affordable:
        least = min(trials, key=lambda trial: trial.looks)
        raise LikewiseError(
            f"No setting that was tried keeps to a budget of {budget:g} rounds looked at in a "
            f"thousand: the fewest are {least.looks:.0f}, with eta = {least.eta:g} and kappa = "
            f"{least.kappa:g}. Let a model of the panel choose what it is asked (--attention model "
            f"looks less often the more rounds are played), allow for more, or take a rule that "
            f"needs more objections, or a larger alpha."
        )
    bearable = [trial for trial in affordable if trial.violations <= limit]
    if bearable:
        chosen = min(bearable, key=lambda trial: trial.counts)
    else:
        chosen = min(affordable, key=lambda t: (t.violations, t.error_rate, t.looks))
    return Proposal(chosen, bool(bearable), tuple(trials), budget, limit)
