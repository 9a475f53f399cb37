"""Games against a hostile world, with all that the theorems' inequalities need.

π^t is known in all of them: what exponential weights publish; for Context-FTPL and for mixtures the
integral over their noise, which classes with one or two separators, and coins, allow.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from likewise.hypotheses import HypothesisClass, Points, Pool, Segments
from likewise.learner import Learner, State, apply
from likewise.learner.events import Audited, Closed, Outcome
from likewise.learner.fold import label, upcoming
from likewise.learner.players import Draws, Frozen, NestedFTPL
from likewise.learner.rounds import deploy
from likewise.learner.state import OpenRound
from likewise.numerics.fixed_point import ONE, FloatArray, IntArray, to_units
from likewise.people import Feature, FeatureSchema
from likewise.simulate import BestFair, Faced, best_fair_policy
from tests.paper.referee import perturbed_coins, perturbed_leader

ROUNDS = 150


@dataclass(frozen=True)
class Setting:
    """A class and the kinds of people who turn up."""

    hypotheses: HypothesisClass
    kinds: list[list[int]]


def pool(table: list[list[int]], kinds: list[list[int]]) -> Setting:
    """Kinds are columns: what every member predicts."""
    return Setting(Pool.from_table(table), kinds)


def coins(points: int) -> Setting:
    """All functions on some points: a threshold on one bin, for each level of a category."""
    levels = tuple(f"l{i}" for i in range(points))
    schema = FeatureSchema((Feature("score"), Feature("kind", "category", levels=levels)))
    lender = Segments(schema, score="score", cuts=[], by=["kind"])
    return Setting(lender, [[0, kind] for kind in range(points)])


SCHEMA = FeatureSchema((Feature("score", low=0, high=3), Feature("home", "flag")))
LISTS = [[0, 0, 0, 1], [0, 0, 1, 1], [0, 1, 1, 1]]
EXACT: dict[str, Setting] = {
    "pool": pool([[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]], LISTS),
    "nobody or some": pool([[0, 0], [0, 1]], [[0, 1], [0, 0]]),
    "segments": Setting(
        Segments(SCHEMA, score="score", cuts=[1.0, 2.0], by=["home"]),
        [[score, home] for score in range(3) for home in range(2)],
    ),
}
# One or two separating points, or coins, so that π^t can be integrated.
INTEGRABLE: dict[str, Setting] = {
    "one separator": EXACT["nobody or some"],
    "three on two": pool([[0, 0], [1, 0], [1, 1]], [[0, 1, 1], [0, 0, 1]]),
    "all on two": pool(
        [[0, 0], [1, 0], [0, 1], [1, 1]],
        [[0, 1, 0, 1], [0, 0, 1, 1], [0, 1, 1, 1], [0, 0, 0, 1]],
    ),
    "coins": coins(4),
}


@dataclass
class Played:
    """A game; costs are numbers on the grid."""

    learner: Learner
    state: State
    faced: list[Faced] = field(default_factory=list)
    policies: list[FloatArray] = field(default_factory=list)
    scores: list[IntArray] = field(default_factory=list)
    reports: list[tuple[int, int] | None] = field(default_factory=list)
    lams: list[float] = field(default_factory=list)
    scales: list[FloatArray] = field(default_factory=list)
    ranges: list[float] = field(default_factory=list)
    closed: list[OpenRound] = field(default_factory=list)
    violations: int = 0
    errors: float = 0.0

    @property
    def label_weight(self) -> float:
        """eta/k."""
        return to_units(self.learner.schedule.error_weight() / self.learner.k) / ONE

    @property
    def reported(self) -> float:
        """Σ lam_t over the reports."""
        pairs = zip(self.lams, self.reports, strict=True)
        return sum(lam for lam, pair in pairs if pair is not None)

    def best(self) -> BestFair:
        slack = self.learner.alpha - self.learner.eps
        return best_fair_policy(self.learner.hypotheses, self.faced, slack)

    def lagrangian_regret(self, best: BestFair) -> float:
        """(eta/k)·ΔError + Σ lam_t·[U_t(π^t) − U_t(π*)]; constants of U cancel."""
        total = self.label_weight * (self.errors - best.error)
        rounds = zip(self.faced, self.policies, self.reports, self.lams, strict=True)
        for faced, policy, pair, lam in rounds:
            if pair is not None:
                star = best.scores(faced.points)
                over, under = pair
                total += lam * ((policy[over] - policy[under]) - (star[over] - star[under]))
        return total

    def bound(self, stability: float, gain: float) -> float:
        """The primal player's: Σ stability·B_t²/scale_t + gain·scale_T, for a single scale."""
        rounds = zip(self.ranges, self.scales, strict=True)
        spread = sum(b * b / float(s[0]) for b, s in rounds)
        return stability * spread + gain * float(self.scales[-1][0])


