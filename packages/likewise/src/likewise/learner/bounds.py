"""Bounds: the guarantees for a run's own parameters, as numbers.

The paper's bounds are computed from the inequalities of its proofs, not from the O(·) of its
statements. A bound is *informative* if it is below what holds for any learner at all: k·T errors,
T violations. The theorems are proved in ``docs/research/theory.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, cast

from likewise.hypotheses.base import ExactWeights
from likewise.learner.attention import Share
from likewise.learner.costs import LARGEST_LAM, Additive, Bounded, Geometric, GradientAscent
from likewise.learner.players import Term
from likewise.learner.schedules import Margins, Paper, PaperOneSided, SelfTuned
from likewise.learner.settings import Learner
from likewise.numerics.fixed_point import ONE
from likewise.validation import instance, integer

IN_EXPECTATION = "in expectation, against an oblivious adversary"
UNSEEN = "if a round's labels depend on nothing of its own draws"
# Rounds and delays are below this; sums over so many rounds take seconds.
LONGEST = 1 << 62
# One unit of the grid.
UNIT = 1.0 / ONE


@dataclass(frozen=True)
class Bound:
    """A guarantee on regret and on violations after T rounds, with its source.

    The bound on violations is one on reports, which are at least as many (each counted as one over
    the share of rounds that is audited). ``holds`` says in which sense.
    """

    source: str
    holds: str
    rounds: int
    k: int
    regret: float
    violations: float

    @property
    def informative(self) -> dict[str, bool]:
        """Which of the two are below the trivial bound."""
        return {
            "regret": self.regret < self.k * self.rounds,
            "violations": self.violations < self.rounds,
        }

    def to_json(self) -> dict[str, Any]:
        """The bound with the trivial one beside it."""
        names = ("source", "holds", "regret", "violations", "informative")
        trivial = {"trivial_regret": self.k * self.rounds, "trivial_violations": self.rounds}
        return {name: getattr(self, name) for name in names} | trivial


def proved(part: object) -> frozenset[str]:
    """The settings for which a schedule's or a player's own class claims a theorem.

    A subclass may change anything, so inherited claims do not count.

    >>> class Slower(SelfTuned):
    ...     def mu(self, audits): return super().mu(audits) / 1000
    >>> sorted(proved(SelfTuned())), sorted(proved(Slower()))
    (['full', 'late', 'one-sided'], [])
    """
    claims: frozenset[str] = vars(type(part)).get("proved", frozenset())
    return claims


def covered(learner: Learner, *, late: bool) -> bool:
    """Test whether all parts of a learner claim a theorem about its setting."""
    setting = {learner.feedback, "late"} if late else {learner.feedback}
    lottery = learner.audit_share == 1 or type(learner.looking) is Share
    dual = type(learner.multiplier) in (GradientAscent, Additive, Geometric, Bounded)
    return lottery and dual and setting <= proved(learner.schedule) & proved(learner.primal)


def charged_eta(learner: Learner) -> float:
    """eta as the program charges it: k labels of round(2^20·eta/k) units each."""
    return learner.k * learner.pricing.unit * UNIT


def in_errors(learner: Learner) -> float:
    """k/eta, which turns costs into errors."""
    return learner.k / charged_eta(learner)


def weighted_rounding(learner: Learner, rounds: int) -> float:
    """How far label charges may be off: weights other than 1 are rounded to units."""
    plain = learner.loss.alike and not learner.loss.fractions
    return 0.0 if plain else 2.0 * learner.k * UNIT * rounds


def proven_margin(learner: Learner) -> float:
    """m = beta − r, by which a report separates π^t from every fair policy.

    Scores are published in units of 2^-20, so r is a unit even where the policy is known. The
    number of draws is set by the smaller of r and kappa.
    """
    margins = learner.margins
    return asked_beta(learner) - (UNIT if learner.primal.exact else min(margins.r, margins.kappa))


def asked_beta(learner: Learner) -> float:
    """eps − kappa with alpha − kappa as the panel is asked: in whole units."""
    return learner.sensitivity * UNIT - (learner.alpha - learner.eps)


@dataclass(frozen=True)
class Lateness:
    """How late feedback is: at most ``delay`` rounds, that of a round in ``pieces``.

    ``counted`` says that S counts what is outstanding, ``steady`` that the multiplier never
    decreases, so that no round has a larger bound than a later one.
    """

    delay: int = 0
    pieces: int = 1
    counted: bool = True
    steady: bool = False

    def slow(self, late: int) -> float:
        """The factor of the stability: (1 + late·d)·sqrt(m), and sqrt(1 + d) unless all is counted.

        >>> Lateness().slow(2), Lateness(delay=3).slow(1), Lateness(delay=3, steady=True).slow(1)
        (1.0, 8.0, 4.0)
        """
        d = self.delay
        root = 1.0 if self.counted and self.steady else math.sqrt(1 + d)
        return (1 + late * d) * math.sqrt(self.pieces) * root

    @property
    def wide(self) -> float:
        """The factor of the gain: sqrt(max S / Σ B̄²)."""
        d = self.delay
        if not d:
            return 1.0
        if not self.counted:
            return math.sqrt(1 + d)
        return math.sqrt((1 + d / 4) * (1 + d if self.steady else 1.5 + d))


@dataclass(frozen=True)
class Side:
    """The primal side of an inequality: L, C and burst, and its number of rounds.

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
        """n: the rounds, one more if reports may be missed; the lottery's expected audits + 1."""
        share = self.learner.audit_share
        if share == 1:
            return self.rounds + float(self.learner.looking.misses)
        return share * self.rounds + 1.0


