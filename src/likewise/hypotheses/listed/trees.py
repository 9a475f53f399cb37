"""Decision trees of depth 2: one question, then another one on each side, then a verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.errors import HypothesisError, ParameterError
from likewise.fixed_point import FloatArray, IntArray
from likewise.hypotheses.base import Bits
from likewise.hypotheses.listed.base import Listed
from likewise.hypotheses.listed.columns import (
    NUMERIC,
    check_columns,
    check_size,
    constant_in_words,
    people_at,
    shortest,
)
from likewise.hypotheses.listed.cuts import check_levels, cuts_by_column, pairs_of_cuts
from likewise.hypotheses.listed.reference import admitted, rows_from_json, rows_to_json
from likewise.hypotheses.separating import rows_as_bytes, trie_separating_set
from likewise.schema import FeatureSchema, People
from likewise.validation import as_array

# A tree is listed by three numbers; with more questions the list would not fit.
MOST_QUESTIONS = 32


class Trees(Listed):
    """Trees of depth 2 on questions "is x_c at least v?": listed, so that the oracle is exact.

    With M questions a side is nobody, everybody, or one of M questions either way, 2·M + 2 in all,
    and a tree is a question and two sides: M·(2·M + 2)² of them. Many are the same function, and
    more agree on all reference data; of these the one with the fewest questions is kept. Constants
    come first, then trees of one, two and three questions.

    Parameters
    ----------
    schema: the features of people.
    cuts: lists of cuts by column; at most 32 in all.
    reference: people, or an array of their encoded features, on whom trees must differ. As with
        a pool, the guarantee is against the trees that remain.

    >>> from likewise.schema import Feature
    >>> schema = FeatureSchema((Feature("a", low=0, high=1), Feature("b", low=0, high=1)))
    >>> corners = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> trees = Trees(schema, {"a": [0.5], "b": [0.5]}, corners)
    >>> trees.size, trees.separators
    (16, 4)
    >>> trees.describe(np.array([15]))
    'if a ≥ 0.5: approve if b < 0.5; else: approve if b ≥ 0.5'
    """

    kind, parameters = "trees", ("cuts", "reference")

    def __init__(
        self,
        schema: FeatureSchema,
        cuts: Mapping[str, Sequence[float]],
        reference: People | npt.ArrayLike,
    ) -> None:
        self._set_up(schema, cuts, reference, separating=False)

    def _set_up(self, schema: FeatureSchema, cuts: Any, reference: Any, separating: bool) -> None:
        """List the trees; ``separating`` says that the rows are the separating set as they are."""
        levels_of = cuts_by_column("Trees", cuts)
        self.columns = check_columns("Trees", schema, tuple(levels_of), NUMERIC)
        self.schema = schema
        self.cuts = tuple(check_levels("Trees", name, levels_of[name]) for name in self.columns)
        sizes = [len(levels) for levels in self.cuts]
        if sum(sizes) > MOST_QUESTIONS:
            raise HypothesisError(
                f"Trees must have at most {MOST_QUESTIONS} cuts in all, as they are listed; got "
                f"{sum(sizes)}. Use fewer cuts."
            )
        self._column = np.repeat([schema.place(name) for name in self.columns], sizes)
        self._levels = np.concatenate([np.array(levels) for levels in self.cuts])
        rows = _reference(schema, reference)
        self._trees, self.merged, bits = self._distinct(rows)
        self._reference = rows if separating else rows[trie_separating_set(bits)]
        check_size("Trees", len(self._trees), len(self._reference), "Use fewer cuts.")
        super().__init__(schema, separating=people_at(schema, schema.names, self._reference))

    def _sides(self, rows: FloatArray) -> Bits:
        """Nobody, everybody, and every question either way: (2·M + 2, rows)."""
        holds = (rows[:, self._column] >= self._levels).T
        constants = np.repeat([[False], [True]], len(rows), axis=1)
        return np.concatenate([constants, holds, ~holds]).astype(np.uint8)

    def _distinct(self, rows: FloatArray) -> tuple[IntArray, int, Bits]:
        """Of the trees that agree on all rows the simplest: (root, side if yes, side if no)."""
        sides = np.packbits(self._sides(rows), axis=1)
        holds = sides[2 : 2 + len(self._levels)]
        simplest: dict[bytes, tuple[int, int, int]] = {}
        count = 0
        for root, yes, no in self._by_questions():
            count += len(yes)
            packed = (holds[root] & sides[yes]) | (~holds[root] & sides[no])
            # The bits after the last row are padding, and must not separate trees.
            packed &= np.packbits(np.ones(len(rows), dtype=np.uint8))
            for key, a, b in zip(rows_as_bytes(packed), yes.tolist(), no.tolist(), strict=True):
                simplest.setdefault(key, (root, a, b))
        packed = np.frombuffer(b"".join(simplest), dtype=np.uint8).reshape(len(simplest), -1)
        bits = np.unpackbits(packed, axis=1, count=len(rows))
        return np.array(list(simplest.values()), dtype=np.int64), count - len(simplest), bits

    def _by_questions(self) -> Iterator[tuple[int, IntArray, IntArray]]:
        """All trees, those of few questions first; a constant has the same on both sides."""
        m = len(self._levels)
        constant, question = np.array([0, 1]), np.arange(2, 2 * m + 2)
        yield 0, np.array([0, 1]), np.array([0, 1])
        for root in range(m):
            yield root, np.array([1, 0]), np.array([0, 1])
        for root in range(m):
            yield root, np.repeat(question, 2), np.tile(constant, 2 * m)
            yield root, np.tile(constant, 2 * m), np.repeat(question, 2)
        for root in range(m):
            yield root, np.repeat(question, 2 * m), np.tile(question, 2 * m)

    def predictions(self, people: People) -> Bits:
        """The predictions of all trees, shape (k, N)."""
        sides = self._sides(people.x)
        root, yes, no = self._trees.T
        return np.asarray(np.where(sides[2 + root] == 1, sides[yes], sides[no]).T)

    def grades(self) -> IntArray:
        """The number of questions."""
        _, yes, no = self._trees.T
        return np.where(yes == no, 0, 1 + (yes > 1) + (no > 1)).astype(np.int64)

    def describe(self, code: IntArray) -> str:
        """The tree in words."""
        root, yes, no = self._trees[int(code[0])].tolist()
        if yes == no:
            return self._side(yes)
        if yes <= 1 and no <= 1:
            return self._side(2 + root if yes else 2 + root + len(self._levels))
        question = self._question(root, "≥")
        return f"if {question}: {self._side(yes)}; else: {self._side(no)}"

    def _question(self, number: int, sign: str) -> str:
        name = self.schema.names[int(self._column[number])]
        return f"{name} {sign} {shortest(float(self._levels[number]))}"

    def _side(self, side: int) -> str:
        if side <= 1:
            return constant_in_words(side)
        flip, number = divmod(side - 2, len(self._levels))
        return f"approve if {self._question(number, '<' if flip else '≥')}"

    def spec(self) -> dict[str, Any]:
        """The cuts by column, and the rows of the separating set."""
        cuts = pairs_of_cuts(self.columns, self.cuts)
        return {
            "class": self.kind, "schema": self.schema.spec(), "cuts": cuts,
            "reference": rows_to_json(self._reference),
        }  # fmt: skip

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Trees:
        """Read the class from its JSON."""
        schema, values = cls.read_parameters(spec)
        trees = cls.__new__(cls)
        rows = rows_from_json(values["reference"])
        trees._set_up(schema, values["cuts"], rows, separating=True)
        return trees


def _reference(schema: FeatureSchema, reference: Any) -> FloatArray:
    """Rows of people, of whom there is at least one."""
    remedy = "It is the data on which trees must differ; schema.people(rows) encodes it."
    if not isinstance(reference, People):
        rows = as_array(reference)
        if rows.dtype.kind not in "biuf" or rows.ndim != 2 or not len(rows):
            raise ParameterError("Trees.reference", "must be rows of numbers", reference, remedy)
    people = admitted("Trees.reference", schema, reference)
    if not len(people):
        raise ParameterError("Trees.reference", "must have at least one row", 0, remedy)
    return people.x
