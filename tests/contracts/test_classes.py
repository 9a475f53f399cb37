"""Every hypothesis class keeps the contract that ships, and every engine makes the same draws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
    Trees,
)
from likewise.hypotheses.base import PRIORS
from likewise.learner import compiled, reference
from likewise.numerics.fixed_point import IntArray
from likewise.numerics.randomness import Noise, Purpose, Stream
from likewise.people import Feature, FeatureSchema
from likewise.registry import HYPOTHESES
from likewise.testing import check_hypotheses, people_of

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
    "three features": Segments(
        FeatureSchema((*FLAGS.features[:3], Feature("score"))),
        score="score",
        cuts=[],
        by=["a", "b", "c"],
    ),
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
    "trees": Trees(
        SCHEMA, {"score": [25, 50, 75], "owner": [1]},
        np.array([[s, 0, o] for s in range(0, 100, 20) for o in (0, 1)]),
    ),
    "linear": LinearByIntercepts(SCHEMA, ["score", "owner"], [-50, 0.5, 30, 60]),
    "linear without flips": LinearByIntercepts(SCHEMA, ["score", "owner"], [-1, 40], flips=False),
}  # fmt: skip
BY_NAME = pytest.mark.parametrize("hypotheses", CLASSES.values(), ids=CLASSES.keys())


def some_points(hypotheses: HypothesisClass, seed: int, count: int) -> Points:
    return hypotheses.locate(people_of(hypotheses.schema, count, seed))


def some_costs(hypotheses: HypothesisClass, seed: int) -> tuple[IntArray, Points]:
    points = some_points(hypotheses, seed, 7)
    amounts = np.random.default_rng(seed + 1).integers(-9, 10, len(points))
    return hypotheses.charge(hypotheses.no_costs(), points, amounts), points


def test_every_class_of_ours_is_here() -> None:
    ours = {name for name in HYPOTHESES if HYPOTHESES[name].__module__.startswith("likewise.")}
    tried = {hypotheses.spec()["class"] for hypotheses in CLASSES.values()}
    assert tried >= ours, "add an instance to CLASSES"
    assert tried <= ours, "add an entry to HYPOTHESES in likewise/registry.py"


@BY_NAME
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.long) for n in (1, 2, 3))])
def test_every_class_keeps_its_contract_with_every_prior(
    hypotheses: HypothesisClass, prior: str, seed: int
) -> None:
    assert isinstance(hypotheses, ExactWeights)
    check_hypotheses(hypotheses.with_prior(prior), seed=seed)


@pytest.mark.parametrize("seed", range(2))
def test_a_listed_class_keeps_it_with_probabilities_of_its_own(seed: int) -> None:
    given = np.random.default_rng(seed).dirichlet(np.full(6, 0.3)) + 1e-6
    check_hypotheses(Pool.from_table(TABLE).with_prior(given / given.sum()), seed=seed)


def test_large_classes_keep_it_as_far_as_it_can_be_checked() -> None:
    many = FeatureSchema(tuple(Feature(f"f{i}", "flag") for i in range(14)))
    for hypotheses in (
        Segments(SCHEMA, score="score", cuts=range(1, 21), by=["purpose", "owner"]),
        Conjunctions(many, many.names),
        Staircases(GRID, first="income", first_cuts=range(8), second="score",
                   second_cuts=range(9), by=["owner"]),
    ):  # fmt: skip
        assert hypotheses.size > 1 << 13
        check_hypotheses(hypotheses)


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
@pytest.mark.parametrize("copies", [pytest.param(1, marks=pytest.mark.long), 3])
@settings(max_examples=50)
@given(seed=st.integers(0, 10**6), first=st.integers(0, 1000), draws=st.integers(0, 300))
def test_every_engine_makes_the_same_draws(
    hypotheses: HypothesisClass, copies: int, seed: int, first: int, draws: int
) -> None:
    costs, points = some_costs(hypotheses, seed)
    noise = Noise(Stream(seed, Purpose.ELICIT, 3), 1e-5, copies)
    args = (hypotheses, costs, noise, points, range(first, first + draws))
    assert (compiled.approvals(*args) == reference.approvals(*args)).all()


@BY_NAME
def test_engines_agree_where_noise_is_beyond_exact_floats(hypotheses: HypothesisClass) -> None:
    noise = Noise(Stream(1, Purpose.ELICIT, 1), 1e9)
    args = (hypotheses, hypotheses.no_costs(), noise, some_points(hypotheses, 1, 5), range(100))
    assert (compiled.approvals(*args) == reference.approvals(*args)).all()


@BY_NAME
def test_a_batch_of_compiled_draws_is_the_draws_one_by_one(hypotheses: HypothesisClass) -> None:
    costs, points = some_costs(hypotheses, 3)
    noise = Noise(Stream(4, Purpose.ELICIT, 3), 1e-5)
    batch = compiled.approvals(hypotheses, costs, noise, points, range(10, 30))
    single = [
        compiled.approvals(hypotheses, costs, noise, points, range(d, d + 1))[0]
        for d in range(10, 30)
    ]
    assert (batch == np.array(single)).all()
