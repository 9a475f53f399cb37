"""Feedback that comes late, in the theory page: the lemmas, and Theorems A and A′ with delay.

With D_t the size of the costs of earlier rounds that were not charged yet when round t opened,

    Σ f_t(π^t) − min_h Σ f_t(h)  ≤  Σ s·B_t·(B_t + D_t)/(2·sigma_t) + A·sigma_T
    Σ f_t(π^t) − min_h Σ f_t(h)  ≤  Σ B_t·(B_t + 2·D_t)/(8·tau_t) + tau_T·log|H|

for Context-FTPL and for exponential weights, surely: π^t is computed, not sampled. If every cost is
at most d rounds late, and a round's costs come in at most m pieces, both are at most
C_d·sqrt(Σ B̄_t²); with a smaller C_d where S counts what is outstanding and B̄_t never decreases.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.hypotheses import HypothesisClass, Pool
from likewise.learner import Learner, SelfTuned, State, apply
from likewise.learner.bounds import Lateness, bounds
from likewise.learner.events import Audited, Labelled
from likewise.learner.fold import upcoming
from likewise.learner.rounds import deploy
from likewise.learner.state import Tuning
from likewise.numerics.fixed_point import ONE, FloatArray, IntArray, to_units
from tests.paper.games import log_inverse
from tests.paper.referee import OFF, charged, delays_of, opened, perturbed_leader
from tests.paper.runs import ROUNDS, Adversary, against_the_policy, random_costs

# ── The lemmas ──────────────────────────────────────────────────────────────────────────────────


@given(
    weights=st.lists(st.floats(0.001, 1), min_size=2, max_size=6),
    seed=st.integers(0, 2**32),
    late=st.floats(0, 20),
)
def test_exponential_weights_hardly_move_for_costs_that_are_late(
    weights: list[float], seed: int, late: float
) -> None:
    law = np.array(weights) / sum(weights)
    second = law * np.exp(np.random.default_rng(seed).uniform(0, late, len(law)))
    distance = float(np.maximum(0, second / second.sum() - law).sum())
    assert distance <= math.tanh(late / 4) + 1e-12
    assert math.tanh(late / 4) <= late / 4


@pytest.mark.parametrize("late", [0.1, 1.0, 5.0])
def test_that_bound_is_attained(late: float) -> None:
    p = 1 / (1 + math.exp(late / 2))
    moved = p * math.exp(late) / (p * math.exp(late) + 1 - p)
    assert moved - p == pytest.approx(math.tanh(late / 4), rel=1e-12)


# ── Theorems A and A′ with delay ────────────────────────────────────────────────────────────────


def rare(rng: np.random.Generator, policy: FloatArray, t: int) -> FloatArray:
    """Nothing at all in most rounds, so that pieces of one round are never squared together."""
    return np.where(policy > 0.5, 1.0, -1.0) * (2.0 if t % 5 == 0 else 0.0)


TABLES: dict[str, list[list[int]]] = {
    "one point": [[0], [1]],
    "three on two points": [[0, 0], [1, 0], [1, 1]],
    "all on two points": [[0, 0], [1, 0], [0, 1], [1, 1]],
}


def gibbs(_: FloatArray, totals: FloatArray) -> FloatArray:
    weights = np.exp(totals.min() - totals)
    return np.asarray(weights / weights.sum())


# How S is counted: only what has come; what is outstanding too, where the bounds of rounds stay
# the same; and where they go up and down.
COUNTED = {
    "what has come": Lateness(counted=False),
    "outstanding": Lateness(counted=True, steady=True),
    "outstanding, bounds that move": Lateness(counted=True, steady=False),
}


@dataclass
class LateRun:
    """A player whose costs are charged late; every point's cost is a piece of its own."""

    table: FloatArray
    law: Callable[[FloatArray, FloatArray], FloatArray]
    x: float
    d: int
    kind: str
    counted: str = "what has come"
    scales: list[float] = field(default_factory=list)
    ranges: list[float] = field(default_factory=list)
    late: list[float] = field(default_factory=list)
    largest: list[float] = field(default_factory=list)
    most_pieces: int = 1
    regret: float = 0.0
    peak: float = 0.0

    def against(self, adversary: Adversary) -> LateRun:
        s, rng, tuning = self.table.shape[1], np.random.default_rng(4), Tuning.start(1)
        charges, total, loss = np.zeros(s), np.zeros(s), 0.0
        waiting: list[tuple[int, int, float, int]] = []  # after which round, where, what, whose
        for t in range(ROUNDS):
            self.largest.append(s * 3.0 * (1 + t * 7 % 5 if "move" in self.counted else 1))
            weights = (1.0, 0.25) if COUNTED[self.counted].counted else ()
            tuning = opened(tuning, self.largest[-1], *weights)
            tuning = tuning.awaiting(round(self.largest[-1] * ONE), 1)
            self.peak = float(tuning.peak[0])
            self.scales.append(SelfTuned(x=self.x).scale(self.peak, 7, s, self.x))
            policy = self.law(self.table, self.table @ charges / self.scales[-1]) @ self.table
            self.late.append(sum(abs(amount) for _, _, amount, _ in waiting))
            costs = np.rint(adversary(rng, policy, t) * ONE) / ONE
            self.ranges.append(float(np.abs(costs).sum()))
            loss += float(policy @ costs)
            total += costs
            pieces = self.pieces(t, s, rng)
            self.most_pieces = max(self.most_pieces, len(set(pieces)))
            waiting += [(t + j, q, float(costs[q]), t) for q, j in enumerate(pieces)]
            before = {of for *_, of in waiting}
            for _, q, amount, of in [w for w in waiting if w[0] <= t]:
                charges[q] += amount
                share = round(self.largest[of] * ONE) // s
                tuning = charged(tuning, abs(amount)).awaiting(-share, 0)
            waiting = [w for w in waiting if w[0] > t]
            tuning = tuning.awaiting(0, len({of for *_, of in waiting}) - len(before))
        self.regret = loss - float((self.table @ total).min())
        return self

    def pieces(self, t: int, s: int, rng: np.random.Generator) -> list[int]:
        if self.kind == "spread":
            return [0 if q == 0 else self.d for q in range(s)]
        return delays_of(self.kind, self.d, ROUNDS, rng)[t : t + 1] * s

    def bound(self, constant: float, weight: float, gain: float) -> float:
        """Σ constant·B_t·(B_t + weight·D_t)/scale_t + gain·scale_T."""
        rounds = zip(self.ranges, self.late, self.scales, strict=True)
        return (
            sum(constant * b * (b + weight * d) / s for b, d, s in rounds) + gain * self.scales[-1]
        )

    def check(self, stability: float, weight: int, gain: float) -> None:
        """What the corollary rests on: D_t, S_t, and C_d."""
        d, squares = self.d, np.cumsum(np.square(self.ranges))
        for t, late in enumerate(self.late):
            assert late <= sum(self.ranges[max(0, t - d) : t]) + 1e-9
            revealed = squares[t - d - 1] if t > d else 0.0
            needed = self.largest[t] ** 2 + revealed / self.most_pieces
            assert (self.scales[t] / self.x) ** 2 >= needed - 1e-9
        how = replace(COUNTED[self.counted], delay=d, pieces=self.most_pieces)
        if how.counted and how.steady:  # then S has all rounds in it, those outstanding at bounds
            for t in range(ROUNDS):
                everything = self.largest[t] ** 2 + (squares[t - 1] if t else 0.0)
                assert (self.scales[t] / self.x) ** 2 >= everything / self.most_pieces - 1e-9
        together = sum(b**2 for b in self.largest)
        assert self.peak <= how.wide**2 * together + 1e-9
        split = sum(b * (b + weight * d) / s for b, d, s in self.moves)
        assert split * self.x <= 2 * how.slow(weight) * math.sqrt(together) + 1e-9
        big_c = how.slow(weight) * stability / self.x + how.wide * gain * self.x
        assert self.regret <= big_c * math.sqrt(together)

    @property
    def moves(self) -> list[tuple[float, float, float]]:
        return list(zip(self.ranges, self.late, self.scales, strict=True))