def exact_policy(learner: Learner, frozen: Frozen, points: Points) -> FloatArray:
    """π^t(x)."""
    hypotheses = learner.hypotheses
    if learner.primal.exact:
        return np.array(learner.primal.estimates(hypotheses, frozen, points, Draws(0)).scores) / ONE
    if isinstance(hypotheses, Pool):
        table = hypotheses.separating_points().T.astype(float)
        return np.asarray(points @ perturbed_leader(table, frozen.costs / ONE / frozen.scale))
    costs = frozen.costs / ONE
    if not isinstance(learner.primal, NestedFTPL):
        return perturbed_coins(costs, frozen.scales)[points]
    weights = learner.primal._weights(hypotheses, frozen).astype(float)
    alike = perturbed_coins(np.full(len(costs), costs.sum()), float(frozen.scales[1]))
    apart = perturbed_coins(costs, frozen.scales[2:])
    experts = np.stack([np.zeros(len(costs)), np.ones(len(costs)), alike, apart])
    return np.asarray((weights @ experts / weights.sum())[points])


def hostile_game(learner: Learner, setting: Setting, against: str, rounds: int = ROUNDS) -> Played:
    """Labels are chosen against the policy, or the first kind is good, the others are bad and all
    are alike, which no fair policy can heed. The panel reports the worst pair it is asked for.
    """
    state, alpha = State.start(learner), to_units(learner.alpha)
    played = Played(learner, state)
    for t in range(rounds):
        rng = np.random.default_rng(t)
        kinds = rng.integers(0, len(setting.kinds), 3)
        rows = np.array(setting.kinds, dtype=float)[kinds]
        farthest = ONE // 2 if against == "the policy" else ONE // 20
        distances = np.triu(rng.integers(0, farthest, (3, 3)), 1)
        distances = distances + distances.T
        people = setting.hypotheses.schema.encoded(rows)
        points = setting.hypotheses.locate(people)
        frozen, lam = upcoming(state), to_units(state.lam) / ONE
        policy = exact_policy(learner, frozen, points)
        labels = (policy < 0.5 if against == "the policy" else kinds == 0).astype(np.int64)
        state, deployment = deploy(state, people)
        excess = deployment.units[:, None] - deployment.units[None, :]
        excess = excess - distances - state.sensitivity
        over, under = (int(i) for i in np.unravel_index(excess.argmax(), excess.shape))
        pair = (over, under) if excess[over, under] > 0 else None
        actual = [(people.ids[over], people.ids[under])] if pair else []
        outcome: Outcome = "report" if actual else "quiet"
        state = apply(state, Audited(deployment.round, outcome, tuple(actual)))
        state = label(state, deployment.round, dict(zip(people.ids, labels.tolist(), strict=True)))
        played.closed.append(state.open[deployment.round])
        state = apply(state, Closed(deployment.round))
        played.faced.append(Faced(points, labels, distances))
        played.policies.append(policy)
        played.scores.append(deployment.units)
        played.reports.append(pair)
        played.lams.append(lam)
        played.scales.append(frozen.scales)
        played.ranges.append(3 * played.label_weight + (2 * lam if pair else 0.0))
        played.errors += float(np.abs(policy - labels).sum())
        gaps = policy[:, None] - policy[None, :]
        played.violations += bool((gaps > (distances + alpha) / ONE).any())
    played.state = state
    return played


def log_inverse(learner: Learner) -> float:
    """max ln(1/prior) of the class, by enumeration."""
    hypotheses = learner.hypotheses
    inverse: FloatArray = hypotheses.log_inverse_priors(hypotheses.codes())  # type: ignore[attr-defined]
    return float(inverse.max())
