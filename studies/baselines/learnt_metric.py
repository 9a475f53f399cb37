"""A metric learnt from the reports, and in every round the best choice that is fair for it.

Olson et al. (2026, arXiv 2605.23145) learn a Mahalanobis distance from triplets by logistic loss,
and train a predictor that is fair for it. Here comparisons are those that reports imply: a reported
pair is nearer than its gap less the sensitivity, and a pair whose gap is larger
than that of the reported one (any gap, in a quiet round) is not. Logistic loss of
10·((gap − sensitivity)² − vᵀMv), v the difference of the features, one step a round with a
rate that falls as its gradients add up, and a projection of M onto the positive semidefinite ones.

Fair for it: p = argmax Σ p_i·r̂_i with |p_i − p_j| ≤ sqrt(vᵀMv) + alpha − margin_share·eps, the
program of Dwork et al. (2012) on the round. r̂ = 2·π(x) − 1 for exponential weights on the labels
alone, over the same class as ours. Nothing is proved of it before such a panel.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from likewise.errors import ParameterError
from likewise.hypotheses.base import score
from likewise.learner.events import Audited, Labelled
from likewise.learner.oracle import engine_for
from likewise.numerics.fixed_point import ONE, FloatArray, IntArray, to_units
from likewise.numerics.randomness import Purpose, Stream
from likewise.panel.reports import LargestGap
from likewise.people.schema import FeatureSchema, People
from likewise.simulate.learners import baseline
from likewise.simulate.rounds import Feedback
from studies.baselines.predecessors import Decisions, Predecessor, exact_weights

# M begins as START times the unit matrix: with none, gaps that tell nothing are all it would play.
START, SHARPNESS = 0.05, 10.0


def features_of(schema: FeatureSchema, x: FloatArray, names: Sequence[str] = ()) -> FloatArray:
    """Everybody's features in [0, 1]: numbers by their bounds, a column for every level.

    Without bounds x becomes x/(1 + |x|); a missing value is 0, with a column that says so.
    """
    columns: list[FloatArray] = []
    for n in map(schema.names.index, names or schema.names):
        feature = schema.features[n]
        missing = np.isnan(x[:, n])
        values = np.where(missing, 0.0, x[:, n])
        low, high = feature.limits
        if feature.kind == "category":
            columns += [np.where(missing, 0.0, values == n) for n in range(len(feature.levels))]
        elif math.isfinite(high - low):
            columns.append(np.where(missing, 0.0, (values - low) / (high - low)))
        else:
            columns.append(values / (1.0 + np.abs(values)))
        if feature.missing is not None:
            columns.append(missing.astype(np.float64))
    return np.stack(columns, axis=1)


def fair_for_metric(rewards: FloatArray, most: FloatArray) -> FloatArray:
    """The p in [0, 1]^k with the largest Σ p_i·r_i and p_i − p_j ≤ most_ij.

    ``most`` is a metric plus at least 0, so that those who are worth approving need be compared
    with the others alone. The simplex method from p = 0 with Bland's rule: for so few people it is
    ten times as fast as a call of a solver.
    """
    good, bad = np.flatnonzero(rewards > 0), np.flatnonzero(rewards <= 0)
    k, unit = len(rewards), np.eye(len(rewards))
    over, under = np.repeat(good, len(bad)), np.tile(bad, len(good))
    rows = np.concatenate([unit[over] - unit[under], unit[good]])
    limits = np.concatenate([most[over, under], np.ones(len(good))])
    table = np.block([[rows, limits[:, None]], [-rewards[None], np.zeros((1, 1))]])
    columns, basis = list(range(k)), list(range(k, k + len(rows)))
    while True:
        gains = [(columns[e], e) for e in np.flatnonzero(table[-1, :-1] < -1e-9).tolist()]
        if not gains:
            break
        enter = min(gains)[1]
        column = table[:, enter].copy()
        ratios = np.full(len(rows), np.inf)
        np.divide(table[:-1, -1], column[:-1], out=ratios, where=column[:-1] > 1e-9)
        ties = np.flatnonzero(ratios <= ratios.min() + 1e-12).tolist()
        leave = min(ties, key=basis.__getitem__)
        row = table[leave] / column[leave]
        row[enter] = 1.0 / column[leave]
        table -= column[:, None] * row
        table[:, enter] = -column / column[leave]
        table[leave] = row
        basis[leave], columns[enter] = columns[enter], basis[leave]
    p = np.zeros(k)
    for place, variable in enumerate(basis):
        if variable < k:
            p[variable] = table[place, -1]
    return np.clip(p, 0.0, 1.0)


@dataclass(eq=False, kw_only=True)
class LearntMetric(Predecessor):
    """One step of logistic regression a round, and a linear program of k variables.

    ``rate`` multiplies the steps, and ``caution`` those on reported pairs once more; the panel is
    asked at alpha − kappa_share·eps. ``columns`` names the features that the metric may see, with
    commas between them; all of them unless given.
    """

    name = "learnt-metric"
    needs_horizon = False
    rate: float = 1.0
    caution: float = 1.0
    margin_share: float = 0.0
    kappa_share: float = 0.325
    columns: str = ""
    selection = LargestGap()

    def __post_init__(self) -> None:
        self.check_factors("rate", "caution")
        self.check_shares("margin_share", "kappa_share")
        self._exact = exact_weights(self.hypotheses, self.name)
        schema = self.hypotheses.schema
        self._names = tuple(name.strip() for name in self.columns.split(",") if name.strip())
        if unknown := [name for name in self._names if name not in schema.names]:
            rule = f"must be some of {', '.join(schema.names)}"
            raise ParameterError("columns", rule, ", ".join(unknown), "Separate them by commas.")
        n = features_of(schema, np.zeros((1, len(schema.features))), self._names).shape[1]
        self.matrix = START * np.eye(n)
        self._squares = 0.0
        self.begin()

    @property
    def sensitivity(self) -> int:
        return to_units(self.alpha - self.kappa_share * self.eps)

    def chances(self, people: People) -> IntArray:
        return self._fair(people, self.number + 1)

    def _fair(self, people: People, number: int) -> IntArray:
        # A third of the bound's best temperature, as for accuracy-only.
        x = 1.0 / (6.0 * math.sqrt(max(self._exact.log_inverse_prior, 1.0)))
        scale = x * math.sqrt(number) * ONE
        policy = engine_for("compiled", self.hypotheses).weigh(self._exact, self.costs, scale)
        weights = policy.approval(self.hypotheses.locate(people))
        rewards = np.array([2.0 * score(w, total) / ONE - 1.0 for w, total in weights])
        most = self.distances(people) + (self.alpha - self.margin_share * self.eps)
        return np.rint(fair_for_metric(rewards, most) * ONE).astype(np.int64)

    def distances(self, people: People) -> FloatArray:
        """The learnt distances sqrt(vᵀMv) between all people."""
        return np.sqrt(np.maximum(0.0, self._squared(self._differences(people))))

    def _differences(self, people: People) -> FloatArray:
        features = features_of(people.schema, people.x, self._names)
        return features[:, None] - features

    def _squared(self, apart: FloatArray) -> FloatArray:
        squares: FloatArray = np.einsum("ijk,ijk->ij", apart, apart @ self.matrix)
        return squares

    def play(self, people: People) -> tuple[IntArray, Decisions]:
        scores = self._fair(people, self.number)
        uniforms = Stream(self.seed, Purpose.DECIDE, self.number).uniforms(0, len(people), 1)[:, 0]
        self._apart = self._differences(people)
        return scores, uniforms * ONE < scores

    def hear(self, event: Feedback) -> None:
        """Charge a label; take a step on the comparisons that an audit implies."""
        if isinstance(event, Labelled):
            self.charge_label(event)
        elif isinstance(event, Audited):
            self._learn(self.pairs_of(event))

    def _learn(self, reported: list[tuple[int, int]]) -> None:
        apart = self._apart
        gaps = (self.scores[:, None] - self.scores) / ONE
        beyond = np.maximum(0.0, gaps - self.sensitivity / ONE)
        least = max((gaps[pair] for pair in reported), default=0.0)
        # +1 where the pair is nearer than ``beyond``, −1 where it is not, 0 where nobody knows.
        sides = np.where((beyond > 0) & (gaps > least), -1.0, 0.0)
        for pair in reported:
            sides[pair] = 1.0
        far = beyond * beyond - self._squared(apart)
        force = sides / (1.0 + np.exp(np.clip(sides * SHARPNESS * far, -50.0, 50.0)))
        force = np.where(force > 0, self.caution * force, force)
        if not force.any():
            return
        gradient = np.einsum("ij,ijk,ijl->kl", force, apart, apart)
        self._squares += float((gradient * gradient).sum())
        moved = self.matrix - self.rate * gradient / math.sqrt(self._squares)
        values, vectors = np.linalg.eigh(moved)
        self.matrix = (vectors * np.maximum(0.0, values)) @ vectors.T


learnt_metric = baseline(
    LearntMetric.name, "a Mahalanobis distance learnt from reports, and a fair choice for it"
)(LearntMetric)
