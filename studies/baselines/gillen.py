"""Gillen, Jung, Kearns and Roth (2018): linear rewards, an auditor who names all pairs.

Each round p = argmax Σ p_i·r̂_i over 0 ≤ p ≤ 1, |p_i − p_j| ≤ d̂_ij: any number may be chosen, as in
their remark. r̂ is optimistic: ridge regression on the rewards of the chosen, plus the confidence
widths of Abbasi-Yadkori et al. (2011). d̂: for every pair of places an estimate of the squared
distance, linear in the entries of AᵀA, which learns 'too large' where the pair was named, and 'not
too large' where it was not though its constraint was tight; otherwise it is left as it was.

Quoted: all of the above; eps = 1/(k³T). A surrogate: the estimator of distances. It is defined in
its own world alone, `linear`; there the panel is asked at 0, and names every pair.
"""

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from likewise.errors import LikewiseError
from likewise.hypotheses import HypothesisClass, LinearByIntercepts
from likewise.learner.events import Audited, Labelled
from likewise.numerics.fixed_point import ONE, FloatArray, IntArray
from likewise.numerics.randomness import Purpose, Stream
from likewise.panel import AllPairs, Mahalanobis, MetricAuditor, Panel
from likewise.people import Feature, FeatureSchema, People
from likewise.simulate import Encounter, Steady, baseline
from likewise.simulate.rounds import Feedback
from likewise.simulate.world import numbered, setting
from studies.baselines.predecessors import Decisions, Predecessor


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """All w with (w − centre)ᵀ shape⁻¹ (w − centre) ≤ 1."""

    centre: FloatArray
    shape: FloatArray

    @classmethod
    def ball(cls, dimension: int, radius: float) -> Self:
        return cls(np.zeros(dimension), np.eye(dimension) * radius * radius)

    def guess(self, features: FloatArray) -> float:
        return float(_dot(self.centre, features))

    def width(self, features: FloatArray) -> float:
        """Half of the range of ⟨w, features⟩ over the ellipsoid."""
        return math.sqrt(max(0.0, _dot(features, _times(self.shape, features))))

    def cut(self, features: FloatArray, *, smaller: bool) -> Self:
        """The least ellipsoid around the half in which ⟨w, features⟩ is at most the guess.

        With ``smaller`` false, at least the guess.
        """
        n = len(self.centre)
        step = _times(self.shape, features) / self.width(features)
        centre = self.centre - step / (n + 1) if smaller else self.centre + step / (n + 1)
        shape = self.shape - step[:, None] * step * (2.0 / (n + 1))
        return type(self)(centre, shape * (n * n / (n * n - 1.0)))


def _dot(left: FloatArray, right: FloatArray) -> float:
    return math.fsum((left * right).tolist())