LATE = pytest.mark.parametrize("d", [1, 4])
KINDS = ("random", "constant", "bunched", "spread")
ADVERSARIES = pytest.mark.parametrize("adversary", [random_costs, against_the_policy, rare])
SCALES = (
    (0.05, "what has come"),
    (0.5, "what has come"),
    (0.1, "outstanding"),
    (0.2, "outstanding, bounds that move"),
)


@pytest.mark.parametrize("name", TABLES)
@LATE
@ADVERSARIES
def test_theorem_a_holds_with_delay_for_context_ftpl(
    name: str, d: int, adversary: Adversary
) -> None:
    table = np.array(TABLES[name], float)
    s = table.shape[1]
    for kind, (x, counted) in product(KINDS, SCALES):
        run = LateRun(table, perturbed_leader, x, d, kind, counted).against(adversary)
        bound = run.bound(s / 2, 1.0, s / 2)  # A ≤ s/2
        assert run.regret <= bound + (OFF * sum(run.ranges) if s == 2 else 1e-9), (kind, counted)
        run.check(s, 1, s / 2)


@pytest.mark.parametrize("name", TABLES)
@LATE
@ADVERSARIES
def test_theorem_a_prime_holds_with_delay_for_exponential_weights(
    name: str, d: int, adversary: Adversary
) -> None:
    table = np.array(TABLES[name], float)
    for kind, (x, counted) in product(KINDS, SCALES):
        run = LateRun(table, gibbs, x, d, kind, counted).against(adversary)
        bound = run.bound(1 / 8, 2.0, math.log(len(table)))
        assert run.regret <= bound + 1e-9, (kind, counted)
        run.check(1 / 4, 2, math.log(len(table)))


