"""From the primal player's regret to regret and reports: the dual player's side of the theorems.

Every theorem begins with (eta/k)·ΔError + Σ_reports m·lam_t ≤ L + C·2·sqrt(Σ lam²) + burst·2·max
lam, where L is what the labels alone cost. What follows from it depends on how lam moves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from likewise.learning.bounds.base import LONGEST, charged_eta, proven_margin
from likewise.learning.bounds.players import Lateness, Price
from likewise.learning.dual import LARGEST_LAM, Additive, Geometric, GradientAscent
from likewise.learning.learner import Learner
from likewise.learning.schedules import SelfTuned
from likewise.validation import instance, integer


@dataclass(frozen=True)
class Side:
    """The primal side of an inequality: L, C and burst; and the rounds it is about.

    ``failing`` is the probability of a bad estimate, which an expectation has to pay for.
    """

    learner: Learner
    rounds: int
    delay: int
    labels: float
    constant: float
    burst: float
    failing: float = 0.0

    @property
    def largest_gain(self) -> float:
        """eta·T: no policy makes fewer errors than none."""
        return charged_eta(self.learner) * self.rounds

    @property
    def audits(self) -> float:
        """n: rounds, or with a share the audits that are expected, and one more."""
        share = self.learner.audit_share
        return self.rounds if share == 1 else share * self.rounds + 1.0


def concluded(side: Side) -> tuple[float, float] | None:
    """W, so that regret ≤ (k/eta)·W, and a bound on reports; None where none is proved."""
    dual = side.learner.multiplier
    if isinstance(dual, GradientAscent):
        return _gradient(side)
    if side.failing:  # a bad estimate costs 2·lam, and these are not at most beta·sqrt(t)
        return None
    if isinstance(dual, Additive):
        return _additive(side, dual)
    return _geometric(side, dual) if isinstance(dual, Geometric) else None


def _gradient(side: Side) -> tuple[float, float]:
    """Theorem B.

    W = L + (4·C²/c + (1 + 5d/2)·c·beta²)·sqrt(n)/p² + burst·2·beta·sqrt(n)/p² + 4·beta·delta/p and
    N ≤ 2·sqrt(sqrt(n)·(eta·T + W)/(beta·m)), N counting a report as 1/p.
    """
    learner, share, beta = side.learner, side.learner.audit_share, side.learner.margins.beta
    m, root = proven_margin(learner), math.sqrt(side.audits)
    c, late = m / beta, 1.0 + 2.5 * side.delay
    steady = 4.0 * side.constant**2 / c + late * c * beta * beta + 2.0 * side.burst * beta
    w = side.labels + steady * root / share**2 + 4.0 * beta * side.failing / share
    return w, 2.0 * math.sqrt(root * (side.largest_gain + w) / (beta * m))


def _additive(side: Side, dual: Additive) -> tuple[float, float] | None:
    """Theorem E for lam = gamma·n.

    With F(h) = max_N 2C·sqrt(Σ n²) + (2·burst + m·(2d + 1)/2)·N − h·N², W = L + gamma·F(m/2) and
    reports ≤ sqrt(4·(eta·T + L + gamma·F(m/4))/(gamma·m)).
    """
    m, gamma = proven_margin(side.learner), dual.gamma / side.learner.audit_share
    line = 2.0 * side.burst + m * (2 * side.delay + 1) / 2.0

    def most(h: float) -> float:
        # With y = N + 1, Σ n² ≤ y³/3; the derivative vanishes at one z = sqrt(y).
        root3 = math.sqrt(3.0) * side.constant
        z = (root3 + math.sqrt(root3**2 + 8.0 * h * (line + 2.0 * h))) / (4.0 * h)
        y = max(1.0, z * z)
        rise = 2.0 / math.sqrt(3.0) * side.constant * y * math.sqrt(y)
        return rise + line * (y - 1.0) - h * (y - 1.0) ** 2

    spread = side.largest_gain + side.labels + gamma * most(m / 4.0)
    audited = math.sqrt(4.0 * spread / (gamma * m))
    # The multiplier may stop growing before that; what holds on average says nothing of a run.
    most_reports = side.rounds if side.learner.pricing.one_sided else audited
    if dual.gamma * (most_reports + 1.0) > LARGEST_LAM:
        return None
    reports = audited / side.learner.audit_share
    return side.labels + gamma * most(m / 2.0), reports


def _geometric(side: Side, dual: Geometric) -> tuple[float, float] | None:
    """Theorem E for lam = gamma·q^n, q = 1 + theta.

    With m_d = m·q^−d and a = m_d/theta − 2·C·q/sqrt(theta·(2 + theta)) − 2·burst, if that is above
    0, W = L + gamma·(m_d/theta − a) and reports ≤ ln((eta·T + L + gamma·m_d/theta)/(gamma·a))/ln q.
    """
    m, share = proven_margin(side.learner), side.learner.audit_share
    gamma, theta = dual.gamma / share, dual.theta
    q = 1.0 + theta
    proved = m * q**-side.delay
    a = proved / theta - 2.0 * side.constant * q / math.sqrt(theta * (2.0 + theta))
    a -= 2.0 * side.burst
    if a <= 0:
        return None
    spread = side.largest_gain + side.labels + gamma * proved / theta
    # The multiplier may stop growing before that; what holds on average says nothing of a run.
    in_a_run = math.log(dual.gamma) + (side.rounds + 1) * math.log(q)
    if spread / a > LARGEST_LAM / share or (
        side.learner.pricing.one_sided and in_a_run > math.log(LARGEST_LAM)
    ):
        return None
    reports = max(0.0, math.log(spread / (gamma * a)) / math.log(q)) / share
    return side.labels + gamma * (proved / theta - a), reports


def theorem_e_geometric(learner: Learner, rounds: int, *, delay: int = 0) -> Geometric:
    """The geometric multiplier of Theorem E for a learner: theta = m²/(8·C²), gamma = eta·m/C.

    If theta < 1, reports are then at most of the order (C²/m²)·ln T, and regret at most
    k·C·(sqrt(T) + 8) and lower-order terms. A scale for every part takes 2·burst from a, which may
    leave nothing, and ``bounds`` then has none. ``rounds`` are those that the grid's rounding is
    counted over.
    """
    instance("learner", learner, Learner, "Make one: Learner(…).")
    rounds = integer("rounds", rounds, 1, LONGEST, "It is T, the number of rounds.")
    delay = integer("delay", delay, 0, LONGEST, "It counts rounds.")
    counted = isinstance(learner.schedule, SelfTuned) and learner.schedule.counts_outstanding
    late = Lateness(delay, delay + 1, counted=counted, steady=True)
    constant, m = Price(learner, late, rounds).constant, proven_margin(learner)
    return Geometric(charged_eta(learner) * m / constant, m * m / (8.0 * constant * constant))
