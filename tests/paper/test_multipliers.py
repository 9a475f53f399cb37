"""Theorem E in docs/research/theory.md: multipliers that never decrease, lam = phi(reports so far).

    (eta/k)·ΔError + m·Σ_{n<N} phi(n)  ≤  C·(eta·sqrt(T) + 2·sqrt(Σ_{n≤N} phi(n)²))

No dual lemma is needed: every report separates π^t from every fair policy by m, and costs phi.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.hypotheses import Pool
from likewise.learner import Learner, SelfTuned
from likewise.learner.bounds import bounds, theorem_e_geometric
from likewise.learner.costs import Additive, Bounded, Dual, Geometric
from tests.paper.games import EXACT, INTEGRABLE, ROUNDS, Setting, hostile_game, log_inverse
from tests.paper.referee import OFF

# ── The inequality, in games ────────────────────────────────────────────────────────────────────


def learner_of(setting: Setting, player: str, dual: Dual | str, eta: float, eps: float) -> Learner:
    schedule = SelfTuned(eta=eta, x=0.3, delta=1e-6)
    return Learner(setting.hypotheses, 3, 0.3, eps, 1, schedule, player, dual=dual)


@pytest.mark.parametrize("against", ["the policy", "fairness"])
@pytest.mark.parametrize(
    "dual", [Additive(0.02), Geometric(0.1, 0.05), Bounded(0.4)], ids=lambda d: d.name
)
@pytest.mark.parametrize(("eta", "eps"), [(1.0, 0.3), (0.25, 0.1)])
@pytest.mark.parametrize(
    "player",
    [
        "pool",
        "coins",
        *(pytest.param(p, marks=pytest.mark.long) for p in ("segments", "three on two")),
    ],
)
def test_theorem_e_holds_in_hostile_games(
    player: str, eta: float, eps: float, dual: Dual, against: str
) -> None:
    exact = player in EXACT
    setting = EXACT[player] if exact else INTEGRABLE[player]
    learner = learner_of(
        setting, "exponential-weights" if exact else "context-ftpl", dual, eta, eps
    )
    played = hostile_game(learner, setting, against)
    s, m = learner.hypotheses.separators, learner.margins.beta - learner.margins.r
    stability, gain = (1 / 8, log_inverse(learner)) if exact else (
        1 / 2 if learner.hypotheses.cellular else s / 2, s / 2
    )  # fmt: skip
    best, lams = played.best(), played.lams
    assert lams == sorted(lams)
    gained = played.label_weight * (played.errors - best.error) + m * played.reported
    off = OFF * sum(played.ranges) if player == "three on two" else 2.0**-18 * sum(played.ranges)
    assert gained <= played.bound(stability, gain) + off
    # and the right side is what the theorem makes of it
    charged = [lam for lam, pair in zip(lams, played.reports, strict=True) if pair is not None]
    root = math.sqrt(sum(lam**2 for lam in charged) + lams[-1] ** 2)
    constant = learner.primal.terms(learner.hypotheses, 0.3)[0].constant()
    assert played.bound(stability, gain) <= constant * (eta * math.sqrt(ROUNDS) + 2 * root) + 1e-6
    for promised in bounds(learner, ROUNDS):
        assert played.errors - best.error <= promised.regret
        assert len(charged) <= promised.violations


@given(
    reported=st.lists(st.booleans(), min_size=1, max_size=200),
    largest=st.floats(0.01, 5), beta=st.floats(0.05, 0.5),
)  # fmt: skip
def test_a_bounded_multiplier_catches_up_with_its_largest_value(
    reported: list[bool], largest: float, beta: float
) -> None:
    """Σ_reports lam_t ≥ largest·(N − (3/2)·sqrt(T))."""
    assert Bounded(4.0).step(1.0, reported=True, beta=beta, mu=0.5) == 3.0
    dual, lam, paid = Bounded(largest), 0.0, 0.0
    for t, report in enumerate(reported, start=1):
        paid += lam if report else 0.0
        lam = dual.step(lam, reported=report, beta=beta, mu=1 / math.sqrt(t))
        assert 0 <= lam <= largest
    assert paid >= largest * (sum(reported) - 1.5 * math.sqrt(len(reported))) - 1e-9


def test_the_bounds_of_a_bounded_multiplier_by_hand() -> None:
    """|H| = 2, flat prior, k = 1, alpha = eps = 0.5, kappa = 0.1, eta = 1, x = 0.5, largest = 2.

    m = 0.4, C = 0.8465736; T = 10,000, L = 84.65736. Regret: L + 2·(2C + C²/m) = 91.6271.
    Reports: (2/(2·m))·(T + L + 2·(2C + 2C²/m)) + 1.5·100 = 25388.02.
    """
    pool = Pool.from_table([[0], [1]]).with_prior("flat")
    schedule = SelfTuned(eta=1.0, x=0.5, kappa=0.1)
    learner = Learner(pool, 1, 0.5, 0.5, 1, schedule, dual=Bounded(2.0))
    (bound,) = bounds(learner, 10_000)
    assert bound.source.startswith("Theorem E")
    assert bound.regret == pytest.approx(91.6271, rel=1e-3)
    assert bound.violations == pytest.approx(25388.02, rel=1e-3)
    root = bounds(replace(learner, dual=Bounded(0.4 / 0.85 * 100)), 10_000)[0]
    assert root.violations < 1500
    assert root.regret < 300
    for other in ({"feedback": "one-sided"}, {"attention": "share:0.5"}):
        assert bounds(replace(learner, **other), 10_000) == ()  # type: ignore[arg-type]
    assert bounds(learner, 10_000, delay=1) == ()


def test_the_inequality_is_close_in_these_games() -> None:
    """With 0.7 of its right side it would be broken."""
    setting = Setting(EXACT["pool"].hypotheses.with_prior("flat"), EXACT["pool"].kinds)  # type: ignore[attr-defined]
    learner = replace(
        learner_of(setting, "exponential-weights", Additive(0.5), 1.0, 0.3),
        schedule=SelfTuned(eta=1.0, x=0.1),
    )
    played = hostile_game(learner, setting, "the policy")
    gained = played.lagrangian_regret(played.best())
    assert played.reported > 0
    assert 0.7 < gained / played.bound(1 / 8, math.log(4)) <= 1


# ── What follows from it, by hand ───────────────────────────────────────────────────────────────


@given(
    constant=st.floats(0.5, 30), m=st.floats(0.01, 0.5), n=st.integers(0, 3000),
    gamma=st.floats(0.001, 1),
)  # fmt: skip
def test_with_theta_m2_over_8c2_reports_pay_for_their_own_squares(
    constant: float, m: float, n: int, gamma: float
) -> None:
    """2C·sqrt(Σ_{i≤n} phi²) ≤ m·Σ_{i<n} phi + 8·gamma·C²/m, with a third of 4·C²/m·phi(n) left."""
    theta = m * m / (8 * constant**2)
    q = 1 + theta
    if n * math.log(q) > 600:
        return
    total = gamma * math.expm1(n * math.log(q)) / theta
    squares = gamma**2 * math.expm1((2 * n + 2) * math.log(q)) / (q * q - 1)
    left = gamma * q**n * 4 * constant**2 / m / 3
    right = m * total + 8 * gamma * constant**2 / m - left
    assert 2 * constant * math.sqrt(squares) <= right * (1 + 1e-9)


def test_reports_of_the_geometric_rule_grow_like_a_logarithm() -> None:
    """Ten times the rounds: ln(10)/ln(1 + theta), (8·C²/m²)·ln 10, more; regret by sqrt(10)."""
    pool = Pool.from_table([[0], [1]])
    plain = Learner(pool, 1, 0.5, 0.5, 1, SelfTuned(eta=1.0, x=0.6, kappa=0.1))
    learner = replace(plain, dual=theorem_e_geometric(plain, 10**6))
    actual = [bounds(learner, 10**n)[0] for n in (4, 5, 6)]
    assert all(bound.source.startswith("Theorem E") for bound in actual)
    constant = 0.25 / 0.6 + 0.6 * math.log(2)
    step = math.log(10) / math.log1p(0.4**2 / (8 * constant**2))
    assert actual[1].violations - actual[0].violations == pytest.approx(step, rel=0.02)
    assert actual[2].violations - actual[1].violations == pytest.approx(step, rel=0.02)
    assert actual[2].regret / actual[0].regret < 10.1
    assert actual[2].informative == {"regret": True, "violations": True}
    assert actual[2].violations < bounds(plain, 10**6)[0].violations / 50


def test_the_bounds_of_the_geometric_rule_by_hand() -> None:
    """|H| = 2 with a flat prior, k = 1, alpha = eps = 0.5, kappa = 0.1, eta = 1, x = 0.5.

    m = 0.4, C = 0.5 + 0.5·ln 2 = 0.8465736; T = 10,000, L = C·100 = 84.65736.
    gamma = 0.1, theta = 0.02, q = 1.02: m/theta = 20;
    2·C·q/sqrt(0.02·2.02) = 1.7270101/0.2009975 = 8.5922; a = 11.40780
    W = 84.65736 + 0.1·(20 − 11.40780) = 85.51658
    reports ≤ ln((10000 + 84.65736 + 2)/(0.1·11.40780))/ln(1.02) = ln(8841.90)/0.0198026 = 458.89
    The grid: prices add 0.4·0.5·10^4·2^-20 + C·100·2^-20 = 0.0020 to L; m is 2^-20 less.
    """
    pool = Pool.from_table([[0], [1]]).with_prior("flat")
    schedule = SelfTuned(eta=1.0, x=0.5, kappa=0.1)
    learner = Learner(pool, 1, 0.5, 0.5, 1, schedule, dual=Geometric(0.1, 0.02))
    (bound,) = bounds(learner, 10_000)
    assert bound.regret == pytest.approx(85.51658 + 0.0020, abs=1e-3)
    assert bound.violations == pytest.approx(458.89, abs=0.02)
    assert bound.holds == "surely"


def test_the_bounds_of_the_additive_rule_by_hand() -> None:
    """As above with lam = 0.1·n. F(h) is at sqrt(y) = (√3·C + sqrt(3·C² + 8h(m/2 + 2h)))/(4h).

    √3·C = 1.4663085. h = m/2 = 0.2: z = (1.4663085 + sqrt(2.1500606 + 0.96))/0.8 = 4.0373, y = 16.3
      F = 2/√3·C·y^1.5 + 0.2·(y − 1) − 0.2·(y − 1)² = 64.3286 + 3.0600 − 46.8174 = 20.571
    h = 0.1: z = (1.4663085 + sqrt(2.1500606 + 0.32))/0.4 = 7.5949, y = 57.682
      F = 428.26 + 11.337 − 321.29 = 118.31
    regret ≤ 84.65736 + 0.1·20.571 = 86.714
    reports ≤ sqrt(4·(10000 + 84.65736 + 11.831)/(0.1·0.4)) = sqrt(1009649) = 1004.81
    """
    pool = Pool.from_table([[0], [1]]).with_prior("flat")
    schedule = SelfTuned(eta=1.0, x=0.5, kappa=0.1)
    learner = Learner(pool, 1, 0.5, 0.5, 1, schedule, dual=Additive(0.1))
    (bound,) = bounds(learner, 10_000)
    assert bound.regret == pytest.approx(86.714, abs=0.01)
    assert bound.violations == pytest.approx(1004.81, abs=0.05)


@given(
    constant=st.floats(0.1, 40), m=st.floats(0.01, 0.9), n=st.integers(0, 10_000),
    late=st.integers(0, 5),
)  # fmt: skip
def test_the_additive_rule_is_bounded_for_every_number_of_reports(
    constant: float, m: float, n: int, late: int
) -> None:
    """gamma·F(h) is at least what N reports cost beyond h·N², for h = m/2 and m/4."""
    squares = n * (n + 1) * (2 * n + 1) / 6
    earned = m * max(0, n - late) * max(0, n - late - 1) / 2
    for h in (m / 2, m / 4):
        line, root3 = m * (2 * late + 1) / 2, math.sqrt(3) * constant
        z = (root3 + math.sqrt(root3**2 + 8 * h * (line + 2 * h))) / (4 * h)
        y = max(1.0, z * z)
        most = 2 / math.sqrt(3) * constant * y**1.5 + line * (y - 1) - h * (y - 1) ** 2
        assert 2 * constant * math.sqrt(squares) - earned + (m / 2 - h) * n * n <= most + 1e-6


def test_a_rule_that_grows_too_fast_is_not_covered() -> None:
    pool = Pool.from_table([[0], [1]])
    for theta, covered in ((0.02, 1), (1.0, 0)):
        learner = Learner(pool, 1, 0.5, 0.5, 1, dual=Geometric(0.1, theta))
        assert len(bounds(learner, 1000)) == covered


@given(constant=st.floats(0.1, 30), m=st.floats(0.01, 1.0))
def test_with_that_theta_regret_is_at_most_k_c_root_t_plus_8(constant: float, m: float) -> None:
    """a > 0 and gamma·(m/theta − a) ≤ 8·C·eta for gamma = eta·m/C, wherever theta < 1."""
    theta = m * m / (8 * constant**2)
    a = m / theta - 2 * constant * (1 + theta) / math.sqrt(theta * (2 + theta))
    paid = m / constant * (m / theta - a)
    if theta < 1:
        assert a > 0
        assert paid <= 8 * constant
    if theta > 1.8:  # the square root of 3 is where a is 0
        assert a < 0
        assert paid > 8 * constant


@pytest.mark.parametrize("dual", [Additive(0.01), Geometric(0.01, 1e-6)], ids=lambda d: d.name)
@pytest.mark.parametrize(
    ("player", "settings", "sources"),
    [
        ("exponential-weights", {}, ["Theorem E,"]),
        ("exponential-weights", {"feedback": "one-sided"}, ["Theorem C' and E,"]),
        ("exponential-weights", {"attention": "share:0.5"}, ["Theorem E and D,"]),
        ("context-ftpl", {}, ["Theorem E,"]),
        ("context-ftpl", {"feedback": "one-sided"}, ["Theorem C and E, high probability,"]),
        ("context-ftpl", {"attention": "share:0.5"}, []),
        ("context-ftpl", {"feedback": "one-sided", "attention": "share:0.5"}, []),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_what_is_proved_of_rules_that_never_decrease(
    player: str, settings: dict[str, Any], sources: list[str], dual: Dual
) -> None:
    """Nothing in expectation for a player that draws: a bad estimate costs 2·lam, however large."""
    pool = Pool.from_table([[0], [1]])
    schedule = SelfTuned(eta=1.0, x=0.6, kappa=0.1, r=0.1)
    learner = Learner(pool, 1, 0.5, 0.5, 1, schedule, player, dual=dual, **settings)
    actual = [bound.source for bound in bounds(learner, 1000)]
    assert len(actual) == len(sources)
    assert all(first.startswith(second) for first, second in zip(actual, sources, strict=True))


def test_late_reports_are_covered_at_a_price() -> None:
    """A report is charged what phi was when its round opened: at least phi(n − d)."""
    pool = Pool.from_table([[0], [1]])
    schedule = SelfTuned(eta=1.0, x=0.6, kappa=0.1)
    for dual in (Additive(0.1), Geometric(0.1, 1e-5)):
        learner = Learner(pool, 1, 0.5, 0.5, 1, schedule, dual=dual)
        at_once, late = (bounds(learner, 10**6, delay=d)[0] for d in (0, 3))
        assert at_once.violations < late.violations
        assert "at most 3 rounds late" in late.source


def test_the_bounds_of_the_additive_rule_three_rounds_late_by_hand() -> None:
    """As at once, with C = 7·2·0.5 + sqrt(7/4·4)·0.5·ln 2 and m·(2·3 + 1)/2 on every report.

    The multiplier never decreases and S counts what is outstanding: 1 + 2·3 = 7 times the stability
    in sqrt(4) for four pieces, and sqrt((1 + 3/4)·(1 + 3)) times the gain.
    """
    pool = Pool.from_table([[0], [1]]).with_prior("flat")
    schedule = SelfTuned(eta=1.0, x=0.5, kappa=0.1)
    learner = Learner(pool, 1, 0.5, 0.5, 1, schedule, dual=Additive(0.1))
    (bound,) = bounds(learner, 10_000, delay=3)
    constant, m = 7.0 + math.sqrt(7.0) * 0.5 * math.log(2), 0.4
    y = np.linspace(1, 50_000, 2_000_000)

    def most(h: float) -> float:
        costs = 2 / math.sqrt(3) * constant * y**1.5 + m * 3.5 * (y - 1) - h * (y - 1) ** 2
        return float(costs.max())

    labels = constant * 100
    assert bound.regret == pytest.approx(labels + 0.1 * most(m / 2), rel=1e-4)
    reports = math.sqrt(4 * (10_000 + labels + 0.1 * most(m / 4)) / (0.1 * m))
    assert bound.violations == pytest.approx(reports, rel=1e-4)


@given(
    reported=st.lists(st.booleans(), min_size=1, max_size=80), d=st.integers(0, 6),
    delays=st.lists(st.integers(0, 6), min_size=80, max_size=80),
)  # fmt: skip
def test_a_late_report_is_charged_at_least_what_d_reports_fewer_make(
    reported: list[bool], d: int, delays: list[int]
) -> None:
    """The j-th report, by its round, is charged phi of at least j − 1 − d and at most j − 1."""
    heard_at: list[int] = []  # rounds after which each report is heard
    observed = 0
    for t, report in enumerate(reported):
        revealed = sum(when < t for when in heard_at)
        if report:
            assert observed - d <= revealed <= observed
            observed += 1
            heard_at.append(t + min(d, delays[t]))


def test_a_multiplier_that_may_stop_growing_is_not_covered() -> None:
    """gamma·n reaches 2^20 after two reports: a bound that lets it grow for ever would be wrong."""
    pool = Pool.from_table([[0], [1]])
    learner = Learner(pool, 1, 0.5, 0.5, 1, SelfTuned(eta=1.0), dual=Additive(gamma=2.0**19))
    assert bounds(learner, 10**12) == ()
    assert len(bounds(replace(learner, dual=Additive(gamma=0.01)), 10**4)) == 1
