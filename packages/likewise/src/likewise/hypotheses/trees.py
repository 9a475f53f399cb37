"""Decision trees of depth 2: one question, then another one on each side, then a verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.errors import HypothesisError, MergedHypotheses, warn
from likewise.hypotheses import lists, pool
from likewise.hypotheses.base import Bits
from likewise.hypotheses.lists import Listed, OverColumns, check_columns, check_size
from likewise.numerics.fixed_point import FloatArray, IntArray
from likewise.people.schema import FeatureSchema, People
from likewise.validation import flag, reals, require

# A tree is listed by three numbers; with more questions the list would not fit.
MOST_QUESTIONS = 32


class Trees(Listed):
    """Trees of depth 2 on questions "is x_c at least v?": listed, so that the oracle is exact.

    With M questions a side is nobody, everybody, or one of M questions either way, 2·M + 2 in all,
    and a tree is a question and two sides: M·(2·M + 2)² of them. Of trees that agree on all
    ``reference`` data (people, or an array of their encoded features) the one with the fewest
    questions remains, and as with a pool guarantees are against those that remain. Constants come
    first, then trees of one, two and three questions. ``cuts`` are lists by column, at
    most 32 cuts in all.

    >>> from likewise.people import Feature
    >>> schema = FeatureSchema((Feature("a", low=0, high=1), Feature("b", low=0, high=1)))
    >>> corners = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> trees = Trees(schema, {"a": [0.5], "b": [0.5]}, corners)
    >>> trees.size, trees.separators
    (16, 4)
    >>> trees.describe(np.array([15]))
    'if a ≥ 0.5: approve if b < 0.5; else: approve if b ≥ 0.5'
    """

    name = "trees"

    def __init__(
        self, schema: FeatureSchema, cuts: Mapping[str, Sequence[float]],
        reference: People | npt.ArrayLike,
    ) -> None:  # fmt: skip
        self._set_up(schema, cuts, reference, separating=False)

    def _set_up(self, schema: FeatureSchema, cuts: Any, reference: Any, separating: bool) -> None:
        """List the trees; ``separating`` if the rows are the separating set itself."""
        levels_of = pool.cuts_by_column("Trees", schema, cuts)
        self.schema, self.columns, self.cuts = schema, tuple(levels_of), tuple(levels_of.values())
        sizes = [len(levels) for levels in self.cuts]
        if sum(sizes) > MOST_QUESTIONS:
            raise HypothesisError(
                f"Trees must have at most {MOST_QUESTIONS} cuts in all, as they are listed; got "
                f"{sum(sizes)}. Use fewer cuts."
            )
        self._column = np.repeat([schema.place(name) for name in self.columns], sizes)
        self._levels = np.concatenate([np.array(levels) for levels in self.cuts])
        rows = pool.reference_rows("Trees", schema, reference)
        self._trees, self.merged, bits = self._distinct(rows)
        self._reference = rows if separating else rows[lists.trie_separating_set(bits)]
        check_size("Trees", len(self._trees), len(self._reference), "Use fewer cuts.")
        super().__init__(schema, separating=lists.people_at(schema, schema.names, self._reference))

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
            for row, a, b in zip(packed, yes.tolist(), no.tolist(), strict=True):
                simplest.setdefault(row.tobytes(), (root, a, b))
        packed = np.frombuffer(b"".join(simplest), dtype=np.uint8).reshape(len(simplest), -1)
        bits = np.unpackbits(packed, axis=1, count=len(rows))
        return np.array(list(simplest.values()), dtype=np.int64), count - len(simplest), bits

    def _by_questions(self) -> Iterator[tuple[int, IntArray, IntArray]]:
        """All trees, those of few questions first; the sides of a constant are the same."""
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
        sides = self._sides(people.x)
        root, yes, no = self._trees.T
        return np.asarray(np.where(sides[2 + root] == 1, sides[yes], sides[no]).T)

    def grades(self) -> IntArray:
        """The number of questions."""
        _, yes, no = self._trees.T
        return np.where(yes == no, 0, 1 + (yes > 1) + (no > 1)).astype(np.int64)

    def describe(self, code: IntArray) -> str:
        root, yes, no = self._trees[int(code[0])].tolist()
        if yes == no:
            return self._side(yes)
        if yes <= 1 and no <= 1:
            return self._side(2 + root if yes else 2 + root + len(self._levels))
        return f"if {self._question(root, '≥')}: {self._side(yes)}; else: {self._side(no)}"

    def _question(self, number: int, sign: str) -> str:
        name = self.schema.names[int(self._column[number])]
        return f"{name} {sign} {lists.shortest(float(self._levels[number]))}"

    def _side(self, side: int) -> str:
        if side <= 1:
            return lists.constant_in_words(side)
        flip, number = divmod(side - 2, len(self._levels))
        return f"approve if {self._question(number, '<' if flip else '≥')}"

    def spec(self) -> dict[str, Any]:
        cuts = pool.pairs_of_cuts(self.columns, self.cuts)
        return {
            "class": self.name, "schema": self.schema.spec(), "cuts": cuts,
            "reference": pool.rows_to_json(self._reference),
        }  # fmt: skip

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Trees:
        values, trees = cls.read_parameters(spec), cls.__new__(cls)
        rows = pool.rows_from_json(values["reference"])
        trees._set_up(values["schema"], values["cuts"], rows, separating=True)
        return trees


class Stumps(OverColumns):
    """Approve people with at least (or less than) a cut in one column: 1[x_c ≥ v], and flips.

    With M cuts in all, m_c of them in column c, and both constants, |H| = 2·M + 2. The class is
    listed, so M is below 2^16, and a single column can have 4,095 cuts.

    Q: take the point that is below every cut, and p more. On these p, 1[x_c ≥ v] is a set of
    points, and as v grows these sets shrink: the cuts of a column are a chain of sets. Any chains
    are possible, as each point has a value in each column. If all M sets are different and none is
    empty, Q separates: the first point tells flips (and the constant 1) from the rest, the others
    tell the set. The chains are cut out of a partition of all sets of p points into symmetric
    chains, the longest columns first. p is the smallest number for which this fits, at least
    max(max_c m_c, log₂(M + 1)); a single column needs m + 1 points, n ≤ m + 1 columns of m cuts
    need m + 2, n columns of one cut need about log₂ n.

    No set is smaller than max_c m_c + 1, as every bin of a column is the only place where some two
    hypotheses differ, or than log₂|H|: this Q is the smallest for one column and for columns of
    one cut, and at most one point larger for n ≤ m + 1 columns of m cuts.

    *Remark "Classes for which small separating sets are known" (discretised linear classifiers).*

    >>> from likewise.people import Feature
    >>> schema = FeatureSchema((Feature("income", low=0), Feature("age", "integer", low=18)))
    >>> stumps = Stumps(schema, {"income": [20, 40], "age": [30, 60]})
    >>> stumps.size, stumps.separators
    (10, 4)
    >>> stumps.describe(np.array([1])), stumps.describe(np.array([6]))
    ('approve if income ≥ 20', 'approve if income < 20')
    >>> stumps.locate(schema.people([{"income": 25, "age": 70}])).tolist()
    [[0, 1, 0, 1, 1, 1, 0, 1, 0, 0]]
    """

    name = "stumps"

    def __init__(self, schema: FeatureSchema, cuts: Mapping[str, Sequence[float]]) -> None:
        levels_of = pool.cuts_by_column("Stumps", schema, cuts)
        self.schema, self.columns, self.cuts = schema, tuple(levels_of), tuple(levels_of.values())
        for name, levels in levels_of.items():
            self._check_levels(name, levels)
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

    def _check_levels(self, name: str, levels: tuple[float, ...]) -> None:
        feature = self.schema[name]
        parameter = f"Stumps.cuts[{name!r}]"
        fits = feature.kind == "number" or not any(level % 1 for level in levels)
        require(fits, parameter, f"must be integers as {name!r} is", levels, "Round them up.")
        low, high = feature.limits
        fits = self._below(name, levels[0]) >= low and levels[-1] <= high
        rule = f"must be above {low:g} and at most {high:g}, the bounds of {name!r}"
        remedy = "A cut beyond them approves everybody or nobody; both constants are inside."
        require(fits, parameter, rule, levels, remedy)

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
        flip, place = divmod(int(code[0]), len(self._levels) + 1)
        if place == 0:
            return lists.constant_in_words(flip)
        column = self.columns[self._column[place - 1]]
        cut = lists.shortest(float(self._levels[place - 1]))
        return f"approve if {column} {'<' if flip else '≥'} {cut}"

    def spec(self) -> dict[str, Any]:
        return {**super().spec(), "cuts": pool.pairs_of_cuts(self.columns, self.cuts)}


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
    brackets are the same are a chain, since unmatched ")" precede unmatched "(". It begins with a
    set of which every point is matched, and adds the unmatched points from the left. (De Bruijn,
    Tengbergen and Kruyswijk; Greene and Kleitman.)
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
    # What is left of the chains in use, the longest first; the number breaks ties.
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


class LinearByIntercepts(OverColumns):
    """Approve if Σ_i x_i/a_i ≥ 1, where each a_i is one of V or none; with ``flips`` also if < 1.

    The boundary meets axis i at a_i; a column without one is not used. Values of V may have either
    sign. No column at all is the constant 0. |H| = 2·(|V| + 1)^n with flips; without them the
    constant 1 is added and |H| = (|V| + 1)^n + 1.

    Q = the origin, and v on each axis for each v in V: n·|V| + 1 points. *Proof:* at the origin
    the sum is 0, which tells flips (and the constant 1) from the rest. At v on axis i the sum is
    v/a_i, which is at least 1 if and only if a_i has the sign of v and |a_i| ≤ |v|. So the
    predictions on axis i are 1 from a_i on, away from 0, on its side, and 0 if a_i is none: that
    tells a_i. (In floating point too: v/v is 1, and v/a is below 1 for every float a beyond v.) For
    one column, or |V| = 1, no smaller set exists; elsewhere points off the axes may save a few.

    The class is listed, so |H| is at most 2^17: 16 columns with one intercept, 10 with 2, 5 with
    8. Repeated values of V are merged, with a warning
    (:class:`~likewise.errors.MergedHypotheses`). The sum is taken column after column, so it
    rounds the same way on every machine; scale columns so that V suits them all.

    *Remark "Classes for which small separating sets are known" (discretised linear classifiers).*

    >>> from likewise.people import Feature
    >>> schema = FeatureSchema((Feature("income"), Feature("debt")))
    >>> linear = LinearByIntercepts(schema, ["income", "debt"], [40, -10])
    >>> linear.size, linear.separators
    (18, 5)
    >>> linear.describe(np.array([5])), linear.describe(np.array([9]))
    ('approve if income/40 − debt/10 ≥ 1', 'approve everybody')
    >>> people = schema.people([{"income": 60, "debt": 5}, {"income": 60, "debt": 6}])
    >>> linear.locate(people)[:, 5].tolist()
    [1, 0]
    """

    name = "linear-by-intercepts"

    def __init__(
        self, schema: FeatureSchema, columns: Sequence[str], intercepts: Sequence[float], *,
        flips: bool = True,
    ) -> None:  # fmt: skip
        self.columns = check_columns("LinearByIntercepts", schema, columns, lists.NUMERIC)
        parameter = "LinearByIntercepts.intercepts"
        values = np.array(reals(parameter, intercepts, "List them."), dtype=np.float64)
        fits = len(values) > 0 and bool(np.all(np.isfinite(values) & (values != 0)))
        remedy = "A boundary through the origin has none; shift the column instead."
        require(fits, parameter, "must be at least one, finite and not 0", values.tolist(), remedy)
        self.intercepts = tuple(np.unique(values).tolist())
        self.flips = flag("LinearByIntercepts.flips", flips, "Say which.")
        n = len(self.columns)
        self._half = (len(self.intercepts) + 1) ** n
        self._size = 2 * self._half if flips else self._half + 1
        points = n * len(self.intercepts) + 1
        check_size("LinearByIntercepts", self._size, points, "Use fewer columns or intercepts.")
        axes = np.eye(n)[:, None, :] * np.array(self.intercepts)[:, None]
        super().__init__(schema, np.concatenate([np.zeros((1, n)), axes.reshape(-1, n)]))
        if len(self.intercepts) < len(values):
            half = (len(values) + 1) ** n
            size = 2 * half if flips else half + 1
            warn(
                f"{len(values) - len(self.intercepts)} of {len(values)} intercepts are given twice "
                f"and were merged; {self._size} of {size} hypotheses remain.",
                MergedHypotheses,
            )

    def evaluate(self, values: FloatArray) -> Bits:
        """Each column multiplies the list: without it, then with it at each intercept."""
        people = len(values)
        sums = np.zeros((people, 1))
        with np.errstate(over="ignore", invalid="ignore"):
            for i in range(len(self.columns)):
                terms = np.zeros((people, len(self.intercepts) + 1, 1))
                terms[:, 1:, 0] = values[:, i, None] / np.array(self.intercepts)
                sums = (sums[:, None, :] + terms).reshape(people, terms.shape[1] * sums.shape[1])
        bits = np.ones((people, self._size), dtype=np.uint8)
        bits[:, : self._half] = sums >= 1.0
        if self.flips:
            bits[:, self._half :] -= bits[:, : self._half]
        return bits

    def grades(self) -> IntArray:
        """The number of columns in the inequality."""
        place = np.arange(self.size) % self._half
        digits = np.unravel_index(place, [len(self.intercepts) + 1] * len(self.columns))
        return np.asarray(np.count_nonzero(digits, axis=0))

    def describe(self, code: IntArray) -> str:
        flip, place = divmod(int(code[0]), self._half)
        if place == 0:
            return lists.constant_in_words(flip)
        text = ""
        for name in self.columns:
            place, digit = divmod(place, len(self.intercepts) + 1)
            if digit:
                value = self.intercepts[digit - 1]
                plus, minus = (" + ", " − ") if text else ("", "−")
                text += f"{plus if value > 0 else minus}{name}/{lists.shortest(abs(value))}"
        return f"approve if {text} {'<' if flip else '≥'} 1"
