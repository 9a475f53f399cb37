"""Bechavod and Roth (2023): one-sided labels, a share of the panel, reports as copies.

Quoted: the encoding with actions (h(x), 1 − h(x)) and losses (1 − y, ½), C = T^(4/45) copies,
M = T^(1/3) redraws, R = T^(38/45) draws (of the proof; its theorem says T), the panel asked at
alpha, the estimated policy deployed and a decision drawn from it, and the rate T^(41/45). Inferred:
the noise (see :mod:`likewise.baselines.perturbed`). Its twin Exp2 keeps exponential weights on the
same estimated losses: C = T^(1/5) and the rate T^(4/5) are quoted, its temperature is inferred from
log|H|/w + w·K·T/2 over w.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise.baselines.base import Rates, baseline
from likewise.baselines.encoding import EncodedPredecessor, Round, power_of
from likewise.baselines.perturbed import perturbed
from likewise.baselines.predecessor import (
    check_divisor,
    exact_weights,
    horizon_of,
)
from likewise.fixed_point import ONE, IntArray
from likewise.hypotheses import HypothesisClass, Points
from likewise.hypotheses.weights import score
from likewise.randomness import Purpose, Stream
from likewise.schema import People

__all__ = ["Exp2", "bechavod_roth", "exp2"]

RATES = Rates("T^41/45", "T^41/45", "T^41/45", "Bechavod, Roth 2023")
EXP2 = Rates("T^4/5", "T^4/5", "T^4/5", "Bechavod, Roth 2023")


bechavod_roth = baseline(
    "bechavod-roth", "2023, one-sided: reports as copies, which are resampled too", one_sided=RATES
)(perturbed("bechavod-roth", copies=(4, 45), elicited=(38, 45), redraws=(1, 3)))


@baseline(
    "exp2", "2023, one-sided: exponential weights on the same copies; no oracle", one_sided=EXP2
)
def exp2(
    hypotheses: HypothesisClass, k: int, alpha: float, eps: float, seed: int, *,
    rounds: int | None = None, noise_divisor: float = 1.0,
) -> Exp2:  # fmt: skip
    """Exponential weights on importance-weighted losses."""
    horizon = horizon_of(rounds, "exp2")
    copies = power_of(horizon, 1, 5)
    return Exp2("exp2", hypotheses, k, alpha, eps, seed, horizon, copies, noise_divisor)


@dataclass(eq=False)
class Exp2(EncodedPredecessor):
    """Exponential weights with a flat prior, at a temperature that the horizon fixes."""

    rounds: int
    copies: int
    noise_divisor: float
    feedback = "one-sided"

    def __post_init__(self) -> None:
        check_divisor("noise_divisor", self.noise_divisor, 1e12)
        remedy = "bechavod-roth needs an oracle alone."
        self._flat = exact_weights(self.hypotheses, self.name, remedy).with_prior("flat")
        self.begin(self.copies)

    @property
    def temperature(self) -> float:
        """1/w for the w that minimises log|H|/w + w·K·T/2, over the divisor."""
        dimension = 2 * (self.k + 2 * self.copies)
        log_size = max(self.hypotheses.log_size, 1.0)
        return math.sqrt(dimension * self.rounds / (2.0 * log_size)) / self.noise_divisor

    @property
    def constants(self) -> dict[str, Any]:
        """C and 1/w."""
        return {"copies": self.copies, "temperature": self.temperature}

    def play(self, points: Points) -> Round:
        """The weights themselves, one draw of them, and one over the chance of what was chosen."""
        policy = self._flat.weigh(self.costs, self.temperature * ONE)
        weights = policy.approval(points)
        scores = np.array([score(w, total) for w, total in weights], dtype=np.int64)
        stream = Stream(self.seed, Purpose.DECIDE, self.number)
        approved = policy.draw(points, stream, 0).astype(bool)
        inverse = [
            (total * ONE) // (weight if yes else total - weight)
            for (weight, total), yes in zip(weights, approved.tolist(), strict=True)
        ]
        return Round(scores, approved, inverse)

    def chances(self, people: People) -> IntArray:
        """Exactly."""
        points = self.hypotheses.locate(people)
        weights = self._flat.weigh(self.costs, self.temperature * ONE).approval(points)
        return np.array([score(w, total) for w, total in weights], dtype=np.int64)
