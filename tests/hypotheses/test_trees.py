"""Trees of depth 2: all of them, each once, simplest first; the oracle is exact."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from likewise.errors import HypothesisError, LikewiseError
from likewise.hypotheses import Trees, class_from_spec, verify_separating_set
from likewise.people import Feature, FeatureSchema

FLAGS = FeatureSchema(tuple(Feature(name, "flag") for name in "abc"))
CORNERS = np.array(list(itertools.product((0.0, 1.0), repeat=3)))
CUTS: dict[str, list[float]] = {name: [1] for name in "abc"}


def functions() -> set[bytes]:
    """Every function that a tree of depth 2 is, by another way of writing trees."""
    columns = [CORNERS[:, i] == 1 for i in range(3)]
    leaves = [np.zeros(8, dtype=bool), np.ones(8, dtype=bool)]
    shallow = leaves + [np.where(c, a, b) for c in columns for a in leaves for b in leaves]
    return {np.where(c, a, b).tobytes() for c in columns for a in shallow for b in shallow}


def test_every_tree_is_there_once_and_the_simplest_come_first() -> None:
    trees = Trees(FLAGS, CUTS, CORNERS)
    table = trees.locate(FLAGS.encoded(CORNERS)).T.astype(bool)
    assert {row.tobytes() for row in table} == functions()
    assert trees.size == len(functions()) < 3 * 8 * 8
    assert trees.merged > 0
    assert verify_separating_set(trees)
    grades = trees.grades()
    assert (np.diff(grades) >= 0).all()
    assert np.bincount(grades)[:2].tolist() == [2, 6]
    texts = [trees.describe(code) for code in trees.codes()]
    assert texts[:3] == ["approve nobody", "approve everybody", "approve if a ≥ 1"]
    assert len(set(texts)) == trees.size


def test_the_oracle_is_never_worse_than_a_greedy_tree() -> None:
    """And sometimes better: greedy trees miss an exclusive or."""
    rng = np.random.default_rng(1)
    trees = Trees(FLAGS, CUTS, CORNERS)
    people = FLAGS.encoded(CORNERS)
    better = 0
    for _ in range(40):
        amounts = rng.integers(-9, 10, 8)
        costs = trees.charge(trees.no_costs(), trees.locate(people), amounts)
        no_noise = np.zeros((1, trees.separators), dtype=np.int64)
        best = trees.predict(trees.minimise(costs, no_noise), trees.locate(people))[0]
        exact = int(best @ amounts)
        greedy = DecisionTreeClassifier(max_depth=2, random_state=0)
        labels = amounts < 0
        if labels.all() or not labels.any():
            continue
        fitted = greedy.fit(CORNERS, labels, np.abs(amounts)).predict(CORNERS).astype(int)
        assert exact <= fitted @ amounts
        better += exact < fitted @ amounts
    assert better > 0


def test_trees_are_read_back_with_their_separating_set() -> None:
    schema = FeatureSchema((Feature("x", low=0, high=1), Feature("y", low=0, high=1)))
    reference = np.random.default_rng(2).random((300, 2))
    trees = Trees(schema, {"x": [0.2, 0.5, 0.8], "y": [0.3, 0.6]}, reference)
    again = class_from_spec(trees.spec())
    assert again.spec() == trees.spec()
    assert (again.separating_points() == trees.separating_points()).all()
    assert trees.separators < 300


@pytest.mark.parametrize(
    ("cuts", "rows"),
    [
        ({"a": list(range(40))}, CORNERS), ({"a": []}, CORNERS), ({"a": [1, 1]}, CORNERS),
        ([1], CORNERS), ({"d": [1]}, CORNERS), ({"a": [1]}, np.zeros((0, 3))),
        ({"a": [1]}, [[2.0, 0, 0]]), ({"a": [1]}, None), ({"a": [1]}, "rows"),
    ],
)  # fmt: skip
def test_what_makes_no_trees_is_refused(cuts: Any, rows: Any) -> None:
    with pytest.raises(LikewiseError):
        Trees(FLAGS, cuts, rows)


def test_too_many_questions_are_refused_with_the_limit() -> None:
    schema = FeatureSchema((Feature("x", low=0, high=100),))
    with pytest.raises(HypothesisError, match="at most 32"):
        Trees(schema, {"x": list(range(1, 40))}, np.arange(100.0)[:, None])
