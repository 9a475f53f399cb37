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

from likewise.baselines.encoding import Copies, EncodedDriver, Round
from likewise.baselines.predecessor import Predecessor, exact_weights
from likewise.errors import ParameterError
from likewise.events import Audited, Labelled
from likewise.fixed_point import ONE, IntArray, to_units
from likewise.game.baselines import baseline
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


@dataclass(frozen=True)
class FixedTradeOff(Predecessor):
    """Exponential weights on Σ error/k + lam·Σ reports."""

    lam: float

    def __post_init__(self) -> None:
        lam = real("lam", self.lam, "It is the price of a report.")
        if not 0 <= lam <= 1000:
            raise ParameterError("lam", "must be in [0, 1000]", lam, "It is the price of a report.")
        exact_weights(self.hypotheses, self.name)

    @property
    def constants(self) -> dict[str, Any]:
        """The price."""
        return {"lam": self.lam}

    def start(self) -> _FixedDriver:
        """A driver before the first round."""
        return _FixedDriver(self)


class _FixedDriver(EncodedDriver):
    def __init__(self, made: FixedTradeOff) -> None:
        super().__init__(made.hypotheses, made.alpha, Copies(1, one_sided=False))
        self._exact = exact_weights(made.hypotheses, made.name)
        self.made = made
        self._x = ExponentialWeights().default_x(made.hypotheses)
        self._squares = 0.0

    @property
    def lam(self) -> float:
        """The price, always the same."""
        return self.made.lam

    def _scale(self) -> float:
        largest = 1.0 + 2.0 * self.made.lam
        return self._x * math.sqrt(largest * largest + self._squares) * ONE

    def play(self, points: Points) -> Round:
        """The weights themselves, and one draw of them."""
        policy = self._exact.weigh(self.costs, self._scale())
        scores = np.array([score(w, total) for w, total in policy.approval(points)], dtype=np.int64)
        stream = Stream(self.made.seed, Purpose.DECIDE, self.number)
        return Round(scores, policy.draw(points, stream, 0).astype(bool), [ONE] * len(scores))

    def chances(self, people: People) -> IntArray:
        """Exactly."""
        points = self.hypotheses.locate(people)
        weights = self._exact.weigh(self.costs, self._scale()).approval(points)
        return np.array([score(w, total) for w, total in weights], dtype=np.int64)

    def hear(self, event: Audited | Labelled | Any) -> None:
        """Charge lam for a report, and 1/k for an error."""
        if isinstance(event, Labelled):
            self._charge(self._places[event.person], (1 - 2 * event.label) * ONE // self.made.k)
            self._squares += 1.0 / self.made.k
        elif isinstance(event, Audited) and event.pairs:
            lam = to_units(self.made.lam) // len(event.pairs)
            for over, under in event.pairs:
                self._charge(self._places[over], lam)
                self._charge(self._places[under], -lam)
            self._squares += (2.0 * self.made.lam) * (2.0 * self.made.lam + 2.0)
