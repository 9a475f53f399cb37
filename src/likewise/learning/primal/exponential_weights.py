"""Exponential weights: π^t(h) ∝ exp(−cost(h)/temperature), computed exactly, no draws needed."""

from __future__ import annotations

from dataclasses import dataclass

from likewise.errors import HypothesisError
from likewise.fixed_point import ONE
from likewise.hypotheses import Bits, ExactWeights, HypothesisClass, Points
from likewise.hypotheses.weights import score
from likewise.learning.primal.base import Estimates, Frozen, Player
from likewise.randomness import Purpose, Stream

__all__ = ["ExponentialWeights"]

# Keeps costs within integers of 64 bits; chances below 2^-20 are approved once in a million
# rounds, and J is cut off there.
LARGEST_INVERSE = ONE << 20


@dataclass(frozen=True)
class ExponentialWeights(Player):
    """For classes that can be listed, or whose weights factorise (a threshold for each segment).

    Regret (Hedge with a rate that never rises): Σ B_t²/(8·tau_t) + tau_T·log|H| for temperatures
    tau_t = x·sqrt(max S), hence stability 1/4 and gain log|H|.
    """

    name = "exponential-weights"
    exact = True
    share_of_best_x = 2.0
    share_estimated = 0.7

    def stability(self, hypotheses: HypothesisClass, *, estimated: bool = False) -> float:  # noqa: ARG002
        """1/4, since Σ B_t²/sqrt(S_t) ≤ 2·sqrt(S_T); 1/2 for estimated costs (Theorem C')."""
        return 0.5 if estimated else 0.25

    def gain(self, hypotheses: HypothesisClass) -> float:
        """log|H|."""
        return hypotheses.log_size

    def estimates(
        self,
        hypotheses: HypothesisClass,
        frozen: Frozen,
        points: Points,
        draws: int,  # noqa: ARG002
        batch: int,  # noqa: ARG002
        purpose: Purpose = Purpose.ELICIT,  # noqa: ARG002
        *,
        cap: int = 1,  # noqa: ARG002
    ) -> Estimates:
        """π^t itself and one over it, rounded to units; no draws, and nothing to cap."""
        weights = self._class(hypotheses).approval(frozen.costs, frozen.scale * ONE, points)
        return Estimates(
            [score(weight, total) for weight, total in weights],
            [_inverse(weight, total) for weight, total in weights],
        )

    def decide(
        self, hypotheses: HypothesisClass, frozen: Frozen, points: Points, batch: int
    ) -> Bits:
        """One draw h ~ π^t."""
        stream = Stream(frozen.seed, Purpose.DECIDE, frozen.number)
        exact = self._class(hypotheses)
        return exact.draw(frozen.costs, frozen.scale * ONE, points, stream, batch)

    def calls(self, draws: int) -> int:  # noqa: ARG002
        """None."""
        return 0

    @staticmethod
    def _class(hypotheses: HypothesisClass) -> ExactWeights:
        if not isinstance(hypotheses, ExactWeights):
            raise HypothesisError(
                f"{type(hypotheses).__name__} has no exact weights. Use ContextFTPL, which only "
                f"needs its oracle."
            )
        return hypotheses


def _inverse(weight: int, total: int) -> int:
    """J = total/weight in units; where nobody can be approved, nobody will ask."""
    return min(total * ONE // weight, LARGEST_INVERSE) if weight else LARGEST_INVERSE
