"""Players against an adversary, at the scales that the schedule sets, with policies computed.

Scales are those of the program, and no policy is sampled.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

from likewise.hypotheses import HypothesisClass, Pool, Segments
from likewise.learner.players import Draws, ExponentialWeights, Frozen, Player
from likewise.learner.schedules import SelfTuned
from likewise.learner.state import Tuning
from likewise.numerics.fixed_point import ONE, FloatArray, IntArray
from likewise.people import Feature, FeatureSchema
from tests.paper.referee import OFF, charged, opened, perturbed_leader, quantiles

ROUNDS = 60

Adversary = Callable[[np.random.Generator, FloatArray, int], FloatArray]


def random_costs(rng: np.random.Generator, policy: FloatArray, t: int) -> FloatArray:
    return rng.uniform(-1, 1, len(policy)) * float(rng.choice([0.1, 1.0, 3.0]))


def against_the_policy(rng: np.random.Generator, policy: FloatArray, t: int) -> FloatArray:
    return np.where(policy > 0.5, 1.0, -1.0)


def alternating(rng: np.random.Generator, policy: FloatArray, t: int) -> FloatArray:
    return np.full(len(policy), 1.0 if t % 2 else -1.0)


def growing(rng: np.random.Generator, policy: FloatArray, t: int) -> FloatArray:
    return np.where(policy > 0.5, 1.0, -1.0) * math.sqrt(t + 1)


def one_at_a_time(rng: np.random.Generator, policy: FloatArray, t: int) -> FloatArray:
    """One point a round, against the policy there: what B is, all of it is the range."""
    costs = np.zeros(len(policy))
    place = t % len(policy)
    costs[place] = 1.0 if policy[place] > 0.5 else -1.0
    return costs


ADVERSARIES = pytest.mark.parametrize(
    "adversary", [random_costs, against_the_policy, alternating, growing, one_at_a_time]
)
SCALES = pytest.mark.parametrize(
    "x", [0.05, 1.0, *(pytest.param(x, marks=pytest.mark.long) for x in (0.3, 3.0))]
)


def coins(points: int, **settings: int) -> Segments:
    """All functions on some points: a threshold on one bin, for each level of a category."""
    levels = tuple(f"l{i}" for i in range(points))
    schema = FeatureSchema((Feature("score"), Feature("kind", "category", levels=levels)))
    return Segments(schema, score="score", cuts=[], by=["kind"], **settings)


def two_bins() -> Segments:
    schema = FeatureSchema((Feature("score", low=0, high=2),))
    return Segments(schema, score="score", cuts=[1.0])


SMALL: dict[str, HypothesisClass] = {
    "one point": Pool.from_table([[0], [1]]),
    "three on two points": Pool.from_table([[0, 0], [1, 0], [1, 1]]),
    "all on two points": Pool.from_table([[0, 0], [1, 0], [0, 1], [1, 1]]),
    "a threshold": two_bins(),
}
SMALL_CLASSES = pytest.mark.parametrize("hypotheses", SMALL.values(), ids=SMALL.keys())


def table_of(hypotheses: HypothesisClass) -> FloatArray:
    """h(q) for every hypothesis and every separating point; costs are put on these points."""
    return hypotheses.predict(hypotheses.codes(), hypotheses.separating_points()).astype(float)


def noise_gain(table: FloatArray) -> float:
    """A = E max_h Σ_q z_q·h(q) for one or two points, rounded up."""
    # With z on the first point, E max(0, z' + d) = max(0, d) + exp(−|d|)/2 for the second.
    z = quantiles(1000) if table.shape[1] == 2 else np.zeros(1)
    first = table[:, :1] * z if table.shape[1] == 2 else np.zeros((len(table), 1))
    zero, item = (np.where(table[:, -1:] == side, first, -1e6).max(axis=0) for side in (0.0, 1.0))
    d = item - zero
    gain = float((zero + np.maximum(0.0, d) + 0.5 * np.exp(-np.abs(d))).mean())
    assert gain <= table.shape[1] / 2 + OFF
    return gain + OFF


@dataclass
class Run:
    """A player against an adversary, at the scales that the schedule sets.

    ``policy`` says π^t(q), from all costs as the class keeps them, the cost of every hypothesis,
    and the scale. Costs are on the separating points.
    """

    hypotheses: HypothesisClass
    x: float
    policy: Callable[[IntArray, FloatArray, float], FloatArray]
    tuning: Tuning = field(default_factory=lambda: Tuning.start(1))
    scales: list[float] = field(default_factory=list)
    ranges: list[float] = field(default_factory=list)
    regrets: FloatArray = field(default_factory=lambda: np.zeros(0))

    def against(self, adversary: Adversary) -> Run:
        table, points = table_of(self.hypotheses), self.hypotheses.separating_points()
        s, schedule, rng = table.shape[1], SelfTuned(x=self.x), np.random.default_rng(3)
        costs, totals, loss = self.hypotheses.no_costs(), np.zeros(len(table)), 0.0
        for t in range(ROUNDS):
            # known before the round, at least any B_t here, and sometimes less than before
            largest = s * 3.0 * math.sqrt(t + 1) * (2.0 if t % 7 == 0 else 1.0)
            self.tuning = opened(self.tuning, largest)
            self.scales.append(schedule.scale(float(self.tuning.peak[0]), 7, s, self.x))
            scores = self.policy(costs, totals, self.scales[-1])
            units = np.rint(adversary(rng, scores, t) * ONE).astype(np.int64)
            self.ranges.append(float(np.abs(units).sum()) / ONE)
            assert self.ranges[-1] <= largest
            self.tuning = charged(self.tuning, self.ranges[-1])
            loss += float(scores @ units) / ONE
            totals += table @ units / ONE
            costs = self.hypotheses.charge(costs, points, units)
        self.regrets = loss - totals
        return self

    def stability(self, constant: float) -> float:
        """Σ constant·B_t²/scale_t."""
        return sum(constant * b * b / s for b, s in zip(self.ranges, self.scales, strict=True))

    def check(
        self, player: Player, constant: float, gains: FloatArray | float, off: float
    ) -> float:
        """The theorem, for every hypothesis; and the corollary. Returns how close it came."""
        assert self.scales == sorted(self.scales)
        bounds = self.stability(constant) + np.asarray(gains) * self.scales[-1]
        assert (self.regrets <= bounds + off).all()
        # the corollary, with the constants of Theorem B: C·sqrt(max S)
        (term,) = player.terms(self.hypotheses, self.x)
        root = math.sqrt(float(self.tuning.peak[0]))
        assert (bounds <= term.constant() * root + OFF * self.scales[-1]).all()
        return float((self.regrets / bounds).max())


def drawn_policy(hypotheses: HypothesisClass) -> Callable[..., FloatArray]:
    table = table_of(hypotheses)

    def policy(_: IntArray, totals: FloatArray, scale: float) -> FloatArray:
        return perturbed_leader(table, totals / scale) @ table

    return policy


def exact_policy(hypotheses: HypothesisClass) -> Callable[..., FloatArray]:
    player, points = ExponentialWeights(), hypotheses.separating_points()

    def policy(costs: IntArray, _: FloatArray, scale: float) -> FloatArray:
        frozen = Frozen(1, 1, costs, np.array([scale]), 1)
        return np.array(player.estimates(hypotheses, frozen, points, Draws(0)).scores) / ONE

    return policy


def coin_against(costs: list[float], chance: Callable[[float], float]) -> float:
    """The regret of a coin at a fixed scale, whose chance is a function of all costs so far."""
    total = loss = 0.0
    for cost in costs:
        loss += cost * chance(total)
        total += cost
    return loss - min(0.0, total)