def concluded(side: Side) -> tuple[float, float] | None:
    """W, with regret ≤ (k/eta)·W, and a bound on reports; None where none is proved."""
    dual = side.learner.multiplier
    if isinstance(dual, GradientAscent):
        return _gradient(side)
    # A bad estimate costs 2·lam, and these are not at most beta·sqrt(t).
    if side.failing:
        return None
    if isinstance(dual, Additive):
        return _additive(side, dual)
    if isinstance(dual, Bounded):
        return _bounded(side, dual)
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


def _bounded(side: Side, dual: Bounded) -> tuple[float, float] | None:
    """Theorem E for multipliers that are projected onto [0, largest].

    With l = largest, W = L + l·(2C + C²/m + 2·burst) and
    N ≤ (2/(m·l))·(eta·T + L + l·(2C + 2C²/m + 2·burst)) + (3/2)·sqrt(n).
    """
    learner, m, most = side.learner, proven_margin(side.learner), dual.largest
    if side.delay or learner.audit_share < 1 or learner.pricing.one_sided:
        return None
    c = side.constant
    paid = most * (2.0 * c + c * c / m + 2.0 * side.burst)
    spread = side.largest_gain + side.labels + paid + most * c * c / m
    return side.labels + paid, 2.0 / (m * most) * spread + 1.5 * math.sqrt(side.audits)


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
    leave nothing, and ``bounds`` then has none.
    """
    instance("learner", learner, Learner, "Make one: Learner(…).")
    rounds = integer("rounds", rounds, 1, LONGEST, "It is T, the number of rounds.")
    delay = integer("delay", delay, 0, LONGEST, "It counts rounds.")
    counted = isinstance(learner.schedule, SelfTuned) and bool(learner.schedule.outstanding)
    late = Lateness(delay, delay + 1, counted=counted, steady=True)
    constant, m = Theorems(learner, late, rounds).constant, proven_margin(learner)
    return Geometric(charged_eta(learner) * m / constant, m * m / (8.0 * constant * constant))


def paper_bound(learner: Learner, schedule: Paper, rounds: int) -> Bound:
    """The inequalities in the proofs of the paper's theorems, for the plug-in dual that we run.

    With eta the weight of the error, c_0 the number of Laplace variables a point,
    a = 4·omega·s·c_0 and c = (beta − r)/beta, for every lam ≥ 0 and N reports,

        (eta/k)·ΔError + c·lam·beta·N  ≤  W + c·(mu·T + 1/mu)·lam²/2,
        W = 2a·eta²·T + (10/omega)·sqrt(s·c_0)·log|H| + (c·mu/2)·beta²·T + rest,

    where rest = max(0, 2a − c·(mu − mu³)/2)·T·beta²/mu² is the part of the lam_t² that the
    regulariser leaves (lam_t ≤ beta/mu). So regret ≤ (k/eta)·W and
    N ≤ sqrt(2·(mu·T + 1/mu)·(W + eta·T)/(beta·(beta − r))). Two corrections: the errors differ by
    at most T (not T/k), and the square root is taken.

    With one-sided labels a = 8·omega·s·k³·M + k/(e·M), where the paper has 4 for 8, and 2·eta, the
    norm of the lifted loss, replaces eta. These are the paper's inequalities, and no theorem about
    this program, which does not resample reports; they do not allow for a bad estimate.
    """
    hypotheses, margins = learner.hypotheses, learner.margins
    eta, mu, k, s = charged_eta(learner), schedule.mu(1), learner.k, hypotheses.separators
    omega = 1.0 / schedule.scale(0.0, k, s, 1.0)
    a, norm, source = 4.0 * omega * s * learner.copies, eta, "the paper's proof, plug-in dual"
    holds = f"with probability {1 - schedule.delta:g}"
    if isinstance(schedule, PaperOneSided):
        m = schedule.resamples(k, 1)
        a, norm = 8.0 * omega * s * k**3 * m + k / (math.e * m), 2.0 * eta
        source = "the paper's inequalities, corrected; no theorem about this program"
        holds = IN_EXPECTATION
    beta, c = margins.beta, (margins.beta - margins.r) / margins.beta
    noise = 10.0 / omega * math.sqrt(s * learner.copies) * hypotheses.log_size
    rest = max(0.0, 2.0 * a - c * (mu - mu**3) / 2.0) * rounds * (beta / mu) ** 2
    w = 2.0 * a * norm * norm * rounds + noise + c * mu / 2.0 * beta**2 * rounds + rest
    spread = 2.0 * (mu * rounds + 1.0 / mu) * (w + eta * rounds)
    reports = math.sqrt(spread / (beta * (beta - margins.r)))
    return Bound(source, holds, rounds, k, k / eta * w, reports)


@dataclass(frozen=True)
class Theorems:
    """The inequalities of Theorems B, C, C′ and E, with late feedback and audits of a share.

    They all begin with the primal player's regret, at most C·sqrt(Σ B̄²) + burst·max B̄, and end in
    regret ≤ (k/eta)·W and a number of reports, each counted as one over the share. C is the sum of
    the player's terms (Theorems A, A′ and those on cells, products and mixtures) and of the price
    of the program's grid over ``rounds`` rounds: integer noise costs s·2^-20/(unit·x), and weights
    that are cut off, or words of 32 bits, put every chance off by ``cut``, which costs cut·sqrt(T).
    """

    learner: Learner
    late: Lateness
    rounds: int

    @classmethod
    def of(
        cls, learner: Learner, rounds: int, delay: int, pieces: int | None = None
    ) -> Self | None:
        """Those for a learner's schedule, where they cover its late feedback; else None."""
        schedule = learner.schedule
        if not isinstance(schedule, SelfTuned) or (delay and not schedule.as_proved):
            return None
        late = Lateness(
            delay, min(pieces or delay + 1, delay + 1), counted=bool(schedule.outstanding),
            steady=learner.multiplier.never_decreases,
        )  # fmt: skip
        return cls(learner, late, rounds)

    @cached_property
    def _terms(self) -> tuple[Term, ...]:
        learner = self.learner
        estimated = learner.label_square is not None
        return learner.primal.terms(learner.hypotheses, learner.x, estimated=estimated)

    @property
    def cut(self) -> float:
        """The most by which the grid puts a chance of approval off."""
        hypotheses = self.learner.hypotheses
        if self.learner.primal.exact and isinstance(hypotheses, ExactWeights):
            return hypotheses.cut
        # Weights are rounded; scores of experts and of their mixture by half a unit each.
        experts = self.learner.primal.experts(hypotheses)
        mixed = UNIT + experts * 2.0**-40 if experts else 0.0
        return hypotheses.separators * 2.0**-31 + mixed

    @cached_property
    def constant(self) -> float:
        """C."""
        learner, late, grid = self.learner, self.late, 0.0
        if not learner.primal.exact:
            noise = float(learner.scale_factors[-1])
            grid = learner.hypotheses.separators / (learner.pricing.unit * noise)
            grid *= self.late.slow(1)
        player = sum(term.constant(late.slow(term.late), late.wide) for term in self._terms)
        return player + grid + self.cut * math.sqrt(self.rounds)

    @property
    def burst(self) -> float:
        """The price that every part adds for the bound of a single round."""
        return sum(term.burst(self.late.wide) for term in self._terms)

    @property
    def prices(self) -> float:
        """The addition to W for multipliers that are charged as integers, divided among pairs."""
        k, rounds = self.learner.k, self.rounds
        lost = self.learner.margins.beta * k * k / 2.0 * rounds
        rounded = weighted_rounding(self.learner, rounds)
        return UNIT * (lost + self.constant * math.sqrt(rounds)) + rounded

    @cached_property
    def eta(self) -> float:
        return charged_eta(self.learner)

    def full(self) -> tuple[Bound, ...]:
        exact = self.learner.primal.exact
        if self.learner.audit_share < 1:
            holds = "in expectation, over the lottery of audits and the draws"
            return self._bound(holds, self.labels(), 0.0 if exact else self._delta)
        return self._bound(self.holds, self.labels())

    @property
    def holds(self) -> str:
        """With full information and all rounds audited."""
        holds = "surely"
        if not self.learner.primal.exact:
            holds = f"with probability {1 - self._delta:g}"
        if self.learner.primal.experts(self.learner.hypotheses):
            holds += f" after {self.rounds:,} rounds, {UNSEEN}"
        return holds

    def labels(self) -> float:
        """L = C·eta·sqrt(T) + burst·eta, and the error of a mixture's estimates."""
        labels = (self.constant * math.sqrt(self.rounds) + self.burst) * self.eta
        if self.learner.primal.experts(self.learner.hypotheses):
            labels += self.eta * math.sqrt(2.0 * self.rounds * self._log(5) / self._draws)
        return labels

    def one_sided(self) -> tuple[Bound, ...]:
        """One-sided labels: in expectation, and for draws with high probability too."""
        eta, rounds = self.eta, self.rounds
        if self.learner.primal.exact:
            # The second term is for J, which is cut off at 2^20, and for rounding.
            rounding = (2.0 * eta + self.learner.k) * UNIT * rounds
            labels = (self.constant * math.sqrt(20.0 * rounds) + 5.0 * self.burst) * eta
            return self._bound(IN_EXPECTATION, labels + rounding)
        total, inverse, last = label_terms(rounds)
        bias = 2.0 * eta / math.e * inverse
        squares = rounds + 2.4 * total + (2.0 * last - 1.0) ** 2
        burst = self.burst * eta * (2.0 * last - 1.0)
        average = self.constant * eta * math.sqrt(squares) + bias + burst
        expected = self._bound(IN_EXPECTATION, average, self._delta)
        if self.learner.audit_share < 1 or self.late.delay:
            return expected
        # Two events may fail (four for a mixture), with delta/9 each; estimates, with some delta/2.
        log = self._log(9)
        every = log + self.learner.hypotheses.log_size
        squares = (math.e - 1.0) * (rounds + 2.4 * total) + (2.0 * last - 1.0) ** 2 * (1.0 + log)
        spread = 2.0 * eta * math.sqrt(2.0 * (rounds + 0.6 * total) * every)
        spread += 4.0 / 3.0 * eta * (last + 1.0) * every
        if self.learner.primal.experts(self.learner.hypotheses):
            spread += eta * (2.0 * last - 1.0) * math.sqrt(2.0 * rounds * log / self._draws)
        surely = self.constant * eta * math.sqrt(squares) + bias + burst + spread
        holds = f"with probability {1 - self._delta:g} after {rounds:,} rounds, {UNSEEN}"
        return expected + self._bound(holds, surely, name=f"{self._name}, high probability")

    @property
    def _delta(self) -> float:
        return cast(SelfTuned, self.learner.schedule).delta

    def _log(self, parts: float) -> float:
        return math.log(parts / self._delta)

    @property
    def _draws(self) -> int:
        """The fewest draws that estimate scores."""
        learner = self.learner
        experts = max(1, learner.primal.experts(learner.hypotheses))
        return self.learner.schedule.draws(learner.margins, learner.k * experts, 1)

    def _bound(
        self, holds: str, labels: float, failing: float = 0.0, name: str = ""
    ) -> tuple[Bound, ...]:
        learner, delay, w = self.learner, self.late.delay, labels + self.prices
        if proven_margin(learner) <= 0:
            return ()
        side = Side(learner, self.rounds, delay, w, self.constant, self.burst, failing)
        conclusion = concluded(side)
        if conclusion is None:
            return ()
        w, reports = conclusion
        source = f"Theorem {name or self._name}, {learner.primal.name}, C = {self.constant:.3g}"
        if delay:
            source += f", at most {delay} rounds late"
        regret = learner.k / self.eta * w
        if learner.looking.misses:
            holds += "; of violations, those in what the panel saw"
        return (Bound(source, holds, self.rounds, learner.k, regret, reports + failing),)

    @property
    def _name(self) -> str:
        learner = self.learner
        name = "B"
        if learner.pricing.one_sided:
            name = "C'" if learner.primal.exact else "C"
        if not isinstance(learner.multiplier, GradientAscent):
            name = "E" if name == "B" else f"{name} and E"
        if learner.looking.misses:
            return f"{name} and F"
        return name if learner.audit_share == 1 else f"{name} and D"


