"""Decision lists: the first rule whose flag is set decides."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, groupby
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.fixed_point import IntArray
from likewise.hypotheses.base import Bits
from likewise.hypotheses.listed.columns import (
    OverColumns,
    check_columns,
    check_size,
    constant_in_words,
)
from likewise.schema import FeatureSchema
from likewise.validation import integer


class DecisionLists(OverColumns):
    """Lists "if x_i then b, else if x_j then b', …, else d" of at most ``length`` literals.

    Listed are the different functions, not the lists. A list can be brought into a form in which
    neighbours with the same verdict are in order of their columns, no column occurs twice, and
    the last verdict differs from d: then it is a sequence of disjoint sets of columns whose
    verdicts alternate, ending with 1 − d. There are a(l) sequences of sets of l columns, a = 1, 1,
    3, 13, 75, … (ordered set partitions), so |H| = 2·Σ_{l ≤ length} C(n, l)·a(l), which is
    4·a(n) for length = n. The form is the shortest list for its function.

    Q = all vectors with at most two 1s, 1 + n + C(n, 2) points. *Proof* that different forms
    differ on it: h(0) = d. A column i with h(e_i) ≠ d is in the list, with the verdict 1 − d. One
    with h(e_i) = d is in the list if and only if h(e_i + e_j) = d ≠ h(e_j) for some j: the form
    has a later column whose verdict is 1 − d. And h(e_i + e_j) tells which of two columns with
    different verdicts comes first, which tells the sets and their order. If length = n, each of
    these points is the only one on which some two lists differ (put all other columns first), so
    no smaller set exists. For shorter lists smaller ones do: 6 points instead of 7 at n = 3,
    length 2; 27 picked from 300 random ones instead of 1,276 at n = 50, length 2. For length 1 use
    :class:`~likewise.hypotheses.listed.stumps.Stumps` with the cut 1, the same class told
    apart by about log₂(n) points.

    The class is listed: 68 columns for length 2, 27 for length 3, 13 for length 4, 8 for length 5
    and 6 for any length are the most.

    *Remark "Classes for which small separating sets are known".*

    >>> from likewise.schema import Feature
    >>> schema = FeatureSchema((Feature("owner", "flag"), Feature("debt", "flag")))
    >>> lists = DecisionLists(schema, ["owner", "debt"], length=2)
    >>> lists.size, lists.separators
    (12, 4)
    >>> lists.describe(np.array([10]))
    'reject if debt, else approve if owner, else reject'
    >>> lists.locate(schema.people([{"owner": 1, "debt": 0}, {"owner": 1, "debt": 1}]))[:, 10]
    array([1, 0], dtype=uint8)
    """

    kind, parameters = "decision-lists", ("columns", "length")

    def __init__(self, schema: FeatureSchema, columns: Sequence[str], length: int) -> None:
        self.columns = check_columns("DecisionLists", schema, columns, ("flag",))
        n = len(self.columns)
        self.length = integer(
            "DecisionLists.length", length, 1, n + 1,
            "A list that asks for a column twice is equal to a shorter one.",
        )  # fmt: skip
        size = 2 * sum(
            comb(n, literals) * _ordered_partitions(literals) for literals in range(self.length + 1)
        )
        check_size("DecisionLists", size, 1 + n + comb(n, 2), "Use fewer columns or shorter lists.")
        self._list_forms()
        super().__init__(schema, _at_most_two(n))

    def _list_forms(self) -> None:
        """List the forms, shortest first: a first column and its verdict before a shorter form."""
        n = len(self.columns)
        # The two constants: no column, and their verdicts. Column n stands for none.
        first, verdict = np.full(2, n), np.arange(2)
        used = np.zeros((2, n), dtype=bool)
        layers = [(first, verdict, np.arange(2))]
        listed = 0
        for _ in range(self.length):
            column = np.arange(n)[:, None, None]
            earlier = np.arange(2)[None, :, None]
            # Neighbours with one verdict are in order of columns; before d comes another verdict.
            fits = (earlier != verdict) | ((column < first) & (first < n))
            column, earlier, rest = np.nonzero(fits & ~used.T[:, None, :])
            used = used[rest]
            used[np.arange(len(rest)), column] = True
            first, verdict = column, earlier
            layers.append((first, verdict, rest + listed))
            listed += len(layers[-2][0])
        self._ends = np.cumsum([len(layer[0]) for layer in layers])
        self._first, self._verdict, self._rest = (
            np.concatenate(parts) for parts in zip(*layers, strict=True)
        )

    def evaluate(self, values: npt.NDArray[Any]) -> Bits:
        """A list predicts its first verdict where its first flag is set, else as its rest does."""
        bits = np.empty((len(values), len(self._first)), dtype=np.uint8)
        bits[:, :2] = (0, 1)
        for start, end in zip(self._ends, self._ends[1:], strict=False):
            layer = slice(start, end)
            fires = values[:, self._first[layer]] != 0
            verdict = self._verdict[layer].astype(np.uint8)
            bits[:, layer] = np.where(fires, verdict, bits[:, self._rest[layer]])
        return bits

    def grades(self) -> IntArray:
        """The length of the shortest list."""
        return np.repeat(np.arange(len(self._ends)), np.diff(self._ends, prepend=0))

    def rules(self, code: IntArray) -> tuple[list[tuple[str, int]], int]:
        """The shortest list for a hypothesis: its columns with their verdicts, and what is left."""
        place = int(code[0])
        rules = []
        while place > 1:
            rules.append((self.columns[self._first[place]], int(self._verdict[place])))
            place = int(self._rest[place])
        return rules, place

    def describe(self, code: IntArray) -> str:
        """The shortest list in words, columns with the same verdict together."""
        rules, default = self.rules(code)
        if not rules:
            return constant_in_words(default)
        verbs = ("reject", "approve")
        parts = [
            f"{verbs[verdict]} if {' or '.join(name for name, _ in group)}"
            for verdict, group in groupby(rules, key=lambda rule: rule[1])
        ]
        return ", else ".join([*parts, verbs[default]])


def _ordered_partitions(count: int) -> int:
    """The number of sequences of disjoint sets that make up ``count`` things: 1, 1, 3, 13, …"""
    numbers = [1]
    for m in range(1, count + 1):
        numbers.append(sum(comb(m, first) * numbers[m - first] for first in range(1, m + 1)))
    return numbers[count]


def _at_most_two(n: int) -> Bits:
    """All vectors with at most two 1s: 0, then e_i, then e_i + e_j."""
    vectors = np.zeros((1 + n + comb(n, 2), n), dtype=np.uint8)
    vectors[1 + np.arange(n), np.arange(n)] = 1
    for row, pair in enumerate(combinations(range(n), 2), start=n + 1):
        vectors[row, list(pair)] = 1
    return vectors
