"""Exponential weights over long lists: the compiled engine's integers are the reference's."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.hypotheses.base import gibbs_weights
from likewise.learner import Learner, State, compiled, learn, reference
from likewise.learner.compiled import weights as kernels
from likewise.learner.compiled.weights import PIECE, ListPolicy, ShortListPolicy
from likewise.learner.oracle import LONG_LIST
from likewise.learner.rounds import deploy
from likewise.numerics.fixed_point import ONE, FloatArray, IntArray
from likewise.numerics.randomness import Purpose, Stream
from studies.benchmark.items import customers, pool_of_cuts
from tests.engines.listed import Table


def weights_of(costs: IntArray, temperature: float, inverse: FloatArray | None) -> IntArray:
    """All weights of the compiled engine, a block after another."""
    policy = ListPolicy(costs, temperature, inverse)
    out: IntArray = np.empty(len(costs), dtype=np.int64)
    for begin in range(0, len(costs), kernels.BLOCK):
        end = min(len(costs), begin + kernels.BLOCK)
        kernels.weigh(policy._policy, begin, end, np.empty(kernels.BLOCK), out[begin:end])
    return out


@pytest.mark.parametrize("size", [1, 7, 1023, 1025, 5000])
@pytest.mark.parametrize("temperature", [1e-3, 1.0, 77.7e3, float(ONE), 1e9, 2.0**60])
@pytest.mark.parametrize("largest", [1, 1 << 22, 1 << 45, 1 << 61])
def test_weights_are_the_references(size: int, temperature: float, largest: int) -> None:
    rng = np.random.default_rng(size)
    costs = rng.integers(-largest, largest, size)
    for inverse in (None, rng.exponential(5.0, size)):
        expected = gibbs_weights(costs, temperature, inverse)
        assert np.array_equal(weights_of(costs, temperature, inverse), expected)
        short = ShortListPolicy(costs, temperature, inverse)
        assert np.array_equal(short._weights, expected)


def test_every_distance_near_a_rounding_of_the_weight_is_rounded_as_in_numpy() -> None:
    """A fine grid of distances, up to where nothing is left, and far beyond."""
    costs = np.concatenate(
        [np.arange(0, 1 << 21, 7), np.arange(1 << 21, 45 << 20, 401), [1 << 40, 1 << 62]]
    )
    for temperature in (float(ONE), ONE / math.log(2), ONE / 3):
        expected = gibbs_weights(costs, temperature)
        assert np.array_equal(weights_of(costs, temperature, None), expected)


@given(st.floats(-2.0, 2.0, allow_nan=False, allow_subnormal=False), st.sampled_from(range(1, 15)))
def test_a_quotient_by_a_small_integer_is_a_sum_of_two_products(x: float, n: int) -> None:
    """RN(x·h + RN(x·l)), the sum computed exactly and rounded once, is RN(x/n)."""
    high, low = kernels._reciprocal(n)
    exact = Fraction(x) * Fraction(high) + Fraction(x * low)
    if abs(x) > 2.0**-900:
        assert float(exact) == x / n


def test_reciprocals_that_are_not_exact_are_all_there() -> None:
    """The constants of the series, and that powers of two need none."""
    for n in range(1, 15):
        high, low = kernels._reciprocal(n)
        assert Fraction(high) + Fraction(low) - Fraction(1, n) <= Fraction(1, 2**105)
        if n & (n - 1):
            assert (vars(kernels)[f"_H{n}"], vars(kernels)[f"_L{n}"]) == (high, low)
        else:
            assert low == 0


@pytest.mark.parametrize("size", [300, PIECE + 1, 3 * PIECE + 5])
@pytest.mark.parametrize("prior", ["flat", "given"])
def test_scores_draws_and_charges_are_the_references(size: int, prior: str) -> None:
    """One thread and several; a draw may fall on any block."""
    rng = np.random.default_rng(size)
    table: Any = Table(np.zeros((size, 1), dtype=np.uint8))
    inverse = None if prior == "flat" else rng.exponential(3.0, size)
    table.__dict__["log_inverse"] = inverse
    points = rng.integers(0, 2, (4, size), dtype=np.uint8)
    amounts = rng.integers(-ONE, ONE, 4)
    costs = rng.integers(0, 4 * ONE, size)
    stream = Stream(5, Purpose.DECIDE, 3)
    for _ in range(2):
        costs.flags.writeable = False
        fast, plain = (e.weigh(table, costs, 0.7 * ONE) for e in (compiled, reference))
        assert fast.draw(points, stream, 0).tolist() == plain.draw(points, stream, 0).tolist()
        assert fast.approval(points) == plain.approval(points)
        for draw in range(20):
            bits = fast.draw(points, stream, draw)
            assert bits.tolist() == plain.draw(points, stream, draw).tolist()
        charged = [e.charge(table, costs, points, amounts) for e in (compiled, reference)]
        assert np.array_equal(*charged)
        costs = charged[0]


def test_a_list_that_weighs_itself_is_asked() -> None:
    class Own(Table):
        def weigh(self, costs: IntArray, temperature: Any) -> Any:
            return "mine"

        def charge(self, costs: IntArray, points: Any, amounts: IntArray) -> Any:
            return "mine too"

    listed, nothing = Own(np.zeros((LONG_LIST, 1), dtype=np.uint8)), np.zeros(0, dtype=np.int64)
    results: list[Any] = [
        compiled.weigh(listed, listed.no_costs(), 1.0),
        compiled.charge(listed, listed.no_costs(), nothing, nothing),
    ]
    assert results == ["mine", "mine too"]


@pytest.mark.usefixtures("kernels")
def test_a_learner_plays_the_same_game_with_every_engine() -> None:
    pool = pool_of_cuts(LONG_LIST + 40)
    assert pool.size >= LONG_LIST
    ends: list[State] = []
    decisions: list[list[Any]] = []
    for engine in ("compiled", "reference"):
        learner = Learner(pool, 6, 0.3, 0.3, 1, player="exponential-weights", engine=engine)
        state = State.start(learner)
        decisions.append([])
        for people, labels in customers(pool, 5, 6):
            state, deployment = deploy(state, people)
            decisions[-1] += [deployment.units.tolist(), deployment.approved.tolist()]
            high, low = int(np.argmax(deployment.units)), int(np.argmin(deployment.units))
            gap = deployment.units[high] - deployment.units[low]
            pair = (deployment.ids[high], deployment.ids[low])
            report = [pair] if gap > learner.sensitivity else []
            state = learn(state, deployment, labels=labels, report=report)
        ends.append(state)
    assert decisions[0] == decisions[1]
    assert np.array_equal(ends[0].costs, ends[1].costs)
    assert (ends[0].lam, ends[0].tuning) == (ends[1].lam, ends[1].tuning)
    assert ends[0].reports > 0