def _times(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    return np.array([_dot(row, vector) for row in matrix])


# Its world's features, in [0, 2]; 1 is taken off, and norms are at most 1.
WORLD = ("first", "second")
TIGHT = 1e-7
DELTA = 0.05


@dataclass(eq=False, kw_only=True)
class Gillen(Predecessor):
    """Estimates of rewards and distances, and a program of k variables a round.

    Widths are its own, or narrower by ``width_divisor``.
    """

    name = "gillen"
    width_divisor: float = 1.0
    feedback = "one-sided"
    selection = AllPairs()

    def __post_init__(self) -> None:
        self.check_factors("width_divisor")
        if self.hypotheses.schema.names != WORLD:
            raise LikewiseError(
                f"gillen is defined in the world linear alone, whose features are "
                f"{', '.join(WORLD)}; here they are {', '.join(self.hypotheses.schema.names)}."
            )
        n, places = len(WORLD), itertools.combinations(range(self.k), 2)
        # ‖A·apart‖ is at most 1 for apart of norm 2 or less, cut off there: ‖AᵀA‖_F ≤ sqrt(d).
        self.distances = {pair: Ellipsoid.ball(n * (n + 1) // 2, math.sqrt(n)) for pair in places}
        self.gram, self.moments = np.eye(n), np.zeros(n)
        self._x: FloatArray = np.zeros((0, n))
        self._guesses: FloatArray = np.zeros((0, 0))
        self.begin()

    @property
    def sensitivity(self) -> int:
        """0: the auditor names every pair whose gap exceeds the distance."""
        return 0

    def _solved(self, people: People) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Normed people, their p, and the distances that it was made with."""
        x = (people.x - 1.0) / math.sqrt(len(WORLD))
        inverse = np.linalg.inv(self.gram)
        theta = inverse @ self.moments
        wide = math.sqrt(len(WORLD) * math.log((1.0 + self.horizon) / DELTA)) + 1.0
        widths = np.sqrt(np.einsum("ij,jk,ik->i", x, inverse, x)) * wide / self.width_divisor
        k = len(x)
        guesses = np.zeros((k, k))
        for i, j in itertools.combinations(range(k), 2):
            squared = self.distances[i, j].guess(squared_features(x[i] - x[j]))
            guesses[i, j] = guesses[j, i] = min(1.0, math.sqrt(max(0.0, squared)))
        return x, fair_choice(x @ theta + widths, guesses), guesses

    def chances(self, people: People) -> IntArray:
        return np.rint(self._solved(people)[1] * ONE).astype(np.int64)

    def play(self, people: People) -> tuple[IntArray, Decisions]:
        """Solve the program, and choose everybody with their own p."""
        self._x, p, self._guesses = self._solved(people)
        coins = Stream(self.seed, Purpose.DECIDE, self.number).uniforms(0, 1, len(p))[0]
        return np.rint(p * ONE).astype(np.int64), coins < p

    def hear(self, event: Feedback) -> None:
        """A reward of the chosen, or the pairs that the auditor names."""
        if isinstance(event, Labelled):
            x = self._x[self.places[event.person]]
            self.gram = self.gram + x[:, None] * x
            self.moments = self.moments + x * (2.0 * event.label - 1.0)
        elif isinstance(event, Audited):
            named = {frozenset(self.places[person] for person in pair) for pair in event.pairs}
            for pair in itertools.combinations(range(len(self.places)), 2):
                self._learn(pair, named=frozenset(pair) in named)

    def _learn(self, pair: tuple[int, int], *, named: bool) -> None:
        i, j = pair
        gap = abs(int(self.scores[i]) - int(self.scores[j])) / ONE
        guess = float(self._guesses[i, j])
        tight = gap >= guess - max(TIGHT, 2.0 / ONE) and guess < 1.0
        if not named and not tight:
            return
        features = squared_features(self._x[i] - self._x[j])
        # Narrower than eps = 1/(k³T), a cut would tell nothing.
        if self.distances[pair].width(features) > 1.0 / (self.k**3 * self.horizon):
            self.distances[pair] = self.distances[pair].cut(features, smaller=named)


gillen = baseline(
    Gillen.name, "2018: linear rewards, one auditor who names all pairs; the world linear alone"
)(Gillen)


def squared_features(apart: FloatArray) -> FloatArray:
    """The features in which ‖A·apart‖² is linear: products of two entries, once for each two."""
    n = len(apart)
    return np.array([
        apart[i] * apart[j] * (1.0 if i == j else 2.0) for i in range(n) for j in range(i, n)
    ])  # fmt: skip


def fair_choice(rewards: FloatArray, distances: FloatArray) -> FloatArray:
    """LP(r̂, d̂): the p in [0, 1]^k with the largest Σ p_i·r̂_i and |p_i − p_j| ≤ d̂_ij."""
    from scipy.optimize import linprog

    k = len(rewards)
    if k == 1:
        return np.array([float(rewards[0] > 0)])
    over, under = np.nonzero(~np.eye(k, dtype=bool))
    rows = np.eye(k)[over] - np.eye(k)[under]
    bounds = distances[over, under]
    program = linprog(-rewards, A_ub=rows, b_ub=bounds, bounds=(0.0, 1.0), method="highs")
    if not program.success:
        raise LikewiseError(f"The linear program of gillen was not solved: {program.message}")
    return np.clip(np.asarray(program.x, dtype=np.float64), 0.0, 1.0)


# Shifted by 1, so that a boundary through the middle has intercepts.
SCHEMA = FeatureSchema((Feature("first", "number", 0, 2), Feature("second", "number", 0, 2)))
THETA = (1.0, 0.5)
MATRIX = ((0.25, 0.1), (0.1, 0.16))
INTERCEPTS = (-4.0, -2.0, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0)


@dataclass(frozen=True)
class Linear(Steady):
    """k people whose rewards are linear in the mean, before one auditor."""

    seed: int
    k: int = setting(4, "the number of people a round", low=1, high=100)
    leniency: float = setting(1.0, "a factor on the auditor's distances", low=0.01, high=10)
    name = "linear"
    summary = "rewards linear in two features, one auditor who names all pairs; for gillen"
    classes = ("linear",)
    schema = SCHEMA

    def hypotheses(self, name: str | None = None) -> HypothesisClass:
        self.class_name(name)
        return LinearByIntercepts(SCHEMA, SCHEMA.names, INTERCEPTS, flips=False)

    @cached_property
    def panel(self) -> Panel:
        distance = Mahalanobis(SCHEMA.names, MATRIX, scale=1.0 / self.leniency)
        return Panel([MetricAuditor("auditor", distance)], "any")

    def encounter(self, t: int) -> Encounter:
        """k people, each with a reward of mean ⟨x, theta⟩/sqrt(2)."""
        u = Stream(self.seed, Purpose.WORLD, t).uniforms(0, self.k, 4)
        x = np.rint(200 * u[:, :2]) / 100
        mean = ((x[:, 0] - 1) * THETA[0] + (x[:, 1] - 1) * THETA[1]) / 1.5
        labels = (u[:, 2] < (1 + mean) / 2).astype(np.int64)
        return Encounter(numbered(t, x, SCHEMA), labels, self.panel)
