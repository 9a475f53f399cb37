"""Listed classes of any table, and their draws as the reference engine makes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from likewise.hypotheses import Bits, Listed
from likewise.numerics.fixed_point import IntArray
from likewise.numerics.randomness import Noise
from likewise.people import Feature, FeatureSchema, People


class Table(Listed):
    """A class that is nothing but its predictions on the separating set, shape (N, s)."""

    def __init__(self, on_set: Bits) -> None:
        self.schema = FeatureSchema((Feature("nothing"),))
        self._on_set = np.ascontiguousarray(on_set, dtype=np.uint8)

    def predictions(self, people: People) -> Bits:
        raise NotImplementedError

    def describe(self, code: IntArray) -> str:
        return str(code)

    def spec(self) -> dict[str, Any]:
        return {}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Table:
        raise NotImplementedError


def different_rows(rng: np.random.Generator, size: int, points: int) -> Bits:
    """Up to ``size`` different rows of 0s and 1s, in random order."""
    rows = np.unique(rng.integers(0, 2, (2 * size, points), dtype=np.uint8), axis=0)
    return np.asarray(rng.permutation(rows)[:size])


def reference(table: Table, costs: IntArray, noise: Noise, first: int, draws: int) -> IntArray:
    """The choices of the reference engine."""
    sample = noise.sample(first, draws, np.arange(table.separators))
    return table.minimise(costs, sample)[:, 0]
