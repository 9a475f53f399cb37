"""Theorem E's bounds with scales for parts, late and one-sided, beside their formulas.

Mutants that die here, each tried by hand: 2·b left out of the slope of the additive rule, or of a;
q^−d or 2d + 1 left out; feedback that is late taken for feedback at once, or for feedback in one
piece; 4 for 8; a multiplier that may stop growing in a run with one-sided labels.
"""

from __future__ import annotations

from math import log, sqrt

import pytest

from likewise.learner.attention import Share
from likewise.learner.bounds import bounds, theorem_e_geometric
from likewise.learner.costs import Additive, Bounded, Geometric
from tests.learner.formulas import (
    ETA,
    M_DRAWN,
    M_KNOWN,
    NOISE_E,
    UNIT,
    WEIGHTS_E,
    WIDE_E,
    T,
    check,
    draws,
    exact_constants,
    full,
    grid,
    learner,
    mixture,
    most,
)


@pytest.mark.parametrize("d", [0, 2])
def test_the_additive_rule_at_once_and_late(d: int) -> None:
    """gamma = 0.05; 2·b + m·(2d + 1)/2 is the slope in the number of reports."""
    c, b = exact_constants(WEIGHTS_E, WIDE_E) if d else exact_constants()
    line, m, labels = 2 * b + M_KNOWN * (2 * d + 1) / 2, M_KNOWN, full(c, b) + grid(c)
    regret = 3 / ETA * (labels + 0.05 * most(c, line, m / 2))
    reports = sqrt(4 * (ETA * T + labels + 0.05 * most(c, line, m / 4)) / (0.05 * m))
    instance = learner("exponential-weights", scales="per-part", dual=Additive(0.05))
    check(bounds(instance, T, delay=d), (regret, reports))


def test_the_additive_rule_with_a_quarter_audited() -> None:
    """gamma over the share, and reports too."""
    (c, b), m, gamma = exact_constants(), M_KNOWN, 0.05 / 0.25
    line, labels = 2 * b + m / 2, full(c, b) + grid(c)
    regret = 3 / ETA * (labels + gamma * most(c, line, m / 2))
    audited = sqrt(4 * (ETA * T + labels + gamma * most(c, line, m / 4)) / (gamma * m))
    instance = learner(
        "exponential-weights", scales="per-part", dual=Additive(0.05), attention=Share(0.25)
    )
    check(bounds(instance, T), (regret, 4 * audited))


@pytest.mark.parametrize("d", [0, 2])
def test_the_geometric_rule_at_once_and_late(d: int) -> None:
    """theta = 1e-7, gamma = 0.05: a = m·q^−d/theta − 2·C·q/sqrt(theta·(2 + theta)) − 2·b."""
    c, b = mixture(NOISE_E, WEIGHTS_E, WIDE_E) if d else mixture()
    theta, q = 1e-7, 1 + 1e-7
    first = M_DRAWN * q**-d / theta
    a = first - 2 * c * q / sqrt(theta * (2 + theta)) - 2 * b
    assert a > 0
    off = ETA * sqrt(2 * T * log(5 / 0.05) / draws(3))
    labels = full(c, b) + off + grid(c)
    reports = log((ETA * T + labels + 0.05 * first) / (0.05 * a)) / log(q)
    instance = learner("nested-ftpl", dual=Geometric(0.05, theta))
    actual = bounds(instance, T, delay=d)
    # q is rounded to 2^-53 of 1, which is 1e-9 of its logarithm.
    assert [item.regret for item in actual] == pytest.approx(
        [3 / ETA * (labels + 0.05 * (first - a))], rel=1e-12
    )
    assert [item.violations for item in actual] == pytest.approx([reports], rel=1e-9)


@pytest.mark.parametrize("d", [0, 2])
def test_the_geometric_rule_as_proved(d: int) -> None:
    """theta = m²/(8·C²), gamma = eta·m/C, with the C of feedback that is so late."""
    c, _ = exact_constants(WEIGHTS_E, WIDE_E) if d else exact_constants()
    instance = theorem_e_geometric(learner("exponential-weights", scales="per-part"), T, delay=d)
    assert instance.theta == pytest.approx(M_KNOWN**2 / (8 * c * c), rel=1e-12)
    assert instance.gamma == pytest.approx(ETA * M_KNOWN / c, rel=1e-12)


def test_one_sided_labels_with_multipliers_that_never_decrease() -> None:
    """With L of Theorem C′, and only where lam cannot reach 2^20 if every round is reported."""
    (c, b), settings = (
        exact_constants(stability=0.5),
        {"scales": "per-part", "feedback": "one-sided"},
    )
    labels = ETA * (c * sqrt(20 * T) + 5 * b) + (2 * ETA + 3) * UNIT * T + grid(c)
    regret = 3 / ETA * (labels + 0.05 * most(c, 2 * b + M_KNOWN / 2, M_KNOWN / 2))
    spread = ETA * T + labels + 0.05 * most(c, 2 * b + M_KNOWN / 2, M_KNOWN / 4)
    instance = learner("exponential-weights", **settings, dual=Additive(0.05))
    check(bounds(instance, T), (regret, sqrt(4 * spread / (0.05 * M_KNOWN))))

    # 2^20 = 1.0486·10^6, and ln 2^20 = 13.863
    duals = [Additive(1.048), Additive(1.049), Geometric(1.0, 1.38e-5), Geometric(1.0, 1.39e-5)]
    covered = [
        bool(bounds(learner("exponential-weights", **settings, dual=dual), T)) for dual in duals
    ]
    assert covered == [True, False, True, False]
    # one a report: after 2^20 − 1 of them, and the one that a round opens with, it is there
    everything = learner("exponential-weights", **settings, dual=Additive(1.0))
    assert [bool(bounds(everything, n)) for n in (2**20 - 1, 2**20)] == [True, False]


def test_multipliers_in_a_bounded_interval() -> None:
    """W = L + l·(2C + C²/m + 2b), N ≤ 2/(m·l)·(eta·T + L + l·(2C + 2C²/m + 2b)) + 1.5·sqrt(T)."""
    (c, b), m, most_lam = exact_constants(), M_KNOWN, 0.5
    labels = full(c, b) + grid(c)
    w = labels + most_lam * (2 * c + c * c / m + 2 * b)
    spread = ETA * T + w + most_lam * c * c / m
    instance = learner("exponential-weights", scales="per-part", dual=Bounded(most_lam))
    check(bounds(instance, T), (3 / ETA * w, 2 / (m * most_lam) * spread + 1.5 * sqrt(T)))
