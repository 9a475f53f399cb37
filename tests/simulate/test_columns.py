"""Columns and rows in turn find the best fair policy that listing the class finds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from likewise.hypotheses import HypothesisClass, LinearByIntercepts, Segments, Trees
from likewise.hypotheses.base import Bits
from likewise.numerics.fixed_point import ONE, FloatArray
from likewise.people import Feature, FeatureSchema
from likewise.simulate import Faced, best_fair_by_columns, best_fair_policy, exact_search
from likewise.simulate.hindsight import all_pairs, merged

SCHEMA = FeatureSchema((Feature("x", low=0, high=1), Feature("y", low=0, high=1)))
LINEAR = LinearByIntercepts(SCHEMA, ["x", "y"], [0.2, 0.4, 0.6, 0.8, 1.1, 1.5])


def classes() -> dict[str, HypothesisClass]:
    rng = np.random.default_rng(1)
    return {
        "linear": LINEAR,
        "trees": Trees(SCHEMA, {"x": [0.3, 0.6], "y": [0.5]}, rng.random((60, 2))),
        "segments": Segments(SCHEMA, score="x", cuts=[0.2, 0.4, 0.6, 0.8]),
    }


def one_round(seed: int, n: int = 25) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    x = rng.random((n, 2))
    labels = (x.sum(axis=1) + rng.normal(0, 0.4, n) > 1).astype(np.int64)
    d = np.rint(np.abs(x[:, None, 0] - x[None, :, 0]) * ONE).astype(np.int64)
    return SCHEMA.people(x), labels, d


@pytest.mark.parametrize("name", ["linear", "trees", "segments"])
@pytest.mark.parametrize("seed", range(3))
def test_columns_find_what_listing_finds(name: str, seed: int) -> None:
    hypotheses = classes()[name]
    people, labels, d = one_round(seed)
    points = hypotheses.locate(people)
    faced = Faced(points, labels, d)
    listed = best_fair_policy(hypotheses, [faced], 0.1)
    everybody = np.arange(len(people))
    constraints = merged(all_pairs(len(people), everybody, [faced], 0.1))
    policy = best_fair_by_columns(constraints, exact_search(hypotheses, points), exact=True)
    assert math.isclose(policy.error, listed.error, abs_tol=1e-5)
    assert policy.bound is not None
    assert math.isclose(policy.bound, listed.error, abs_tol=1e-4)
    gaps = policy.scores[:, None] - policy.scores - d / ONE
    np.fill_diagonal(gaps, 0)
    assert gaps.max() <= 0.1 + 1e-8


@pytest.mark.parametrize(
    "estimator",
    [DecisionTreeClassifier(max_depth=2, random_state=1), LogisticRegression(C=100.0)],
    ids=["tree", "logistic"],
)
def test_a_heuristic_policy_is_fair_and_has_no_bound(estimator: Any) -> None:
    """A classifier that is fitted on signed costs, or the better constant where that costs less."""
    people, labels, d = one_round(5)
    everybody = np.arange(len(people))
    constraints = merged(all_pairs(len(people), everybody, [Faced(everybody, labels, d)], 0.1))
    calls = 0

    def search(costs: FloatArray) -> Bits:
        nonlocal calls
        calls += 1
        constant = np.full(len(costs), costs.sum() < 0, dtype=np.uint8)
        if not ((costs < 0).any() and (costs > 0).any()):
            return constant
        model = estimator.fit(people.x, costs < 0, sample_weight=np.abs(costs))
        fitted = np.asarray(model.predict(people.x), dtype=np.uint8)
        return fitted if costs @ fitted < costs @ constant else constant

    policy = best_fair_by_columns(constraints, search, exact=False)
    assert policy.bound is None
    gaps = policy.scores[:, None] - policy.scores - d / ONE
    np.fill_diagonal(gaps, 0)
    assert gaps.max() <= 0.1 + 1e-8
    assert policy.error <= min(labels.sum(), len(labels) - labels.sum()) + 1e-9
    assert calls == policy.calls
