"""A player of two minds: exponential weights at one temperature or at twice that."""

from __future__ import annotations

from dataclasses import dataclass

from likewise.hypotheses import Bits, ExactWeights, HypothesisClass, Points
from likewise.hypotheses.base import score
from likewise.learner import Player
from likewise.learner.players import Draws, Estimates, Frozen
from likewise.numerics.fixed_point import ONE
from likewise.numerics.randomness import Purpose, Stream

__all__ = ["TwoTemperatures"]

LARGEST_INVERSE = ONE << 20


@dataclass(frozen=True)
class TwoTemperatures(Player):
    """π = (π_tau + π_2tau)/2, where π_tau are exponential weights at the temperature tau.

    A loss is linear, so its regret is the mean of theirs: at most
    Σ B²/(8·tau)·(1 + 1/2)/2 + tau·ln(1/prior)·(1 + 2)/2. Hence stability 3/16, and as gain 3/2
    times that of one temperature.
    """

    name = "two-temperatures"
    exact = True
    proved = frozenset(("full",))

    def stability(self, hypotheses: HypothesisClass, *, estimated: bool = False) -> float:
        """3/16, and 3/8 for estimated costs."""
        return 0.375 if estimated else 0.1875

    def gain(self, hypotheses: HypothesisClass) -> float:
        """3/2·max_h ln(1/prior(h))."""
        assert isinstance(hypotheses, ExactWeights)
        return 1.5 * hypotheses.log_inverse_prior

    def default_x(self, hypotheses: HypothesisClass, *, estimated: bool = False) -> float:
        """A share of the bound's best."""
        share = 0.35 if estimated else 0.5
        return share * self.best_x(hypotheses, estimated=estimated)

    def estimates(
        self, hypotheses: HypothesisClass, frozen: Frozen, points: Points, draws: Draws
    ) -> Estimates:
        """The mean of two fractions, as a fraction."""
        assert isinstance(hypotheses, ExactWeights)
        cold, warm = (
            hypotheses.weigh(frozen.costs, factor * frozen.scale * ONE).approval(points)
            for factor in (1.0, 2.0)
        )
        both = [
            (a * total_b + b * total_a, 2 * total_a * total_b)
            for (a, total_a), (b, total_b) in zip(cold, warm, strict=True)
        ]
        return Estimates(
            [score(weight, total) for weight, total in both],
            [min(total * ONE // weight, LARGEST_INVERSE) if weight else LARGEST_INVERSE
             for weight, total in both],
        )  # fmt: skip

    def decide(
        self, hypotheses: HypothesisClass, frozen: Frozen, points: Points, batch: int
    ) -> Bits:
        """A coin for the temperature, then a draw: two numbers of the stream a batch."""
        assert isinstance(hypotheses, ExactWeights)
        stream = Stream(frozen.seed, Purpose.DECIDE, frozen.number)
        factor = 1.0 + stream.below(2, 2 * batch)
        temperature = factor * frozen.scale * ONE
        return hypotheses.weigh(frozen.costs, temperature).draw(points, stream, 2 * batch + 1)

    def calls(self, hypotheses: HypothesisClass, draws: int) -> int:
        """None."""
        return 0
