"""Audits of a share p of the rounds, in the theory page: surely given the lottery, then on average.

A report weighs lam_t/p and the dual steps beta/p, at audits only. Given the N audits that the
lottery drew, the primal inequality and the dual lemma hold surely, the latter with N + 1 for T.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.hypotheses import Pool
from likewise.learner import Learner, SelfTuned, State, learn
from likewise.learner.attention import Share
from likewise.learner.bounds import bounds
from likewise.learner.costs import GradientAscent
from likewise.learner.fold import asking, upcoming
from likewise.learner.rounds import deploy
from likewise.numerics.fixed_point import ONE, FloatArray, IntArray, to_units
from tests.paper.games import log_inverse

DUAL = GradientAscent()


def multipliers(reported: list[bool], beta: float, share: float) -> list[float]:
    """At every audit, and the one that is left when the last of them is over."""
    lams = [0.0]
    for n, report in enumerate(reported, start=1):
        mu = 1 / math.sqrt(n)
        lams.append(DUAL.step(lams[-1], reported=report, beta=beta / share, mu=mu))
    return lams


@given(
    reported=st.lists(st.booleans(), max_size=200),
    beta=st.floats(0.01, 1.0),
    share=st.floats(0.05, 1.0),
    lam=st.floats(0, 50),
)
def test_the_dual_lemma_counts_audits_and_the_multiplier_that_is_left(
    reported: list[bool], beta: float, share: float, lam: float
) -> None:
    lams, u = multipliers(reported, beta, share), [beta / share * report for report in reported]
    root = math.sqrt(len(u) + 1)
    earned = sum(a * b for a, b in zip(u, lams[:-1], strict=True))
    squares = sum(value**2 for value in lams)  # all N + 1 of them
    promised = lam * sum(u) - lam**2 * root + squares / (4 * root) - (beta / share) ** 2 * root
    assert earned >= promised - 1e-9


TABLE = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]], dtype=np.int64)
HYPOTHESES = Pool.from_table(TABLE)
ROUNDS, X = 100, 0.3


@dataclass
class Shared:
    """A game in which an attention decides what is audited; the panel finds everybody alike.

    Labels are against the policy, or against fairness: one kind of people is good and two are not.
    """

    learner: Learner
    against: str = "the policy"
    audits: int = 0
    reports: int = 0
    violations: int = 0
    unseen: int = 0
    largest: float = 0.0  # of sqrt(S)
    squares: float = 0.0  # of all multipliers at audits, and of the last
    bound: float = 0.0
    regret: FloatArray = field(default_factory=lambda: np.zeros(len(TABLE)))
    errors: FloatArray = field(default_factory=lambda: np.zeros(len(TABLE)))

    @property
    def constant(self) -> float:
        """C = 1/(4x) + x·max ln(1/prior)."""
        return 1 / (4 * X) + X * log_inverse(self.learner)

    @property
    def minkowski(self) -> float:
        """eta·sqrt(T) + 2·sqrt(Λ')/p, which sqrt(max S) is at most."""
        eta = self.learner.schedule.error_weight()
        return eta * math.sqrt(ROUNDS) + 2 * math.sqrt(self.squares) / self.learner.audit_share

    def play(self) -> Shared:
        learner, rng, state = self.learner, np.random.default_rng(6), State.start(self.learner)
        unit, share = to_units(learner.schedule.error_weight() / 2) / ONE, learner.audit_share
        for _ in range(ROUNDS):
            kinds: IntArray = rng.integers(0, 3, 2)
            people = HYPOTHESES.schema.people(TABLE.T[kinds].astype(float))
            frozen, lam = upcoming(state), to_units(state.lam / share) / ONE
            state, deployment = deploy(state, people)
            asked, period = asking(state, deployment.round), learner.looking.period(state.memory)
            draw = asked.looked_at or asked.quiet
            scores, predicted = deployment.units / ONE, TABLE[:, kinds]
            labels = (scores < 0.5 if self.against == "the policy" else kinds == 2).astype(np.int64)
            over = int(scores[0] < scores[1])
            gap = abs(int(deployment.units[0] - deployment.units[1]))
            actual = gap > learner.sensitivity
            self.violations += gap > to_units(learner.alpha)
            costs = unit * (1 - 2 * labels)
            self.errors += (scores - predicted) @ (1 - 2 * labels)
            if draw:
                self.audits += 1
                self.reports += actual
                self.squares += state.lam**2
                costs = costs + lam * np.array([1, -1]) * (1 - 2 * over) * actual
            elif period and state.opened % period == 0:  # it counts as a quiet one
                self.audits += 1
                self.squares += state.lam**2
            self.unseen += actual and not draw
            size = 2 * unit + 2 * lam * (draw and actual)
            self.bound += size**2 / (8 * frozen.scale)
            self.regret += (scores - predicted) @ costs
            pairs = [(people.ids[over], people.ids[1 - over])] if actual else []
            state = learn(state, deployment, labels=labels, report=pairs if draw else None)
            self.largest, last = frozen.scale / X, frozen.scale
        self.bound += last * log_inverse(learner)
        self.squares += state.lam**2
        return self


def learner_of(seed: int, share: float, eta: float) -> Learner:
    schedule = SelfTuned(eta=eta, x=X)
    return Learner(
        HYPOTHESES, 2, 0.3, 0.3, seed, schedule, "exponential-weights", attention=Share(share)
    )


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("eta", [0.25, 1.0])
@pytest.mark.parametrize("against", ["the policy", "fairness"])
def test_the_theorem_holds_surely_given_the_audits_that_were_drawn(
    seed: int, share: float, eta: float, against: str
) -> None:
    game = Shared(learner_of(seed, share, eta), against).play()
    assert game.regret.max() <= game.bound + 2.0**-19 * ROUNDS * 10 / share
    assert game.largest <= game.minkowski + 1e-3
    beta, c = game.learner.margins.beta, game.constant
    root = math.sqrt(game.audits + 1)
    w = c * eta * math.sqrt(ROUNDS) + (4 * c**2 + beta**2) * root / share**2
    fair = [0, 3]  # the constants, which no panel objects to
    assert game.errors[fair].max() <= 2 / eta * w
    assert game.reports / share <= 2 * math.sqrt(root * (eta * ROUNDS + w)) / beta


@pytest.mark.parametrize(("share", "eta"), [(0.1, 0.25), (1.0, 1.0)])
def test_the_root_of_s_is_close_to_what_minkowski_says_of_it(share: float, eta: float) -> None:
    """With S twice what it is, or three quarters of the right side, it would be broken.

    In the first game the multipliers are nearly all of it, in the second the labels are half.
    """
    game = Shared(learner_of(0, share, eta), "fairness").play()
    labels = eta * math.sqrt(ROUNDS)
    assert game.reports > 3
    assert labels / game.minkowski < (0.02 if share == 0.1 else 0.6)
    assert 0.75 < game.largest / game.minkowski <= 1


@pytest.mark.parametrize("share", [0.1, 0.5])
@pytest.mark.parametrize("eta", [0.25, 1.0])
def test_the_program_states_the_theorem_with_its_constants(share: float, eta: float) -> None:
    """W_p = C·eta·sqrt(T) + (4·C² + beta²)·sqrt(p·T + 1)/p², but for the grid."""
    game = Shared(learner_of(0, share, eta))
    (bound,) = bounds(game.learner, 10_000)
    beta, c, root = game.learner.margins.beta, game.constant, math.sqrt(share * 10_000 + 1)
    w = c * eta * 100 + (4 * c**2 + beta**2) * root / share**2
    assert bound.regret == pytest.approx(2 / eta * w, rel=1e-4)
    reports = 2 * math.sqrt(root * (eta * 10_000 + w)) / beta
    assert bound.violations == pytest.approx(reports, rel=1e-4)


@pytest.mark.parametrize("share", [0.2, 0.7])
def test_reports_over_the_share_are_what_a_full_audit_would_have_found_on_average(
    share: float,
) -> None:
    """All lotteries of eight rounds, in a game that depends on them through the multiplier."""
    actual = paid = roots = total = 0.0
    for lottery in product((False, True), repeat=8):
        chance = math.prod(share if draw else 1 - share for draw in lottery)
        lam, audits = 0.0, 0
        for draw in lottery:
            report = lam < 0.3  # the policy is the fairer the larger lam is
            actual += chance * report
            if draw:
                audits += 1
                paid += chance * report / share
                mu = 1 / math.sqrt(audits)
                lam = DUAL.step(lam, reported=report, beta=0.15 / share, mu=mu)
        roots += chance * math.sqrt(audits + 1)
        total += chance
    assert total == pytest.approx(1)
    assert actual == pytest.approx(paid, rel=1e-12)
    assert roots <= math.sqrt(share * 8 + 1)
