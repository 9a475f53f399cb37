"""Nested-FTPL: Hedge over Context-FTPL on nested classes, and over the two constants.

Context-FTPL has no prior. A class inside the class, which tells fewer people apart, is learnt
sooner, and nobody objects to a constant: so all of them play side by side, each with its own noise,
and exponential weights on what they have cost say how much of each is deployed:

    π^t = Σ_e w_e·π_e^t,      w_e ∝ prior(e)·exp(−Λ_e/tau_t),      Λ_e = Σ_tau f_tau(π̃_e^tau).

Half of the prior is on the constants, the other half on the classes, all alike. The scores of every
class are kept with the decision, since costs come later, when the policies have moved on. Draws
that estimate the scores are none of those that J is made from: a label's cost is J times something,
and the score that it is multiplied with must not know J (the theorem on mixtures of players).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from likewise.fixed_point import BITS, FloatArray, IntArray
from likewise.hypotheses import Bits, HypothesisClass, Nested, Points
from likewise.hypotheses.weights import pick, weight_of
from likewise.learning.primal.base import Draws, Estimates, Frozen, Player, Term
from likewise.learning.primal.context_ftpl import SHARE, X_PER_PART, ContextFTPL
from likewise.learning.primal.draws import Perturbed, first_approvals
from likewise.portable_math import LN2, log
from likewise.randomness import Purpose, Stream

# Chosen on the choosing worlds, see docs/defaults.md: the temperature of the weights, in units of
# their sqrt(S).
X_HEDGE = 0.25


@lru_cache(maxsize=64)
def _nested(hypotheses: HypothesisClass) -> tuple[Nested, ...]:
    return hypotheses.nested()


class NestedFTPL(Player):
    """A mixture of Context-FTPL on nested classes and of the constants.

    The first scale is the temperature of the weights; then every part of every class has its own.
    Experts whose costs are kept are the constant that approves everybody, and the classes; the
    other constant never costs anything.
    """

    name = "nested-ftpl"
    exact = False
    can_be_per_part = True  # it always is

    def stability(self, hypotheses: HypothesisClass, *, estimated: bool = False) -> float:
        """That of Context-FTPL on the class itself."""
        return ContextFTPL(self.engine).stability(hypotheses, estimated=estimated)

    def gain(self, hypotheses: HypothesisClass) -> float:
        """That of Context-FTPL on the class itself."""
        return hypotheses.noise_gain

    def terms(
        self, hypotheses: HypothesisClass, x: float, *, estimated: bool = False
    ) -> tuple[Term, ...]:
        """The weights' own regret, and that of the class itself with a scale for every part."""
        weights = Term(0.25, log(2 * len(_nested(hypotheses))), X_HEDGE, late=2)
        parts, stability = hypotheses.parts, self.stability(hypotheses, estimated=estimated)
        noise = self._noise(hypotheses, x)
        return weights, Term(stability, self.gain(hypotheses) / parts, noise, parts)

    def default_x(self, hypotheses: HypothesisClass, *, estimated: bool = False) -> float:  # noqa: ARG002
        """The noise of a part of a class of cells; that of other classes follows from it."""
        return X_PER_PART

    def scales(self, hypotheses: HypothesisClass) -> int:
        """The temperature, and the noise of every part of every class."""
        return 1 + sum(nested.hypotheses.parts for nested in _nested(hypotheses))

    def places(self, hypotheses: HypothesisClass, points: Points) -> IntArray:
        """The temperature, and each point's part in every class."""
        columns, first = [np.zeros(len(points), dtype=np.int64)], 1
        for nested in _nested(hypotheses):
            columns.append(first + nested.hypotheses.part_of(nested.points(points)))
            first += nested.hypotheses.parts
        return np.stack(columns, axis=1)

    def scale_factors(self, hypotheses: HypothesisClass, x: float) -> FloatArray:
        """x for cells; elsewhere as much more as the bound's best noise is."""
        factors = [X_HEDGE]
        for nested in _nested(hypotheses):
            factors += [self._noise(nested.hypotheses, x)] * nested.hypotheses.parts
        return np.array(factors)

    @staticmethod
    def _noise(hypotheses: HypothesisClass, x: float) -> float:
        """The noise of a class, where that of cells is x."""
        if hypotheses.cellular or not hypotheses.noise_gain:
            return x
        return x * SHARE / X_PER_PART * math.sqrt(hypotheses.separators / hypotheses.noise_gain)

    def experts(self, hypotheses: HypothesisClass) -> int:
        """The constant that approves everybody, and the classes."""
        return 1 + len(_nested(hypotheses))

    def estimates(
        self, hypotheses: HypothesisClass, frozen: Frozen, points: Points, draws: Draws
    ) -> Estimates:
        """The mixture of what the draws of every class say, and of the constants.

        The first ``cap`` draws of every class are for J alone.
        """
        laws = self._laws(hypotheses, frozen)
        stream = Stream(frozen.seed, draws.purpose, frozen.number)
        count, batch = draws.count, draws.batch
        approved = []
        for block, (nested, law) in enumerate(laws, start=batch * len(laws)):
            located, first = nested.points(points), block * count
            approved.append(law.approvals(located, stream, first_draw=first, draws=count))
        resampled = min(draws.cap, count - 1)
        counts = [bits[resampled:].sum(axis=0, dtype=np.int64) for bits in approved]
        units = [((yes << (BITS + 1)) // (count - resampled) + 1) >> 1 for yes in counts]
        experts = np.stack([np.full(len(points), 1 << BITS), *units])
        weights = self._weights(hypotheses, frozen)
        total = int(weights.sum())
        # Weights are below 2^41 and scores at most 2^20, so a product needs Python's integers.
        mixed = [
            (2 * sum(w * s for w, s in zip(weights[1:].tolist(), column, strict=True)) + total)
            // (2 * total)
            for column in experts.T.tolist()
        ]
        tried = self._tried(weights, approved, frozen, batch, draws.cap)
        return Estimates(mixed, first_approvals(tried), [tuple(e) for e in experts.T.tolist()])

    def _tried(
        self, weights: IntArray, approved: list[Bits], frozen: Frozen, batch: int, cap: int
    ) -> Bits:
        """The first draws of the mixture: each is one of its expert's, the expert by weight."""
        stream = Stream(frozen.seed, Purpose.MIX, frozen.number)
        tried = np.empty((cap, approved[0].shape[1]), dtype=np.uint8)
        for row in range(cap):
            expert = pick(weights, stream.below(int(weights.sum()), 1 + batch * cap + row))
            tried[row] = (0, 1)[expert] if expert < 2 else approved[expert - 2][row]
        return tried

    def decide(
        self, hypotheses: HypothesisClass, frozen: Frozen, points: Points, batch: int
    ) -> Bits:
        """One expert by weight, and one extra draw of it, which none of the scores has seen."""
        weights = self._weights(hypotheses, frozen)
        mix = Stream(frozen.seed, Purpose.MIX_DECIDE, frozen.number)
        expert = pick(weights, mix.below(int(weights.sum()), batch))
        if expert < 2:
            return np.full(len(points), expert, dtype=np.uint8)
        nested, law = self._laws(hypotheses, frozen)[expert - 2]
        stream = Stream(frozen.seed, Purpose.DECIDE, frozen.number)
        bits = law.approvals(nested.points(points), stream, first_draw=batch, draws=1)
        return np.asarray(bits[0])

    def calls(self, hypotheses: HypothesisClass, draws: int) -> int:
        """The draws of every class for the scores, and the one that decides."""
        return draws * len(_nested(hypotheses)) + 1

    def _weights(self, hypotheses: HypothesisClass, frozen: Frozen) -> IntArray:
        """Integer weights: of approving nobody, of approving everybody, and of every class."""
        count = len(_nested(hypotheses))
        temperature = frozen.scale * float(1 << (2 * BITS))
        costs = (0, *frozen.incurred)
        least = min(costs)
        priors = [2.0 * LN2, 2.0 * LN2, *[log(2 * count)] * count]
        # Costs are subtracted as integers, and divided after that.
        exponents = [
            float(cost - least) / temperature + prior
            for cost, prior in zip(costs, priors, strict=True)
        ]
        smallest = min(exponents)
        return np.array([weight_of(e - smallest) for e in exponents], dtype=np.int64)

    def _laws(self, hypotheses: HypothesisClass, frozen: Frozen) -> list[tuple[Nested, Perturbed]]:
        """Context-FTPL on every class."""
        laws, first = [], 1
        for nested in _nested(hypotheses):
            scales = frozen.scales[first : first + nested.hypotheses.parts]
            costs = nested.costs(frozen.costs)
            law = Perturbed(nested.hypotheses, costs, scales, frozen.copies, self.engine)
            laws.append((nested, law))
            first += nested.hypotheses.parts
        return laws
