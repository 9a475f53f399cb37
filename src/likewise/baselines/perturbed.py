"""Context-FTPL on encoded rounds: the oracle-efficient form of the predecessors.

Constants: noise is that which minimises the regret bound of Syrgkanis, Krishnamurthy and Schapire
(2016) that their proofs cite, 4·w·K·s·T + (10/w)·sqrt(s·m)·log|H| with full information and
8·w·K²·s·M·m·T + (10/w)·sqrt(s·m)·log|H| with resampling, over w; K is the dimension of an encoded
round and m how many of its coordinates are 1. That they take this w is inferred, not quoted. A
``noise_divisor`` above 1 is less noise than that: their own tuned like ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise.algorithms import VIEW_DRAWS
from likewise.baselines.encoding import EncodedPredecessor, Round, power_of
from likewise.baselines.predecessor import check_divisor, horizon_of
from likewise.fixed_point import ONE, IntArray
from likewise.hypotheses import HypothesisClass, Points
from likewise.hypotheses.weights import score
from likewise.learning.primal.draws import Perturbed
from likewise.oracles import ENGINES
from likewise.randomness import Purpose, Stream
from likewise.schema import People
from likewise.validation import choice


@dataclass(eq=False)
class PerturbedPredecessor(EncodedPredecessor):
    """Draws of Context-FTPL with the repeated embedding: K Laplace variables a point.

    Its constants are C copies, R draws (``elicited``) and M redraws (0 with full information).
    """

    rounds: int
    copies: int
    elicited: int
    redraws: int
    noise_divisor: float
    engine: str = "compiled"

    def __post_init__(self) -> None:
        check_divisor("noise_divisor", self.noise_divisor, 1e12)
        choice("engine", self.engine, ENGINES, "They all agree.")
        # Labels are one-sided for those that resample.
        self.feedback = "one-sided" if self.redraws else "full"
        self.begin(self.copies)

    @property
    def dimension(self) -> int:
        """K, the coordinates of an encoded round: twice as many where both actions have losses."""
        return (2 if self.redraws else 1) * (self.k + 2 * self.copies)

    @property
    def scale(self) -> float:
        """1/w for the w that minimises the cited bound, over the divisor."""
        k, s, chosen = self.dimension, self.hypotheses.separators, self.k + 2 * self.copies
        gain = 10.0 * math.sqrt(s * chosen) * max(self.hypotheses.log_size, 1.0)
        if self.redraws:
            loss = 8.0 * k * k * s * self.redraws * chosen * self.rounds
        else:
            loss = 4.0 * k * s * self.rounds
        return math.sqrt(loss / gain) / self.noise_divisor

    def calls_a_round(self, rounds: int) -> float:  # noqa: ARG002
        """R + M, whatever the round; the draw that decides is one of the R."""
        return float(self.elicited + self.redraws)

    @property
    def constants(self) -> dict[str, Any]:
        """C, R, M and the noise."""
        return {
            "copies": self.copies, "draws": self.elicited, "redraws": self.redraws,
            "scale": self.scale,
        }  # fmt: skip

    @property
    def draws(self) -> int:
        """R."""
        return self.elicited

    def _law(self) -> Perturbed:
        scales = np.array([self.scale])
        return Perturbed(self.hypotheses, self.costs, scales, self.dimension, self.engine)

    def play(self, points: Points) -> Round:
        """The share of R draws that approve, one of these draws, and redraws until it repeats."""
        law = self._law()
        stream = Stream(self.seed, Purpose.ELICIT, self.number)
        approvals = law.approvals(points, stream, first_draw=0, draws=self.elicited)
        counts = approvals.sum(axis=0, dtype=np.int64).tolist()
        scores = np.array([score(n, self.elicited) for n in counts], dtype=np.int64)
        chosen = Stream(self.seed, Purpose.DECIDE, self.number).below(self.elicited)
        approved = approvals[chosen].astype(bool)
        self._calls += self.elicited + self.redraws
        weights = [ONE] * len(scores)
        if self.redraws:
            stream = Stream(self.seed, Purpose.MIX, self.number)
            again = law.approvals(points, stream, first_draw=0, draws=self.redraws).astype(bool)
            repeated = again == approved
            repeated[-1] = True
            weights = [int(n) * ONE for n in (repeated.argmax(axis=0) + 1).tolist()]
        return Round(scores, approved, weights)

    def chances(self, people: People) -> IntArray:
        """From draws that nobody else uses."""
        stream = Stream(self.seed, Purpose.VIEW, self.number + 1)
        points = self.hypotheses.locate(people)
        approvals = self._law().approvals(points, stream, first_draw=0, draws=VIEW_DRAWS)
        counts = approvals.sum(axis=0, dtype=np.int64).tolist()
        return np.array([score(n, VIEW_DRAWS) for n in counts], dtype=np.int64)


Power = tuple[int, int]


def perturbed(
    name: str, copies: Power, elicited: Power, redraws: Power | None = None
) -> Callable[..., PerturbedPredecessor]:
    """Make a predecessor of the one signature from powers of T: (2, 9) is T^(2/9)."""

    def make(
        hypotheses: HypothesisClass, k: int, alpha: float, eps: float, seed: int, *,
        rounds: int | None = None, noise_divisor: float = 1.0, engine: str = "compiled",
    ) -> PerturbedPredecessor:  # fmt: skip
        """Context-FTPL on the encoded stream."""
        horizon = horizon_of(rounds, name)
        return PerturbedPredecessor(
            name, hypotheses, k, alpha, eps, seed, horizon,
            copies=power_of(horizon, *copies), elicited=power_of(horizon, *elicited),
            redraws=power_of(horizon, *redraws) if redraws else 0,
            noise_divisor=noise_divisor, engine=engine,
        )  # fmt: skip

    return make
