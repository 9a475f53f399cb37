"""Context-FTPL (Syrgkanis, Krishnamurthy, Schapire 2016): follow the perturbed leader.

Each draw of h is one call of the oracle on all costs so far plus fresh Laplace noise on the
separating set. The policy π^t is never written down; it is known through its draws.
"""

from __future__ import annotations

import math

import numpy as np

from likewise.hypotheses import Bits, HypothesisClass, Points
from likewise.hypotheses.weights import score
from likewise.learning.primal.base import Draws, Estimates, Frozen, Player
from likewise.learning.primal.draws import Perturbed, first_approvals
from likewise.randomness import Purpose, Stream

# Less noise than the bound's best learns faster; see docs/defaults.md. Every part of a class of
# cells has noise of its own in units of its own sqrt(S), and then one number serves all sizes.
SHARE, X_PER_PART = 0.1, 0.3


class ContextFTPL(Player):
    """h = argmin_h Σ_tau f_tau(h) + Σ_q noise_q·h(q), for classes that only an oracle can search.

    Regret (Theorem A): Σ s·B_t²/(2·sigma_t) + A·sigma_T, hence stability s and gain A. For cells,
    where every point is one of Q, the stability is 1 (Theorem A for cells). With ``per_part`` each
    part of a product class has a noise scale of its own (Theorem A for products).
    """

    name = "context-ftpl"
    exact = False
    can_be_per_part = True

    def stability(self, hypotheses: HypothesisClass, *, estimated: bool = False) -> float:  # noqa: ARG002
        """s, the size of the separating set; 1 where every point is one of it."""
        return 1.0 if hypotheses.cellular else float(hypotheses.separators)

    def gain(self, hypotheses: HypothesisClass) -> float:
        """A = E max_h Σ_q z_q·h(q)."""
        return hypotheses.noise_gain

    def default_x(self, hypotheses: HypothesisClass, *, estimated: bool = False) -> float:  # noqa: ARG002
        """A share of sqrt(s/A), the best x where nothing is known of the class but its Q."""
        if self.per_part and hypotheses.cellular:
            return X_PER_PART
        gain = hypotheses.noise_gain
        return SHARE * math.sqrt(hypotheses.separators / gain) if gain > 0 else SHARE

    def estimates(
        self, hypotheses: HypothesisClass, frozen: Frozen, points: Points, draws: Draws
    ) -> Estimates:
        """The share of draws that approve, and which is the first; every batch has its own."""
        stream = Stream(frozen.seed, draws.purpose, frozen.number)
        approved = self._law(hypotheses, frozen).approvals(
            points, stream, first_draw=draws.batch * draws.count, draws=draws.count
        )
        counts = approved.sum(axis=0, dtype=np.int64)
        scores = [score(int(n), draws.count) for n in counts]
        return Estimates(scores, first_approvals(approved[: draws.cap]))

    def decide(
        self, hypotheses: HypothesisClass, frozen: Frozen, points: Points, batch: int
    ) -> Bits:
        """One extra draw, which none of the scores has seen."""
        stream = Stream(frozen.seed, Purpose.DECIDE, frozen.number)
        law = self._law(hypotheses, frozen)
        return np.asarray(law.approvals(points, stream, first_draw=batch, draws=1)[0])

    def calls(self, hypotheses: HypothesisClass, draws: int) -> int:  # noqa: ARG002
        """The draws for the scores, and the one that decides."""
        return draws + 1

    def _law(self, hypotheses: HypothesisClass, frozen: Frozen) -> Perturbed:
        return Perturbed(hypotheses, frozen.costs, frozen.scales, frozen.copies, self.engine)
