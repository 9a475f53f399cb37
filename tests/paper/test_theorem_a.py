"""Theorem A in docs/research/theory.md, for cells too.

For every sequence of costs, even one chosen against the policy, surely,

    Σ f_t(π^t) − f_t(h)  ≤  Σ s·B_t²/(2·sigma_t) + A·sigma_T
                         ≤  Σ B_t²/(2·sigma_t) + A·sigma_T      where costs are on Q (cells)

where the scales do not decrease.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.hypotheses import Bits, HypothesisClass, Listed
from likewise.learner.players import ContextFTPL
from likewise.learner.state import Tuning
from likewise.numerics.fixed_point import FloatArray, IntArray
from likewise.people import Feature, FeatureSchema, People
from tests.paper.referee import (
    OFF,
    charged,
    laplace_cdf,
    opened,
    perturbed_coins,
    perturbed_leader,
    quantiles,
)
from tests.paper.runs import (
    ADVERSARIES,
    ROUNDS,
    SCALES,
    SMALL,
    SMALL_CLASSES,
    Adversary,
    Run,
    coin_against,
    coins,
    drawn_policy,
    noise_gain,
    table_of,
)

# ── Context-FTPL ────────────────────────────────────────────────────────────────────────────────


@SMALL_CLASSES
@ADVERSARIES
@SCALES
def test_theorem_a_holds_for_context_ftpl(
    hypotheses: HypothesisClass, adversary: Adversary, x: float
) -> None:
    run = Run(hypotheses, x, drawn_policy(hypotheses)).against(adversary)
    stability = 0.5 if hypotheses.cellular else hypotheses.separators / 2
    off = OFF * sum(run.ranges)
    run.check(ContextFTPL(), stability, noise_gain(table_of(hypotheses)), off)


def parity_chance(s: int, sigma: float, total: FloatArray | float) -> FloatArray:
    """Of somebody whom h approves iff it approves an odd number of the s separating points.

    Without costs h approves the points whose noise is negative. A cost on that person changes its
    mind where it costs least: where the least of the s noises |z_q| is below cost/sigma.
    """
    rare = 0.5 * np.exp(-s * np.abs(total) / sigma)
    return np.where(np.asarray(total) > 0, rare, 1 - rare)


@pytest.mark.parametrize("total", [-3.0, -0.5, 0.0, 0.7, 2.0])
def test_that_chance_is_the_integral(total: float) -> None:
    table = table_of(SMALL["all on two points"])
    odd = table.sum(axis=1) % 2
    actual = float(perturbed_leader(table, total * odd / 1.5) @ odd)
    assert actual == pytest.approx(float(parity_chance(2, 1.5, total)), abs=OFF)


def test_outside_of_q_the_bound_for_cells_would_be_broken() -> None:
    """The s of Theorem A is needed: 3.48-fold in a million rounds, 4.88-fold in the limit.

    Costs that always turn, on the parity of ten coins. Every two rounds cost ½·(1 − exp(−s/sigma)),
    where the stability of cells allows 1/sigma; the gain is paid once, and A = s/2 exactly.
    """
    s, sigma, rounds = 10, 200.0, 1_000_000
    costs = np.tile([1.0, -1.0], rounds // 2)
    before = np.cumsum(costs) - costs
    regret = float(costs @ parity_chance(s, sigma, before)) - min(0.0, float(costs.sum()))
    stability, gain = rounds / (2 * sigma), s / 2 * sigma
    assert regret / (stability + gain) == pytest.approx(3.484, abs=0.001)
    assert regret / stability == pytest.approx(sigma / 2 * -math.expm1(-s / sigma), rel=1e-9)
    assert sigma / 2 * -math.expm1(-s / sigma) == pytest.approx(4.877, abs=0.001)
    assert regret <= s * stability + gain


@pytest.mark.parametrize("s", [1, 2, 10, 100])
@pytest.mark.parametrize("sigma", [1.0, 50.0, 5000.0])
def test_the_stability_of_a_round_is_attained_outside_of_q(s: int, sigma: float) -> None:
    """f(h_t) − f(b_t) ≤ s·B²/(2·sigma) for a cost of B on the parity of s coins.

    With s·B²/(4·sigma) a round that moves the policy would cost more than is allowed.
    """
    for size in (0.5, 1.0):
        moved = size * float(parity_chance(s, sigma, 0.0) - parity_chance(s, sigma, size))
        allowed = s * size**2 / (2 * sigma)
        assert moved <= allowed
        if s * size < 0.1 * sigma:
            assert moved > 0.95 * allowed


@pytest.mark.parametrize("name", ["three on two points", "all on two points", "a threshold"])
@given(
    costs=st.lists(st.floats(-1, 1), min_size=2, max_size=2),
    before=st.lists(st.floats(-2, 2), min_size=2, max_size=2),
)
@settings(max_examples=25)
def test_with_the_same_noise_the_leader_of_cells_moves_seldom(
    name: str, costs: list[float], before: list[float]
) -> None:
    """P(h_t ≠ b_t) ≤ Σ_q |c_q|/(2·sigma) for sigma = 1 and costs on Q: once for each of its points.

    Noise on two points, each in 400 slices of equal probability.
    """
    table, z = table_of(SMALL[name]), quantiles()
    noise = np.stack(np.meshgrid(z, z, indexing="ij")).reshape(2, -1)
    first = (table @ (np.array(before)[:, None] + noise)).argmin(axis=0)
    later = (table @ (np.array(before)[:, None] + np.array(costs)[:, None] + noise)).argmin(axis=0)
    assert float((first != later).mean()) <= np.abs(costs).sum() / 2 + 2 / len(z)


def test_that_bound_is_nearly_reached_by_a_coin() -> None:
    """P(h_t ≠ b_t) = (1 − exp(−c/sigma))/2 for a coin that nothing was charged before."""
    z, cost = quantiles(100_000), 0.05
    moved = float(((z < 0) != (z + cost < 0)).mean())
    assert moved == pytest.approx(-math.expm1(-cost) / 2, abs=1e-4)
    assert 0.95 < moved / (cost / 2) <= 1


@ADVERSARIES
@pytest.mark.parametrize("x", [0.05, 0.2, 1.0])
def test_theorem_a_for_cells_does_not_grow_with_their_number(
    adversary: Adversary, x: float
) -> None:
    """All functions on 40 points, whose policy is known in closed form; A = s/2."""
    s, rng, tuning = 40, np.random.default_rng(5), Tuning.start(1)
    costs, loss, spread = np.zeros(s), 0.0, 0.0
    for t in range(ROUNDS):
        tuning = opened(tuning, s * 3.0 * math.sqrt(t + 1))
        scale = x * math.sqrt(float(tuning.peak[0]))
        policy = perturbed_coins(costs, scale)
        more = adversary(rng, policy, t)
        loss += float(policy @ more)
        costs = costs + more
        size = float(np.abs(more).sum())
        spread += size * size / (2 * scale)
        tuning = charged(tuning, size)
    regret = loss - float(np.minimum(costs, 0.0).sum())
    assert regret <= spread + s / 2 * scale + 1e-9


def test_the_bound_for_cells_is_nearly_reached() -> None:
    """At a fixed scale. Its gain: costs that never turn, with 0.9·A it would break.

    Its stability: costs that always turn, with 0.4·B²/(2·sigma) it would. (Half of it is what such
    costs pay: the round that moves the policy away pays, the one that moves it back does not.)
    """

    def perturbed(sigma: float) -> Callable[[float], float]:
        return lambda total: float(laplace_cdf(np.array(-total / sigma)))

    steady = coin_against([1.0] * 200, perturbed(50.0))
    assert 0.9 < steady / (200 / (2 * 50.0) + 50.0 / 2) <= 1
    turning = coin_against([1.0, -1.0] * 500, perturbed(10.0))
    assert 0.4 < turning / (1000 / (2 * 10.0) + 10.0 / 2) <= 0.5


# ── A, the gain ─────────────────────────────────────────────────────────────────────────────────


class FewOnMany(Listed):
    """Four hypotheses that 200 people tell apart: s is given, and far more than needed."""

    def __init__(self) -> None:
        schema = FeatureSchema((Feature("n", "integer", 0, 199),))
        super().__init__(schema, separating=schema.people([[i] for i in range(200)]))

    def predictions(self, people: People) -> Bits:
        n = people.column("n").astype(np.int64)
        return np.stack([n < 0, n % 2 == 0, n % 4 < 2, n >= 0], axis=1).astype(np.uint8)

    def describe(self, code: IntArray) -> str:
        return str(code)

    def spec(self) -> dict[str, Any]:
        return {"class": "few", "schema": self.schema.spec()}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> FewOnMany:
        assert spec["class"] == "few"
        return cls()


def test_the_gain_is_bounded_by_half_of_q_or_by_the_logarithm_of_the_class() -> None:
    """s = 200 and |H| = 4: sqrt(8·200·ln 4) = 47.096, below s/2 = 100; A itself is about 15."""
    few = FewOnMany()
    assert few.noise_gain == pytest.approx(math.sqrt(8 * 200 * math.log(4)), rel=1e-12)
    assert few.noise_gain == pytest.approx(47.0964, rel=1e-5)
    table = table_of(few)
    z = np.random.default_rng(1).laplace(size=(4000, 200))
    simulated = float((z @ table.T).max(axis=1).mean())
    assert 10 < simulated < few.noise_gain
    assert coins(6).noise_gain == 3.0


@given(st.floats(-0.7071, 0.7071))
def test_the_moment_generating_function_of_the_noise_is_as_the_proof_says(u: float) -> None:
    assert 1 / (1 - u * u) <= math.exp(2 * u * u) + 1e-12
