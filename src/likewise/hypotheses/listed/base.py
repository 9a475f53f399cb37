"""Classes that can be listed: one cost for every hypothesis, and everything follows by looking.

The oracle of such a class is exact, whatever the sign of the costs, and so are its exponential
weights. Up to a few hundred thousand hypotheses this is as good as any cleverness.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from likewise.errors import HypothesisError
from likewise.fixed_point import FloatArray, IntArray
from likewise.hypotheses.base import Bits, ExactWeights, HypothesisClass, Points
from likewise.hypotheses.weights import WEIGHT_BITS, gibbs_weights, pick
from likewise.randomness import Stream
from likewise.schema import People

__all__ = ["LARGEST_LIST", "Listed"]

# Integer weights of 2^40 each must add up within 63 bits.
LARGEST_LIST = 1 << (63 - WEIGHT_BITS)


class Listed(HypothesisClass, ExactWeights):
    """A class whose hypotheses are listed; a point is the column of their predictions."""

    set_table: FloatArray

    def _keep(self, on_set: Bits) -> None:
        """Remember what every hypothesis predicts on the separating set, shape (N, s)."""
        if not 0 < len(on_set) < LARGEST_LIST:
            raise HypothesisError(
                f"A class that is listed must have between 1 and {LARGEST_LIST} hypotheses; this "
                f"one has {len(on_set)}."
            )
        self._on_set = np.ascontiguousarray(on_set)
        self.set_table = on_set.astype(np.float64)

    @abstractmethod
    def locate(self, people: People) -> Points:
        """The predictions of all hypotheses, shape (k, N)."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size} hypotheses, {self.separators} separators)"

    @property
    def size(self) -> int:
        """The number of hypotheses in the list."""
        return len(self._on_set)

    @property
    def separators(self) -> int:
        """The size of the separating set."""
        return int(self._on_set.shape[1])

    def separating_points(self) -> Points:
        """The separating set, as predictions of all hypotheses."""
        return np.ascontiguousarray(self._on_set.T)

    def no_costs(self) -> IntArray:
        """One cost for every hypothesis."""
        return np.zeros(self.size, dtype=np.int64)

    def charge(self, costs: IntArray, points: Points, amounts: IntArray) -> IntArray:
        """Add each amount to the hypotheses that predict 1 on its point."""
        charged = costs.copy()
        for bits, amount in zip(points, amounts, strict=True):
            charged += bits * amount
        return charged

    def minimise(self, costs: IntArray, noise: IntArray) -> IntArray:
        """The first hypothesis of least cost, shape (draws, 1)."""
        totals: IntArray = costs + noise @ self._on_set.T.astype(np.int64)
        return np.asarray(np.argmin(totals, axis=1), dtype=np.int64).reshape(-1, 1)

    def predict(self, codes: IntArray, points: Points) -> Bits:
        """Look up the predictions."""
        return np.ascontiguousarray(points[:, codes[:, 0]].T).astype(np.uint8)

    def codes(self) -> IntArray:
        """The places in the list."""
        return np.arange(self.size)[:, None]

    def approval(
        self, costs: IntArray, temperature: float, points: Points
    ) -> list[tuple[int, int]]:
        """Sum the weights of the hypotheses that approve."""
        weights = gibbs_weights(costs, temperature)
        total = int(weights.sum())
        return [(int(weights[bits != 0].sum()), total) for bits in points]

    def draw(
        self, costs: IntArray, temperature: float, points: Points, stream: Stream, draw: int
    ) -> Bits:
        """Pick one hypothesis by weight."""
        weights = gibbs_weights(costs, temperature)
        member = pick(weights, stream.below(int(weights.sum()), draw))
        return np.asarray(points[:, member], dtype=np.uint8)
