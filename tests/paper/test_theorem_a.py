"""Theorem A (anytime Context-FTPL) and its counterpart for exponential weights, on small classes.

For every sequence of costs, even one chosen against the policy,

    Σ f_t(π^t) − min_h Σ f_t(h)  ≤  Σ s·B_t²/(2·sigma_t) + A·sigma_T        (Context-FTPL)
    Σ f_t(π^t) − min_h Σ f_t(h)  ≤  Σ B_t²/(8·tau_t) + tau_T·log|H|          (exponential weights)

where the scales do not decrease. No sampling: π^t is computed, so the inequalities hold surely.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from likewise.hypotheses import ExactWeights, HypothesisClass, Pool, Segments
from likewise.schema import Feature, FeatureSchema
from likewise.units import ONE, FloatArray, IntArray

ROUNDS = 60
# Equally likely slices of the Laplace distribution stand for it; the integral over them is off by
# less than this much a round and unit of cost.
SLICES = 200
OFF = 2.0 / SLICES

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


def perturbed_leader(table: FloatArray, totals: FloatArray, scale: float) -> FloatArray:
    """π^t over all hypotheses, by integrating over the noise on at most two points."""
    z = laplace_slices() * scale
    shape = (len(z),) * table.shape[1]
    noise = np.stack(np.meshgrid(*[z] * table.shape[1], indexing="ij"), -1).reshape(-1, len(shape))
    best = (totals[:, None] + table @ noise.T).argmin(axis=0)
    return np.bincount(best, minlength=len(table)) / len(best)


@SMALL_CLASSES
@ADVERSARIES
@SCALES
def test_theorem_a_holds_for_context_ftpl(
    hypotheses: HypothesisClass, adversary: Adversary, x: float
) -> None:
    table = table_of(hypotheses)
    s = table.shape[1]
    a = _noise_gain(table)
    rng = np.random.default_rng(3)
    totals, squares, bound, loss, off, scale = np.zeros(len(table)), 0.0, 0.0, 0.0, 0.0, 0.0
    for t in range(ROUNDS):
        largest = s * 3.0 * math.sqrt(t + 1)  # known before the round, at least any B_t here
        scale = max(scale, x * math.sqrt(largest**2 + squares))
        policy = perturbed_leader(table, totals, scale)
        costs = adversary(rng, policy @ table, t)
        b = float(np.abs(costs).sum())
        loss += float(policy @ (table @ costs))
        bound += s * b * b / (2 * scale)
        off += OFF * b
        totals += table @ costs
        squares += b * b
    assert loss - totals.min() <= bound + a * scale + off


def _noise_gain(table: FloatArray) -> float:
    """A = E max_h Σ_q z_q·h(q), for at most two points, by the same slices, rounded up."""
    z = laplace_slices()
    noise = np.stack(np.meshgrid(*[z] * table.shape[1], indexing="ij"), -1)
    gain = (noise.reshape(-1, table.shape[1]) @ table.T).max(axis=1).mean()
    assert gain <= table.shape[1] / 2 + 1e-9
    return float(gain) + OFF


@SMALL_CLASSES
@ADVERSARIES
@SCALES
def test_the_counterpart_holds_for_exponential_weights(
    hypotheses: HypothesisClass, adversary: Adversary, x: float
) -> None:
    assert isinstance(hypotheses, ExactWeights)
    points, table = hypotheses.separating_points(), table_of(hypotheses)
    rng = np.random.default_rng(4)
    state: IntArray = hypotheses.no_costs()
    squares, bound, loss, scale = 0.0, 0.0, 0.0, 0.0
    totals = np.zeros(len(table))
    for t in range(ROUNDS):
        largest = table.shape[1] * 3.0 * math.sqrt(t + 1)
        scale = max(scale, x * math.sqrt(largest**2 + squares))
        weights = hypotheses.approval(state, scale * ONE, points)
        scores = np.array([weight / total for weight, total in weights])
        units = np.rint(adversary(rng, scores, t) * ONE).astype(np.int64)
        b = float(np.abs(units).sum()) / ONE
        loss += float(scores @ units) / ONE
        bound += b * b / (8 * scale)
        totals += table @ units / ONE
        state = hypotheses.charge(state, points, units)
        squares += b * b
    rounding = 1e-9 * ROUNDS  # weights are whole numbers of 2^-40 of the largest
    assert loss - totals.min() <= bound + scale * hypotheses.log_size + rounding
