"""Stumps: one number against one cut, or its flip."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.errors import MergedHypotheses, ParameterError
from likewise.fixed_point import FloatArray, IntArray
from likewise.hypotheses.base import Bits
from likewise.hypotheses.listed.columns import (
    LARGEST,
    NUMERIC,
    OverColumns,
    check_columns,
    check_size,
    constant_in_words,
    shortest,
)
from likewise.hypotheses.listed.cuts import (
    check_levels,
    cuts_by_column,
    pairs_of_cuts,
    quantiles,
)
from likewise.schema import FeatureSchema, People
from likewise.validation import integer


class Stumps(OverColumns):
    """Approve whoever has at least (or less than) a cut in one column: 1[x_c ≥ v], and flips.

    With M cuts in all, m_c of them in column c, and both constants, |H| = 2·M + 2. The class is
    listed, so M is below 2^16, and a single column can have 4,095 cuts.

    Q: a point has a value in every column, so one point tells stumps on all columns apart. Take
    the point that is below every cut, and p more. On these p, 1[x_c ≥ v] is a set of points, and
    as v grows these sets shrink: the cuts of a column are a chain of sets, and any chains can be
    had by giving each point the right value in each column. If all M sets are different and none
    is empty, Q separates: the first point tells flips (and the constant 1) from the rest, the
    others tell which set it is. Such chains are cut out of a partition of all sets of p points
    into symmetric chains, the longest columns first. p is the smallest number for which this
    fits, at least max(max_c m_c, log₂(M + 1)); a single column needs m + 1 points, n ≤ m + 1
    columns of m cuts need m + 2, n columns of one cut need about log₂ n. (A point for every cut
    would be M + 1.)

    No set is smaller than max_c m_c + 1, as every bin of a column is the only place where some
    two hypotheses differ, or than log₂|H|: this Q is the smallest for one column and for columns
    of one cut, and at most one point more for n ≤ m + 1 columns of m cuts.

    *Remark "Classes for which small separating sets are known" (discretised linear classifiers).*

    >>> from likewise.schema import Feature
    >>> schema = FeatureSchema((Feature("income", low=0), Feature("age", "integer", low=18)))
    >>> stumps = Stumps(schema, {"income": [20, 40], "age": [30, 60]})
    >>> stumps.size, stumps.separators
    (10, 4)
    >>> stumps.describe(np.array([1])), stumps.describe(np.array([6]))
    ('approve if income ≥ 20', 'approve if income < 20')
    >>> stumps.locate(schema.people([{"income": 25, "age": 70}])).tolist()
    [[0, 1, 0, 1, 1, 1, 0, 1, 0, 0]]
    """

    kind, parameters = "stumps", ("cuts",)

    def __init__(self, schema: FeatureSchema, cuts: Mapping[str, Sequence[float]]) -> None:
        levels_of = cuts_by_column("Stumps", cuts)
        self.columns = check_columns("Stumps", schema, tuple(levels_of), NUMERIC)
        self.schema = schema
        self.cuts = tuple(self._checked(name, levels_of[name]) for name in self.columns)
        sizes = [len(levels) for levels in self.cuts]
        check_size("Stumps", 2 * sum(sizes) + 2, max(sizes) + 1, "Use fewer cuts.")
        self._column = np.repeat(np.arange(len(sizes)), sizes)
        self._levels = np.concatenate([np.array(levels) for levels in self.cuts])
        bins = _separating_bins(sizes)
        check_size("Stumps", 2 * sum(sizes) + 2, len(bins), "Use fewer cuts.")
        values = [
            np.array([self._below(name, levels[0]), *levels])[bins[:, c]]
            for c, (name, levels) in enumerate(zip(self.columns, self.cuts, strict=True))
        ]
        super().__init__(schema, np.stack(values, axis=1))

    def _below(self, name: str, cut: float) -> float:
        """The largest value of a column below a cut."""
        below = np.nextafter(cut, -np.inf)
        return float(below if self.schema[name].kind == "number" else np.floor(below))

    def _checked(self, name: str, cuts: Sequence[float]) -> tuple[float, ...]:
        feature = self.schema[name]
        parameter = f"Stumps.cuts[{name!r}]"
        levels = check_levels("Stumps", name, cuts)
        if feature.kind != "number" and any(level % 1 for level in levels):
            raise ParameterError(
                parameter, f"must be integers as {name!r} is", levels, "Round them up."
            )
        low, high = feature.limits
        if self._below(name, levels[0]) < low or levels[-1] > high:
            raise ParameterError(
                parameter,
                f"must be above {low:g} and at most {high:g}, the bounds of {name!r}",
                levels,
                "A cut beyond them approves everybody or nobody; both constants are inside.",
            )
        return levels

    @classmethod
    def from_quantiles(
        cls,
        schema: FeatureSchema,
        columns: Sequence[str],
        reference: People | npt.ArrayLike,
        parts: int,
    ) -> Stumps:
        """Cuts that divide reference data into ``parts`` equal parts; each is one of its values.

        The i-th of N values in order is the cut that i of them fall below, i = ⌊N·j/parts⌋ for
        j = 1 … parts − 1. Where values repeat, so may cuts, or one may be the least value: such
        stumps agree with another hypothesis on all reference data and are left out, with a
        warning (:class:`~likewise.errors.MergedHypotheses`).

        >>> from likewise.schema import Feature
        >>> schema = FeatureSchema((Feature("income", low=0),))
        >>> reference = np.array([[10.0], [20.0], [30.0], [40.0]])
        >>> Stumps.from_quantiles(schema, ["income"], reference, parts=4).cuts
        ((20.0, 30.0, 40.0),)
        """
        columns = check_columns("Stumps", schema, columns, NUMERIC)
        parts = integer("Stumps.from_quantiles.parts", parts, 2, LARGEST, "Try 10.")
        people = schema.encoded(reference)
        cuts = {name: _quantiles(people, name, parts) for name in columns}
        count = sum(map(len, cuts.values()))
        if left_out := len(columns) * (parts - 1) - count:
            warnings.warn(
                f"{left_out} of {len(columns) * (parts - 1)} quantiles are the same as another one "
                f"or the least value of their column; the stumps there agree with others on all "
                f"{len(people)} rows of reference data and were merged; {2 * count + 2} hypotheses "
                f"remain, and guarantees are against these.",
                MergedHypotheses,
                stacklevel=2,
            )
        return cls(schema, cuts)

    def evaluate(self, values: FloatArray) -> Bits:
        """Nobody and the stumps, then everybody and the flips."""
        half = len(self._levels) + 1
        bits = np.zeros((len(values), 2 * half), dtype=np.uint8)
        bits[:, 1:half] = values[:, self._column] >= self._levels
        bits[:, half:] = 1 - bits[:, :half]
        return bits

    def grades(self) -> IntArray:
        """Columns are alike, however many cuts each has."""
        half = np.r_[0, self._column + 1]
        return np.concatenate([half, half])

    def describe(self, code: IntArray) -> str:
        """The column, the cut and the side."""
        flip, place = divmod(int(code[0]), len(self._levels) + 1)
        if place == 0:
            return constant_in_words(flip)
        column = self.columns[self._column[place - 1]]
        cut = shortest(float(self._levels[place - 1]))
        return f"approve if {column} {'<' if flip else '≥'} {cut}"

    def spec(self) -> dict[str, Any]:
        """The columns with their cuts, in order."""
        return {**super().spec(), "cuts": pairs_of_cuts(self.columns, self.cuts)}


def _quantiles(people: People, name: str, parts: int) -> list[float]:
    """The quantiles of a column, of which there must be one."""
    values = people.column(name)
    levels = quantiles(values, parts)
    if not levels:
        raise ParameterError(
            "Stumps.from_quantiles.reference",
            f"must have different values of {name!r}",
            f"{len(values)} rows with the quantiles at their least value",
            "Leave the column out, or give its cuts yourself.",
        )
    return levels


@dataclass(frozen=True)
class _Chain:
    """The rest of a chain: ``least`` with the first ``count`` of ``unmatched``, count ≤ top."""

    least: tuple[int, ...]
    unmatched: tuple[int, ...]
    top: int

    @property
    def room(self) -> int:
        """The number of its sets that are not empty."""
        return self.top + bool(self.least)

    def bins(self, points: int, size: int) -> IntArray:
        """The number of its ``size`` largest sets that each point is in."""
        bins = np.zeros(points, dtype=np.int64)
        bins[list(self.least)] = size
        bins[list(self.unmatched)] = np.clip(self.top - np.arange(len(self.unmatched)), 0, size)
        return bins


def _chains(points: int) -> Iterator[_Chain]:
    """All sets of points, each in one chain; the longest chains first.

    Read a set as brackets, a point outside as "(" and one inside as ")". Sets whose matched
    brackets are the same are a chain: their unmatched ")" stand before their unmatched "(". It
    begins with a set of which every point is matched, and takes in the unmatched places from the
    left. (De Bruijn, Tengbergen and Kruyswijk; Greene and Kleitman.)
    """
    for size in range(points // 2 + 1):
        for least in combinations(range(points), size):
            # the j-th point needs j + 1 places outside before it
            if any(point < 2 * j + 1 for j, point in enumerate(least)):
                continue
            unmatched: list[int] = []
            for point in range(points):
                if point in least:
                    unmatched.pop()
                else:
                    unmatched.append(point)
            yield _Chain(least, tuple(unmatched), len(unmatched))


def _pack(sizes: Sequence[int], points: int) -> IntArray | None:
    """The bins of a chain of sets for every column, no set twice; None if points are too few."""
    chains = _chains(points)
    bins = np.zeros((points, len(sizes)), dtype=np.int64)
    # What is left of chains begun, the longest first; the number makes ties definite.
    begun: list[tuple[int, int, _Chain]] = []
    for number, column in enumerate(sorted(range(len(sizes)), key=lambda c: -sizes[c])):
        size = sizes[column]
        chain = heappop(begun)[2] if begun and -begun[0][0] >= size else next(chains, None)
        if chain is None or chain.room < size:
            return None
        bins[:, column] = chain.bins(points, size)
        chain = replace(chain, top=chain.top - size)
        heappush(begun, (-chain.room, number, chain))
    return bins


def _separating_bins(sizes: Sequence[int]) -> IntArray:
    """Which bin of each column each point of the separating set is in, shape (points, columns)."""
    points = max(*sizes, sum(sizes).bit_length())
    while (bins := _pack(sizes, points)) is None:
        points += 1
    return np.concatenate([np.zeros((1, len(sizes)), dtype=np.int64), bins])
