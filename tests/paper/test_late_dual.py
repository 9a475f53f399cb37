"""The dual lemma for audits that come late, in docs/research/theory.md: its proof, step by step.

The lemma itself leaves much room, so what is checked besides are the inequalities that its proof
consists of, each of which is nearly, or exactly, attained somewhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.learner.costs import GradientAscent
from tests.paper.referee import delays_of


@dataclass
class Dual:
    """Multipliers under delay: ``opened`` holds lam_t, ``stepped`` the multiplier at each audit."""

    opened: list[float] = field(default_factory=list)
    stepped: list[float] = field(default_factory=list)
    u: list[float] = field(default_factory=list)  # beta or 0, by audits
    drift: float = 0.0  # Σ u·(multiplier at the audit − multiplier when the round opened)
    earned: float = 0.0  # Σ u_t·lam_t
    waiting: list[int] = field(default_factory=list)  # other rounds that wait, at each audit

    @property
    def mu(self) -> list[float]:
        return [1 / math.sqrt(n) for n in range(1, len(self.stepped) + 1)]

    def sharp(self, lam: float) -> float:
        """What Σ_a u_a·l_a is at least, before sums are replaced by roots of T."""
        actual = lam * sum(self.u) - lam**2 / 2 * sum(self.mu)
        for mu, value, u in zip(self.mu, self.stepped, self.u, strict=True):
            actual += (mu - mu**3) * value**2 / 2 - mu * u**2 / 2
        return actual

    def drifted(self, beta: float) -> float:
        """What the drift is at most: beta²·mu_b for every round that waits at audit b."""
        rounds = zip(self.mu, self.waiting, strict=True)
        return beta**2 * sum(mu * rest for mu, rest in rounds)


def late_duals(
    reported: list[bool], delays: list[int], beta: float, rng: np.random.Generator
) -> Dual:
    """Audits come before round t + delay + 1 opens; those of one gap in any order."""
    dual, lam, waiting = Dual(), 0.0, list[tuple[int, int]]()
    for t in range(len(reported)):
        dual.opened.append(lam)
        waiting.append((t, t + delays[t]))
        due = [w for w in waiting if w[1] <= t or t + 1 == len(reported)]
        waiting = [w for w in waiting if w not in due]
        for process, i in enumerate(rng.permutation(len(due)), start=1):
            origin = due[i][0]
            dual.stepped.append(lam)
            dual.waiting.append(len(waiting) + len(due) - process)
            dual.u.append(beta * reported[origin])
            dual.earned += dual.u[-1] * dual.opened[origin]
            dual.drift += dual.u[-1] * (lam - dual.opened[origin])
            mu = 1 / math.sqrt(len(dual.stepped))
            lam = GradientAscent().step(lam, reported=reported[origin], beta=beta, mu=mu)
    return dual


@given(
    reported=st.lists(st.booleans(), min_size=1, max_size=200),
    always=st.booleans(),
    kind=st.sampled_from(["random", "constant", "bunched"]),
    d=st.integers(0, 30),
    beta=st.floats(0.01, 1.0),
    lam=st.floats(0, 50),
    seed=st.integers(0, 2**32),
)
def test_the_dual_lemma_holds_for_audits_that_are_late(
    reported: list[bool], always: bool, kind: str, d: int, beta: float, lam: float, seed: int
) -> None:
    rng, reported = np.random.default_rng(seed), [True] * len(reported) if always else reported
    dual = late_duals(reported, delays_of(kind, d, len(reported), rng), beta, rng)
    root, total = math.sqrt(len(reported)), beta * sum(reported)
    assert all(value <= beta * math.sqrt(t) + 1e-9 for t, value in enumerate(dual.opened))
    # the drift
    assert max(dual.waiting) <= d
    assert dual.drift <= dual.drifted(beta) + 1e-9
    assert dual.drifted(beta) <= 2 * d * beta**2 * root + 1e-9
    # the squares: from round 4d + 2 on as the multipliers at audits have them, before as they are
    late = sum(value**2 for value in dual.opened[4 * d + 1 :])
    early = sum(value**2 for value in dual.opened[: 4 * d + 1])
    pairs = zip(dual.mu, dual.stepped, strict=True)
    assert sum((mu - mu**3) * value**2 for mu, value in pairs) / 2 >= late / (4 * root) - 1e-9
    assert early / (4 * root) <= early_squares(d, len(reported)) * beta**2 + 1e-9
    for any_lam in (lam, total / (2 * root)):
        assert dual.earned + dual.drift >= dual.sharp(any_lam) - 1e-9
        promised = any_lam * total - any_lam**2 * root + (early + late) / (4 * root)
        assert dual.earned >= promised - (1 + 2.5 * d) * beta**2 * root - 1e-9


def early_squares(d: int, rounds: int) -> float:
    """e(e − 1)/2 over 4·sqrt(T), e = min(T, 4d + 1): of the rounds before 4d + 2, for beta = 1."""
    e = min(rounds, 4 * d + 1)
    return e * (e - 1) / 2 / (4 * math.sqrt(rounds))


@given(d=st.integers(0, 1000), rounds=st.integers(1, 10_000))
def test_the_first_rounds_cost_no_more_than_d_halves(d: int, rounds: int) -> None:
    """(d/2)·sqrt(T), which is attained where T = 4d + 1."""
    assert early_squares(d, rounds) <= d / 2 * math.sqrt(rounds) * (1 + 1e-12)
    attained = early_squares(d, 4 * d + 1)
    assert attained == pytest.approx(d / 2 * math.sqrt(4 * d + 1), rel=1e-12)


@pytest.mark.parametrize("d", [1, 5, 20])
def test_the_drift_is_close_to_what_is_paid_for_it(d: int) -> None:
    """Always the latest, every round reported. With d in place of 2d it would not be paid.

    The multiplier is about (2/3)·beta·sqrt(t), so that a step is a third of beta·mu.
    """
    rounds, rng = 10_000, np.random.default_rng(1)
    dual = late_duals([True] * rounds, [d] * rounds, 0.2, rng)
    assert 0.95 < dual.drifted(0.2) / (2 * d * 0.2**2 * math.sqrt(rounds)) <= 1
    assert 0.3 < dual.drift / dual.drifted(0.2) <= 1
    lam = 0.2 * math.sqrt(rounds) / 2
    assert 0.85 < dual.sharp(lam) / (dual.earned + dual.drift) <= 1


@given(d=st.integers(0, 1000), more=st.integers(0, 10_000))
def test_the_multiplier_of_a_late_round_is_close_to_that_of_its_place(d: int, more: int) -> None:
    """½·(1 − 1/t)·((t−1−d)/(t−1))² ≥ ¼ from t = 4d + 2 on."""
    t = 4 * d + 2 + more
    assert 2 * (t - 1 - d) ** 2 >= t * (t - 1)
