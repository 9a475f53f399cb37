"""Bechavod and Roth (2023): one-sided labels, a share of the panel, reports as copies.

Quoted: the encoding with actions (h(x), 1 − h(x)) and losses (1 − y, ½), C = T^(4/45) copies,
M = T^(1/3) redraws, R = T^(38/45) draws (of the proof; its theorem says T), the panel asked at
alpha, the estimated policy deployed and a decision drawn from it, and the rate T^(41/45). Inferred:
the noise. Its twin Exp2 keeps exponential weights on the
same estimated losses: C = T^(1/5) and the rate T^(4/5) are quoted, its temperature is inferred from
log|H|/w + w·K·T/2 over w.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from likewise.hypotheses.base import GibbsPolicy, HypothesisClass
from likewise.learner.events import Audited, Labelled
from likewise.learner.oracle import ENGINES
from likewise.learner.players import ExponentialWeights, Perturbed
from likewise.numerics.fixed_point import ONE, IntArray, to_units
from likewise.numerics.randomness import Purpose, Stream
from likewise.people.schema import People
from likewise.simulate.learners import baseline
from likewise.simulate.rounds import VIEW_DRAWS, Feedback
from likewise.validation import choice, within
from studies.baselines.encoding import (
    OWN,
    Decisions,
    EncodedPredecessor,
    WeightedPredecessor,
    exact_weights,
    horizon_of,
    power_of,
    scores_of,
)


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
        within("noise_divisor", self.noise_divisor, 0, 1e12, OWN, ends="()")
        choice("engine", self.engine, ENGINES, "They all agree.")
        # Labels are one-sided for those that resample.
        self.feedback = "one-sided" if self.redraws else "full"
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
            loss = 8.0 * k * k * s * self.redraws * chosen * self.rounds
        else:
            loss = 4.0 * k * s * self.rounds
        return math.sqrt(loss / gain) / self.noise_divisor

    def calls_a_round(self, rounds: int) -> float:  # noqa: ARG002
        """R + M, whatever the round; the draw that decides is one of the R."""
        return float(self.elicited + self.redraws)

    def _law(self) -> Perturbed:
        scales = np.array([self.scale])
        return Perturbed(self.hypotheses, self.costs, scales, self.dimension, self.engine)

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


Power = tuple[int, int]


def perturbed(
    name: str, copies: Power, elicited: Power, redraws: Power | None = None
) -> Callable[..., PerturbedPredecessor]:
    """Make a predecessor of the one signature from powers of T: (2, 9) is T^(2/9)."""

    def make(
        hypotheses: HypothesisClass, k: int, alpha: float, eps: float, seed: int, *,
        rounds: int | None = None, noise_divisor: float = 1.0, engine: str = "compiled",
    ) -> PerturbedPredecessor:  # fmt: skip
        """Context-FTPL on reports as copies, tuned to the horizon."""
        horizon = horizon_of(rounds, name)
        return PerturbedPredecessor(
            name, hypotheses, k, alpha, eps, seed, horizon,
            copies=power_of(horizon, *copies), elicited=power_of(horizon, *elicited),
            redraws=power_of(horizon, *redraws) if redraws else 0,
            noise_divisor=noise_divisor, engine=engine,
        )  # fmt: skip

    return make


bechavod_roth = baseline(
    "bechavod-roth", "2023, one-sided: reports as copies, which are resampled too"
)(perturbed("bechavod-roth", copies=(4, 45), elicited=(38, 45), redraws=(1, 3)))


@baseline("exp2", "2023, one-sided: exponential weights on the same copies; no oracle")
def exp2(
    hypotheses: HypothesisClass, k: int, alpha: float, eps: float, seed: int, *,
    rounds: int | None = None, noise_divisor: float = 1.0,
) -> Exp2:  # fmt: skip
    """Exponential weights on importance-weighted losses."""
    horizon = horizon_of(rounds, "exp2")
    copies = power_of(horizon, 1, 5)
    return Exp2("exp2", hypotheses, k, alpha, eps, seed, horizon, copies, noise_divisor)


@dataclass(eq=False)
class Exp2(WeightedPredecessor):
    """Exponential weights with a flat prior, at a temperature that the horizon fixes."""

    rounds: int
    copies: int
    noise_divisor: float
    feedback = "one-sided"

    def __post_init__(self) -> None:
        within("noise_divisor", self.noise_divisor, 0, 1e12, OWN, ends="()")
        remedy = "bechavod-roth needs an oracle alone."
        self._flat = exact_weights(self.hypotheses, self.name, remedy).with_prior("flat")
        self.begin_with(self.copies)

    @property
    def temperature(self) -> float:
        """1/w for the w that minimises log|H|/w + w·K·T/2, over the divisor."""
        dimension = 2 * (self.k + 2 * self.copies)
        log_size = max(self.hypotheses.log_size, 1.0)
        return math.sqrt(dimension * self.rounds / (2.0 * log_size)) / self.noise_divisor

    def weigh(self) -> GibbsPolicy:
        return self._flat.weigh(self.costs, self.temperature * ONE)

    def weights_of(self, weights: Sequence[tuple[int, int]], approved: Decisions) -> list[int]:
        """One over the chance of what was chosen."""
        return [
            (total * ONE) // (weight if yes else total - weight)
            for (weight, total), yes in zip(weights, approved.tolist(), strict=True)
        ]


bechavod_jung_wu = baseline(
    "bechavod-jung-wu",
    "2020: reports as T^(2/9) copies; T oracle calls a round",
)(perturbed("bechavod-jung-wu", copies=(2, 9), elicited=(1, 1)))


@baseline("fixed-trade-off", "errors plus a fixed price of reports, which has to be guessed")
def fixed_trade_off(
    hypotheses: HypothesisClass, k: int, alpha: float, eps: float, seed: int, *,
    rounds: int | None = None, lam: float = 1.0,  # noqa: ARG001
) -> FixedTradeOff:  # fmt: skip
    """The price ``lam`` of a report, beside errors of which each costs 1/k."""
    return FixedTradeOff("fixed-trade-off", hypotheses, k, alpha, eps, seed, lam)


@dataclass(eq=False)
class FixedTradeOff(WeightedPredecessor):
    """Exponential weights on Σ error/k + lam·Σ reports, where lam is the fixed ``price``."""

    price: float

    def __post_init__(self) -> None:
        within("lam", self.price, 0, 1000, "It is the price of a report.")
        self._exact = exact_weights(self.hypotheses, self.name)
        self._x = ExponentialWeights().default_x(self.hypotheses)
        self._squares = 0.0
        self.begin_with(copies=1)

    @property
    def lam(self) -> float:
        """The price, always the same."""
        return self.price

    def weigh(self) -> GibbsPolicy:
        largest = 1.0 + 2.0 * self.price
        scale = self._x * math.sqrt(largest * largest + self._squares) * ONE
        return self._exact.weigh(self.costs, scale)

    def hear(self, event: Feedback) -> None:
        """Charge lam for a report, and 1/k for an error."""
        if isinstance(event, Labelled):
            self.charge(self.places[event.person], (1 - 2 * int(event.label)) * ONE // self.k)
            self._squares += 1.0 / self.k
        elif isinstance(event, Audited) and event.pairs:
            lam = to_units(self.price) // len(event.pairs)
            for over, under in event.pairs:
                self.charge(self.places[over], lam)
                self.charge(self.places[under], -lam)
            self._squares += (2.0 * self.price) * (2.0 * self.price + 2.0)
