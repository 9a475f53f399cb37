"""Classes whose hypotheses can be listed, with one cost for every hypothesis.

The oracle and the exponential weights of such a class are exact, whatever the sign of the costs. Up
to a few hundred thousand hypotheses nothing cleverer is needed.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.errors import HypothesisError
from likewise.hypotheses import base
from likewise.hypotheses.base import Bits, ExactWeights, GibbsPolicy, HypothesisClass, Points
from likewise.numerics.fixed_point import FloatArray, IntArray, log_array
from likewise.numerics.randomness import Stream
from likewise.people.features import Kind
from likewise.people.schema import FeatureSchema, People
from likewise.validation import as_array, instance, names, require

_DUPLICATES = (
    "Two rows of the table are the same, so no set of columns separates them. Merge duplicates "
    "first."
)


def greedy_separating_set(bits: Bits) -> IntArray:
    """Few columns of a 0/1 table on which all rows still differ; at most rows − 1.

    Each step takes the column that separates most of the pairs of rows that are still alike; ties
    go to the first. All rows must differ.

    >>> greedy_separating_set(np.array([[0, 0, 0], [0, 1, 0], [1, 1, 0]], dtype=np.uint8)).tolist()
    [0, 1]
    """
    bits = as_array(bits)
    if bits.ndim != 2 or bits.dtype.kind not in "biu" or bits.max(initial=0) > 1:
        raise HypothesisError(
            f"A table must be of 0s and 1s, a row for each hypothesis; got {bits.dtype} of shape "
            f"{bits.shape}."
        )
    rows = len(bits)
    group = np.zeros(rows, dtype=np.int64)
    chosen: list[int] = []
    candidates = bits.astype(np.int64)
    while len(np.unique(group)) < rows:
        order = np.argsort(group, kind="stable")
        starts = np.flatnonzero(np.r_[True, np.diff(group[order]) > 0])
        sizes = np.diff(np.r_[starts, rows])
        ones = np.add.reduceat(candidates[order], starts, axis=0)
        separated = (ones * (sizes[:, None] - ones)).sum(axis=0)
        best = int(np.argmax(separated))
        if separated[best] == 0:
            raise HypothesisError(_DUPLICATES)
        chosen.append(best)
        group = np.unique(np.stack([group, candidates[:, best]]), axis=1, return_inverse=True)[1]
    return np.array(chosen, dtype=np.int64)


def trie_separating_set(bits: Bits) -> IntArray:
    """Columns of a 0/1 table on which all rows still differ, in near-linear time; not the fewest.

    In the order of the rows as binary numbers, two rows differ first where two neighbours between
    them do: so the columns in which neighbours first differ suffice. The columns that divide the
    rows most evenly come first, so that they are few.

    >>> trie_separating_set(np.array([[0, 0, 0], [0, 1, 0], [1, 1, 0]], dtype=np.uint8)).tolist()
    [0, 1]
    """
    rows = len(bits)
    if rows < 2:
        return np.empty(0, dtype=np.int64)
    ones = bits.sum(axis=0, dtype=np.int64)
    order = np.argsort(np.abs(2 * ones - rows), kind="stable")
    packed = np.ascontiguousarray(np.packbits(bits[:, order], axis=1))
    keys = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    packed = packed[np.argsort(keys, kind="stable")]
    apart = packed[1:] ^ packed[:-1]
    byte = np.argmax(apart != 0, axis=1)
    value = apart[np.arange(rows - 1), byte]
    if (value == 0).any():
        raise HypothesisError(_DUPLICATES)
    first = 8 * byte + np.argmax(np.unpackbits(value[:, None], axis=1), axis=1)
    return np.sort(order[np.unique(first)])


def verify_separating_set(hypotheses: HypothesisClass) -> bool:
    """Test whether all hypotheses of a listable class differ on its separating set.

    *Definition "Separating set".*
    """
    instance("hypotheses", hypotheses, HypothesisClass, "Make one: Pool(…), ….")
    on_set = hypotheses.predict(hypotheses.codes(), hypotheses.separating_points())
    return len(np.unique(on_set, axis=0)) == hypotheses.size


# Integer weights of 2^40 each must add up within 63 bits.
LARGEST_LIST = 1 << (63 - base.WEIGHT_BITS)


class Listed(HypothesisClass, ExactWeights):
    """A class whose hypotheses are listed; a point is the column of their predictions.

    A subclass has a ``name`` and implements :meth:`predictions` and :meth:`describe`. It sets its
    parameters, then calls ``super().__init__`` with people on whom the hypotheses differ:
    ``separating``, a separating set (whom the schema need not admit), or ``reference``, any people,
    among whom a greedy search finds one. Hypotheses that agree on all of these are refused (leave
    one out), and so is a class without a constant (put one in).

    >>> from likewise.people import Feature
    >>> class Ages(Listed):
    ...     "Nobody, everybody, or whoever is of age."
    ...     name = "ages"
    ...     def __init__(self, schema):
    ...         super().__init__(schema, separating=schema.people([[17], [18]]))
    ...     def predictions(self, people):
    ...         age = people.column("age")[:, None]
    ...         return age >= np.array([np.inf, 18, -np.inf])
    ...     def describe(self, code):
    ...         return ("nobody", "whoever is of age", "everybody")[int(code[0])]
    >>> ages = Ages(FeatureSchema((Feature("age", "integer", 0, 120),)))
    >>> ages.size, ages.separators, ages.locate(ages.schema.people([[30]])).tolist()
    (3, 2, [[0, 1, 1]])
    >>> Ages.from_spec(ages.spec()).describe(np.array([1]))
    'whoever is of age'
    """

    def __init__(
        self, schema: FeatureSchema, *, separating: People | None = None,
        reference: People | None = None,
    ) -> None:  # fmt: skip
        owner = type(self).__name__
        remedy = "Make one: FeatureSchema((Feature(…), …))."
        self.schema = instance(f"{owner}.schema", schema, FeatureSchema, remedy)
        if (separating is None) == (reference is None):
            raise HypothesisError(
                f"{owner} needs either people who tell its hypotheses apart (separating=…) or "
                f"people among whom they are found (reference=…), and not both."
            )
        people = separating if reference is None else reference
        remedy = "Make them with the schema: schema.people(rows)."
        bits = self.locate(instance(f"{owner}: people", people, People, remedy))
        if reference is not None:
            bits = bits[greedy_separating_set(bits.T)]
        self._check_table(bits)
        self._on_set = np.ascontiguousarray(bits.T)

    def _check_table(self, bits: Bits) -> None:
        """Check the predictions on the separating set, (s, N): all differ, and one is constant."""
        owner, size = type(self).__name__, bits.shape[1]
        if not 0 < size < LARGEST_LIST:
            raise HypothesisError(
                f"A class that is listed must have between 1 and {LARGEST_LIST} hypotheses; "
                f"{owner} has {size}."
            )
        if bits.max(initial=0) > 1:
            raise HypothesisError(f"{owner}.predictions must be 0 or 1; got {int(bits.max())}.")
        first: dict[bytes, int] = {}
        for member, row in enumerate(np.packbits(bits.T, axis=1)):
            earlier = first.setdefault(row.tobytes(), member)
            if earlier != member:
                raise HypothesisError(
                    f"{owner}: hypotheses {earlier} and {member} agree on all {len(bits)} points "
                    f"of the separating set. Give people who tell them apart, or leave one out."
                )
        if not (bits.all(axis=0) | ~bits.any(axis=0)).any():
            raise HypothesisError(
                f"{owner} must contain a constant classifier; none of its {size} hypotheses is one "
                f"on the separating set. Without one there may be no fair policy at all."
            )

    @abstractmethod
    def predictions(self, people: People) -> Bits:
        """h(x) of every hypothesis in the order of the list: 0 or 1, of shape (k, N)."""

    def locate(self, people: People) -> Points:
        bits = np.asarray(self.predictions(people))
        if bits.ndim != 2 or len(bits) != len(people) or bits.dtype.kind not in "biu":
            raise HypothesisError(
                f"{type(self).__name__}.predictions must be an array of 0s and 1s, a row for each "
                f"of the {len(people)} people; got {bits.dtype} of shape {bits.shape}."
            )
        return bits.astype(np.uint8, copy=False)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size} hypotheses, {self.separators} separators)"

    @property
    def size(self) -> int:
        return len(self._on_set)

    @property
    def separators(self) -> int:
        return int(self._on_set.shape[1])

    def separating_points(self) -> Points:
        return np.ascontiguousarray(self._on_set.T)

    def no_costs(self) -> IntArray:
        return np.zeros(self.size, dtype=np.int64)

    def charge(self, costs: IntArray, points: Points, amounts: IntArray) -> IntArray:
        """Add each amount to the hypotheses that predict 1 on its point."""
        charged = costs.copy()
        for bits, amount in zip(points, amounts, strict=True):
            charged += bits * amount
        return charged

    def totals(self, costs: IntArray, codes: IntArray) -> IntArray:
        return np.asarray(costs[codes[:, 0]])

    def minimise(self, costs: IntArray, noise: IntArray) -> IntArray:
        """The first hypothesis of least cost, shape (draws, 1)."""
        totals: IntArray = costs + noise @ self._on_set.T.astype(np.int64)
        return np.asarray(np.argmin(totals, axis=1), dtype=np.int64).reshape(-1, 1)

    def predict(self, codes: IntArray, points: Points) -> Bits:
        return np.ascontiguousarray(points[:, codes[:, 0]].T).astype(np.uint8)

    def codes(self) -> IntArray:
        return np.arange(self.size)[:, None]

    def grades(self) -> IntArray:
        """The grade of each hypothesis, for the prior from coarse to fine; by default the same."""
        return np.zeros(self.size, dtype=np.int64)

    def constant_members(self) -> npt.NDArray[np.bool_]:
        """The hypotheses that are the same for everybody, which the prior prefers."""
        return np.asarray(self._on_set.all(axis=1) | ~self._on_set.any(axis=1))

    @cached_property
    def log_inverse(self) -> FloatArray | None:
        """ln(1/prior(h)) of every hypothesis; None for a flat prior."""
        if self.prior == base.FLAT:
            return None
        if not isinstance(self.prior, str):
            return -log_array(np.array(self.prior))
        grades = np.asarray(self.grades())
        if grades.shape != (self.size,) or grades.dtype.kind not in "iu":
            raise HypothesisError(
                f"{type(self).__name__}.grades must be an integer for each of the {self.size} "
                f"hypotheses; got {grades.dtype} of shape {grades.shape}."
            )
        return base.graded(self.constant_members(), grades)

    @property
    def log_inverse_prior(self) -> float:
        inverse = self.log_inverse
        return self.log_size if inverse is None else float(inverse.max())

    def log_inverse_priors(self, codes: IntArray) -> FloatArray:
        inverse = self.log_inverse
        if inverse is None:
            return np.full(len(codes), self.log_size)
        return np.asarray(inverse[codes[:, 0]])

    @property
    def cut(self) -> float:
        """|H|·2^-41: a weight is off by half of one, and the largest is 2^40."""
        return self.size / (2 << base.WEIGHT_BITS)

    def checked_prior(self, prior: Any) -> base.Prior:
        if isinstance(prior, str):
            return super().checked_prior(prior)
        names = [self.describe(code) for code in self.codes()]
        return base.listed_prior(type(self).__name__, prior, names)

    def weigh(self, costs: IntArray, temperature: float | FloatArray) -> GibbsPolicy:
        return _ListedPolicy(base.gibbs_weights(costs, float(temperature), self.log_inverse))


class _ListedPolicy(GibbsPolicy):
    def __init__(self, weights: IntArray) -> None:
        self.weights, self.total = weights, int(weights.sum())

    def approval(self, points: Points) -> list[tuple[int, int]]:
        return [(int(self.weights[bits != 0].sum()), self.total) for bits in points]

    def draw(self, points: Points, stream: Stream, draw: int) -> Bits:
        member = base.pick(self.weights, stream.below(self.total, draw))
        return np.asarray(points[:, member], dtype=np.uint8)


# Beyond these a draw takes milliseconds and a block of draws hundreds of megabytes.
LARGEST = 1 << 17
LARGEST_TABLE = 1 << 25
# Kinds of columns that can be compared with a number.
NUMERIC: tuple[Kind, ...] = ("number", "integer", "flag")


def check_columns(
    owner: str, schema: FeatureSchema, columns: Sequence[str], kinds: tuple[Kind, ...]
) -> tuple[str, ...]:
    """Check that the columns are the schema's, different, of these kinds and never missing."""
    instance(f"{owner}.schema", schema, FeatureSchema, "Make one: FeatureSchema((Feature(…), …)).")
    parameter = f"{owner}.columns"
    listed = names(parameter, columns, f"The schema has {', '.join(schema.names)}.")
    for feature in (features := [schema[name] for name in listed]):
        rule, value = f"must be of the kinds {', '.join(kinds)}", f"{feature.name} ({feature.kind})"
        remedy = "Turn it into flags, one for each question of a rule."
        require(feature.kind in kinds, parameter, rule, value, remedy)
        value = f"{feature.name} (missing={feature.missing!r})"
        remedy = "Fill it in before it comes here, and make 'missing' a flag of its own."
        require(feature.missing is None, parameter, "must never be missing", value, remedy)
    return tuple(feature.name for feature in features)


