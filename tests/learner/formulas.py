"""The theorems of ``docs/research/theory.md`` written out with the numbers of one learner.

Nothing of the program is used for them. T is large enough that the terms of the grid are seen
beside the others.
"""

from __future__ import annotations

import math
from math import e, log, pi, sqrt
from typing import Any

import pytest

from likewise import Segments
from likewise.learner import Learner, SelfTuned
from likewise.learner.bounds import Bound
from likewise.people import Feature, FeatureSchema

# Four groups with two bins: n = 4 parts, s = 8, A = s/2 = 4, one a part; |H| = 3^4.
SCHEMA = FeatureSchema(
    (
        Feature("score", low=0, high=2),
        Feature("kind", "category", levels=("a", "b", "c", "d")),
    )
)
LENDER = Segments(SCHEMA, score="score", cuts=[1.0], by=["kind"])
FLAT = LENDER.with_prior("flat")

# k = 3, eta = x = 0.5, alpha = eps = 0.4, kappa = 0.2, r = 0.16, delta = 0.05.
SCHEDULE = SelfTuned(eta=0.5, x=0.5, kappa=0.2, r=0.16, delta=0.05)
T = 10**6 + 5
ROOT, UNIT = sqrt(T), 2**-20
# A label is round(2^20/6) units, and the panel is asked at floor(0.2·2^20) = 209715 of them.
LABEL = 174763
ETA, BETA = 3 * LABEL / 2**20, 0.2
M_DRAWN, M_KNOWN = 209715 / 2**20 - 0.16, 209714 / 2**20
# M_t = ceil(t^(1/3)): m for the 3m² − 3m + 1 rounds after (m − 1)³; 101 for the last five.
M_T = 101
SUM = sum(m * (3 * m * m - 3 * m + 1) for m in range(1, 101)) + 5 * 101
INVERSES = sum((3 * m * m - 3 * m + 1) / m for m in range(1, 101)) + 5 / 101
# Late by two rounds, in three pieces: (1 + 2)·sqrt(3)·sqrt(3) for noise, (1 + 4)·sqrt(3)·sqrt(3)
# for weights, and sqrt((1 + 2/4)·(3/2 + 2)); where lam never decreases without the last sqrt(3),
# and sqrt((1 + 2/4)·(1 + 2)).
NOISE_2, WEIGHTS_2, WIDE_2 = 9.0, 15.0, sqrt(1.5 * 3.5)
NOISE_E, WEIGHTS_E, WIDE_E = 3 * sqrt(3), 5 * sqrt(3), sqrt(1.5 * 3)


def learner(player: str, **settings: Any) -> Learner:
    options = {"schedule": SCHEDULE, "player": player, **settings}
    exact_parts = player == "exponential-weights" and "scales" in settings
    return Learner(FLAT if exact_parts else LENDER, 3, 0.4, 0.4, 1, **options)


def noise(slow: float = 1.0, wide: float = 1.0) -> tuple[float, float]:
    """C and b of Context-FTPL with a scale for every part.

    C = sqrt(4)·(slow·1/x + wide·1·x); the noise is of integers, slow·s/(LABEL·x); words have 32
    bits, s·2^-31·sqrt(T). b = 4·1·x·wide.
    """
    return 2 * (slow * 2 + wide * 0.5) + slow * 8 / (LABEL * 0.5) + 8 * 2**-31 * ROOT, 2 * wide


def mixture(slow: float = 1.0, slow_weights: float = 1.0, wide: float = 1.0) -> tuple[float, float]:
    """The same with exponential weights at 1/4 over two classes: their own 1/(4x) + x·ln 4.

    Scores are rounded to half a unit, and the three weights beside that of nobody to 2^-40 each.
    """
    c, b = noise(slow, wide)
    mixed = (2**-20 + 3 * 2**-40) * ROOT
    return c + slow_weights * 0.25 / 0.25 + wide * 0.25 * log(4) + mixed, b


def exact_constants(
    slow: float = 1.0, wide: float = 1.0, stability: float = 0.25
) -> tuple[float, float]:
    """Exponential weights with a temperature for every part: ln 3 each; 2 + 2 weights of 2^-40."""
    c = 2 * (slow * stability / 0.5 + wide * log(3) * 0.5) + 4 * 2**-40 * ROOT
    return c, 4 * log(3) * 0.5 * wide


def grid(c: float) -> float:
    """lam on the grid: half a unit for k² pairs, beta times a round; and C·sqrt(T) units."""
    return UNIT * (BETA * 9 / 2 * T + c * ROOT)


def theorem_b(
    labels: float, c: float, b: float, m: float, *, d: int = 0, failing: float = 0.0, p: float = 1.0
) -> tuple[float, float]:
    """W = L + (4·C²/c + (1 + 5d/2)·c·beta² + 2·b·beta)·sqrt(n)/p² + 4·beta·delta/p, c = m/beta."""
    root = ROOT if p == 1 else sqrt(p * T + 1)
    per_root = 4 * c * c * BETA / m + (1 + 2.5 * d) * m * BETA + 2 * b * BETA
    w = labels + grid(c) + per_root * root / p**2 + 4 * BETA * failing / p
    return 3 / ETA * w, 2 * sqrt(root * (ETA * T + w) / (BETA * m)) + failing


def draws(experts: int) -> int:
    """R_1 = ceil(2·ln(4·k·experts/delta_1)/r²), delta_1 = 6·delta/pi²."""
    return math.ceil(2 * log(4 * 3 * experts * pi**2 / (6 * 0.05)) / 0.16**2)


def theorem_c(c: float, b: float) -> float:
    """L in expectation: C·eta·sqrt(Σ (1 + 2.4·M_t) + (2·M_T − 1)²) + bias + b·eta·(2·M_T − 1)."""
    squares = T + 2.4 * SUM + 201**2
    return ETA * (c * sqrt(squares) + 2 / e * INVERSES + b * 201)


def theorem_c_surely(c: float, b: float) -> float:
    """L with high probability; l = ln(9/delta), and log|H| = 4·ln 3 more for all h at once."""
    first, all_ = log(9 / 0.05), log(9 / 0.05) + 4 * log(3)
    squares = (e - 1) * (T + 2.4 * SUM) + 201**2 * (1 + first)
    spread = 2 * sqrt(2 * (T + 0.6 * SUM) * all_) + 4 / 3 * 102 * all_
    return ETA * (c * sqrt(squares) + 2 / e * INVERSES + b * 201 + spread)


def check(actual: tuple[Bound, ...], *expected: tuple[float, float]) -> None:
    assert len(actual) == len(expected)
    for bound, (regret, reports) in zip(actual, expected, strict=True):
        assert bound.regret == pytest.approx(regret, rel=1e-12)
        assert bound.violations == pytest.approx(reports, rel=1e-12)


def full(c: float, b: float) -> float:
    """L = C·eta·sqrt(T) + b·eta."""
    return ETA * (c * ROOT + b)


def most(c: float, line: float, h: float) -> float:
    """max_y (2/sqrt(3))·C·y^{3/2} + line·(y − 1) − h·(y − 1)², by halving where it still rises."""
    low, high = 1.0, 2.0**60
    for _ in range(200):
        y = (low + high) / 2
        rises = sqrt(3) * c * sqrt(y) + line > 2 * h * (y - 1)
        low, high = (y, high) if rises else (low, y)
    return 2 / sqrt(3) * c * low * sqrt(low) + line * (low - 1) - h * (low - 1) ** 2
