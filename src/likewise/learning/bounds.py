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

    ``reports`` bounds the reports as well, where the proof does; both hold with probability
    1 − delta (with certainty over the draws that never fail, for players that know π^t).
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

    A learner that ignores its panel has none. The paper's schedule has none beyond its horizon,
    or with a noise that its proof does not cover.
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
    """From the displays "regret" and "violation" in the proof of the main theorem, corrected.

    With eta the weight of the error, c the number of Laplace variables a point and
    a = 4·omega·s·c, what is left of the proof is, if 2a + mu³/2 ≤ mu/2,

        W = 2a·eta²·T + (10/omega)·sqrt(s·c)·log|H| + (mu/2)·Σ U²,   U ≤ 3·eps/4 on report rounds,
        regret ≤ (k/eta)·W,   (Σ U)² ≤ 2·(mu·T + 1/mu)·(W + eta·T),   U ≥ beta − r on report rounds.

    Corrections: the errors differ by at most T (not T/k), and the square root is taken.
    """
    if rounds != schedule.horizon:
        return ()
    hypotheses, audit = learner.hypotheses, learner.audit
    eta, mu, k, s = schedule.error_weight(), schedule.mu(1), learner.k, hypotheses.separators
    omega = 1.0 / schedule.scale(0.0, k, s, 1.0)
    a = 4.0 * omega * s * learner.copies
    if 2.0 * a + mu**3 / 2.0 > mu / 2.0:
        return ()
    largest = audit.beta + audit.r
    noise = 10.0 / omega * math.sqrt(s * learner.copies) * hypotheses.log_size
    w = 2.0 * a * eta * eta * rounds + noise + mu / 2.0 * rounds * largest * largest
    total = math.sqrt(2.0 * (mu * rounds + 1.0 / mu) * (w + eta * rounds))
    violations = total / (audit.beta - audit.r)
    return (Bound("paper, proof of the main theorem", rounds, k, k / eta * w, violations),)


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
