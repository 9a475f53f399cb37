"""Conjunctions, disjunctions and parities of flags: short rules in words.

Literals are not negated. To use "not an owner", add a flag for it to the schema, which the client
fills in. The class then treats the flag and its negation as two independent columns, also on its
separating set, where a point may have both or neither.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

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
from likewise.validation import flag


class _Subsets(OverColumns):
    """A hypothesis for every set of flags: bit i of its code says whether column i is in the set.

    After these come the hypotheses that ``_extend`` adds.
    """

    parameters: ClassVar[tuple[str, ...]] = ("columns",)
    _join: ClassVar[np.ufunc]
    _of_none: ClassVar[int]

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
        """Add the constant that is not the empty set's."""
        bits[:, self._subsets] = 1 - self._of_none

    def grades(self) -> IntArray:
        """The number of columns."""
        sets = np.arange(self.size) % self._subsets
        grades = np.zeros(self.size, dtype=np.int64)
        for i in range(len(self.columns)):
            grades += sets >> i & 1
        return grades

    def _names(self, code: IntArray) -> list[str]:
        return [name for i, name in enumerate(self.columns) if int(code[0]) >> i & 1]

    @abstractmethod
    def _rule(self, names: list[str]) -> str:
        """The rule on a set of columns that is not empty, in words."""

    def describe(self, code: IntArray) -> str:
        """The rule in words."""
        plain = int(code[0]) < self._subsets
        if plain and (names := self._names(code)):
            return self._rule(names)
        return constant_in_words(self._of_none == int(plain))


class Conjunctions(_Subsets):
    """Approve whoever has all of some flags: h_S(x) = ∧_{i∈S} x_i, and the constant 0.

    |H| = 2^n + 1; S = ∅ approves everybody. Q = {1 − e_i} ∪ {1}, n + 1 points: h_S(1 − e_i) is 0
    exactly if i ∈ S, which tells S; the constant 0 agrees there with S = all columns, but not on
    1. No smaller set exists: n points tell at most 2^n hypotheses apart. The class is listed, so
    n is at most 16.

    *Remark "Classes for which small separating sets are known".*

    >>> from likewise.schema import Feature
    >>> schema = FeatureSchema((Feature("owner", "flag"), Feature("employed", "flag")))
    >>> rules = Conjunctions(schema, ["owner", "employed"])
    >>> [rules.describe(code) for code in rules.codes()][2:]
    ['approve if employed', 'approve if owner and employed', 'approve nobody']
    >>> rules.locate(schema.people([{"owner": 1, "employed": 0}])).tolist()
    [[1, 1, 0, 0, 0]]
    """

    kind = "conjunctions"
    _join, _of_none = np.bitwise_and, 1

    def _vectors(self) -> Bits:
        """{1 − e_i} ∪ {1}."""
        return np.asarray(1 - super()._vectors(), dtype=np.uint8)

    def _rule(self, names: list[str]) -> str:
        return f"approve if {' and '.join(names)}"


class Disjunctions(_Subsets):
    """Approve whoever has one of some flags: h_S(x) = ∨_{i∈S} x_i, and the constant 1.

    |H| = 2^n + 1; S = ∅ approves nobody. Q = {e_i} ∪ {0}, n + 1 points: h_S(e_i) is 1 exactly if
    i ∈ S, which tells S; the constant 1 agrees there with S = all columns, but not on 0. No
    smaller set exists: n points tell at most 2^n hypotheses apart. The class is listed, so n is
    at most 16.

    *Remark "Classes for which small separating sets are known".*

    >>> from likewise.schema import Feature
    >>> schema = FeatureSchema((Feature("owner", "flag"), Feature("employed", "flag")))
    >>> rules = Disjunctions(schema, ["owner", "employed"])
    >>> [rules.describe(code) for code in rules.codes()][2:]
    ['approve if employed', 'approve if owner or employed', 'approve everybody']
    """

    kind = "disjunctions"
    _join, _of_none = np.bitwise_or, 0

    def _rule(self, names: list[str]) -> str:
        return f"approve if {' or '.join(names)}"


class Parities(_Subsets):
    """Approve whoever has an odd number of some flags: h_S(x) = ⊕_{i∈S} x_i.

    With ``complements`` also whoever has an even number, |H| = 2^(n+1); without them the
    constant 1 is added, |H| = 2^n + 1. Q = {e_i} ∪ {0}, n + 1 points: h(0) tells a complement or
    the constant 1 from the rest, and h(e_i) ⊕ h(0) is 1 exactly if i ∈ S. (On {e_i} alone the
    constant 1 agrees with S = all columns.) No smaller set exists: n points tell at most 2^n
    hypotheses apart. The class is listed, so n is at most 16.

    *Remark "Classes for which small separating sets are known".*

    >>> from likewise.schema import Feature
    >>> schema = FeatureSchema((Feature("a", "flag"), Feature("b", "flag")))
    >>> rules = Parities(schema, ["a", "b"])
    >>> rules.size, rules.separators, rules.describe(np.array([3]))
    (8, 3, 'approve if an odd number of a, b')
    >>> rules.locate(schema.people([{"a": 1, "b": 1}])).tolist()
    [[0, 1, 1, 0, 1, 0, 0, 1]]
    """

    kind, parameters = "parities", ("columns", "complements")
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
        return f"approve if {names[0] if len(names) == 1 else _parity('odd', names)}"

    def describe(self, code: IntArray) -> str:
        """The rule in words."""
        names = self._names(code)
        if int(code[0]) < self._subsets or not names:
            return super().describe(code)
        if len(names) == 1:
            return f"approve unless {names[0]}"
        return f"approve if {_parity('even', names)}"


def _parity(parity: str, names: list[str]) -> str:
    return f"an {parity} number of {', '.join(names)}"
