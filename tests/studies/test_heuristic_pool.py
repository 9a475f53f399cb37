"""What a heuristic oracle finds, as a pool that a learner can choose from."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from likewise import Learner, Pool, SelfTuned, State, deploy, learn
from likewise.errors import LikewiseError
from studies.heuristic import HeuristicOracle

ESTIMATORS = [LogisticRegression(), DecisionTreeClassifier(max_depth=2), KNeighborsClassifier(5)]


def past(n: int = 120) -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    x = rng.random((n, 2))
    return x, (x.sum(axis=1) + rng.normal(0, 0.2, n) > 1).astype(int)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda candidate: type(candidate).__name__)
def test_candidates_differ_are_no_constants_and_come_again_with_the_seed(estimator: Any) -> None:
    x, labels = past()
    candidates = HeuristicOracle(estimator, seed=1).candidates(x, labels, 12)
    predictions = [candidate.predict(x).tobytes() for candidate in candidates]
    assert 2 <= len(candidates) <= 12
    assert len(set(predictions)) == len(predictions)
    assert all(candidate.constant is None for candidate in candidates)
    again = HeuristicOracle(estimator, seed=1).candidates(x, labels, 12)
    assert [candidate.predict(x).tobytes() for candidate in again] == predictions
    # The first has no noise: it is what the oracle finds for the labels themselves.
    plain = HeuristicOracle(estimator, seed=1).minimise(x, 1.0 - 2.0 * labels)
    assert plain.predict(x).tobytes() == predictions[0]


def test_a_learner_on_the_pool_decides_by_the_candidates() -> None:
    x, labels = past()
    frame = pd.DataFrame(x, columns=["x", "y"])
    candidates = HeuristicOracle(DecisionTreeClassifier(max_depth=2, random_state=0)).candidates(
        x, labels, 16
    )
    models = {
        f"h{i}": lambda f, h=h: h.predict(f[["x", "y"]].to_numpy())
        for i, h in enumerate(candidates)
    }
    pool = Pool.from_models(models, frame, cuts=[0.5])
    assert pool.size == len(candidates) + 2
    predicted = pool.predictions(pool.people(frame))
    for candidate in candidates:
        assert (candidate.predict(x) == predicted.T).all(axis=1).any()
    state = State.start(Learner(pool, k=8, alpha=0.3, eps=0.3, seed=1, schedule=SelfTuned(eta=1.0)))
    for start in range(0, 120, 8):
        state, round_ = deploy(state, pool.people(frame[start : start + 8]))
        state = learn(state, round_, labels=labels[start : start + 8].tolist(), report=())
    _, round_ = deploy(state, pool.people(frame[:8]))
    error = float(np.abs(round_.scores - labels[:8]).mean())
    assert error < 0.4


def test_what_are_no_labels_of_the_rows_is_refused() -> None:
    oracle, (x, labels) = HeuristicOracle(DecisionTreeClassifier(max_depth=1)), past(10)
    for bad in (labels[:9], labels + 1, [math.nan] * 10, ["yes"] * 10, labels[:, None]):
        with pytest.raises(LikewiseError):
            oracle.candidates(x, bad)
    for count in (0, -1, 2.5, "3"):
        with pytest.raises(LikewiseError):
            oracle.candidates(x, labels, count)  # type: ignore[arg-type]
    assert oracle.candidates(x, np.ones(10), 1) == []
