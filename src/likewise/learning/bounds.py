"""What is guaranteed for a run's own parameters, as numbers, and whether they say anything.

The paper's bounds are computed from the inequalities of its proof, not from the O(·) of its
statement. A bound is *informative* if it is below what holds for any learner at all: k·T errors,
T violations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from likewise.learning.learner import Learner
from likewise.learning.schedules import Paper, SelfTuned

__all__ = ["Bound", "bounds"]


@dataclass(frozen=True)
class Bound:
    """A guarantee on regret and on violations after T rounds, with its source.

    The bound on violations is one on reports, which are at least as many. Both hold with
    probability 1 − delta; surely for players that know π^t.
    """

    source: str
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
            "regret": self.regret,
            "violations": self.violations,
            "trivial_regret": self.k * self.rounds,
            "trivial_violations": self.rounds,
            "informative": self.informative,
        }


def bounds(learner: Learner, rounds: int) -> tuple[Bound, ...]:
    """Every bound that covers the learner as it is set, after some rounds; maybe none.

    A learner that ignores its panel has none, and neither has the paper's schedule at other
    horizons than its own.
    """
    if not learner.heeds_reports:
        return ()
    schedule = learner.schedule
    if isinstance(schedule, Paper):
        return _paper(learner, schedule, rounds)
    if isinstance(schedule, SelfTuned):
        return (_theorem_b(learner, schedule, rounds),)
    return ()


def _paper(learner: Learner, schedule: Paper, rounds: int) -> tuple[Bound, ...]:
    """The inequalities in the proof of the main theorem, for the plug-in dual that we run.

    With eta the weight of the error, c_0 the number of Laplace variables a point,
    a = 4·omega·s·c_0 and c = (beta − r)/beta, for every lam ≥ 0 and N reports,

        (eta/k)·ΔError + c·lam·beta·N  ≤  W + c·(mu·T + 1/mu)·lam²/2,
        W = 2a·eta²·T + (10/omega)·sqrt(s·c_0)·log|H| + (c·mu/2)·beta²·T + rest,

    where the rest, max(0, 2a − c·(mu − mu³)/2)·T·beta²/mu², is what the regulariser leaves of the
    lam_t² (lam_t ≤ beta/mu). So regret ≤ (k/eta)·W and
    N ≤ sqrt(2·(mu·T + 1/mu)·(W + eta·T)/(beta·(beta − r))). Corrected on the way: the errors differ
    by at most T (not T/k), and the square root is taken.
    """
    if rounds != schedule.horizon:
        return ()
    hypotheses, audit = learner.hypotheses, learner.audit
    eta, mu, k, s = schedule.error_weight(), schedule.mu(1), learner.k, hypotheses.separators
    omega = 1.0 / schedule.scale(0.0, k, s, 1.0)
    a = 4.0 * omega * s * learner.copies
    beta, c = audit.beta, (audit.beta - audit.r) / audit.beta
    noise = 10.0 / omega * math.sqrt(s * learner.copies) * hypotheses.log_size
    rest = max(0.0, 2.0 * a - c * (mu - mu**3) / 2.0) * rounds * (beta / mu) ** 2
    w = 2.0 * a * eta * eta * rounds + noise + c * mu / 2.0 * beta**2 * rounds + rest
    spread = 2.0 * (mu * rounds + 1.0 / mu) * (w + eta * rounds)
    reports = math.sqrt(spread / (beta * (beta - audit.r)))
    return (Bound("the paper's proof, plug-in dual", rounds, k, k / eta * w, reports),)


def _theorem_b(learner: Learner, schedule: SelfTuned, rounds: int) -> Bound:
    """Theorem B, for any player whose regret is at most C·sqrt(max S).

    W = sqrt(2)·C·eta·sqrt(T) + (8·C²/c + c·beta²)·sqrt(T) with c = (beta − r)/beta;
    regret ≤ (k/eta)·W, violations ≤ reports ≤ 2·sqrt(sqrt(T)·(eta·T + W)/(beta·(beta − r))).
    """
    player, hypotheses, audit = learner.primal, learner.hypotheses, learner.audit
    x = schedule.scale(1.0, learner.k, hypotheses.separators, learner.default_x)
    big_c = player.stability(hypotheses) / x + player.gain(hypotheses) * x
    c = (audit.beta - audit.r) / audit.beta
    root, eta = math.sqrt(rounds), schedule.eta
    w = (math.sqrt(2.0) * big_c * eta + 8.0 * big_c**2 / c + c * audit.beta**2) * root
    reports = 2.0 * math.sqrt(root * (eta * rounds + w) / (audit.beta * (audit.beta - audit.r)))
    source = f"Theorem B, {player.name}, C = {big_c:.3g}"
    return Bound(source, rounds, learner.k, learner.k / eta * w, reports)
