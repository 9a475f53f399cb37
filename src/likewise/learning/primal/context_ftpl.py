"""Context-FTPL (Syrgkanis, Krishnamurthy, Schapire 2016): follow the perturbed leader.

Each draw of h is one call of the oracle on all costs so far plus fresh Laplace noise on the
separating set. The policy π^t is never written down; it is known through its draws.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from likewise.fixed_point import ONE
from likewise.hypotheses import Bits, HypothesisClass, Points
from likewise.hypotheses.weights import score
from likewise.learning.primal.base import Estimates, Frozen, Player
from likewise.oracles import ENGINES, Oracle
from likewise.randomness import Noise, Purpose, Stream
from likewise.validation import choice

__all__ = ["ContextFTPL"]

# Only the paper's own constants ask for more noise than that.
LARGEST_SCALE_BITS = 33


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
        choice("engine", self.engine, ENGINES, "They all agree.")

    @classmethod
    def make(cls, engine: str) -> ContextFTPL:
        """With the engine that makes its draws."""
        return cls(engine)

    def stability(self, hypotheses: HypothesisClass, *, estimated: bool = False) -> float:  # noqa: ARG002
        """s, the size of the separating set."""
        return float(hypotheses.separators)

    def gain(self, hypotheses: HypothesisClass) -> float:
        """A = E max_h Σ_q z_q·h(q)."""
        return hypotheses.noise_gain

    def estimates(
        self,
        hypotheses: HypothesisClass,
        frozen: Frozen,
        points: Points,
        draws: int,
        batch: int,
        purpose: Purpose = Purpose.ELICIT,
        *,
        cap: int = 1,
    ) -> Estimates:
        """The share of draws that approve, and which is the first; every batch has its own."""
        approved = self._approvals(hypotheses, frozen, points, purpose, batch * draws, draws)
        counts = approved.sum(axis=0, dtype=np.int64)
        # A row of approvals at the cap: J = cap where no draw before it approves.
        tried = approved[:cap].astype(bool)
        tried[-1] = True
        first = tried.argmax(axis=0) + 1
        return Estimates([score(int(n), draws) for n in counts], [int(j) * ONE for j in first])

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
        # Beside noise this large the last bits of a cost do not matter, and integers have to
        # stay below 2^63: so both are put on a coarser grid.
        shift = max(0, math.frexp(frozen.scale * frozen.copies)[1] - LARGEST_SCALE_BITS)
        stream = Stream(frozen.seed, purpose, frozen.number)
        noise = Noise(stream, math.ldexp(frozen.scale, -shift), frozen.copies)
        oracle = Oracle(hypotheses, self.engine)
        costs = frozen.costs >> shift
        return oracle.approvals(costs, noise, points, draws=draws, first_draw=first_draw)