def test_delay_costs_something_in_these_runs() -> None:
    """Else they would test nothing: the bounds of Theorems A and A′ as they are would be broken."""
    table = np.array(TABLES["one point"], float)
    draw = LateRun(table, perturbed_leader, 0.5, 4, "constant").against(against_the_policy)
    exact = LateRun(table, gibbs, 0.5, 4, "constant").against(against_the_policy)
    assert draw.regret > draw.bound(1 / 2, 0.0, 1 / 2)
    assert exact.regret > exact.bound(1 / 8, 0.0, math.log(2))


def test_a_round_that_comes_in_pieces_adds_less_to_s_than_its_square() -> None:
    """Why m is in C_d: half a round in time and half of it late are ¼ + ¼, not 1."""
    tuning = opened(charged(Tuning.start(1), 0.5), 0.0)
    assert opened(charged(tuning, 0.5), 0.0).squares.tolist() == [0.5]


# ── The learner itself, with audits and labels that are late ────────────────────────────────────

GAME = 120


@dataclass
class Late:
    """Games of a learner whose audits and labels come at most d rounds late, each when it likes."""

    learner: Learner
    d: int
    table: IntArray
    regret: FloatArray = field(init=False)  # of the Lagrangian, against every hypothesis
    bound: float = 0.0
    reports: int = 0
    errors: FloatArray = field(init=False)  # more than those of every hypothesis

    def play(self) -> Late:
        learner, rng, state = self.learner, np.random.default_rng(8), State.start(self.learner)
        hypotheses: HypothesisClass = learner.hypotheses
        unit = to_units(learner.schedule.error_weight() / 2) / ONE
        self.regret, self.errors = np.zeros(len(self.table)), np.zeros(len(self.table))
        waiting: list[tuple[int, float, Audited | Labelled]] = []
        for t in range(GAME):
            kinds = rng.integers(0, self.table.shape[1], 2)
            people = hypotheses.schema.people(self.table.T[kinds].astype(float))
            frozen, lam = upcoming(state), to_units(state.lam) / ONE
            late = sum(size for _, size, _ in waiting)
            state, deployment = deploy(state, people)
            scores, predicted = deployment.units / ONE, self.table[:, kinds]
            labels = (scores < 0.5).astype(int)
            over = int(scores[0] < scores[1])
            actual = abs(int(deployment.units[0] - deployment.units[1])) > learner.sensitivity
            pairs = ((people.ids[over], people.ids[1 - over]),) if actual else ()
            audit = Audited(deployment.round, "report" if actual else "quiet", pairs)
            events: list[tuple[float, Audited | Labelled]] = [(2 * lam * actual, audit)]
            events += [
                (unit, Labelled(deployment.round, person, int(label)))
                for person, label in zip(people.ids, labels, strict=True)
            ]
            costs = unit * (1 - 2 * labels)
            self.errors += (scores - predicted) @ (1 - 2 * labels)
            if actual:
                costs = costs + lam * np.array([1, -1]) * (1 - 2 * over)
                self.reports += 1
            self.regret += (scores - predicted) @ costs
            size = sum(amount for amount, _ in events)
            self.bound += size * (size + 2 * late) / (8 * frozen.scale)
            waiting += [(t + int(rng.integers(0, self.d + 1)), *event) for event in events]
            for due, _, event in waiting:
                state = apply(state, event) if due <= t else state
            waiting = [w for w in waiting if w[0] > t]
            last = frozen.scale
        self.bound += last * log_inverse(learner)
        return self


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("d", [0, 2, 10])
@pytest.mark.parametrize("eta", [0.25, 1.0])
def test_theorem_b_holds_with_delay_for_the_learner_as_it_is(
    d: int, eta: float, counted: bool
) -> None:
    """The primal inequality with the learner's own scales and costs, and the theorem's bounds."""
    table = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]], dtype=np.int64)
    x, beta = 0.3, 0.15
    late_weights = {} if counted else {"outstanding": 0.0, "waiting": 0.0}
    schedule = SelfTuned(eta=eta, x=x, kappa=0.15, **late_weights)
    # Its prior: half on the two constants, half on the two others.
    learner = Learner(Pool.from_table(table), 2, 0.3, 0.3, 1, schedule, "exponential-weights")
    late = Late(learner, d, table).play()
    assert late.regret.max() <= late.bound + 2.0**-19 * GAME * 10
    root, how = math.sqrt(GAME), Lateness(d, min(d + 1, 3), counted=counted)
    c = how.slow(2) / (4 * x) + how.wide * x * math.log(4)
    w = (c * eta + 4 * c**2 + (1 + 2.5 * d) * beta**2) * root
    fair = [0, 3]  # the constants, which no panel objects to
    assert late.errors[fair].max() <= 2 / eta * w
    assert late.reports <= 2 * math.sqrt(root * (eta * GAME + w)) / beta
    (promised,) = bounds(learner, GAME, delay=d, pieces=3)
    assert promised.regret == pytest.approx(2 / eta * w, rel=1e-3)
    assert promised.violations == pytest.approx(
        2 * math.sqrt(root * (eta * GAME + w)) / beta, rel=1e-3
    )
