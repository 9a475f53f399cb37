"""Every hypothesis class keeps one contract; brute force over all hypotheses is the referee."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.fixed_point import IntArray
from likewise.hypotheses import (
    Conjunctions,
    DecisionLists,
    Disjunctions,
    ExactWeights,
    HypothesisClass,
    LinearByIntercepts,
    Parities,
    Points,
    Pool,
    Segments,
    Staircases,
    Stumps,
    class_from_spec,
    verify_separating_set,
)
from likewise.oracles.engines import compiled, reference
from likewise.randomness import Noise, Purpose, Stream
from likewise.schema import Feature, FeatureSchema

SCHEMA = FeatureSchema(
    (
        Feature("score", low=0, high=100),
        Feature("purpose", "category", levels=("car", "home", "boat")),
        Feature("owner", "flag"),
    )
)
FLAGS = FeatureSchema(tuple(Feature(name, "flag") for name in "abcd"))
GRID = FeatureSchema((Feature("income"), Feature("score"), Feature("owner", "flag")))
TABLE = np.array([[0, 0, 0, 0], [1, 0, 0, 1], [1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [1] * 4])
CLASSES: dict[str, HypothesisClass] = {
    "table": Pool.from_table(TABLE),
    "pool": Pool.from_scores(
        SCHEMA, ["score"], [20.0, 50.0, 80.0], np.array([[s, 0, 0] for s in range(0, 100, 7)])
    ),
    "one segment": Segments(SCHEMA, score="score", cuts=[30, 60]),
    "segments": Segments(SCHEMA, score="score", cuts=[25, 50, 75], by=["purpose"]),
    "two features": Segments(SCHEMA, score="score", cuts=[50], by=["purpose", "owner"]),
    "no cut": Segments(SCHEMA, score="score", cuts=[], by=["owner"]),
    "one hypothesis": Pool.from_table([[1, 1]]),
    "staircases": Staircases(
        GRID, first="income", first_cuts=[1, 2], second="score", second_cuts=[1, 2, 3]
    ),
    "two grids": Staircases(
        GRID, first="income", first_cuts=[2], second="score", second_cuts=[1, 2], by=["owner"]
    ),
    "one row": Staircases(GRID, first="income", first_cuts=[], second="score", second_cuts=[1]),
    "conjunctions": Conjunctions(FLAGS, FLAGS.names),
    "disjunctions": Disjunctions(FLAGS, ["a", "c", "d"]),
    "parities": Parities(FLAGS, FLAGS.names, complements=False),
    "parities and complements": Parities(FLAGS, ["a", "b", "c"]),
    "decision lists": DecisionLists(FLAGS, FLAGS.names, 3),
    "stumps": Stumps(SCHEMA, {"score": [20, 40, 80], "owner": [1]}),
    "linear": LinearByIntercepts(SCHEMA, ["score", "owner"], [-50, 0.5, 30, 60]),
    "linear without flips": LinearByIntercepts(SCHEMA, ["score", "owner"], [-1, 40], flips=False),
}
BY_NAME = pytest.mark.parametrize("hypotheses", CLASSES.values(), ids=CLASSES.keys())


def some_points(hypotheses: HypothesisClass, seed: int, count: int) -> Points:
    rng = np.random.default_rng(seed)
    if hypotheses.schema is SCHEMA:
        x = np.stack(
            [rng.integers(0, 101, count), rng.integers(0, 3, count), rng.integers(0, 2, count)], 1
        )
    elif hypotheses.schema is GRID:
        x = rng.integers(0, [4, 5, 2], (count, 3))
    else:
        x = rng.integers(0, 2, (count, len(hypotheses.schema)))
    return hypotheses.locate(hypotheses.schema.encoded(x.astype(float)))


def some_costs(hypotheses: HypothesisClass, seed: int) -> tuple[IntArray, Points, IntArray]:
    points = some_points(hypotheses, seed, 7)
    amounts = np.random.default_rng(seed + 1).integers(-9, 10, len(points))
    return hypotheses.charge(hypotheses.no_costs(), points, amounts), points, amounts


@BY_NAME
def test_the_size_is_the_number_of_different_hypotheses(hypotheses: HypothesisClass) -> None:
    assert len(hypotheses.codes()) == hypotheses.size


@BY_NAME
def test_the_separating_set_separates(hypotheses: HypothesisClass) -> None:
    assert len(hypotheses.separating_points()) == hypotheses.separators
    assert verify_separating_set(hypotheses)


@BY_NAME
def test_no_point_of_a_separating_set_of_cells_can_be_left_out(
    hypotheses: HypothesisClass,
) -> None:
    if not isinstance(hypotheses, Segments | Staircases):
        pytest.skip("a greedy separating set need not be minimal")
    on_set = hypotheses.predict(hypotheses.codes(), hypotheses.separating_points())
    for point in range(hypotheses.separators):
        without = np.delete(on_set, point, axis=1)
        assert len(np.unique(without, axis=0)) < hypotheses.size


@BY_NAME
def test_a_constant_is_inside(hypotheses: HypothesisClass) -> None:
    on_set = hypotheses.predict(hypotheses.codes(), hypotheses.separating_points())
    assert (on_set.all(axis=1) | ~on_set.any(axis=1)).any()


@BY_NAME
@given(seed=st.integers(0, 10**6))
def test_the_oracle_finds_what_brute_force_finds(hypotheses: HypothesisClass, seed: int) -> None:
    costs, points, amounts = some_costs(hypotheses, seed)
    noise = np.random.default_rng(seed + 2).integers(-5, 6, (4, hypotheses.separators))
    codes = hypotheses.codes()
    on_points = hypotheses.predict(codes, points).astype(np.int64) @ amounts
    on_set = hypotheses.predict(codes, hypotheses.separating_points()).astype(np.int64)
    for row, found in zip(noise, hypotheses.minimise(costs, noise), strict=True):
        # codes are listed in order, so the first of least cost is the tie-break's choice
        assert (codes[np.argmin(on_points + on_set @ row)] == found).all()


@BY_NAME
@given(seed=st.integers(0, 10**6))
def test_charging_one_by_one_and_in_any_order_is_charging_at_once(
    hypotheses: HypothesisClass, seed: int
) -> None:
    costs, points, amounts = some_costs(hypotheses, seed)
    one_by_one = hypotheses.no_costs()
    for i in np.random.default_rng(seed).permutation(len(points)):
        one_by_one = hypotheses.charge(one_by_one, points[i : i + 1], amounts[i : i + 1])
    assert (one_by_one == costs).all()


@BY_NAME
def test_charging_leaves_the_old_costs_as_they_were(hypotheses: HypothesisClass) -> None:
    before = hypotheses.no_costs()
    hypotheses.charge(before, some_points(hypotheses, 1, 3), np.array([5, 6, 7]))
    assert not before.any()


@BY_NAME
@pytest.mark.parametrize("copies", [1, 3])
@given(seed=st.integers(0, 10**6), first=st.integers(0, 1000), draws=st.integers(0, 300))
def test_every_engine_makes_the_same_draws(
    hypotheses: HypothesisClass, copies: int, seed: int, first: int, draws: int
) -> None:
    costs, points, _ = some_costs(hypotheses, seed)
    noise = Noise(Stream(seed, Purpose.ELICIT, 3), 1e-5, copies)
    args = (hypotheses, costs, noise, points, first, draws)
    assert (compiled.approvals(*args) == reference.approvals(*args)).all()


@BY_NAME
def test_engines_agree_where_noise_is_beyond_exact_floats(hypotheses: HypothesisClass) -> None:
    noise = Noise(Stream(1, Purpose.ELICIT, 1), 1e9)
    args = (hypotheses, hypotheses.no_costs(), noise, some_points(hypotheses, 1, 5), 0, 100)
    assert (compiled.approvals(*args) == reference.approvals(*args)).all()


@BY_NAME
def test_a_batch_of_draws_is_the_draws_one_by_one(hypotheses: HypothesisClass) -> None:
    costs, points, _ = some_costs(hypotheses, 3)
    noise = Noise(Stream(4, Purpose.ELICIT, 3), 1e-5)
    batch = compiled.approvals(hypotheses, costs, noise, points, 10, 20)
    single = [compiled.approvals(hypotheses, costs, noise, points, d, 1)[0] for d in range(10, 30)]
    assert (batch == np.array(single)).all()


@BY_NAME
def test_the_class_can_be_written_as_json_and_read_back(hypotheses: HypothesisClass) -> None:
    again = class_from_spec(hypotheses.spec())
    assert again.spec() == hypotheses.spec()
    assert (again.size, again.separators) == (hypotheses.size, hypotheses.separators)


@BY_NAME
@given(seed=st.integers(0, 10**6))
def test_exact_weights_are_those_of_the_enumerated_class(
    hypotheses: HypothesisClass, seed: int
) -> None:
    assert isinstance(hypotheses, ExactWeights)
    costs, points, amounts = some_costs(hypotheses, seed)
    codes, temperature = hypotheses.codes(), 6.5
    totals = hypotheses.predict(codes, points).astype(np.int64) @ amounts
    weights = np.exp(-(totals - totals.min()) / temperature)
    asked = some_points(hypotheses, seed + 5, 6)
    expected = weights @ hypotheses.predict(codes, asked) / weights.sum()
    found = [a / b for a, b in hypotheses.approval(costs, temperature, asked)]
    assert np.allclose(found, expected, atol=1e-9)


@BY_NAME
def test_every_hypothesis_can_be_said_in_words(hypotheses: HypothesisClass) -> None:
    said = [hypotheses.describe(code) for code in hypotheses.codes()]
    assert len(set(said)) == hypotheses.size
