"""A heuristic oracle beside the exact one, on lines through given intercepts.

Printed are the share of the exact oracle's gain that a scikit-learn classifier reaches on the same
costs, and what that does to a learner: the same people, labels and panel before a learner on the
listed class and before learners on pools of what the classifiers find.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from likewise import (
    Feature,
    FeatureSchema,
    Learner,
    MetricAuditor,
    Panel,
    Pool,
    State,
    deploy,
    learn,
)
from likewise.hypotheses import HypothesisClass, LinearByIntercepts
from likewise.numerics.fixed_point import to_units
from likewise.panel import WeightedL1
from likewise.people import People
from likewise.simulate import exact_search
from studies.heuristic import HeuristicOracle

SCHEMA = FeatureSchema((Feature("x", low=0, high=1), Feature("y", low=0, high=1)))
CLASS = LinearByIntercepts(SCHEMA, ["x", "y"], [0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0])
PANEL = Panel(
    [
        MetricAuditor("j1", WeightedL1({"x": 0.6})),
        MetricAuditor("j2", WeightedL1({"y": 0.6})),
        MetricAuditor("j3", WeightedL1({"x": 0.4, "y": 0.4})),
    ],
    "majority",
)
ALPHA, PEOPLE, PAST = 0.2, 8, 500
Search = Callable[[Any, Any], Any]
ESTIMATORS: dict[str, Any] = {
    "logistic regression": LogisticRegression(),
    "tree of depth 2": DecisionTreeClassifier(max_depth=2, random_state=0),
}


def people_and_labels(rng: np.random.Generator, count: int) -> tuple[Any, Any]:
    """Two features, and a label that is likelier the larger their sum."""
    x = rng.random((count, 2))
    return x, (x.sum(axis=1) + rng.normal(0, 0.3, count) > 1).astype(int)


def game(hypotheses: HypothesisClass, seen: Any, rounds: int, seed: int) -> tuple[float, int, int]:
    """Error of a person, rounds in violation, and reports; the stream depends on the seed alone."""
    rng = np.random.default_rng(seed)
    state = State.start(Learner(hypotheses, k=PEOPLE, alpha=ALPHA, eps=ALPHA, seed=seed))
    wrong, unfair = 0.0, 0
    x, y = people_and_labels(rng, PEOPLE * rounds)
    everybody: People = seen(x)
    for t in range(rounds):
        places = range(PEOPLE * t, PEOPLE * (t + 1))
        people, labels = everybody.take(places), y[places]
        state, round_ = deploy(state, people)
        wrong += float(np.abs(round_.scores - labels).mean())
        unfair += bool(PANEL.violations(people, round_.units, to_units(ALPHA)).any())
        report = PANEL.audit(people, round_.units, state.learner.sensitivity)
        state = learn(state, round_, labels=labels.tolist(), report=report.pairs)
    return wrong / rounds, unfair, state.reports


def found_pool(estimator: Any, seed: int) -> tuple[Pool, Any]:
    """A pool of what the classifier finds on people of the past, and how it sees new ones."""
    import pandas as pd

    x, labels = people_and_labels(np.random.default_rng([seed, 1]), PAST)
    candidates = HeuristicOracle(estimator).candidates(x, labels, 128)
    models = {
        f"h{i}": lambda f, h=h: h.predict(f[["x", "y"]].to_numpy())
        for i, h in enumerate(candidates)
    }
    pool = Pool.from_models(models, pd.DataFrame(x, columns=["x", "y"]), cuts=[0.5], schema=SCHEMA)
    return pool, lambda rows: pool.people(pd.DataFrame(rows, columns=["x", "y"]))


def exact(rows: Any, costs: Any) -> Any:
    return exact_search(CLASS, CLASS.locate(SCHEMA.people(rows)))(costs)


def share_of_gain(estimator: Any) -> float:
    """Cost reached of the least cost, mean of 100 draws of costs on 200 points."""
    oracle, rng, shares = HeuristicOracle(estimator), np.random.default_rng(1), []
    for _ in range(100):
        rows, costs = rng.random((200, 2)), rng.normal(0, 1, 200)
        costs += np.where(rows.sum(axis=1) > 1, -0.3, 0.3)
        shares.append(oracle.minimise(rows, costs).cost / float(exact(rows, costs) @ costs))
    return float(np.mean(shares))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=5)
    asked = parser.parse_args()
    print("| oracle | hypotheses | share of the exact gain | error | in violation | reports |")
    print("|---|---|---|---|---|---|")
    for name, estimator in {"exact": None, **ESTIMATORS}.items():
        rows, sizes = [], []
        for seed in range(101, 101 + asked.seeds):
            hypotheses, seen = (
                (CLASS, SCHEMA.people) if estimator is None else found_pool(estimator, seed)
            )
            rows.append(game(hypotheses, seen, asked.rounds, seed))
            sizes.append(hypotheses.size)
        (error, unfair, reports), spread = np.mean(rows, axis=0), np.ptp(np.array(rows)[:, 0])
        share = 1.0 if estimator is None else share_of_gain(estimator)
        print(
            f"| {name} | {np.mean(sizes):.0f} | {100 * share:.0f} % | "
            f"{error:.3f} (range {spread:.3f}) | "
            f"{unfair:.1f} | {reports:.1f} |"
        )


if __name__ == "__main__":
    main()