def check_size(owner: str, size: int, separators: int, remedy: str) -> None:
    if size > LARGEST:
        raise HypothesisError(
            f"{owner} must have at most {LARGEST} hypotheses, as they are listed; this one has "
            f"{size}. {remedy}"
        )
    if size * separators > LARGEST_TABLE:
        raise HypothesisError(
            f"{owner} must have at most {LARGEST_TABLE} predictions on its separating set; this "
            f"one has {size} hypotheses on {separators} points. {remedy}"
        )


def people_at(
    schema: FeatureSchema, columns: Sequence[str], values: npt.NDArray[np.floating | np.uint8]
) -> People:
    """People who have these values in these columns, for a class that reads no others.

    The schema need not admit them: points of a separating set may be anywhere.
    """
    x = np.zeros((len(values), len(schema)))
    x[:, [schema.place(name) for name in columns]] = values
    return People(tuple(f"q{i + 1}" for i in range(len(values))), x, schema)


class OverColumns(Listed):
    """A listed class that reads some columns; ``separating_set`` holds values of these."""

    columns: tuple[str, ...]

    def __init__(self, schema: FeatureSchema, separating_set: npt.NDArray[Any]) -> None:
        self.separating_set = separating_set
        super().__init__(schema, separating=people_at(schema, self.columns, separating_set))

    @abstractmethod
    def evaluate(self, values: npt.NDArray[Any]) -> Bits:
        """The predictions of all hypotheses, (k, N), on rows of the columns' values, (k, n)."""

    def predictions(self, people: People) -> Bits:
        return self.evaluate(np.stack([people.column(name) for name in self.columns], axis=1))


def constant_in_words(bit: int) -> str:
    return f"approve {'everybody' if bit else 'nobody'}"


def shortest(number: float) -> str:
    """A number as %g writes it where that is exact, otherwise all of its digits.

    >>> shortest(20.0), shortest(1.23456789)
    ('20', '1.23456789')
    """
    short = f"{number:g}"
    return short if float(short) == number else repr(number)
