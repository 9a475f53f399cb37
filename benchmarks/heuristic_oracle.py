"""A heuristic oracle beside the exact one, on lines through given intercepts.

Follow the perturbed leader twice on the same people, labels, noise and panel: once with the exact
oracle of the listed class, once with a scikit-learn classifier. Printed are the gap in cost of the
same calls, and errors and violations of both.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from likewise import Feature, FeatureSchema, MetricAuditor, Panel
from likewise.auditing import WeightedL1
from likewise.evaluation import exact_search
from likewise.fixed_point import ONE, to_units
from likewise.hypotheses import LinearByIntercepts
from likewise.oracles.heuristic import HeuristicOracle

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
ALPHA, PEOPLE, DRAWS, STEP = 0.2, 8, 30, 0.02
Search = Callable[[Any, Any], Any]


def game(search: Search, rounds: int, seed: int) -> tuple[float, int, float]:
    """Error of a person, rounds in violation, and the mean cost of what the search finds."""
    rng = np.random.default_rng(seed)
    seen, costs = rng.random((40, 2)), np.zeros(40)  # the first rows carry the noise
    lam, wrong, unfair, found = 0.0, 0.0, 0, []
    for t in range(rounds):
        x = rng.random((PEOPLE, 2))
        labels = (x.sum(axis=1) + rng.normal(0, 0.3, PEOPLE) > 1).astype(int)
        scale = 0.3 * np.sqrt(t + 1)
        chances = np.zeros(PEOPLE)
        rows = np.vstack([seen, x])
        for _ in range(DRAWS):
            noisy = np.append(costs, np.zeros(PEOPLE))
            noisy[:40] += rng.laplace(0, scale, 40)
            bits = search(rows, noisy)
            found.append(float(bits @ noisy) / (t + 1))
            chances += bits[-PEOPLE:] / DRAWS
        units = np.rint(chances * ONE).astype(np.int64)
        people = SCHEMA.people(x)
        wrong += float(np.abs(chances - labels).mean())
        violations = PANEL.violations(people, units, to_units(ALPHA))
        unfair += bool(violations.any())
        report = PANEL.audit(people, units, to_units(ALPHA) // 2).pairs
        amounts = (1.0 - 2.0 * labels) / 4
        for over, under in report:
            amounts[people.ids.index(over)] += lam
            amounts[people.ids.index(under)] -= lam
        lam = max(0.0, lam + STEP * (1 if report else -0.2))
        seen, costs = np.vstack([seen, x]), np.append(costs, amounts)
    return wrong / rounds, unfair, float(np.mean(found))


def exact(rows: Any, costs: Any) -> Any:
    return exact_search(CLASS, CLASS.locate(SCHEMA.people(rows)))(costs)


def heuristic(estimator: Any) -> Search:
    oracle = HeuristicOracle(estimator)
    return lambda rows, costs: oracle.minimise(rows, costs).predict(rows)


def main() -> None:
    """Print a line for each oracle, and the gaps on the same costs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=3)
    asked = parser.parse_args()
    searches: dict[str, Search] = {
        "exact": exact,
        "logistic regression": heuristic(LogisticRegression()),
        "tree of depth 2": heuristic(DecisionTreeClassifier(max_depth=2, random_state=0)),
    }
    rng = np.random.default_rng(1)
    gaps: dict[str, list[float]] = {name: [] for name in searches}
    for _ in range(100):
        rows, costs = rng.random((200, 2)), rng.normal(0, 1, 200)
        costs += np.where(rows.sum(axis=1) > 1, -0.3, 0.3)
        least = float(exact(rows, costs) @ costs)
        for name, search in searches.items():
            gaps[name].append(float(search(rows, costs) @ costs) / least)
    for name, search in searches.items():
        played = np.array([game(search, asked.rounds, seed) for seed in range(asked.seeds)])
        error, unfair, _ = played.mean(axis=0)
        print(
            f"{name}: reaches {np.mean(gaps[name]):.1%} of the exact oracle's gain; error "
            f"{error:.3f}, {unfair:.1f} of {asked.rounds} rounds in violation"
        )


if __name__ == "__main__":
    main()
