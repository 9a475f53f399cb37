"""Context-FTPL (Syrgkanis, Krishnamurthy, Schapire 2016): follow the perturbed leader.

Each draw of h is one call of the oracle on all costs so far plus fresh Laplace noise on the
separating set. The policy π^t is never written down; it is known through its draws.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from likewise.errors import ParameterError
from likewise.hypotheses import Bits, HypothesisClass, Points
from likewise.hypotheses.policy import score
from likewise.learning.primal.base import Frozen, Player
from likewise.oracles import ENGINES, Oracle
from likewise.randomness import Noise, Purpose, Stream

__all__ = ["ContextFTPL"]


@dataclass(frozen=True)
class ContextFTPL(Player):
    """h = argmin_h Σ_tau f_tau(h) + Σ_q noise_q·h(q), for classes that only an oracle can search.

    Regret (Theorem A): Σ s·B_t²/(2·sigma_t) + A·sigma_T, hence stability s and gain A.
    """

    engine: str = "compiled"
    name = "context-ftpl"
    exact = False
    share_of_best_x = 0.1

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise ParameterError(
                "engine", f"must be one of {', '.join(ENGINES)}", self.engine, "They all agree."
            )

    def stability(self, hypotheses: HypothesisClass) -> float:
        """s, the size of the separating set."""
        return float(hypotheses.separators)

    def gain(self, hypotheses: HypothesisClass) -> float:
        """A = E max_h Σ_q z_q·h(q)."""
        return hypotheses.noise_gain

    def scores(
        self,
        hypotheses: HypothesisClass,
        frozen: Frozen,
        points: Points,
        draws: int,
        batch: int,
        purpose: Purpose = Purpose.ELICIT,
    ) -> list[int]:
        """The share of draws that approve; every batch has draws of its own."""
        approved = self._approvals(hypotheses, frozen, points, purpose, batch * draws, draws)
        return [score(int(count), draws) for count in approved.sum(axis=0, dtype=np.int64)]

    def decide(
        self, hypotheses: HypothesisClass, frozen: Frozen, points: Points, batch: int
    ) -> Bits:
        """One extra draw, which none of the scores has seen."""
        decided = self._approvals(hypotheses, frozen, points, Purpose.DECIDE, batch, 1)
        return np.asarray(decided[0])

    def calls(self, draws: int) -> int:
        """The draws for the scores, and the one that decides."""
        return draws + 1

    def _approvals(
        self,
        hypotheses: HypothesisClass,
        frozen: Frozen,
        points: Points,
        purpose: Purpose,
        first_draw: int,
        draws: int,
    ) -> Bits:
        noise = Noise(Stream(frozen.seed, purpose, frozen.number), frozen.scale, frozen.copies)
        oracle = Oracle(hypotheses, self.engine)
        return oracle.approvals(frozen.costs, noise, points, draws=draws, first_draw=first_draw)
