"""A threshold for every segment, on one score: the rules of an ordinary lender.

With 50 segments and 21 thresholds there are 21^50 such rules. Costs, noise and weights all
separate over the segments, so the rules are never listed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import product

import numpy as np

from likewise.errors import HypothesisError
from likewise.hypotheses import grids
from likewise.hypotheses.base import Bits, GibbsPolicy, Points, gibbs_weights, pick
from likewise.numerics.fixed_point import FloatArray, IntArray
from likewise.numerics.randomness import Stream
from likewise.people.schema import FeatureSchema, People

LARGEST = 1 << 24


class Segments(grids.OverCells):
    """Approve people who score at least the threshold of their segment.

    The segments are all combinations of levels of the features ``by``; ``cuts`` divide the score
    into B bins, so that each segment has B + 1 thresholds: |H| = (B + 1)^segments. A point is a
    cell (segment, bin). The separating set is every cell, and none can be left out: the
    thresholds j and j + 1 of a segment differ on bin j alone.

    >>> from likewise.people import Feature
    >>> schema = FeatureSchema((Feature("score", low=0, high=100),
    ...                         Feature("purpose", "category", levels=("car", "home"))))
    >>> lender = Segments(schema, score="score", cuts=[25, 50, 75], by=["purpose"])
    >>> lender.size, lender.separators
    (25, 8)
    >>> lender.locate(schema.people([{"score": 50, "purpose": "home"}])).tolist()
    [6]
    """

    name = "segments"

    def __init__(
        self, schema: FeatureSchema, *, score: str, cuts: Sequence[float], by: Sequence[str] = ()
    ) -> None:
        self.schema = schema
        self.score = score
        self.groups = grids.Groups(schema, by, "Segments")
        self.by = self.groups.by
        self.cuts = self.groups.bands(score, cuts, ("score", "cuts"))
        self.bins = len(self.cuts) + 1
        self.segments = self.groups.count
        if self.segments * self.bins > LARGEST:
            raise HypothesisError(
                f"Segments must have at most {LARGEST} cells; {self.segments} segments of "
                f"{self.bins} bins have {self.segments * self.bins}. Leave a feature out of `by`."
            )

    def __repr__(self) -> str:
        by = f", by={list(self.by)}" if self.by else ""
        return f"Segments(score={self.score!r}, {self.bins} bins{by})"

    @property
    def size(self) -> int:
        return int((self.bins + 1) ** self.segments)

    def locate(self, people: People) -> Points:
        """The cell of every person: segment·B + bin."""
        bins = np.searchsorted(np.array(self.cuts), people.column(self.score), side="right")
        return self.groups.of(people) * self.bins + bins

    def minimise(self, costs: IntArray, noise: IntArray) -> IntArray:
        """The lowest threshold of least cost in every segment, shape (draws, segments)."""
        cells = (costs + noise).reshape(len(noise), self.segments, self.bins)
        return np.asarray(np.argmin(grids.threshold_costs(cells), axis=-1), dtype=np.int64)

    def predict(self, codes: IntArray, points: Points) -> Bits:
        return (points % self.bins >= codes[:, points // self.bins]).astype(np.uint8)

    def codes(self) -> IntArray:
        """All combinations of thresholds, if there are at most 2^20."""
        self.check_listable(f"{self.bins + 1}^{self.segments}")
        return np.array(list(product(range(self.bins + 1), repeat=self.segments)), dtype=np.int64)

    def describe(self, code: IntArray) -> str:
        cuts = (f"{self.score} ≥ {cut:g}" for cut in self.cuts)
        rules = ("everybody", *cuts, "nobody")
        segments = zip(self.groups.names, code.tolist(), strict=True)
        return "; ".join(f"{' · '.join(names) or 'all'}: {rules[j]}" for names, j in segments)

    @cached_property
    def rules(self) -> grids.NodeRules:
        return grids.Thresholds(self.bins)

    def flat(self, costs: IntArray, temperature: float | FloatArray) -> GibbsPolicy:
        """Exponential weights factorise: only the person's own segment matters."""
        return _FlatSegments(costs.reshape(self.segments, self.bins), temperature)


class _FlatSegments(GibbsPolicy):
    """A flat prior, and a temperature for all segments or one for each."""

    def __init__(self, cells: IntArray, temperature: float | FloatArray) -> None:
        self.cells = cells
        self.temperature = np.broadcast_to(temperature, len(cells))
        self._last: tuple[Points, tuple[IntArray, IntArray, IntArray]] | None = None

    def _weights(self, points: Points) -> tuple[IntArray, IntArray, IntArray]:
        """The segments that the points are in, the place of each among them, and their weights.

        Those of the last points are cached: the decision follows the score.
        """
        if self._last is not None and self._last[0] is points:
            return self._last[1]
        segments, place = np.unique(points // self.cells.shape[1], return_inverse=True)
        costs = grids.threshold_costs(self.cells[segments])
        weights = gibbs_weights(costs, self.temperature[segments][:, None])
        self._last = (points, (segments, place, weights))
        return segments, place, weights

    def approval(self, points: Points) -> list[tuple[int, int]]:
        _, place, weights = self._weights(points)
        summed = np.cumsum(weights, axis=1)
        bins = points % self.cells.shape[1]
        return [(int(summed[g, b]), int(summed[g, -1])) for g, b in zip(place, bins, strict=True)]

    def draw(self, points: Points, stream: Stream, draw: int) -> Bits:
        segments, place, weights = self._weights(points)
        totals = [int(total) for total in weights.sum(axis=1)]
        numbers = stream.numbers_below(totals, draw, segments)
        thresholds = np.array([pick(w, n) for w, n in zip(weights, numbers, strict=True)])
        return np.asarray(points % self.cells.shape[1] >= thresholds[place], dtype=np.uint8)