def least_reports(segments: int, rounds: int, regret: float, margins: Margins) -> float:
    """Reports that no learner avoids on n segments in turn if its regret is at most R.

    [n·(1 − alpha + kappa) − (n/T)·R]/(1 − alpha + eps + (n/T)·(1 − alpha + kappa)), for scores that
    are a function of what the learner has seen (``docs/research/theory.md``, lower bound).

    >>> round(least_reports(100, 10**6, 1000.0, Margins(0.3, 0.3, 0.1, 0.0)), 1)
    79.9
    """
    per_segment = segments / rounds
    missed = 1.0 - margins.alpha + margins.kappa
    unavoidable = segments * missed - per_segment * regret
    return max(0.0, unavoidable / (1.0 - margins.alpha + margins.eps + per_segment * missed))


def _late_attention(learner: Learner) -> bool:
    """Test whether a theorem covers late audits of a panel that is not asked everything.

    Every round has to step, unless steps do not matter (Theorem F, late).
    """
    looking = learner.looking
    steps = learner.multiplier.never_decreases or looking.steps == 1
    return looking.misses and steps and not learner.pricing.one_sided


def label_terms(rounds: int) -> tuple[float, float, int]:
    """Σ M_t, Σ 1/M_t and M_T for M_t = ceil(t^{1/3}), which is m where (m−1)³ < t ≤ m³.

    >>> label_terms(9)
    (18.0, 4.833333333333333, 3)
    """
    total, inverse, m, counted = 0.0, 0.0, 0, 0
    while counted < rounds:
        m += 1
        count = min(m**3, rounds) - counted
        total, inverse, counted = total + count * m, inverse + count / m, counted + count
    return total, inverse, m


