"""How many reports are unavoidable, in docs/research/theory.md: n segments in turn, two people
each, whose labels differ and whom the panel finds alike; and a learner that remembers reports, for
which they do not grow with T.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from likewise.hypotheses import Segments
from likewise.learner import Learner, SelfTuned, State, deploy, learn
from likewise.learner.bounds import least_reports
from likewise.learner.costs import Additive, Dual, Geometric, GradientAscent
from likewise.learner.schedules import Margins
from likewise.numerics.fixed_point import FloatArray
from likewise.people import Feature, FeatureSchema

N = 6


def lender() -> Segments:
    levels = tuple(f"s{j}" for j in range(N))
    schema = FeatureSchema(
        (Feature("score", low=0, high=2), Feature("segment", "category", levels=levels))
    )
    return Segments(schema, score="score", cuts=[1.0], by=["segment"])


@dataclass
class World:
    """Segments in turn; on those in ``silent`` the panel accepts everything."""

    learner: Learner
    silent: frozenset[int] = frozenset()

    def play(self, rounds: int) -> tuple[list[list[int]], list[int], float]:
        """The published scores, the segments that were reported, and the errors."""
        state, scores, reported, errors = State.start(self.learner), [], [], 0.0
        schema = self.learner.hypotheses.schema
        for t in range(rounds):
            segment = t % N
            people = schema.people([[2, f"s{segment}"], [0, f"s{segment}"]])
            state, deployment = deploy(state, people)
            high, low = deployment.units.tolist()
            wide = high - low > self.learner.sensitivity and segment not in self.silent
            pairs = [(people.ids[0], people.ids[1])] if wide else []
            state = learn(state, deployment, labels=[1, 0], report=pairs)
            scores.append([high, low])
            reported += [segment] * wide
            errors += float(1 - deployment.scores[0] + deployment.scores[1])
        return scores, reported, errors


@pytest.mark.long
@pytest.mark.parametrize(
    "dual", [GradientAscent(), Additive(0.05), Geometric(0.05, 0.3)], ids=lambda d: d.name
)
@pytest.mark.parametrize(("alpha", "eps", "kappa"), [(0.3, 0.3, 0.1), (0.6, 0.3, 0.2)])
def test_where_the_panel_is_silent_on_what_it_never_reported_the_run_is_the_same(
    dual: Dual, alpha: float, eps: float, kappa: float
) -> None:
    """So the regret there is that of a learner that never widened a gap, and reports must come."""
    rounds = 40 * N
    schedule = SelfTuned(eta=0.5, kappa=kappa)
    learner = Learner(lender().with_prior("flat"), 2, alpha, eps, 1, schedule, dual=dual)
    alike = World(learner).play(rounds)
    never = frozenset(range(N)) - set(alike[1])
    assert World(learner, never).play(rounds) == alike
    # the best policy that is fair in the other world tells people apart where nobody objects
    best = rounds / N * (N - len(never)) * (1 - alpha + eps)
    regret, margins = alike[2] - best, Margins(alpha, eps, kappa, 0.0)
    assert len(alike[1]) >= least_reports(N, rounds, regret, margins) - 1e-6
    assert len(alike[1]) >= N - len(never)


def test_without_a_report_regret_is_linear() -> None:
    """A learner that treats everybody alike has no report; its regret leaves none to ask for."""
    margins = Margins(0.3, 0.3, 0.1, 0.0)
    assert least_reports(N, 1000, 800.0, margins) == 0
    assert least_reports(N, 10**6, 1000.0, margins) == pytest.approx(N * 0.8, rel=0.01)


# ── A learner that remembers ────────────────────────────────────────────────────────────────────


def projected(p: FloatArray, most: float) -> FloatArray:
    """The nearest (high, low) with 0 ≤ low ≤ high ≤ 1 and high − low ≤ most: four edges."""
    corners = np.array([[0, 0], [most, 0], [1, 1 - most], [1, 1]])
    if 0 <= p[1] <= p[0] <= 1 and p[0] - p[1] <= most:
        return p
    nearest = []
    for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        edge = b - a
        length = float(edge @ edge)
        share = float(np.clip((p - a) @ edge / length, 0, 1)) if length else 0.0
        nearest.append(a + share * edge)
    return min(nearest, key=lambda q: float((q - p) @ (q - p)))


@pytest.mark.long
@pytest.mark.parametrize("hostile", [False, True])
@pytest.mark.parametrize("beta", [0.2, 0.05])
def test_reports_of_a_learner_that_remembers_do_not_grow_with_t(hostile: bool, beta: float) -> None:
    """Follow the regularised leader among all that no report has excluded: of a pair at most
    1 + (1 − alpha + kappa)/beta reports, and regret of the order sqrt(T), against pivots that come
    as close as they may and labels that are constant, or set against the policy.
    """
    alpha = eps = 0.3
    kappa, rounds = eps - beta, 20_000
    rng, most, reports, paid, ones = np.random.default_rng(1), 1.0, 0, 0.0, 0
    costs, rate = np.zeros(2), 1 / np.sqrt(rounds)
    nearest, counts = 1.0, []  # the smallest distance that the panel has shown
    for t in range(1, rounds + 1):
        p = projected(-rate * costs, most)
        gap = float(p[0] - p[1])
        labels = np.array([1, 0]) if not hostile else (p < 0.5).astype(int)
        labels = labels if rng.random() < 0.9 else 1 - labels
        # a pivot just small enough for this gap to be reported
        distance = max(0.0, gap - (alpha - kappa) - 1e-6)
        if gap > distance + alpha - kappa and rng.random() < 0.5:
            reports += 1
            most = min(most, gap - beta)
            nearest = min(nearest, distance)
        paid += float(np.abs(p - labels).sum())
        costs, ones = costs + (1.0 - 2.0 * labels), ones + int(labels.sum())
        if t in (rounds // 10, rounds):
            counts.append(reports)
    assert counts[0] == counts[1] <= 1 + (1 - alpha + kappa) / beta
    # π* is fair on every round: its gap is at most the nearest pivot's distance + alpha − eps
    fair = np.array([[0, 0], [1, 1], [1, 1 - nearest], [nearest, 0]]) @ costs
    assert paid - ones - float(fair.min()) <= 4 * np.sqrt(2 * rounds) + 2 * reports
