"""Intervals on one feature: neither too little nor too much."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from likewise.hypotheses import Bits, Listed
from likewise.numerics.fixed_point import IntArray
from likewise.people import FeatureSchema, People
from likewise.validation import reals

__all__ = ["Intervals"]


class Intervals(Listed):
    """Approve if low ≤ x < high, where both ends are cuts of one feature; or nobody.

    The cuts divide the feature into B bins, and an interval is some bins in a row:
    |H| = B·(B + 1)/2 + 1. One point in every bin separates: an interval is the set of bins whose
    point it approves.
    """

    name = "intervals"

    def __init__(self, schema: FeatureSchema, feature: str, cuts: Sequence[float]) -> None:
        self.feature, self.cuts = schema[feature].name, reals("Intervals.cuts", cuts, "List them.")
        bins = len(self.cuts) + 1
        starts, ends = np.triu_indices(bins)
        self._start, self._end = np.append(starts, 0), np.append(ends + 1, 0)
        x = np.zeros((bins, len(schema)))
        x[:, schema.place(feature)] = [np.nextafter(self.cuts[0], -np.inf), *self.cuts]
        people = People(tuple(f"bin {b}" for b in range(bins)), x, schema)
        super().__init__(schema, separating=people)

    def predictions(self, people: People) -> Bits:
        """The bin of everybody, compared with both ends of every interval."""
        places = np.searchsorted(np.array(self.cuts), people.column(self.feature), side="right")
        where = places[:, None]
        return ((where >= self._start) & (where < self._end)).astype(np.uint8)

    def describe(self, code: IntArray) -> str:
        """The interval in words."""
        start, end = int(self._start[code[0]]), int(self._end[code[0]])
        if start == end:
            return "approve nobody"
        low = f"{self.cuts[start - 1]:g} ≤ " if start else ""
        high = f" < {self.cuts[end - 1]:g}" if end <= len(self.cuts) else ""
        return f"approve if {low}{self.feature}{high}" if low or high else "approve everybody"
