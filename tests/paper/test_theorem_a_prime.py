"""Theorem A′ in docs/research/theory.md, exponential weights with a prior.

For every sequence of costs, even one chosen against the policy, surely,

    Σ f_t(π^t) − f_t(h)  ≤  Σ B_t²/(8·tau_t) + tau_T·ln(1/prior(h)).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from likewise.hypotheses import ExactWeights, HypothesisClass, Pool, Segments
from likewise.learner.players import ContextFTPL, ExponentialWeights, NestedFTPL
from likewise.numerics.fixed_point import ONE, FloatArray
from likewise.people import Feature, FeatureSchema
from tests.paper.runs import (
    ADVERSARIES,
    SCALES,
    Adversary,
    Run,
    against_the_policy,
    coin_against,
    coins,
    exact_policy,
    two_bins,
)

# ── Exponential weights, with a prior ───────────────────────────────────────────────────────────

PRIORS: dict[str, ExactWeights] = {
    "flat": Pool.from_table([[0, 0], [1, 0], [0, 1], [1, 1]]).with_prior("flat"),
    "half on the constants": Pool.from_table([[0, 0], [1, 0], [0, 1], [1, 1]]),
    "our own": Pool.from_table([[0, 0], [1, 0], [1, 1]]).with_prior([0.9, 0.001, 0.099]),
    "a threshold": two_bins(),
    "a tree": coins(3),
    "a larger tree": Segments(
        FeatureSchema((Feature("a", "flag"), Feature("b", "flag"), Feature("score"))),
        score="score", cuts=[0.0], by=["a", "b"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PRIORS)
@ADVERSARIES
@SCALES
def test_theorem_a_prime_holds_for_exponential_weights_with_a_prior(
    name: str, adversary: Adversary, x: float
) -> None:
    hypotheses = PRIORS[name]
    assert isinstance(hypotheses, HypothesisClass)
    run = Run(hypotheses, x, exact_policy(hypotheses)).against(adversary)
    off = 2.0**-20 * sum(run.ranges)  # scores are integers of 2^-20
    run.check(ExponentialWeights(), 1 / 8, hypotheses.log_inverse_priors(hypotheses.codes()), off)


@pytest.mark.parametrize("name", ["our own", "half on the constants"])
def test_the_regret_to_a_mixture_is_at_most_its_divergence_from_the_prior(name: str) -> None:
    """tau_T·KL(π‖prior), the sharper form: against random mixtures of hypotheses."""
    hypotheses = PRIORS[name]
    assert isinstance(hypotheses, HypothesisClass)
    prior = np.exp(-hypotheses.log_inverse_priors(hypotheses.codes()))
    rng = np.random.default_rng(1)
    for x in (0.05, 1.0):
        run = Run(hypotheses, x, exact_policy(hypotheses)).against(against_the_policy)
        off = 2.0**-20 * sum(run.ranges)
        for _ in range(200):
            mixture = rng.dirichlet(np.full(len(prior), 0.5)) + 1e-12
            divergence = float(mixture @ np.log(mixture / prior))
            bound = run.stability(1 / 8) + run.scales[-1] * divergence
            assert float(run.regrets @ mixture) <= bound + off


def weighted(prior: float, tau: float) -> Callable[[float], float]:
    """The chance of a hypothesis of this prior, beside one that costs nothing."""
    return lambda total: 1 / (1 + (1 - prior) / prior * math.exp(min(700.0, total / tau)))


def test_the_bound_for_weights_is_nearly_reached() -> None:
    """At a fixed temperature: with 0.95 of either of its terms it would break."""
    turning = coin_against([1.0, -1.0] * 5000, weighted(0.5, 20.0))
    assert 0.95 < turning / (10_000 / (8 * 20.0)) <= 1
    # costs that always ask for what is unlikely, too small for the first term to matter
    rare = coin_against([-0.01] * 200_000, weighted(0.001, 20.0))
    assert 0.95 < rare / (200_000 * 1e-4 / (8 * 20.0) + 20.0 * math.log(1000)) <= 1


def test_the_program_weighs_as_in_that_test() -> None:
    """A hypothesis of prior 0.001, which costs 40 less at the temperature 20."""
    pool = Pool.from_table([[0], [1]]).with_prior([0.999, 0.001])
    costs = np.array([0, -40 * ONE], dtype=np.int64)
    actual = float(exact_policy(pool)(costs, np.zeros(2), 20.0)[0])
    assert actual == pytest.approx(weighted(0.001, 20.0)(-40.0), abs=2.0**-20)


def test_a_likely_hypothesis_is_learnt_cheaply() -> None:
    """ln(1/prior) is what is paid, not log|H|: 7 for what was unlikely, 0.002 for what was not."""

    def adversary(rng: np.random.Generator, policy: FloatArray, t: int) -> FloatArray:
        return np.array([-1.0, 1.0])

    regrets = []
    for prior in ([0.0009, 0.9982, 0.0009], [0.9982, 0.0009, 0.0009]):
        pool = Pool.from_table([[1, 0], [0, 0], [1, 1]]).with_prior(prior)
        regrets.append(float(Run(pool, 2.0, exact_policy(pool)).against(adversary).regrets[0]))
    assert 0 <= regrets[1] < 0.01 * regrets[0]


def test_the_constants_of_the_players_by_hand() -> None:
    """Stability and gain: (s, A), (1, A) for cells, (1/4, max ln(1/prior)) for weights."""
    four, lender = Pool.from_table([[0, 0], [1, 0], [0, 1], [1, 1]]), coins(6)
    draw, exact = ContextFTPL(), ExponentialWeights()
    assert (draw.stability(four), draw.gain(four)) == (2.0, 1.0)
    assert (draw.stability(lender), draw.gain(lender)) == (1.0, 3.0)
    assert exact.stability(four) == 0.25
    assert exact.stability(four, estimated=True) == 0.5
    # half of the prior on two constants, half on two others
    assert exact.gain(four) == pytest.approx(math.log(4), rel=1e-12)
    assert exact.gain(four.with_prior([0.7, 0.1, 0.1, 0.1])) == pytest.approx(math.log(10))
    # the tree splits with chance ½, each of six groups then chooses one of two rules
    assert exact.gain(lender) == pytest.approx(math.log(2 * 2 * 2**6), rel=1e-12)
    assert exact.gain(lender.with_prior("flat")) == pytest.approx(6 * math.log(2), rel=1e-12)
    parts = ContextFTPL(per_part=True).terms(lender, 0.5)[0]
    assert parts.constant() == pytest.approx(math.sqrt(6) * (1 / 0.5 + 0.5 * 0.5))
    assert parts.burst() == pytest.approx(6 * 0.5 * 0.5)
    weights, fine = NestedFTPL().terms(lender, 0.5)
    # two classes share half of the prior; the weights have an x of their own, 1/4
    assert weights.constant() == pytest.approx(1.0 + math.log(4) / 4)
    assert (fine.constant(), fine.burst()) == (parts.constant(), parts.burst())
