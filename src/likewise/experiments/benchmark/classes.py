"""The classes that the benchmark draws from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from likewise.errors import LikewiseError
from likewise.fixed_point import IntArray
from likewise.hypotheses import Bits, Cut, Listed, Pool, Segments, Staircases
from likewise.schema import Feature, FeatureSchema, People

__all__ = ["Kinds", "Met", "Table", "customers", "grid", "pool_of_cuts", "random_table", "segments"]


class Table(Listed):
    """A list that is nothing but its predictions on the separating set, shape (N, s).

    >>> Table(np.eye(3, dtype=np.uint8)).size
    3
    """

    def __init__(self, on_set: Bits) -> None:
        self.schema = FeatureSchema((Feature("nobody"),))
        self._on_set = np.ascontiguousarray(on_set, dtype=np.uint8)

    def predictions(self, people: People) -> Bits:
        """Refuse: nobody arrives here."""
        raise LikewiseError(f"{self!r} is only drawn from; {len(people)} people have no place.")

    def describe(self, code: IntArray) -> str:
        """The place in the list."""
        return f"hypothesis {int(code[0])}"

    def spec(self) -> dict[str, Any]:
        """Refuse: it is never saved."""
        raise LikewiseError(f"{self!r} is only drawn from, and is not saved.")

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Table:
        """Refuse: it is never saved."""
        raise LikewiseError(f"A benchmark's table is not read from a file; got {dict(spec)}.")


class Kinds(Listed):
    """A list by its predictions on some kinds of people, shape (N, kinds).

    The first ``points`` kinds are the separating set.

    >>> Kinds(np.array([[0, 0, 1], [0, 1, 0], [1, 1, 1]]), 2)
    Kinds(3 hypotheses, 2 separators)
    """

    def __init__(self, table: Bits, points: int) -> None:
        self.table = np.ascontiguousarray(table.T, dtype=np.uint8)
        schema = FeatureSchema((Feature("kind", "integer", 0, len(self.table) - 1),))
        super().__init__(schema, separating=schema.people(np.arange(points)[:, None]))

    def predictions(self, people: People) -> Bits:
        """The rows of the people's kinds."""
        return np.asarray(self.table[people.column("kind").astype(np.int64)])

    def describe(self, code: IntArray) -> str:
        """The place in the list."""
        return f"hypothesis {int(code[0])}"

    def spec(self) -> dict[str, Any]:
        """The table, which tells the class apart from others."""
        return {"class": "kinds", "table": self.table.T.tolist(), "points": self.separators}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Kinds:
        """Read the table."""
        return cls(np.array(spec["table"], dtype=np.uint8), spec["points"])


def random_table(size: int, points: int, seed: int = 1) -> Table:
    """Different rows of 0s and 1s, at random.

    >>> random_table(100, 12)
    Table(100 hypotheses, 12 separators)
    """
    rng = np.random.default_rng(seed)
    rows = np.zeros((0, points), dtype=np.uint8)
    while len(rows) < size:
        more = rng.integers(0, 2, (size + size // 4, points), dtype=np.uint8)
        packed = np.packbits(np.concatenate([rows, more]), axis=1)
        _, first = np.unique(packed, axis=0, return_index=True)
        rows = np.concatenate([rows, more])[np.sort(first)]
    return Table(rows[:size])


def grid(rows: int, columns: int) -> Staircases:
    """Staircases on one grid."""
    schema = FeatureSchema((Feature("a"), Feature("b")))
    return Staircases(
        schema, first="a", first_cuts=range(1, rows), second="b", second_cuts=range(1, columns)
    )


def segments(count: int, bins: int) -> Segments:
    """Thresholds on one score, one for each of some segments."""
    names = tuple(f"s{i}" for i in range(count))
    schema = FeatureSchema((Feature("score"), Feature("segment", "category", levels=names)))
    return Segments(schema, score="score", cuts=range(1, bins), by=["segment"])


def pool_of_cuts(size: int) -> Pool:
    """About so many cuts, half of them on a score and half on an income, and both constants.

    >>> pool_of_cuts(100)
    Pool(100 hypotheses, 54 separators)
    """
    schema = FeatureSchema(
        (Feature("score", low=300, high=850), Feature("income", low=10, high=200))
    )
    rng = np.random.default_rng(7)
    x = np.stack(
        [
            np.linspace(300, 850, size),
            rng.permutation(np.linspace(10, 200, size)),
        ],
        axis=1,
    )
    # Every other value: between any two cuts of a column there is somebody.
    places = np.linspace(1, size - 1, size // 2 - 1).astype(np.int64)
    cuts = [
        Cut(name, float(np.sort(x[:, place])[i])) for place, name in enumerate(schema.names)
        for i in places
    ]  # fmt: skip
    members = [Cut("score", float("-inf")), *cuts, Cut("score", float("inf"))]
    return Pool(schema, members, x)


class Met(NamedTuple):
    """A round as the benchmark needs it."""

    people: People
    labels: IntArray


def customers(pool: Pool, rounds: int, k: int) -> list[Met]:
    """People of a pool of cuts, most of whom deserve approval where both their columns are high."""
    rng = np.random.default_rng(8)
    encounters = []
    for _ in range(rounds):
        x = np.stack([rng.uniform(300, 850, k), rng.uniform(10, 200, k)], axis=1)
        good = x[:, 0] / 850 + x[:, 1] / 200 + rng.normal(0, 0.2, k) > 1.2
        encounters.append(Met(pool.schema.people(x), good.astype(np.int64)))
    return encounters