def bounds(
    learner: Learner, rounds: int, *, delay: int | None = 0, pieces: int | None = None
) -> tuple[Bound, ...]:
    """Every bound that covers the learner as it is set, after some rounds; maybe none.

    ``delay`` is the most rounds that feedback is late by (None if unlimited), and ``pieces`` the
    number of parts in which one round's feedback comes (delay + 1 at most). No bound covers parts
    that claim no theorem (``proved``), learners that ignore their panel, the paper's schedules at
    other horizons than their own, late feedback where not every round is audited (unless every
    round steps, or multipliers never decrease; Theorem F), late one-sided labels of exponential
    weights, and late costs with other weights than the default. Of multipliers that never decrease
    it covers no geometric one that grows faster than Theorem E allows, none that may reach 2^20, no
    bounded one with late feedback, one-sided labels or audits of a share, and with a player that
    draws nothing in expectation: one-sided labels only with high probability, no audits of a share.

    >>> from likewise import Pool
    >>> learner = Learner(Pool.from_table([[0], [1]]), k=1, alpha=0.3, eps=0.3, seed=1)
    >>> [bound.holds for bound in bounds(learner, 1000)], bounds(learner, 1000, delay=None)
    (['surely'], ())
    """
    instance("learner", learner, Learner, "Make one: Learner(…).")
    rounds = integer("rounds", rounds, 1, None, "It is T, the number of rounds.")
    if delay is not None:
        delay = integer("delay", delay, 0, LONGEST, "It counts rounds.")
    if pieces is not None:
        pieces = integer("pieces", pieces, 1, None, "All at once is one piece.")
    one_sided = learner.pricing.one_sided
    if learner.ignores_reports or delay is None or not covered(learner, late=delay > 0):
        return ()
    if delay and learner.looking.least < 1 and not _late_attention(learner):
        return ()
    if isinstance(learner.schedule, Paper):  # its horizon is bounded already
        fits = rounds == learner.schedule.horizon and delay == 0 and learner.looking.least == 1
        fits = fits and isinstance(learner.multiplier, GradientAscent)
        return (paper_bound(learner, learner.schedule, rounds),) if fits else ()
    theorems = Theorems.of(learner, rounds, delay, pieces)
    if theorems is None:
        return ()
    integer("rounds", rounds, 1, LONGEST, "It is T, the number of rounds.")
    if one_sided and delay and learner.primal.exact:
        return ()
    return theorems.one_sided() if one_sided else theorems.full()
