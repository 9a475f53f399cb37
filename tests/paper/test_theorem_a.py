"""Theorem A (anytime Context-FTPL) and its counterpart for exponential weights, on small classes.

For every sequence of costs, even one chosen against the policy,

    Σ f_t(π^t) − min_h Σ f_t(h)  ≤  Σ s·B_t²/(2·sigma_t) + A·sigma_T        (Context-FTPL)
    Σ f_t(π^t) − min_h Σ f_t(h)  ≤  Σ B_t²/(8·tau_t) + tau_T·log|H|          (exponential weights)

where the scales do not decrease. The scales are those that the schedule sets. No sampling: π^t is
computed, so the inequalities hold surely.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

from likewise.fixed_point import ONE, FloatArray, IntArray
from likewise.hypotheses import HypothesisClass, Pool, Segments
from likewise.learning.primal import ContextFTPL, ExponentialWeights, Frozen, Player
from likewise.learning.schedules import SelfTuned
from likewise.learning.state import Tuning
from likewise.schema import Feature, FeatureSchema

ROUNDS = 60
# Noise on a second point is integrated over equally likely slices of the Laplace distribution (on
# the first exactly). The integrand varies by at most 5·B, so the midpoints are off by less than
# this much a round and unit of cost.
SLICES = 1000
OFF = 3.0 / SLICES

Adversary = Callable[[np.random.Generator, FloatArray, int], FloatArray]


def random_costs(rng: np.random.Generator, policy: FloatArray, t: int) -> FloatArray:
    return rng.uniform(-1, 1, len(policy)) * float(rng.choice([0.1, 1.0, 3.0]))


def against_the_policy(rng: np.random.Generator, policy: FloatArray, t: int) -> FloatArray:
    return np.where(policy > 0.5, 1.0, -1.0)


def alternating(rng: np.random.Generator, policy: FloatArray, t: int) -> FloatArray:
    return np.full(len(policy), 1.0 if t % 2 else -1.0)


def growing(rng: np.random.Generator, policy: FloatArray, t: int) -> FloatArray:
    return np.where(policy > 0.5, 1.0, -1.0) * math.sqrt(t + 1)


ADVERSARIES = pytest.mark.parametrize(
    "adversary", [random_costs, against_the_policy, alternating, growing]
)
SCALES = pytest.mark.parametrize("x", [0.05, 0.3, 1.0, 3.0])


def laplace_slices() -> FloatArray:
    u = (np.arange(SLICES) + 0.5) / SLICES
    return np.where(u < 0.5, np.log(2 * u), -np.log(2 - 2 * u))


def laplace_cdf(v: FloatArray) -> FloatArray:
    tail = 0.5 * np.exp(-np.abs(v))
    return np.where(v < 0, tail, 1.0 - tail)


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


def sides(table: FloatArray, totals: FloatArray) -> tuple[FloatArray, list[IntArray]]:
    """Given the noise on all points but the last: the least cost of the hypotheses that predict 0
    there and of those that predict 1, for every slice, and which hypotheses these are.
    """
    z = laplace_slices() if table.shape[1] == 2 else np.zeros(1)
    costs = totals[:, None] + (table[:, :1] * z if table.shape[1] == 2 else 0.0)
    groups = [np.where(table[:, -1:] == side, costs, np.inf) for side in (0.0, 1.0)]
    return np.stack([g.min(axis=0) for g in groups]), [g.argmin(axis=0) for g in groups]


def perturbed_leader(table: FloatArray, totals: FloatArray, scale: float) -> FloatArray:
    """π^t over all hypotheses: 1 is predicted on the last point iff scale·z < the difference."""
    (zero, one), (at_zero, at_one) = sides(table, totals / scale)
    chance = laplace_cdf(zero - one)
    weights = np.bincount(at_one, chance, len(table)) + np.bincount(
        at_zero, 1.0 - chance, len(table)
    )
    return np.asarray(weights / len(chance))


def noise_gain(table: FloatArray) -> float:
    """A = E max_h Σ_q z_q·h(q), rounded up; E max(0, z + d) = max(0, d) + exp(−|d|)/2."""
    (zero, one), _ = sides(table, np.zeros(len(table)))
    zero, one = np.minimum(zero, 1e6), np.minimum(one, 1e6)  # no hypothesis there: never the best
    d = zero - one
    gain = float((-zero + np.maximum(0.0, d) + 0.5 * np.exp(-np.abs(d))).mean())
    assert gain <= table.shape[1] / 2 + OFF
    return gain + OFF


@dataclass
class Run:
    """A player against an adversary, at the scales that the schedule sets.

    ``policy`` says π^t(q), from all costs as the class keeps them, the cost of every hypothesis,
    and the scale.
    """

    hypotheses: HypothesisClass
    x: float
    policy: Callable[[IntArray, FloatArray, float], FloatArray]
    tuning: Tuning = field(default_factory=Tuning)
    scales: list[float] = field(default_factory=list)
    ranges: list[float] = field(default_factory=list)
    regret: float = 0.0

    def against(self, adversary: Adversary) -> Run:
        table, points = table_of(self.hypotheses), self.hypotheses.separating_points()
        s, schedule, rng = table.shape[1], SelfTuned(x=self.x), np.random.default_rng(3)
        costs, totals, loss = self.hypotheses.no_costs(), np.zeros(len(table)), 0.0
        for t in range(ROUNDS):
            # known before the round, at least any B_t here, and sometimes less than before
            largest = s * 3.0 * math.sqrt(t + 1) * (2.0 if t % 7 == 0 else 1.0)
            self.tuning = self.tuning.opened(largest)
            # k and the player's own x do not count where an x is given
            self.scales.append(schedule.scale(self.tuning.peak, 7, s, 99.0))
            scores = self.policy(costs, totals, self.scales[-1])
            units = np.rint(adversary(rng, scores, t) * ONE).astype(np.int64)
            self.ranges.append(float(np.abs(units).sum()) / ONE)
            assert self.ranges[-1] <= largest
            self.tuning = self.tuning.charged(int(np.abs(units).sum()))
            loss += float(scores @ units) / ONE
            totals += table @ units / ONE
            costs = self.hypotheses.charge(costs, points, units)
        self.regret = loss - float(totals.min())
        return self

    def stability(self, constant: float) -> float:
        """Σ constant·B_t²/scale_t."""
        return sum(constant * b * b / s for b, s in zip(self.ranges, self.scales, strict=True))

    def check(self, player: Player, constant: float, gain: float, off: float) -> None:
        assert self.scales == sorted(self.scales)
        bound = self.stability(constant) + gain * self.scales[-1]
        assert self.regret <= bound + off
        # the corollary, with the constants of Theorem B: C·sqrt(max S)
        c = player.stability(self.hypotheses) / self.x + player.gain(self.hypotheses) * self.x
        assert bound <= c * math.sqrt(self.tuning.peak) + OFF * self.scales[-1]


@SMALL_CLASSES
@ADVERSARIES
@SCALES
def test_theorem_a_holds_for_context_ftpl(
    hypotheses: HypothesisClass, adversary: Adversary, x: float
) -> None:
    table = table_of(hypotheses)

    def policy(_: IntArray, totals: FloatArray, scale: float) -> FloatArray:
        return perturbed_leader(table, totals, scale) @ table

    run = Run(hypotheses, x, policy).against(adversary)
    off = OFF * sum(run.ranges)
    run.check(ContextFTPL(), hypotheses.separators / 2, noise_gain(table), off)


@SMALL_CLASSES
@ADVERSARIES
@SCALES
def test_the_counterpart_holds_for_exponential_weights(
    hypotheses: HypothesisClass, adversary: Adversary, x: float
) -> None:
    player, points = ExponentialWeights(), hypotheses.separating_points()

    def policy(costs: IntArray, _: FloatArray, scale: float) -> FloatArray:
        frozen = Frozen(1, 1, costs, scale, 1)
        return np.array(player.scores(hypotheses, frozen, points, 0, 0)) / ONE

    run = Run(hypotheses, x, policy).against(adversary)
    off = 2.0**-20 * sum(run.ranges)  # scores are integers of 2^-20
    run.check(player, 1 / 8, hypotheses.log_size, off)
