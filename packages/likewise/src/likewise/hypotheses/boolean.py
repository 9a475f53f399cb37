"""Conjunctions, disjunctions and parities of flags, and decision lists: short rules in words.

Literals are not negated. To use "not an owner", add a flag for it to the schema, which the client
fills in. A class then treats the flag and its negation as two independent columns, also on its
separating set, where a point may have both or neither.

Conjunctions, disjunctions and parities are listed, so they take at most n = 16 flags. They have a
separating set of n + 1 points; no smaller one exists, as n points tell at most 2^n hypotheses
apart. (*Remark "Classes for which small separating sets are known".*)
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, groupby
from math import comb
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from likewise.hypotheses.base import Bits
from likewise.hypotheses.lists import OverColumns, check_columns, check_size, constant_in_words
from likewise.numerics.fixed_point import IntArray
from likewise.people.schema import FeatureSchema
from likewise.validation import flag, integer


class _Subsets(OverColumns):
    """A hypothesis for every set of flags: bit i of its code says whether column i is in the set.

    After these come the hypotheses that ``_extend`` adds.
    """

    _join: ClassVar[np.ufunc]
    _of_none: ClassVar[int]
    _word: ClassVar[str]

    def __init__(self, schema: FeatureSchema, columns: Sequence[str]) -> None:
        self.columns = check_columns(type(self).__name__, schema, columns, ("flag",))
        self._subsets = 1 << len(self.columns)
        separators = len(self.columns) + 1
        check_size(type(self).__name__, self._count(), separators, "Use at most 16 columns.")
        super().__init__(schema, self._vectors())

    def _count(self) -> int:
        """The number of hypotheses, before they are listed."""
        return self._subsets + 1

    def _vectors(self) -> Bits:
        """{e_i} ∪ {0}."""
        n = len(self.columns)
        return np.concatenate([np.eye(n, dtype=np.uint8), np.zeros((1, n), dtype=np.uint8)])

    def evaluate(self, values: npt.NDArray[Any]) -> Bits:
        """Each column doubles the list: the sets without it, then the same sets with it."""
        flags = values.astype(np.uint8)
        bits = np.empty((len(flags), self._count()), dtype=np.uint8)
        bits[:, 0] = self._of_none
        for i in range(len(self.columns)):
            half = 1 << i
            self._join(bits[:, :half], flags[:, i : i + 1], out=bits[:, half : 2 * half])
        self._extend(bits)
        return bits

    def _extend(self, bits: Bits) -> None:
        """Add the constant that is not the rule of the empty set."""
        bits[:, self._subsets] = 1 - self._of_none

    def grades(self) -> IntArray:
        """The number of flags in the set."""
        return np.bitwise_count(np.arange(self.size) % self._subsets).astype(np.int64)

    def _names(self, code: IntArray) -> list[str]:
        return [name for i, name in enumerate(self.columns) if int(code[0]) >> i & 1]

    def _rule(self, names: list[str]) -> str:
        """The rule on a set of columns that is not empty, in words."""
        return f"approve if {f' {self._word} '.join(names)}"

    def describe(self, code: IntArray) -> str:
        plain = int(code[0]) < self._subsets
        if plain and (names := self._names(code)):
            return self._rule(names)
        return constant_in_words(self._of_none == int(plain))


class Conjunctions(_Subsets):
    """Approve people with all of some flags: h_S(x) = ∧ x_i over i ∈ S, and the constant 0.

    |H| = 2^n + 1; S = ∅ approves everybody. Q = {1 − e_i} ∪ {1}: h_S(1 − e_i) is 0 exactly if
    i ∈ S, which tells S; the constant 0 agrees there with S = all columns, but not on 1.

    >>> from likewise.people import Feature
    >>> schema = FeatureSchema((Feature("owner", "flag"), Feature("employed", "flag")))
    >>> rules = Conjunctions(schema, ["owner", "employed"])
    >>> [rules.describe(code) for code in rules.codes()][2:]
    ['approve if employed', 'approve if owner and employed', 'approve nobody']
    >>> rules.locate(schema.people([{"owner": 1, "employed": 0}])).tolist()
    [[1, 1, 0, 0, 0]]
    """

    name = "conjunctions"
    _join, _of_none, _word = np.bitwise_and, 1, "and"

    def _vectors(self) -> Bits:
        """{1 − e_i} ∪ {1}."""
        return np.asarray(1 - super()._vectors(), dtype=np.uint8)


class Disjunctions(_Subsets):
    """Approve people with one of some flags: h_S(x) = ∨ x_i over i ∈ S, and the constant 1.

    |H| = 2^n + 1; S = ∅ approves nobody. Q = {e_i} ∪ {0}: h_S(e_i) is 1 exactly if i ∈ S, which
    tells S; the constant 1 agrees there with S = all columns, but not on 0.
    """

    name = "disjunctions"
    _join, _of_none, _word = np.bitwise_or, 0, "or"


class Parities(_Subsets):
    """Approve people with an odd number of some flags: h_S(x) = ⊕ x_i over i ∈ S.

    ``complements`` approve those with an even number, |H| = 2^(n+1); without them the constant 1 is
    added, |H| = 2^n + 1. Q = {e_i} ∪ {0}: h(0) tells a complement or the constant 1 from the rest,
    and h(e_i) ⊕ h(0) is 1 exactly if i ∈ S.

    >>> from likewise.people import Feature
    >>> schema = FeatureSchema((Feature("a", "flag"), Feature("b", "flag")))
    >>> rules = Parities(schema, ["a", "b"])
    >>> rules.size, rules.separators, rules.describe(np.array([3]))
    (8, 3, 'approve if an odd number of a, b')
    >>> rules.locate(schema.people([{"a": 1, "b": 1}])).tolist()
    [[0, 1, 1, 0, 1, 0, 0, 1]]
    """

    name = "parities"
    _join, _of_none = np.bitwise_xor, 0

    def __init__(
        self, schema: FeatureSchema, columns: Sequence[str], *, complements: bool = True
    ) -> None:
        self.complements = flag("Parities.complements", complements, "Say which.")
        super().__init__(schema, columns)

    def _count(self) -> int:
        return self._subsets * 2 if self.complements else self._subsets + 1

    def _extend(self, bits: Bits) -> None:
        bits[:, self._subsets :] = 1
        if self.complements:
            bits[:, self._subsets :] -= bits[:, : self._subsets]

    def _rule(self, names: list[str]) -> str:
        odd = "an odd number of " if len(names) > 1 else ""
        return f"approve if {odd}{', '.join(names)}"

    def describe(self, code: IntArray) -> str:
        names = self._names(code)
        if int(code[0]) < self._subsets or not names:
            return super().describe(code)
        if len(names) == 1:
            return f"approve unless {names[0]}"
        return f"approve if an even number of {', '.join(names)}"


class DecisionLists(OverColumns):
    """Lists "if x_i then b, else if x_j then b', …, else d" of at most ``length`` literals.

    The class lists different functions, not lists. Every list has a shortest form: neighbours with
    the same verdict are in order of their columns, no column occurs twice, and the last verdict
    differs from d. It is a sequence of disjoint sets of columns whose verdicts alternate, ending
    with 1 − d. There are a(l) sequences of sets of l columns, a = 1, 1, 3, 13, 75, … (ordered set
    partitions), so |H| = 2·Σ_{l ≤ length} C(n, l)·a(l), which is 4·a(n) for length = n.

    Q = all vectors with at most two 1s, 1 + n + C(n, 2) points. *Proof* that different forms
    differ on it: h(0) = d. A column i with h(e_i) ≠ d is in the list, with the verdict 1 − d. One
    with h(e_i) = d is in the list if and only if h(e_i + e_j) = d ≠ h(e_j) for some j: the form
    has a later column whose verdict is 1 − d. And h(e_i + e_j) tells which of two columns with
    different verdicts comes first, which tells the sets and their order. If length = n, no smaller
    set exists: each point is the only one on which some two lists differ (put all other columns
    first). For shorter lists smaller ones do. For length 1 use
    :class:`~likewise.hypotheses.trees.Stumps` with the cut 1: about log₂(n) points suffice.

    The class is listed: at most 68 columns for length 2, 27 for length 3, 13 for length 4, 8 for
    length 5 and 6 for any length.

    *Remark "Classes for which small separating sets are known".*

    >>> from likewise.people import Feature
    >>> schema = FeatureSchema((Feature("owner", "flag"), Feature("debt", "flag")))
    >>> lists = DecisionLists(schema, ["owner", "debt"], length=2)
    >>> lists.size, lists.separators
    (12, 4)
    >>> lists.describe(np.array([10]))
    'reject if debt, else approve if owner, else reject'
    >>> lists.locate(schema.people([{"owner": 1, "debt": 0}, {"owner": 1, "debt": 1}]))[:, 10]
    array([1, 0], dtype=uint8)
    """

    name = "decision-lists"

    def __init__(self, schema: FeatureSchema, columns: Sequence[str], length: int) -> None:
        self.columns = check_columns("DecisionLists", schema, columns, ("flag",))
        n = len(self.columns)
        self.length = integer(
            "DecisionLists.length", length, 1, n + 1,
            "A list that asks for a column twice is equal to a shorter one.",
        )  # fmt: skip
        size = 2 * sum(comb(n, m) * _ordered_partitions(m) for m in range(self.length + 1))
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
        return np.repeat(np.arange(len(self._ends)), np.diff(self._ends, prepend=0))

    def rules(self, code: IntArray) -> tuple[list[tuple[str, int]], int]:
        """The shortest list for a hypothesis: its columns with their verdicts, and the default."""
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
    ones = [places for size in range(3) for places in combinations(range(n), size)]
    vectors = np.zeros((len(ones), n), dtype=np.uint8)
    for vector, places in zip(vectors, ones, strict=True):
        vector[list(places)] = 1
    return vectors
