"""Bechavod and Roth (2023): one-sided labels, a share of the panel, reports as copies.

Quoted: the encoding with actions (h(x), 1 − h(x)) and losses (1 − y, ½), C = T^(4/45) copies,
M = T^(1/3) redraws, R = T^(38/45) draws (of the proof; its theorem says T), the panel asked at
alpha, the estimated policy deployed and a decision drawn from it. Inferred: the noise. Of its twin
Exp2, exponential weights on the same estimated losses, C = T^(1/5) is quoted.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from likewise.hypotheses.base import GibbsPolicy
from likewise.learner.events import Audited, Labelled
from likewise.learner.players import ExponentialWeights, Perturbed
from likewise.numerics.fixed_point import ONE, IntArray, to_units
from likewise.numerics.randomness import Purpose, Stream
from likewise.people.schema import People
from likewise.simulate.learners import baseline
from likewise.simulate.rounds import VIEW_DRAWS, Feedback
from likewise.validation import within
from studies.baselines.encoding import (
    Decisions,
    EncodedPredecessor,
    WeightedPredecessor,
    exact_weights,
    power_of,
    scores_of,
)


@dataclass(eq=False, kw_only=True)
class PerturbedPredecessor(EncodedPredecessor):
    """Draws of Context-FTPL with the repeated embedding: K Laplace variables a point.

    ``powers`` of T are its constants, (2, 9) for T^(2/9): C copies, R draws (``elicited``) and,
    where labels are one-sided, M redraws.
    """

    powers: ClassVar[Sequence[tuple[int, int]]]
    noise_divisor: float = 1.0

    def __post_init__(self) -> None:
        self.check_factors("noise_divisor")
        constants = (power_of(self.horizon, *power) for power in self.powers)
        self.copies, self.elicited, self.redraws = (*constants, 0)[:3]
        self.begin_with(self.copies)
        self._calls = 0

    @property
    def calls(self) -> int:
        """Hypotheses that were asked for."""
        return self._calls

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
            loss = 8.0 * k * k * s * self.redraws * chosen * self.horizon
        else:
            loss = 4.0 * k * s * self.horizon
        return math.sqrt(loss / gain) / self.noise_divisor

    def calls_a_round(self, rounds: int) -> float:  # noqa: ARG002
        """R + M, whatever the round; the draw that decides is one of the R."""
        return float(self.elicited + self.redraws)

    def _law(self) -> Perturbed:
        scales = np.array([self.scale])
        return Perturbed(self.hypotheses, self.costs, scales, self.dimension, "compiled")

    def play(self, people: People) -> tuple[IntArray, Decisions]:  # noqa: ARG002
        """The share of R draws that approve, one of these draws, and redraws until it repeats."""
        law = self._law()
        stream = Stream(self.seed, Purpose.ELICIT, self.number)
        approvals = law.approvals(self.points, stream, first_draw=0, draws=self.elicited)
        counts = approvals.sum(axis=0, dtype=np.int64).tolist()
        chosen = Stream(self.seed, Purpose.DECIDE, self.number).below(self.elicited)
        approved = approvals[chosen].astype(bool)
        self._calls += self.elicited + self.redraws
        self.weights = [ONE] * len(counts)
        if self.redraws:
            stream = Stream(self.seed, Purpose.MIX, self.number)
            again = law.approvals(self.points, stream, first_draw=0, draws=self.redraws)
            repeated = again.astype(bool) == approved
            repeated[-1] = True
            self.weights = [int(n) * ONE for n in (repeated.argmax(axis=0) + 1).tolist()]
        return scores_of((n, self.elicited) for n in counts), approved

    def chances(self, people: People) -> IntArray:
        """From draws that nobody else uses."""
        stream = Stream(self.seed, Purpose.VIEW, self.number + 1)
        points = self.hypotheses.locate(people)
        approvals = self._law().approvals(points, stream, first_draw=0, draws=VIEW_DRAWS)
        counts = approvals.sum(axis=0, dtype=np.int64).tolist()
        return scores_of((n, VIEW_DRAWS) for n in counts)


class BechavodRoth(PerturbedPredecessor):
    """Context-FTPL on reports as copies, which are resampled, tuned to the horizon."""

    name = "bechavod-roth"
    feedback = "one-sided"
    powers = ((4, 45), (38, 45), (1, 3))


class BechavodJungWu(PerturbedPredecessor):
    """Context-FTPL on reports as copies, tuned to the horizon."""

    name = "bechavod-jung-wu"
    powers = ((2, 9), (1, 1))


@dataclass(eq=False, kw_only=True)
class Exp2(WeightedPredecessor):
    """Exponential weights with a flat prior, at a temperature that the horizon fixes."""

    name = "exp2"
    noise_divisor: float = 1.0
    feedback = "one-sided"

    def __post_init__(self) -> None:
        self.check_factors("noise_divisor")
        remedy = "bechavod-roth needs an oracle alone."
        self._flat = exact_weights(self.hypotheses, self.name, remedy).with_prior("flat")
        self.copies = power_of(self.horizon, 1, 5)
        self.begin_with(self.copies)

    @property
    def temperature(self) -> float:
        """1/w for the w that minimises log|H|/w + w·K·T/2, over the divisor."""
        dimension = 2 * (self.k + 2 * self.copies)
        log_size = max(self.hypotheses.log_size, 1.0)
        return math.sqrt(dimension * self.horizon / (2.0 * log_size)) / self.noise_divisor

    def weigh(self) -> GibbsPolicy:
        return self._flat.weigh(self.costs, self.temperature * ONE)

    def weights_of(self, weights: Sequence[tuple[int, int]], approved: Decisions) -> list[int]:
        """One over the chance of what was chosen."""
        return [
            (total * ONE) // (weight if yes else total - weight)
            for (weight, total), yes in zip(weights, approved.tolist(), strict=True)
        ]


@dataclass(eq=False, kw_only=True)
class FixedTradeOff(WeightedPredecessor):
    """Exponential weights on Σ error/k + lam·Σ reports: ``lam`` is the price of a report."""

    name = "fixed-trade-off"
    needs_horizon = False
    lam: float = 1.0

    def __post_init__(self) -> None:
        within("lam", self.lam, 0, 1000, "It is the price of a report.")
        self._exact = exact_weights(self.hypotheses, self.name)
        self._x = ExponentialWeights().default_x(self.hypotheses)
        self._squares = 0.0
        self.begin_with(copies=1)

    def weigh(self) -> GibbsPolicy:
        largest = 1.0 + 2.0 * self.lam
        scale = self._x * math.sqrt(largest * largest + self._squares) * ONE
        return self._exact.weigh(self.costs, scale)

    def hear(self, event: Feedback) -> None:
        """Charge lam for a report, and 1/k for an error."""
        if isinstance(event, Labelled):
            self.charge_label(event)
            self._squares += 1.0 / self.k
        elif isinstance(event, Audited) and event.pairs:
            self.charge_pairs(self.pairs_of(event), to_units(self.lam))
            self._squares += (2.0 * self.lam) * (2.0 * self.lam + 2.0)


bechavod_roth = baseline(
    BechavodRoth.name, "2023, one-sided: reports as copies, which are resampled too"
)(BechavodRoth)
exp2 = baseline(Exp2.name, "2023, one-sided: exponential weights on the same copies; no oracle")(
    Exp2
)
bechavod_jung_wu = baseline(
    BechavodJungWu.name, "2020: reports as T^(2/9) copies; T oracle calls a round"
)(BechavodJungWu)
fixed_trade_off = baseline(
    FixedTradeOff.name, "errors plus a fixed price of reports, which has to be guessed"
)(FixedTradeOff)
