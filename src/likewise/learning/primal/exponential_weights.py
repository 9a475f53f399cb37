"""Exponential weights: π^t(h) ∝ prior(h)·exp(−cost(h)/temperature), exactly, without draws."""

from __future__ import annotations

import math

from likewise.errors import HypothesisError, ParameterError
from likewise.fixed_point import ONE
from likewise.hypotheses import Bits, ExactWeights, GibbsPolicy, HypothesisClass, Points
from likewise.hypotheses.priors import FLAT
from likewise.hypotheses.weights import score
from likewise.learning.primal.base import Draws, Estimates, Frozen, Player
from likewise.oracles.oracle import engine_for
from likewise.randomness import Purpose, Stream

# Keeps costs within integers of 64 bits; chances below 2^-20 are approved once in a million
# rounds, and J is cut off there.
LARGEST_INVERSE = ONE << 20

# Chosen on the choosing worlds, see docs/defaults.md: with a prior from coarse to fine one number
# serves classes of any size. The second is for labels that are one-sided, whose S is another.
X, X_ESTIMATED = 0.25, 0.125
# With a flat prior, shares of the bound's best x.
SHARE, SHARE_ESTIMATED = 2.0, 0.7


class ExponentialWeights(Player):
    """For classes that can be listed, or whose weights factorise (a rule for each segment).

    Regret to h (Hedge with a rate that never rises): Σ B_t²/(8·tau_t) + tau_T·ln(1/prior(h)) for
    temperatures tau_t = x·sqrt(max S), hence stability 1/4 and gain max_h ln(1/prior(h)).

    With ``per_part`` every part of a product class has a temperature of its own; the prior has to
    be flat, since any other one couples the parts.
    """

    name = "exponential-weights"
    exact = True
    can_be_per_part = True

    def stability(self, hypotheses: HypothesisClass, *, estimated: bool = False) -> float:  # noqa: ARG002
        """1/4, since Σ B_t²/sqrt(S_t) ≤ 2·sqrt(S_T); 1/2 for estimated costs (Theorem C')."""
        return 0.5 if estimated else 0.25

    def gain(self, hypotheses: HypothesisClass) -> float:
        """max_h ln(1/prior(h))."""
        return self._class(hypotheses).log_inverse_prior

    def default_x(self, hypotheses: HypothesisClass, *, estimated: bool = False) -> float:
        """One number from coarse to fine; with a flat prior, a share of the bound's best."""
        if self._class(hypotheses).prior != FLAT:
            return X_ESTIMATED if estimated else X
        share = SHARE_ESTIMATED if estimated else SHARE
        # The best x of a part is that of its own share of the gain.
        root = math.sqrt(self.scales(hypotheses))
        return share * root * self.best_x(hypotheses, estimated=estimated)

    def scales(self, hypotheses: HypothesisClass) -> int:
        """One, or one for every part."""
        if self.per_part and self._class(hypotheses).prior != FLAT:
            raise ParameterError(
                "scales", "must be shared where the prior is not flat", "per-part",
                "Such a prior couples the parts; take with_prior('flat').",
            )  # fmt: skip
        return super().scales(hypotheses)

    def estimates(
        self, hypotheses: HypothesisClass, frozen: Frozen, points: Points,
        draws: Draws,  # noqa: ARG002
    ) -> Estimates:  # fmt: skip
        """π^t itself and one over it, rounded to units; no draws, and nothing to cap."""
        weights = self._policy(hypotheses, frozen).approval(points)
        return Estimates(
            [score(weight, total) for weight, total in weights],
            [_inverse(weight, total) for weight, total in weights],
        )

    def decide(
        self, hypotheses: HypothesisClass, frozen: Frozen, points: Points, batch: int
    ) -> Bits:
        """One draw h ~ π^t."""
        stream = Stream(frozen.seed, Purpose.DECIDE, frozen.number)
        return self._policy(hypotheses, frozen).draw(points, stream, batch)

    def calls(self, hypotheses: HypothesisClass, draws: int) -> int:  # noqa: ARG002
        """None."""
        return 0

    def _policy(self, hypotheses: HypothesisClass, frozen: Frozen) -> GibbsPolicy:
        """The weights of a round, which are the same for its scores and its decisions."""
        cached = frozen.__dict__.get("_policy")
        if cached is None or cached[0] is not hypotheses:
            exact = self._class(hypotheses)
            temperature = frozen.scales * ONE if self.per_part else frozen.scale * ONE
            engine = engine_for(self.engine, hypotheses)
            cached = (hypotheses, engine.weigh(exact, frozen.costs, temperature))
            # A note on the frozen value, not a part of it: neither compared nor saved.
            frozen.__dict__["_policy"] = cached
        policy: GibbsPolicy = cached[1]
        return policy

    @staticmethod
    def _class(hypotheses: HypothesisClass) -> ExactWeights:
        if not isinstance(hypotheses, ExactWeights):
            raise HypothesisError(
                f"{type(hypotheses).__name__} has no exact weights. Use nested-ftpl or "
                f"context-ftpl, which only need its oracle."
            )
        return hypotheses


def _inverse(weight: int, total: int) -> int:
    """J = total/weight in units; where nobody can be approved, nobody will ask."""
    return min(total * ONE // weight, LARGEST_INVERSE) if weight else LARGEST_INVERSE
