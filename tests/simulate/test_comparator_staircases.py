"""The best fair policy over staircases: monotone cell probabilities, against all mixtures."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.errors import PeopleError
from likewise.hypotheses import Staircases
from likewise.numerics.fixed_point import ONE, FloatArray
from likewise.people import Feature, FeatureSchema
from likewise.simulate import Faced, best_fair_policy
from likewise.simulate.programs import Grids
from tests.simulate.test_comparator import dense_value

SCHEMA = FeatureSchema((Feature("income"), Feature("score"), Feature("owner", "flag")))
ONE_GRID = Staircases(SCHEMA, first="income", first_cuts=[1, 2], second="score", second_cuts=[1, 2])
TWO_GRIDS = Staircases(
    SCHEMA, first="income", first_cuts=[1], second="score", second_cuts=[1, 2], by=["owner"]
)


def some_rounds(stairs: Staircases, seed: int, far: float, rounds: int = 6) -> list[Faced]:
    rng = np.random.default_rng(seed)
    faced = []
    for k in rng.integers(1, 5, rounds):
        half = np.triu(rng.integers(0, round(far * ONE) + 1, (k, k)), 1)
        points = rng.integers(0, stairs.separators, k)
        faced.append(Faced(points, rng.integers(0, 2, k), half + half.T))
    return faced


def form_of(stairs: Staircases) -> Grids:
    return Grids(stairs.grids, stairs.rows, stairs.columns)


def a_monotone_policy(stairs: Staircases, seed: int) -> FloatArray:
    steps = np.random.default_rng(seed).random((stairs.grids, stairs.rows, stairs.columns))
    table = (steps**4).cumsum(axis=1).cumsum(axis=2)
    return np.asarray(np.minimum(table / table.max() * 1.2, 1.0).ravel())


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.05]), st.sampled_from([0.0, 0.3, 1.0]))
@pytest.mark.parametrize("stairs", [ONE_GRID, TWO_GRIDS], ids=["one grid", "two grids"])
def test_monotone_probabilities_reach_the_value_over_all_mixtures(
    stairs: Staircases, seed: int, slack: float, far: float
) -> None:
    rounds = some_rounds(stairs, seed, far)
    best = best_fair_policy(stairs, rounds, slack)
    assert best.error == pytest.approx(dense_value(stairs, rounds, slack), abs=1e-6)
    assert best.bound == pytest.approx(best.error, abs=1e-6)


@pytest.mark.parametrize("stairs", [ONE_GRID, TWO_GRIDS], ids=["one grid", "two grids"])
@pytest.mark.parametrize("seed", range(5))
def test_every_monotone_policy_is_a_mixture_of_staircases(stairs: Staircases, seed: int) -> None:
    policy = a_monotone_policy(stairs, seed)
    codes = stairs.codes()
    bits = stairs.predict(codes, stairs.separating_points()).astype(float)
    levels = np.r_[np.unique(policy[policy > 0]), 1.0]
    mixture = np.zeros(stairs.separators)
    for low, high in itertools.pairwise(np.r_[0.0, levels]):
        is_it = (bits == (policy >= high)).all(axis=1)
        if high > low:
            assert is_it.sum() == 1
            mixture += (high - low) * bits[np.argmax(is_it)]
    assert mixture == pytest.approx(policy, abs=1e-12)


@pytest.mark.parametrize("stairs", [ONE_GRID, TWO_GRIDS], ids=["one grid", "two grids"])
def test_the_order_holds_for_every_staircase_and_for_no_other_decision(stairs: Staircases) -> None:
    order = form_of(stairs).order()
    keep = 0
    for bits in itertools.product((0.0, 1.0), repeat=stairs.separators):
        keep += bool((order @ np.array(bits) <= 0).all())
    assert keep == stairs.size


@pytest.mark.parametrize("stairs", [ONE_GRID, TWO_GRIDS], ids=["one grid", "two grids"])
@pytest.mark.parametrize("seed", range(10))
def test_the_least_cost_is_that_of_the_best_staircase(stairs: Staircases, seed: int) -> None:
    costs = np.random.default_rng(seed).normal(size=stairs.separators)
    bits = stairs.predict(stairs.codes(), stairs.separating_points())
    assert form_of(stairs).least(costs) == pytest.approx((bits @ costs).min())


@pytest.mark.parametrize("stairs", [ONE_GRID, TWO_GRIDS], ids=["one grid", "two grids"])
def test_settling_makes_a_policy_monotone_and_leaves_a_monotone_one_alone(
    stairs: Staircases,
) -> None:
    form, policy = form_of(stairs), a_monotone_policy(stairs, 2)
    assert (form.settle(policy) == policy).all()
    noisy = policy + np.random.default_rng(0).normal(scale=1e-9, size=len(policy))
    settled = form.settle(noisy)
    assert (form.order() @ settled <= 0).all()
    assert settled == pytest.approx(policy, abs=1e-8)
    assert 0 <= settled.min() <= settled.max() <= 1


def test_people_who_cannot_be_in_the_grid_are_refused() -> None:
    beyond = Faced(np.array([ONE_GRID.separators]), np.array([0]), np.array([[0]]))
    with pytest.raises(PeopleError, match="round 1"):
        best_fair_policy(ONE_GRID, [beyond], 0.0)
