"""Theorem B and the dual lemma in docs/theory.md, on small classes against a hostile world."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.evaluation.comparator import Faced, best_fair_policy
from likewise.hypotheses import HypothesisClass, Pool, Segments
from likewise.learning import Learner, SelfTuned, State, deploy, learn
from likewise.learning.bounds import bounds
from likewise.learning.dual import dual_step
from likewise.schema import Feature, FeatureSchema
from likewise.units import ONE, IntArray, to_units


def duals(reported: list[bool], beta: float) -> list[float]:
    lams = [0.0]
    for t, report in enumerate(reported, start=1):
        lams.append(dual_step(lams[-1], reported=report, beta=beta, mu=1 / math.sqrt(t)))
    return lams[:-1]


@given(
    reported=st.lists(st.booleans(), min_size=1, max_size=300),
    beta=st.floats(0.01, 1.0),
    lam=st.floats(0, 50),
)
def test_the_dual_lemma_holds_for_every_sequence_of_reports(
    reported: list[bool], beta: float, lam: float
) -> None:
    lams = duals(reported, beta)
    u = [beta * report for report in reported]
    root = math.sqrt(len(u))
    earned = sum(a * b for a, b in zip(u, lams, strict=True))
    squares = sum(value**2 for value in lams)
    promised = lam * sum(u) - lam**2 * root + squares / (4 * root) - beta**2 * root
    assert earned >= promised - 1e-9


@given(reported=st.lists(st.booleans(), min_size=1, max_size=300), beta=st.floats(0.01, 1.0))
def test_the_multiplier_is_never_negative(reported: list[bool], beta: float) -> None:
    assert min(duals(reported, beta)) >= 0


SCHEMA = FeatureSchema((Feature("score", low=0, high=3), Feature("home", "flag")))
CLASSES: dict[str, HypothesisClass] = {
    "pool": Pool.from_table([[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]]),
    "segments": Segments(SCHEMA, score="score", cuts=[1.0, 2.0], by=["home"]),
}


def hostile_round(hypotheses: HypothesisClass, t: int) -> tuple[np.ndarray, IntArray]:
    """People and distances; the labels are chosen later, against the deployed policy."""
    rng = np.random.default_rng(t)
    if isinstance(hypotheses, Pool):
        kinds = np.array([[0, 0, 0, 1], [0, 0, 1, 1], [0, 1, 1, 1]], dtype=float)
        x = kinds[rng.integers(0, 3, 3)]
    else:
        x = np.stack([rng.integers(0, 3, 3), rng.integers(0, 2, 3)], axis=1).astype(float)
    distances = np.triu(rng.integers(0, ONE // 2, (3, 3)), 1)
    return x, distances + distances.T


@pytest.mark.parametrize("hypotheses", CLASSES.values(), ids=CLASSES.keys())
@pytest.mark.parametrize("eta", [1.0, 0.25])
@pytest.mark.parametrize("eps", [0.3, 0.1])
@pytest.mark.parametrize("x", [0.05, None, 2.0])
def test_theorem_b_holds_against_labels_chosen_by_the_policy(
    hypotheses: HypothesisClass, eta: float, eps: float, x: float | None
) -> None:
    learner = Learner(
        hypotheses, 3, 0.3, eps, 1, SelfTuned(eta=eta, x=x), player="exponential-weights"
    )
    state, errors, violations, reports, faced = State.start(learner), 0.0, 0, 0, []
    rounds = 250
    for t in range(rounds):
        rows, distances = hostile_round(hypotheses, t)
        people = hypotheses.schema.people(rows)
        state, deployment = deploy(state, people)
        scores = deployment.scores
        labels = (scores < ONE // 2).astype(np.int64)
        errors += float(np.abs(scores / ONE - labels).sum())
        gaps = scores[:, None] - scores[None, :]
        violations += bool((gaps > distances + to_units(0.3)).any())
        excess = gaps - distances - learner.sensitivity
        worst = np.unravel_index(excess.argmax(), excess.shape)
        found = [(people.ids[worst[0]], people.ids[worst[1]])] if excess.max() > 0 else []
        reports += bool(found)
        state = learn(state, deployment, labels=labels.tolist(), report=found)
        faced.append(Faced(hypotheses.locate(people), labels, distances))
    best = best_fair_policy(hypotheses, faced, 0.3 - eps)
    (bound,) = bounds(learner, rounds)
    rounding = 1e-5 * rounds
    assert errors - best.error <= bound.regret + rounding
    assert violations <= reports <= bound.violations
