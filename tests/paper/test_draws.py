"""Context-FTPL's draws have the right distribution: frequencies against integrals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats

from likewise.hypotheses import HypothesisClass, Pool, Segments
from likewise.learner.oracle import Oracle
from likewise.numerics.fixed_point import ONE, IntArray
from likewise.numerics.randomness import Noise, Purpose, Stream
from likewise.people import Feature, FeatureSchema

# Each case of a test fails for a right program with about this probability: p-values of chi-square
# tests are those of large samples, and every hypothesis is expected over a thousand times.
FALSE_ALARM = 1e-6
DRAWS = 100_000
SCALE = 1.5


def laplace_cdf(v: float) -> float:
    return 0.5 * math.exp(v) if v < 0 else 1 - 0.5 * math.exp(-v)


def laplace_pdf(v: float) -> float:
    return 0.5 * math.exp(-abs(v))


def frequencies(hypotheses: HypothesisClass, costs: IntArray, copies: int = 1) -> IntArray:
    """How often each hypothesis is drawn, by code."""
    noise = Noise(Stream(11, Purpose.ELICIT, 1), SCALE, copies)
    bits = Oracle(hypotheses).approvals(costs, noise, hypotheses.separating_points(), draws=DRAWS)
    on_set = hypotheses.predict(hypotheses.codes(), hypotheses.separating_points())
    place = (bits[:, None, :] == on_set[None, :, :]).all(axis=2)
    assert (place.sum(axis=1) == 1).all()
    return np.asarray(place.sum(axis=0))


def agrees(counts: IntArray, exact: list[float]) -> bool:
    return bool(stats.chisquare(counts, np.array(exact) * DRAWS).pvalue > FALSE_ALARM)


def one_threshold(bins: int) -> Segments:
    schema = FeatureSchema((Feature("score", low=0, high=bins),))
    return Segments(schema, score="score", cuts=[float(i) for i in range(1, bins)])


@pytest.mark.parametrize("cost", [-2.0, 0.0, 0.7, 3.0])
def test_with_one_separator_the_choice_follows_the_laplace_distribution(cost: float) -> None:
    pool = Pool.from_table([[0], [1]])
    approve = laplace_cdf(-cost / SCALE)
    costs = np.array([0, round(cost * ONE)])
    assert agrees(frequencies(pool, costs), [1 - approve, approve])


@pytest.mark.parametrize("costs", [(0.0, 0.0), (1.0, -2.0), (-3.0, 1.0)])
def test_with_two_bins_the_threshold_follows_the_integral(costs: tuple[float, float]) -> None:
    """Thresholds 0, 1, 2 cost a + b, b and 0, where a and b are the noisy costs of the bins."""
    a, b = (c / SCALE for c in costs)

    def both_then_least(z: float) -> float:  # b = z; threshold 0 wins if a < 0 and a + b < 0
        return laplace_pdf(z - b) * laplace_cdf(min(0.0, -z) - a)

    def second_then_least(z: float) -> float:  # threshold 1 wins if a ≥ 0 and b < 0
        return laplace_pdf(z - b) * (1 - laplace_cdf(-a))

    kinks = sorted({0.0, b, -a})
    p0 = integrate.quad(both_then_least, -40, 40, points=kinks, limit=200)[0]
    p1 = integrate.quad(second_then_least, -40, 0, points=[min(b, -1e-9)], limit=200)[0]
    cells = np.array([round(c * ONE) for c in costs])
    assert agrees(frequencies(one_threshold(2), cells), [p0, p1, 1 - p0 - p1])


def test_repeated_noise_follows_the_convolution() -> None:
    """The sum of two unit Laplace variables has the density (1 + |v|)·exp(−|v|)/4."""
    cost = 1.0
    tail = integrate.quad(lambda v: (1 + abs(v)) * math.exp(-abs(v)) / 4, cost / SCALE, 60)[0]
    pool = Pool.from_table([[0], [1]])
    counts = frequencies(pool, np.array([0, round(cost * ONE)]), copies=2)
    assert agrees(counts, [1 - tail, tail])


def test_every_hypothesis_of_a_pool_is_drawn_as_often_as_a_grid_integral_says() -> None:
    pool = Pool.from_table([[0, 0], [1, 0], [0, 1], [1, 1]])
    costs = np.array([0.3, -0.4, 0.1, 0.8])
    grid = (np.arange(1500) + 0.5) / 1500
    z = np.where(grid < 0.5, np.log(2 * grid), -np.log(2 - 2 * grid))  # equally likely slices
    on_set = pool.separating_points().astype(float)
    totals = costs[:, None, None] / SCALE + (
        on_set[0][:, None, None] * z[None, :, None] + on_set[1][:, None, None] * z[None, None, :]
    )
    exact = np.bincount(totals.argmin(axis=0).reshape(-1), minlength=4) / grid.size**2
    counts = frequencies(pool, np.rint(costs * ONE).astype(np.int64))
    # four two-sided comparisons share the false alarms; the slices are off by up to 1/1500 a side
    shares = counts / DRAWS
    allowed = stats.norm.isf(FALSE_ALARM / 8) * np.sqrt(exact * (1 - exact) / DRAWS) + 4 / 1500
    assert (np.abs(shares - exact) < allowed).all()
