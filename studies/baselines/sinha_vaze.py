"""Sinha and Vaze (2025, arXiv 2505.06709): experts with constraints that may be broken for a while.

Quoted: a potential Φ of the violations so far, Q_t = Σ g_t(π^t)⁺; Hedge on the surrogate losses
f_t + Φ′(Q_t)·g_t, whose rate follows its own surrogate loss (a bound for small losses); regret
O(sqrt(T·ln N) + T^beta) and violations Õ(T^(1 − beta)·ln N). Inferred from these two bounds:
Φ(q) = exp(lam·q) with lam = T^(beta − 1)/ln N, and the temperature sqrt(G² + G·L/ln N), with
G = 1 + Φ′(Q) the largest surrogate loss and L the sum of its own. ln N is max ln(1/prior), so that
it may have our prior.

Here experts are hypotheses, f_t is the error rate of the round, and g_t(h) = h(x_l) − h(x_r) −
alpha for the reported pair; 0 in a quiet round. It is not cut off at 0 for every hypothesis, and
the bounds, which need losses of at least 0, do not cover it here.
"""

import math
from dataclasses import dataclass

from likewise.hypotheses.base import GibbsPolicy
from likewise.learner.events import Audited, Labelled
from likewise.learner.oracle import engine_for
from likewise.numerics.fixed_point import ONE, exp_of_negative, to_units
from likewise.simulate.learners import baseline
from likewise.simulate.rounds import Feedback
from studies.baselines.encoding import WeightedPredecessor, exact_weights, power_of

# exp(16) times any horizon fits into integers of 64 bits; so dear a report forbids its gap.
LARGEST_EXPONENT = 16.0


@dataclass(eq=False, kw_only=True)
class SinhaVaze(WeightedPredecessor):
    """Hedge on error plus Φ′ of the violations so far times the reported gap.

    ``steepness`` multiplies lam and ``noise_divisor`` divides the temperature; 1 is its own. The
    panel is asked at alpha − kappa_share·eps, and gaps above that are its violations.
    """

    name = "sinha-vaze"
    beta: float = 0.5
    steepness: float = 1.0
    noise_divisor: float = 1.0
    kappa_share: float = 0.0
    prior: str = "flat"

    def __post_init__(self) -> None:
        self.check_factors("steepness", "noise_divisor")
        self.check_shares("beta", "kappa_share")
        self._exact = exact_weights(self.hypotheses, self.name).with_prior(self.prior)
        self._log_size = max(self._exact.log_inverse_prior, 1.0)
        # T^(1 − beta) to six digits, the same on every machine.
        root = power_of(self.horizon, round((1 - self.beta) * 64), 64) if self.beta < 1 else 1
        self.growth = self.steepness / (root * self._log_size)
        self.excess = 0.0  # Q
        self._incurred = 0.0
        self.begin_with(copies=1)

    @property
    def sensitivity(self) -> int:
        return to_units(self.alpha - self.kappa_share * self.eps)

    @property
    def lam(self) -> float:
        """Φ′(Q) = lam·exp(lam·Q), the price of a report."""
        exponent = min(self.growth * self.excess, LARGEST_EXPONENT)
        return self.growth / exp_of_negative(exponent)

    def weigh(self) -> GibbsPolicy:
        largest = 1.0 + self.lam
        scale = math.sqrt(largest * largest + largest * self._incurred / self._log_size)
        engine = engine_for("compiled", self.hypotheses)
        return engine.weigh(self._exact, self.costs, scale / self.noise_divisor * ONE)

    def hear(self, event: Feedback) -> None:
        """Charge 1/k for an error; for a report, first add its violation to Q, then charge Φ′."""
        if isinstance(event, Labelled):
            self.charge_label(event)
            score = int(self.scores[self.places[event.person]])
            self._incurred += abs(score - event.label * ONE) / (ONE * self.k)
        elif isinstance(event, Audited) and event.pairs:
            pairs = self.pairs_of(event)
            gaps = [int(self.scores[a] - self.scores[b]) - self.sensitivity for a, b in pairs]
            violation = sum(gaps) / (ONE * len(gaps))
            self.excess += violation
            self._incurred += self.lam * violation
            self.charge_pairs(pairs, to_units(self.lam))


sinha_vaze = baseline(
    SinhaVaze.name, "2025: experts with long-term constraints, a potential of the violations"
)(SinhaVaze)
