"""The parts of the bounds one by one, beside their formulas written out.

Mutants that die here, each tried by hand: a step that leaves out a mu, or goes below 0; a
multiplier of exactly 2^20 refused; one burst in place of two, of either rule; gamma not over the
share, or reports not; a multiplier that may stop growing taken for one that does not, of either
rule; 4 for 8, eta for 2·eta or its square left out in the paper's one-sided inequality; the trivial
bound without k, or with it for violations; r for the smaller of r and kappa.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from likewise import Pool
from likewise.learner import Learner, PaperOneSided, SelfTuned
from likewise.learner.attention import Share
from likewise.learner.bounds import Bound, Side, bounds, charged_eta, concluded, proven_margin
from likewise.learner.costs import LARGEST_LAM, Additive, Dual, Geometric, GradientAscent

POOL = Pool.from_table([[0, 0], [0, 1], [1, 0], [1, 1]])


def side(dual: Dual, share: float = 1.0, delay: int = 0, rounds: int = 1000) -> Side:
    """Numbers that no player has, so that nothing cancels: L = 7, C = 0.6, burst = 0.35."""
    schedule = SelfTuned(eta=0.5, kappa=0.1)
    learner = Learner(POOL, 2, 0.5, 0.5, 1, schedule, attention=Share(share), dual=dual)
    return Side(learner, rounds, delay, 7.0, 0.6, 0.35)


def test_gradient_ascent_forgets_by_mu_squared_and_stops_at_0() -> None:
    """0.4 + 0.5·(0.1 − 0.5·0.4) = 0.35; 0.4 − 2·2·0.4 is below 0."""
    step = GradientAscent().step
    assert step(0.4, reported=True, beta=0.1, mu=0.5) == pytest.approx(0.35)
    assert step(0.4, reported=False, beta=0.1, mu=0.5) == pytest.approx(0.3)
    assert step(0.4, reported=False, beta=0.1, mu=2.0) == 0.0


def test_the_most_that_a_report_may_cost_may_be_its_first_price() -> None:
    assert Additive(LARGEST_LAM).gamma == Geometric(LARGEST_LAM, 1.0).gamma == 2.0**20


def most(side: Side, h: float) -> float:
    """F(h) by trying every number of reports on a fine grid, y = N + 1."""
    m = proven_margin(side.learner)
    line = 2 * side.burst + m * (2 * side.delay + 1) / 2
    y = np.linspace(1, 400, 200_001)
    actual = 2 / math.sqrt(3) * side.constant * y**1.5 + line * (y - 1) - h * (y - 1) ** 2
    return float(actual.max())


@pytest.mark.parametrize("share", [1.0, 0.25])
@pytest.mark.parametrize("delay", [0, 3])
def test_the_additive_rule_written_out(share: float, delay: int) -> None:
    primal = side(Additive(0.2), share, delay)
    m, gamma = proven_margin(primal.learner), 0.2 / share
    spread = charged_eta(primal.learner) * 1000 + 7 + gamma * most(primal, m / 4)
    reports = math.sqrt(4 * spread / (gamma * m)) / share
    assert concluded(primal) == pytest.approx((7 + gamma * most(primal, m / 2), reports), rel=1e-6)


@pytest.mark.parametrize("share", [1.0, 0.25])
@pytest.mark.parametrize("delay", [0, 3])
def test_the_geometric_rule_written_out(share: float, delay: int) -> None:
    primal = side(Geometric(0.2, 0.01), share, delay)
    m, gamma, q = proven_margin(primal.learner) * 1.01**-delay, 0.2 / share, 1.01
    spent = 2 * 0.6 * q / math.sqrt(0.01 * 2.01) + 2 * 0.35
    spread = charged_eta(primal.learner) * 1000 + 7 + gamma * m / 0.01
    reports = math.log(spread / (gamma * (m / 0.01 - spent))) / math.log(q) / share
    assert concluded(primal) == pytest.approx((7 + gamma * spent, reports), rel=1e-9)


@pytest.mark.parametrize("share", [1.0, 0.25])
def test_a_multiplier_that_may_stop_growing_is_not_covered(share: float) -> None:
    """Around the largest one, so that half or twice of it would be told apart."""
    outcomes = []
    for gamma in np.geomspace(2.0**12, 2.0**20, 60).tolist():
        primal = side(Additive(gamma), share)
        m = proven_margin(primal.learner)
        spread = charged_eta(primal.learner) * 1000 + 7 + gamma / share * most(primal, m / 4)
        last = gamma * (math.sqrt(4 * spread / (gamma / share * m)) + 1)
        assert (concluded(primal) is None) == (last > 2.0**20)
        outcomes.append(last / 2.0**20)
    assert any(0.5 < last < 1 for last in outcomes)
    assert any(1 < last < 2 for last in outcomes)
    outcomes = []
    for rounds in np.geomspace(10**6, 10**11, 60).astype(int).tolist():
        primal = side(Geometric(0.2, 0.01), share, rounds=rounds)
        m, gamma = proven_margin(primal.learner), 0.2 / share
        a = m / 0.01 - 2 * 0.6 * 1.01 / math.sqrt(0.01 * 2.01) - 2 * 0.35
        last = (charged_eta(primal.learner) * rounds + 7 + gamma * m / 0.01) / a * share
        assert (concluded(primal) is None) == (last > 2.0**20)
        outcomes.append(last / 2.0**20)
    assert any(0.5 < last < 1 for last in outcomes)
    assert any(1 < last < 2 for last in outcomes)


def test_the_inequalities_of_the_paper_with_one_sided_labels_written_out() -> None:
    t, k, s, eps = 64, 2, POOL.separators, 0.4
    mu = t ** (-1 / 3)
    resamples = math.ceil(16 * k / (mu * math.e))
    omega = mu * mu * math.e / (512 * s * k**4)
    beta, r = eps / 2, eps / 4
    c = (beta - r) / beta
    a = 8 * omega * s * k**3 * resamples + k / (math.e * resamples)
    rest = max(0.0, 2 * a - c * (mu - mu**3) / 2) * t * (beta / mu) ** 2
    schedule = PaperOneSided(t)
    learner = Learner(POOL, k, eps, eps, 1, schedule, "context-ftpl", feedback="one-sided")
    noise = 10 / omega * math.sqrt(s * learner.copies) * math.log(4)
    w = 2 * a * 2**2 * t + noise + c * mu / 2 * beta**2 * t + rest
    reports = math.sqrt(2 * (mu * t + 1 / mu) * (w + t) / (beta * (beta - r)))
    (bound,) = bounds(learner, t)
    # Noise is most of it, and hides nothing here: what is left is told to a millionth.
    assert bound.regret - k * noise == pytest.approx(k * (w - noise), rel=1e-6)
    assert bound.violations == pytest.approx(reports, rel=1e-9)


def test_a_bound_says_something_below_k_times_t_errors_and_t_violations() -> None:
    computed = [
        Bound("a theorem", "surely", rounds=10, k=3, regret=regret, violations=violations)
        for regret, violations in ((29.0, 9.0), (30.0, 10.0), (11.0, 12.0))
    ]
    assert [tuple(bound.informative.values()) for bound in computed] == [
        (True, True), (False, False), (True, False),
    ]  # fmt: skip
    encoded = computed[2].to_json()
    assert (encoded["trivial_regret"], encoded["trivial_violations"]) == (30, 10)
    assert encoded["informative"] == {"regret": True, "violations": False}


def test_draws_prove_as_much_as_the_smaller_of_r_and_kappa_leaves() -> None:
    """beta = 0.4: with kappa = 0.1 below r = 0.2 the draws are for 0.1; m = 0.3, on the grid."""
    schedule = SelfTuned(eta=0.5, kappa=0.1, r=0.2)
    learner = Learner(POOL, 2, 0.5, 0.5, 1, schedule, "context-ftpl")
    assert proven_margin(learner) == pytest.approx(0.3, abs=2e-6)
