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
from likewise.hypotheses.listed.columns import NUMERIC, check_columns, check_size, people_at
from likewise.hypotheses.listed.cuts import check_levels, cuts_by_column, read_cuts, written_cuts
from likewise.hypotheses.listed.reference import admitted, read_rows, written_rows
from likewise.hypotheses.separating import trie_separating_set
from likewise.hypotheses.specs import read_class, written_class
from likewise.schema import FeatureSchema, People
from likewise.validation import as_array

__all__ = ["Trees"]

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
    reference: people, or an array of their encoded features, on whom trees are told apart. As with
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

    def __init__(
        self,
        schema: FeatureSchema,
        cuts: Mapping[str, Sequence[float]],
        reference: People | npt.ArrayLike,
    ) -> None:
        self._make(schema, cuts, reference, written=False)

    def _make(self, schema: FeatureSchema, cuts: Any, reference: Any, written: bool) -> None:
        self.columns = check_columns("Trees", schema, cuts_by_column("Trees", cuts), NUMERIC)
        self.schema = schema
        self.cuts = tuple(check_levels("Trees", name, cuts[name]) for name in self.columns)
        sizes = [len(levels) for levels in self.cuts]
        if sum(sizes) > MOST_QUESTIONS:
            raise HypothesisError(
                f"Trees must have at most {MOST_QUESTIONS} cuts in all, as they are listed; got "
                f"{sum(sizes)}. Use fewer cuts."
            )
        self._place = np.repeat([schema.place(name) for name in self.columns], sizes)
        self._levels = np.concatenate([np.array(levels) for levels in self.cuts])
        rows = _reference(schema, reference)
        self._trees, self.merged, bits = self._distinct(rows)
        chosen = np.arange(len(rows)) if written else trie_separating_set(bits)
        check_size("Trees", len(self._trees), len(chosen), "Use fewer cuts.")
        self._reference = rows[chosen] if len(chosen) else rows[:1]
        super().__init__(schema, separating=people_at(schema, schema.names, rows[chosen]))

    def _sides(self, rows: FloatArray) -> Bits:
        """Nobody, everybody, and every question either way: (2·M + 2, rows)."""
        asked = (rows[:, self._place] >= self._levels).T
        constants = np.repeat([[False], [True]], len(rows), axis=1)
        return np.concatenate([constants, asked, ~asked]).astype(np.uint8)

    def _distinct(self, rows: FloatArray) -> tuple[IntArray, int, Bits]:
        """Of the trees that agree on all rows the simplest: (root, side if yes, side if no)."""
        sides = np.packbits(self._sides(rows), axis=1)
        asked = np.packbits(self._sides(rows)[2 : 2 + len(self._levels)], axis=1)
        seen: dict[bytes, tuple[int, int, int]] = {}
        tried = 0
        for root, yes, no in self._by_questions():
            tried += len(yes)
            here = (asked[root] & sides[yes]) | (~asked[root] & sides[no])
            # The bits after the last row are padding, and must not tell trees apart.
            here &= np.packbits(np.ones(len(rows), dtype=np.uint8))
            width, text = here.shape[1], here.tobytes()
            for place, (a, b) in enumerate(zip(yes.tolist(), no.tolist(), strict=True)):
                seen.setdefault(text[place * width : (place + 1) * width], (root, a, b))
        packed = np.frombuffer(b"".join(seen), dtype=np.uint8).reshape(len(seen), -1)
        bits = np.unpackbits(packed, axis=1, count=len(rows))
        return np.array(list(seen.values()), dtype=np.int64), tried - len(seen), bits

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

    def _question(self, place: int, sign: str) -> str:
        name = self.schema.names[int(self._place[place])]
        level = float(self._levels[place])
        said = f"{level:g}" if float(f"{level:g}") == level else repr(level)
        return f"{name} {sign} {said}"

    def _side(self, side: int) -> str:
        if side <= 1:
            return f"approve {'everybody' if side else 'nobody'}"
        flip, place = divmod(side - 2, len(self._levels))
        return f"approve if {self._question(place, '<' if flip else '≥')}"

    def spec(self) -> dict[str, Any]:
        """The cuts by column, and the rows of the separating set."""
        cuts = written_cuts(self.columns, self.cuts)
        return written_class(
            "trees", self.schema, cuts=cuts, reference=written_rows(self._reference)
        )

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Trees:
        """Read the class from its JSON."""
        schema, own = read_class("trees", spec, "cuts", "reference")
        trees = cls.__new__(cls)
        trees._make(
            schema, read_cuts("Trees", own["cuts"]), read_rows(own["reference"]), written=True
        )
        return trees


def _reference(schema: FeatureSchema, reference: Any) -> FloatArray:
    """Rows of people, of whom there is at least one."""
    remedy = "It is the data on which trees are told apart; schema.people(rows) encodes it."
    if not isinstance(reference, People):
        rows = as_array(reference)
        if rows.dtype.kind not in "biuf" or rows.ndim != 2 or not len(rows):
            raise ParameterError("Trees.reference", "must be rows of numbers", reference, remedy)
    people = admitted("Trees.reference", schema, reference)
    if not len(people):
        raise ParameterError("Trees.reference", "must have at least one row", 0, remedy)
    return people.x
