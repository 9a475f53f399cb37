"""What is guaranteed for a run's own parameters, as numbers, and whether they say anything.

The paper's bounds are computed from the inequalities of its proofs, not from the O(·) of its
statements. A bound is *informative* if it is below what holds for any learner at all: k·T errors,
T violations. The theorems are proved in ``docs/theory.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from likewise.learning.learner import Learner
from likewise.learning.pricing import Lifted
from likewise.learning.schedules import Paper, PaperOneSided, SelfTuned

__all__ = ["Bound", "bounds"]


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


def bounds(learner: Learner, rounds: int, *, delay: int | None = 0) -> tuple[Bound, ...]:
    """Every bound that covers the learner as it is set, after some rounds; maybe none.

    ``delay`` is the most rounds that feedback is late by; None where there is no such number. A
    learner that ignores its panel has no bound, and neither have the paper's schedules at other
    horizons than their own or with audits of a share, the estimate ``direct``, and late feedback
    with one-sided labels.
    """
    if not learner.heeds_reports or delay is None:
        return ()
    schedule = learner.schedule
    if isinstance(schedule, Paper):
        fits = rounds == schedule.horizon and delay == 0 and learner.audit_share == 1
        return (_paper(learner, schedule, rounds),) if fits else ()
    if not isinstance(schedule, SelfTuned):
        return ()
    if not learner.pricing.one_sided:
        return (_theorem_b(learner, schedule, rounds, delay),)
    if delay or not isinstance(learner.pricing, Lifted):
        return ()
    return (_theorem_c(learner, schedule, rounds),)


def _paper(learner: Learner, schedule: Paper, rounds: int) -> Bound:
    """The inequalities in the proofs of the paper's theorems, for the plug-in dual that we run.

    With eta the weight of the error, c_0 the number of Laplace variables a point,
    a = 4·omega·s·c_0 (one-sided: 8·omega·s·k³·M + k/(e·M), in expectation, where the paper has 4
    for 8) and c = (beta − r)/beta, for every lam ≥ 0 and N reports,

        (eta/k)·ΔError + c·lam·beta·N  ≤  W + c·(mu·T + 1/mu)·lam²/2,
        W = 2a·eta²·T + (10/omega)·sqrt(s·c_0)·log|H| + (c·mu/2)·beta²·T + rest,

    where the rest, max(0, 2a − c·(mu − mu³)/2)·T·beta²/mu², is what the regulariser leaves of the
    lam_t² (lam_t ≤ beta/mu). So regret ≤ (k/eta)·W and
    N ≤ sqrt(2·(mu·T + 1/mu)·(W + eta·T)/(beta·(beta − r))). Corrected on the way: the errors differ
    by at most T (not T/k), and the square root is taken.
    """
    hypotheses, audit = learner.hypotheses, learner.audit
    eta, mu, k, s = schedule.error_weight(), schedule.mu(1), learner.k, hypotheses.separators
    omega = 1.0 / schedule.scale(0.0, k, s, 1.0)
    a, holds = 4.0 * omega * s * learner.copies, f"with probability {1 - schedule.delta:g}"
    if isinstance(schedule, PaperOneSided):
        m = schedule.resamples(k, 1)
        a, holds = 8.0 * omega * s * k**3 * m + k / (math.e * m), "in expectation"
    beta, c = audit.beta, (audit.beta - audit.r) / audit.beta
    noise = 10.0 / omega * math.sqrt(s * learner.copies) * hypotheses.log_size
    rest = max(0.0, 2.0 * a - c * (mu - mu**3) / 2.0) * rounds * (beta / mu) ** 2
    w = 2.0 * a * eta * eta * rounds + noise + c * mu / 2.0 * beta**2 * rounds + rest
    spread = 2.0 * (mu * rounds + 1.0 / mu) * (w + eta * rounds)
    reports = math.sqrt(spread / (beta * (beta - audit.r)))
    return Bound("the paper's proof, plug-in dual", holds, rounds, k, k / eta * w, reports)


@dataclass(frozen=True)
class _Ledger:
    """The last lines of every proof: what W and the number of audits say about both counts.

    (eta/k)·ΔError + c·(lam·beta·N − lam²·sqrt(pT)) ≤ W for all lam ≥ 0, N being the reports, each
    counted as 1/p: so regret ≤ (k/eta)·W and N ≤ 2·sqrt(sqrt(pT)·(eta·T + W)/(beta·(beta − r))).
    """

    learner: Learner
    rounds: int
    eta: float

    @property
    def c(self) -> float:
        """(beta − r)/beta."""
        audit = self.learner.audit
        return (audit.beta - audit.r) / audit.beta

    def fairness(self, squares: float) -> float:
        """The part of W that pays for reports: (squares/c + c·beta²)·sqrt(pT)/p²."""
        share, beta = self.learner.audit_share, self.learner.audit.beta
        return (squares / self.c + self.c * beta * beta) * math.sqrt(self.rounds / share**3)

    def bound(self, source: str, holds: str, w: float) -> Bound:
        """Both counts."""
        learner, audit = self.learner, self.learner.audit
        root = math.sqrt(learner.audit_share * self.rounds)
        spread = root * (self.eta * self.rounds + w) / (audit.beta * (audit.beta - audit.r))
        regret, reports = learner.k / self.eta * w, 2.0 * math.sqrt(spread)
        return Bound(source, holds, self.rounds, learner.k, regret, reports)


def _theorem_b(learner: Learner, schedule: SelfTuned, rounds: int, delay: int) -> Bound:
    """Theorem B, for any player whose regret is at most C·sqrt(max S).

    W = sqrt(2)·C·eta·sqrt(T) + (8·C²/c + c·beta²)·sqrt(T) with c = (beta − r)/beta;
    regret ≤ (k/eta)·W, violations ≤ reports ≤ 2·sqrt(sqrt(T)·(eta·T + W)/(beta·(beta − r))).
    """
    player, hypotheses = learner.primal, learner.hypotheses
    x = schedule.scale(1.0, learner.k, hypotheses.separators, learner.default_x)
    big_c = player.stability(hypotheses) / x + player.gain(hypotheses) * x
    ledger = _Ledger(learner, rounds, schedule.eta)
    w = math.sqrt(2.0 * rounds) * big_c * schedule.eta + ledger.fairness(8.0 * big_c**2)
    return ledger.bound(f"Theorem B, {player.name}, C = {big_c:.3g}", _holds(learner, schedule), w)


def _theorem_c(learner: Learner, schedule: SelfTuned, rounds: int) -> Bound:
    """Theorem C (Context-FTPL), or C' (exponential weights), for one-sided labels.

    C:  W = C·eta·sqrt(2·Σ(1 + 2.4·M_t) + 8·M_T²) + (2·eta/e)·Σ 1/M_t + (8·C²/c + c·beta²)·sqrt(T);
    C': W = C·eta·sqrt(20·T) + (4·C²/c + c·beta²)·sqrt(T); conclusions as in Theorem B.
    """
    player, hypotheses, eta = learner.primal, learner.hypotheses, schedule.eta
    x = schedule.scale(1.0, learner.k, hypotheses.separators, learner.default_x)
    big_c = player.stability(hypotheses, one_sided=True) / x + player.gain(hypotheses) * x
    ledger, holds = _Ledger(learner, rounds, eta), "in expectation, against an oblivious adversary"
    if player.exact:
        w = big_c * eta * math.sqrt(20.0 * rounds) + ledger.fairness(4.0 * big_c**2)
        return ledger.bound(f"Theorem C', {player.name}, C = {big_c:.3g}", holds, w)
    resamples, last = _resamples(rounds)
    labels = math.sqrt(2.0 * (rounds + 2.4 * resamples[0]) + 8.0 * last * last)
    bias = 2.0 * eta / math.e * resamples[1]
    w = big_c * eta * labels + bias + ledger.fairness(8.0 * big_c**2)
    return ledger.bound(f"Theorem C, {player.name}, C = {big_c:.3g}", holds, w)


def _resamples(rounds: int) -> tuple[tuple[float, float], int]:
    """(Σ M_t, Σ 1/M_t) and M_T for M_t = ceil(t^{1/3}): it is m on (m−1)³ < t ≤ m³."""
    total, inverse, m, done = 0.0, 0.0, 0, 0
    while done < rounds:
        m += 1
        count = min(m**3, rounds) - done
        total, inverse, done = total + count * m, inverse + count / m, done + count
    return (total, inverse), m


def _holds(learner: Learner, schedule: SelfTuned) -> str:
    if learner.audit_share < 1:
        return "in expectation over the lottery of audits"
    return "surely" if learner.primal.exact else f"with probability {1 - schedule.delta:g}"
