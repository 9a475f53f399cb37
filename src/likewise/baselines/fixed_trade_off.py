"""A fixed trade-off: exponential weights on errors plus a price of reports that never moves.

The simplest thing that listens to a panel. Its price has to be guessed: too small, and it is
unfair; too large, and it does not learn. Everything else is as in ours: the prior of the class and
the temperature x·sqrt(S). No rate is proved for it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise.baselines.base import baseline
from likewise.baselines.encoding import EncodedPredecessor, Round
from likewise.baselines.predecessor import exact_weights
from likewise.errors import ParameterError
from likewise.events import Audited, Labelled
from likewise.fixed_point import ONE, IntArray, to_units
from likewise.hypotheses import HypothesisClass, Points
from likewise.hypotheses.weights import score
from likewise.learning.primal import ExponentialWeights
from likewise.randomness import Purpose, Stream
from likewise.schema import People
from likewise.validation import real

__all__ = ["FixedTradeOff", "fixed_trade_off"]


@baseline("fixed-trade-off", "errors plus a fixed price of reports, which has to be guessed")
def fixed_trade_off(
    hypotheses: HypothesisClass, k: int, alpha: float, eps: float, seed: int, *,
    rounds: int | None = None, lam: float = 1.0,  # noqa: ARG001
) -> FixedTradeOff:  # fmt: skip
    """The price ``lam`` of a report, beside errors of which each costs 1/k."""
    return FixedTradeOff("fixed-trade-off", hypotheses, k, alpha, eps, seed, lam)


@dataclass(eq=False)
class FixedTradeOff(EncodedPredecessor):
    """Exponential weights on Σ error/k + lam·Σ reports, where lam is the fixed ``price``."""

    price: float

    def __post_init__(self) -> None:
        price = real("lam", self.price, "It is the price of a report.")
        if not 0 <= price <= 1000:
            rule = "must be in [0, 1000]"
            raise ParameterError("lam", rule, price, "It is the price of a report.")
        self._exact = exact_weights(self.hypotheses, self.name)
        self._x = ExponentialWeights().default_x(self.hypotheses)
        self._squares = 0.0
        self.begin(copies=1)

    @property
    def constants(self) -> dict[str, Any]:
        """The price."""
        return {"lam": self.price}

    @property
    def lam(self) -> float:
        """The price, always the same."""
        return self.price

    def _scale(self) -> float:
        largest = 1.0 + 2.0 * self.price
        return self._x * math.sqrt(largest * largest + self._squares) * ONE

    def play(self, points: Points) -> Round:
        """The weights themselves, and one draw of them."""
        policy = self._exact.weigh(self.costs, self._scale())
        scores = np.array([score(w, total) for w, total in policy.approval(points)], dtype=np.int64)
        stream = Stream(self.seed, Purpose.DECIDE, self.number)
        return Round(scores, policy.draw(points, stream, 0).astype(bool), [ONE] * len(scores))

    def chances(self, people: People) -> IntArray:
        """Exactly."""
        points = self.hypotheses.locate(people)
        weights = self._exact.weigh(self.costs, self._scale()).approval(points)
        return np.array([score(w, total) for w, total in weights], dtype=np.int64)

    def hear(self, event: Audited | Labelled | Any) -> None:
        """Charge lam for a report, and 1/k for an error."""
        if isinstance(event, Labelled):
            self._charge(self._places[event.person], (1 - 2 * event.label) * ONE // self.k)
            self._squares += 1.0 / self.k
        elif isinstance(event, Audited) and event.pairs:
            lam = to_units(self.price) // len(event.pairs)
            for over, under in event.pairs:
                self._charge(self._places[over], lam)
                self._charge(self._places[under], -lam)
            self._squares += (2.0 * self.price) * (2.0 * self.price + 2.0)
