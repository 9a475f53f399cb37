"""Bounds: the guarantees for a run's own parameters, as numbers, and whether they say anything.

The paper's bounds are computed from the inequalities of its proofs, not from the O(·) of its
statements. A bound is *informative* if it is below what holds for any learner at all: k·T errors,
T violations. The theorems are proved in ``docs/theory.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from likewise.learning.costs import Lifted
from likewise.learning.learner import Learner
from likewise.learning.schedules import Paper, PaperOneSided, SelfTuned
from likewise.validation import instance, integer

__all__ = ["Bound", "bounds"]

# Beyond that nobody waits, and sums over rounds take seconds.
LONGEST = 1 << 62


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
        return {
            "source": self.source,
            "holds": self.holds,
            "regret": self.regret,
            "violations": self.violations,
            "trivial_regret": self.k * self.rounds,
            "trivial_violations": self.rounds,
            "informative": self.informative,
        }


def bounds(
    learner: Learner, rounds: int, *, delay: int | None = 0, pieces: int | None = None
) -> tuple[Bound, ...]:
    """Every bound that covers the learner as it is set, after some rounds; maybe none.

    ``delay`` is the most rounds that feedback is late by, None where there is no such number, and
    ``pieces`` in how many parts that of one round comes (delay + 1 at most). Not covered are
    learners that ignore their panel, the paper's schedules at other horizons than their own, the
    estimate ``direct``, late feedback together with audits of a share, and late one-sided labels of
    exponential weights.
    """
    instance("learner", learner, Learner, "Make one: Learner(…).")
    rounds = integer("rounds", rounds, 1, None, "It is T, the number of rounds.")
    if delay is not None:
        delay = integer("delay", delay, 0, LONGEST, "It counts rounds.")
    if pieces is not None:
        pieces = integer("pieces", pieces, 1, None, "All at once is one piece.")
    if learner.ignores_reports or delay is None or (delay and learner.audit_share < 1):
        return ()
    schedule, one_sided = learner.schedule, learner.pricing.one_sided
    if one_sided and not isinstance(learner.pricing, Lifted):
        return ()
    if isinstance(schedule, Paper):  # its horizon is bounded already
        fits = rounds == schedule.horizon and delay == 0 and learner.audit_share == 1
        return (_paper(learner, schedule, rounds),) if fits else ()
    if not isinstance(schedule, SelfTuned):
        return ()
    rounds = integer("rounds", rounds, 1, LONGEST, "It is T, the number of rounds.")
    if one_sided and delay and learner.primal.exact:
        return ()
    parts = min(delay + 1, delay + 1 if pieces is None else pieces)
    proof = _Proof(learner, schedule, rounds, delay, parts)
    return (proof.theorem_c() if one_sided else proof.theorem_b(),)


def _paper(learner: Learner, schedule: Paper, rounds: int) -> Bound:
    """The inequalities in the proofs of the paper's theorems, for the plug-in dual that we run.

    With eta the weight of the error, c_0 the number of Laplace variables a point,
    a = 4·omega·s·c_0 and c = (beta − r)/beta, for every lam ≥ 0 and N reports,

        (eta/k)·ΔError + c·lam·beta·N  ≤  W + c·(mu·T + 1/mu)·lam²/2,
        W = 2a·eta²·T + (10/omega)·sqrt(s·c_0)·log|H| + (c·mu/2)·beta²·T + rest,

    where the rest, max(0, 2a − c·(mu − mu³)/2)·T·beta²/mu², is what the regulariser leaves of the
    lam_t² (lam_t ≤ beta/mu). So regret ≤ (k/eta)·W and
    N ≤ sqrt(2·(mu·T + 1/mu)·(W + eta·T)/(beta·(beta − r))). Corrected on the way: the errors differ
    by at most T (not T/k), and the square root is taken.

    One-sided, a = 8·omega·s·k³·M + k/(e·M), where the paper has 4 for 8, and 2·eta for eta, which
    is the norm of the lifted loss. These are its inequalities, and no theorem about this program:
    reports are not resampled here, and its expectations are not those of a bad estimate.
    """
    hypotheses, margins = learner.hypotheses, learner.margins
    eta, mu, k, s = schedule.error_weight(), schedule.mu(1), learner.k, hypotheses.separators
    omega = 1.0 / schedule.scale(0.0, k, s, 1.0)
    a, norm, source = 4.0 * omega * s * learner.copies, eta, "the paper's proof, plug-in dual"
    holds = f"with probability {1 - schedule.delta:g}"
    if isinstance(schedule, PaperOneSided):
        m = schedule.resamples(k, 1)
        a, norm = 8.0 * omega * s * k**3 * m + k / (math.e * m), 2.0 * eta
        source = "the paper's inequalities, corrected; no theorem about this program"
        holds = "in expectation, against an oblivious adversary"
    beta, c = margins.beta, (margins.beta - margins.r) / margins.beta
    noise = 10.0 / omega * math.sqrt(s * learner.copies) * hypotheses.log_size
    rest = max(0.0, 2.0 * a - c * (mu - mu**3) / 2.0) * rounds * (beta / mu) ** 2
    w = 2.0 * a * norm * norm * rounds + noise + c * mu / 2.0 * beta**2 * rounds + rest
    spread = 2.0 * (mu * rounds + 1.0 / mu) * (w + eta * rounds)
    reports = math.sqrt(spread / (beta * (beta - margins.r)))
    return Bound(source, holds, rounds, k, k / eta * w, reports)


@dataclass(frozen=True)
class _Proof:
    """The inequalities of Theorems B, C and C', with late feedback and audits of a share.

    They all end in (eta/k)·ΔError + c·(lam·beta·N − lam²·sqrt(n)) ≤ W for all lam ≥ 0, where N are
    the reports, each counted as one over the share p, and n = T (p·T + 1 for a share): so regret ≤
    (k/eta)·W and N ≤ 2·sqrt(sqrt(n)·(eta·T + W)/(beta·(beta − r))).
    """

    learner: Learner
    schedule: SelfTuned
    rounds: int
    delay: int
    pieces: int

    @property
    def constant(self) -> float:
        """C = stability/x + gain·x; late by d, sqrt(1+d)·(late·sqrt(m)·stability/x + gain·x)."""
        learner, d = self.learner, self.delay
        player, hypotheses = learner.primal, learner.hypotheses
        x = self.schedule.scale(1.0, learner.k, hypotheses.separators, learner.default_x)
        stability = player.stability(hypotheses, estimated=learner.label_square is not None)
        late = (1 + 2 * d if player.exact else 1 + d) * math.sqrt(self.pieces)
        return math.sqrt(1 + d) * (late * stability / x + player.gain(hypotheses) * x)

    def theorem_b(self) -> Bound:
        """W = sqrt(2)·C·eta·sqrt(T) + (8·C²/c + c·beta²)·sqrt(T)."""
        labels = self.constant * self.schedule.eta * math.sqrt(2.0 * self.rounds)
        w = labels + self._fairness(8.0)
        if self.learner.audit_share < 1:
            return self._bound("B", "in expectation, over the lottery of audits and the draws", w)
        surely = "surely" if self.learner.primal.exact else None
        return self._bound("B", surely or f"with probability {1 - self.schedule.delta:g}", w)

    def theorem_c(self) -> Bound:
        """For one-sided labels, in expectation.

        C:  W = C·eta·sqrt(2·Σ(1 + 2.4·M_t) + 8·M_T²) + (2·eta/e)·Σ 1/M_t
                + (8·C²/c + c·beta²)·sqrt(T) + 4·beta·delta;
        C': W = C·eta·sqrt(20·T) + (eta·2^-19 + k·2^-20)·T + (4·C²/c + c·beta²)·sqrt(T).
        """
        eta, rounds = self.schedule.eta, self.rounds
        holds = "in expectation, against an oblivious adversary"
        if self.learner.primal.exact:
            # The second term is for J, which is cut off at 2^20, and for rounding.
            rounding = (eta * 2.0**-19 + self.learner.k * 2.0**-20) * rounds
            labels = self.constant * eta * math.sqrt(20.0 * rounds) + rounding
            return self._bound("C'", holds, labels + self._fairness(4.0))
        total, inverse, last = _resamples(rounds)
        squares = 2.0 * (rounds + 2.4 * total) + 8.0 * last * last
        bias = 2.0 * eta / math.e * inverse
        return self._bound(
            "C", holds, self.constant * eta * math.sqrt(squares) + bias + self._fairness(8.0)
        )

    @property
    def _c(self) -> float:
        margins = self.learner.margins
        return (margins.beta - margins.r) / margins.beta

    @property
    def _audits(self) -> float:
        """n: rounds, or with a share the audits that are expected, and one more."""
        share = self.learner.audit_share
        return self.rounds if share == 1 else share * self.rounds + 1.0

    @property
    def _failing(self) -> float:
        """The probability of a bad estimate, which an expectation has to pay for."""
        certain = self.learner.primal.exact
        averaged = self.learner.pricing.one_sided or self.learner.audit_share < 1
        return 0.0 if certain or not averaged else self.schedule.delta

    def _fairness(self, squares: float) -> float:
        """(squares·C²/c + (1 + 5d/2)·c·beta²)·sqrt(n)/p² + 4·beta·delta/p."""
        share, beta, c = self.learner.audit_share, self.learner.margins.beta, self._c
        late = 1.0 + 2.5 * self.delay
        steady = squares * self.constant**2 / c + late * c * beta * beta
        return steady * math.sqrt(self._audits) / share**2 + 4.0 * beta * self._failing / share

    def _bound(self, theorem: str, holds: str, w: float) -> Bound:
        learner, margins, eta = self.learner, self.learner.margins, self.schedule.eta
        spread = math.sqrt(self._audits) * (eta * self.rounds + w)
        reports = 2.0 * math.sqrt(spread / (margins.beta * (margins.beta - margins.r)))
        if learner.audit_share < 1:
            theorem += " and D"
        source = f"Theorem {theorem}, {learner.primal.name}, C = {self.constant:.3g}"
        if self.delay:
            source += f", at most {self.delay} rounds late"
        violations = reports + self._failing
        return Bound(source, holds, self.rounds, learner.k, learner.k / eta * w, violations)


def _resamples(rounds: int) -> tuple[float, float, int]:
    """Σ M_t, Σ 1/M_t and M_T for M_t = ceil(t^{1/3}), which is m where (m−1)³ < t ≤ m³."""
    total, inverse, m, done = 0.0, 0.0, 0, 0
    while done < rounds:
        m += 1
        count = min(m**3, rounds) - done
        total, inverse, done = total + count * m, inverse + count / m, done + count
    return total, inverse, m
