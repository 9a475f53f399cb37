"""Distances between people: the contract of a metric, and those of Likewise.

The paper asks of d: X × X → [0, 1] only that it be symmetric (footnote to definition "Fairness
violation"); it need not be a metric.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import methodcaller
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from likewise import validation as check
from likewise.errors import AuditError, foreign_code, shown
from likewise.numerics.fixed_point import FloatArray
from likewise.people.features import Feature, Value
from likewise.people.schema import BoolArray, People
from likewise.registry import METRICS, Specified

# Single pairs are measured in tables of this many people a side.
_PAIRS_AT_ONCE = 64
# This many differences of a few features fit into the nearest cache.
_FEW_PAIRS = 1 << 12


@dataclass(frozen=True, eq=False)
class Sides:
    """Pairs of everybody on the left with everybody on the right; ``paired``, row by row.

    >>> from likewise.people import Feature, FeatureSchema
    >>> people = FeatureSchema((Feature("age"),)).people([[20], [30], [50]])
    >>> left, right = Sides(people.take([0]), people.take([1, 2])).columns("age")
    >>> (right - left).tolist()
    [[10.0, 30.0]]
    """

    left: People
    right: People
    paired: bool = False
    _cache: dict[Any, FloatArray] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def at(cls, people: People, left: Any, right: Any, paired: bool = True) -> Sides:
        """The people at some places, who may be repeated."""
        first, second = (people.take(places, repeated=True) for places in (left, right))
        return cls(first, second, paired)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the distances."""
        return (len(self.left),) if self.paired else (len(self.left), len(self.right))

    def spread(self, left: Any, right: Any) -> tuple[Any, Any]:
        """A value for everybody on the left and on the right, as arrays that broadcast."""
        return (left, right) if self.paired else (left[:, None], right[None, :])

    def columns(self, name: str) -> tuple[FloatArray, FloatArray]:
        """A feature of the left and of the right, as arrays that broadcast."""
        return self.spread(self.left.column(name), self.right.column(name))

    def apart(self, values: Callable[[People], FloatArray]) -> tuple[FloatArray, BoolArray | None]:
        """x_l − x_r of values of people, 0 where one is missing; and which pairs have only one.

        The latter is None if all values are finite.
        """
        left = values(self.left)
        right = left if self.right is self.left else values(self.right)
        complete = finite(left) and (right is left or finite(right))
        left, right = self.spread(left, right)
        with np.errstate(over="ignore"):  # differences beyond the floats are infinite, hence full
            delta = left - right
        if complete:
            return delta, None
        return np.where(np.isnan(delta), 0.0, delta), np.isnan(left) != np.isnan(right)

    def once(self, key: Any, make: Callable[[], FloatArray]) -> FloatArray:
        """A read-only array that several auditors need, made once if there are few pairs.

        If there are many, making it again is faster than reading it from memory.
        """
        if math.prod(self.shape) > _FEW_PAIRS:
            return make()
        array = self._cache.get(key)
        if array is None:
            array = self._cache[key] = make()
            array.flags.writeable = False
        return array


def finite(column: FloatArray) -> bool:
    """Test whether every value is a finite number."""
    with np.errstate(over="ignore", invalid="ignore"):
        # A sum that is finite has no term that is not.
        return math.isfinite(column.sum()) or bool(np.isfinite(column).all())


def joined(distance: Callable[[People], npt.NDArray[Any]], sides: Sides) -> npt.NDArray[Any]:
    """Distances of a function that measures all pairs of one list of people.

    It is called with everybody from both sides, and so measures more pairs than needed.
    """
    if not sides.paired:
        alike = sides.right is sides.left
        return distance(sides.left) if alike else _of_all(distance, sides.left, sides.right)
    distances = []
    for start in range(0, len(sides.left), _PAIRS_AT_ONCE):
        places = np.arange(start, min(start + _PAIRS_AT_ONCE, len(sides.left)))
        left, right = (side.take(places, repeated=True) for side in (sides.left, sides.right))
        distances.append(np.diagonal(_of_all(distance, left, right)))
    return np.concatenate(distances) if distances else np.empty(0)


def by_blocks(distance: Any) -> Callable[[Sides], FloatArray] | None:
    """The method of a distance that measures blocks of pairs, if it has one.

    A subclass that defines a call alone is measured by its call, not by the method of its base.
    """
    defined = (vars(kind) for kind in type(distance).__mro__)
    own = next(names for names in defined if "between" in names or "__call__" in names)
    return distance.between if "between" in own else None


def _of_all(
    distance: Callable[[People], npt.NDArray[Any]], left: People, right: People
) -> npt.NDArray[Any]:
    """The distances of the left (rows) to the right (columns), from a table of everybody.

    Everybody is in it once: a distance may look people up by their ids.
    """
    places = {name: n for n, name in enumerate(dict.fromkeys((*left.ids, *right.ids)))}
    rows, columns = ([places[name] for name in side.ids] for side in (left, right))
    x = np.empty((len(places), left.x.shape[1]))
    x[rows], x[columns] = left.x, right.x
    everybody = People(tuple(places), x, left.schema)
    return np.asarray(distance(everybody))[np.ix_(rows, columns)]


Distance = Callable[[People], FloatArray]


class Metric(Specified, ABC):
    """A distance between people that can be written down: a symmetric array (k, k) within [0, 1].

    A subclass is a frozen dataclass that checks its parameters when it is made, and is registered
    under its ``name`` (:data:`likewise.registry.METRICS`), so that panels can be files. It is a
    function of the people's features alone; people in another order have the same distances. A
    plain function of people is a distance too, but cannot be written down.
    ``likewise.testing.check_metric`` checks all of this.

    >>> import numpy as np
    >>> from dataclasses import dataclass
    >>> from likewise.people import Feature, FeatureSchema
    >>> @dataclass(frozen=True)
    ... class SameOrNot(Metric):
    ...     name = "same-or-not"
    ...     feature: str
    ...     def __call__(self, people):
    ...         x = people.column(self.feature)
    ...         return (x[:, None] != x[None, :]).astype(float)
    >>> people = FeatureSchema((Feature("age", "integer"),)).people([[20], [70], [20]])
    >>> SameOrNot("age")(people).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    >>> SameOrNot("age").spec()
    {'metric': 'same-or-not', 'feature': 'age'}
    """

    spec_key = "metric"

    @abstractmethod
    def __call__(self, people: People, /) -> FloatArray:
        """The distances of all pairs; the diagonal plays no part."""

    def between(self, sides: Sides) -> FloatArray:
        """The distances of the left to the right: a block of pairs.

        They are the same as in a call with everybody, which is the default. Override it to measure
        many pairs, or to reuse what other auditors computed of these sides (:meth:`Sides.once`).
        """
        return joined(self, sides)


class _Sided(ABC):
    """A distance that a subclass defines by :meth:`between`."""

    def __call__(self, people: People) -> FloatArray:
        return self.between(Sides(people, people))

    @abstractmethod
    def between(self, sides: Sides) -> FloatArray:
        """The distances of the left to the right."""


class BySides(_Sided, Metric):
    """A metric that a subclass defines by :meth:`between`."""


# Numbers by name, or pairs of a name and a number.
ByName = Mapping[str, float] | Sequence[Sequence[Any]]


def by_name(where: str, numbers: ByName) -> dict[str, Any]:
    """Numbers by name, from a mapping or from pairs, in their order."""
    remedy = "Write {'income': 0.5}."
    listed = list(numbers.items()) if isinstance(numbers, Mapping) else numbers
    pairs = [check.items(where, pair, remedy) for pair in check.items(where, listed, remedy)]
    fits, rule = all(len(pair) == 2 for pair in pairs), "must be pairs of a name and a number"
    check.require(fits, where, rule, numbers, remedy)
    named = {check.text(where, name, remedy): number for name, number in pairs}
    check.require(len(named) == len(pairs), where, "must have every name once", numbers, remedy)
    return named


def full_where(uneven: BoolArray | None, distances: FloatArray) -> FloatArray:
    """The distances, but 1 for pairs of whom one has a value, and one has none."""
    return distances if uneven is None else np.maximum(distances, uneven)


def difference(sides: Sides, name: str, scale: float | None) -> FloatArray:
    """min(1, |x_l − x_r|/scale) of the pairs; for a category, 0 if equal and 1 if not.

    Without a scale, the width of the feature's bounds in the schema is one.
    """
    return sides.once((name, scale), lambda: _difference(sides, name, scale))


def _difference(sides: Sides, name: str, scale: float | None) -> FloatArray:
    feature = sides.left.schema[name]
    if feature.kind == "category":
        rule = "must not be given for a category"
        remedy = "Two levels are either equal (0) or not (1)."
        check.require(scale is None, f"scales[{name!r}]", rule, scale, remedy)
    if scale is None:
        low, high = feature.limits
        scale = 1.0 if feature.kind == "category" else high - low
    fits, rule = math.isfinite(scale), "must be given for a feature without bounds"
    remedy = f"Say which difference is a full one: scales={{{name!r}: …}}, or bound the feature."
    check.require(fits, f"scales[{name!r}]", rule, None, remedy)
    return scaled(sides, methodcaller("column", name), scale)


def scaled(sides: Sides, values: Callable[[People], FloatArray], scale: float) -> FloatArray:
    """min(1, |x_l − x_r|/scale) of the pairs; 1 where exactly one of two values is missing."""
    apart, uneven = sides.apart(values)
    with np.errstate(over="ignore"):  # in place, since tables of pairs are large
        np.abs(apart, out=apart)
        np.divide(apart, scale, out=apart)
        np.minimum(1.0, apart, out=apart)
    return full_where(uneven, apart)


ROUNDING = 1e-9
"""By this much a distance may differ in the two orders of a pair."""


@dataclass(frozen=True, init=False)
class WeightedL1(BySides):
    """d(x, x′) = min(1, Σ_f w_f · min(1, |x_f − x′_f| / scale_f)).

    Weights are at least 0. Where they add up to at most 1 the outer min does nothing; heavier
    ones make a more lenient auditor, for whom enough differences are a full one. Scales are by
    default the widths of the bounds in the schema. Two levels of a category differ wholly, by 1; so
    do a missing value and one that is there, while two missing ones do not differ.

    >>> from likewise.people import Feature, FeatureSchema
    >>> schema = FeatureSchema((Feature("income", low=0, high=100), Feature("owns", "flag")))
    >>> people = schema.people([{"income": 20, "owns": 0}, {"income": 70, "owns": 1}])
    >>> WeightedL1({"income": 0.5, "owns": 0.25})(people).tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """

    name = "weighted-l1"

    weights: tuple[tuple[str, float], ...]  # pairs, as the order of a sum is part of its rounding
    scales: tuple[tuple[str, float], ...]

    def __init__(self, weights: ByName, scales: ByName | None = None) -> None:
        weight_by_name = by_name("WeightedL1.weights", weights)
        scale_by_name = by_name("WeightedL1.scales", {} if scales is None else scales)
        remedy, rule = "Weigh a feature.", "must be of features with a weight"
        check.require(bool(weight_by_name), "WeightedL1.weights", "must not be empty", {}, remedy)
        for name in scale_by_name:
            check.require(name in weight_by_name, "WeightedL1.scales", rule, name, "Weigh it too.")
        self._set("weights", weight_by_name, "[)")
        self._set("scales", scale_by_name, "()")

    def _set(self, part: str, numbers: Mapping[str, Any], ends: str) -> None:
        """Set a field to numbers from 0 to infinity by name; ``ends`` says if 0 is one."""
        owner, remedy = f"WeightedL1.{part}", "Correct the number."
        pairs = [
            (name, check.within(f"{owner}[{name!r}]", number, 0, math.inf, remedy, ends))
            for name, number in numbers.items()
        ]
        check.assign(self, **{part: tuple(pairs)})

    def between(self, sides: Sides) -> FloatArray:
        scales = dict(self.scales)
        total, weighted = np.zeros(sides.shape), np.empty(sides.shape)
        for name, weight in self.weights:
            np.multiply(weight, difference(sides, name, scales.get(name)), out=weighted)
            np.add(total, weighted, out=total)
        return np.minimum(1.0, total, out=total)

    def seeing(self, features: Sequence[str]) -> WeightedL1 | None:
        """The same metric without the other features; None if it has no weight then."""
        weights = {name: weight for name, weight in self.weights if name in features}
        scales = {name: scale for name, scale in self.scales if name in features}
        return WeightedL1(weights, scales) if weights else None


@dataclass(frozen=True, init=False)
class Mahalanobis(BySides):
    """d(x, x′) = min(1, √((x−x′)ᵀ M (x−x′)) / scale), M symmetric and positive semidefinite.

    A feature that only one of the two lacks makes the distance 1; one that both lack counts as
    equal. Categories have no differences to square and are refused.

    >>> from likewise.people import Feature, FeatureSchema
    >>> people = FeatureSchema((Feature("a"), Feature("b"))).people([[0, 0], [3, 4]])
    >>> Mahalanobis(("a", "b"), [[1, 0], [0, 1]], scale=10)(people).tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """

    name = "mahalanobis"

    features: tuple[str, ...]
    matrix: tuple[tuple[float, ...], ...]
    scale: float

    def __init__(
        self, features: Iterable[str], matrix: Sequence[Sequence[float]] | FloatArray, scale: float
    ) -> None:
        listed_names = check.names("Mahalanobis.features", features, "Write ['income'].")
        n, remedy = len(listed_names), "Order rows and columns as the features."
        listed = check.items("Mahalanobis.matrix", matrix, remedy)
        rows = tuple(
            check.reals(f"Mahalanobis.matrix[{i}]", row, remedy) for i, row in enumerate(listed)
        )
        fits = [len(row) for row in rows] == [n] * n
        rule = f"must be {n} by {n}, a row and a column for each feature"
        check.require(fits, "Mahalanobis.matrix", rule, matrix, remedy)
        number = check.positive("Mahalanobis.scale", scale, "Correct the number.")
        check.assign(self, features=listed_names, matrix=rows, scale=number)
        self._check_matrix()

    def _check_matrix(self) -> None:
        """Check that it is symmetric, with pivots of at least 0 up to rounding in elimination."""
        n, a = len(self.features), [list(row) for row in self.matrix]
        for i in range(n):
            for j in range(n):
                fits = math.isfinite(a[i][j]) and a[i][j] == a[j][i]
                rule = f"must be finite and equal to matrix[{j}][{i}] = {a[j][i]!r}"
                remedy = "Distances must be symmetric; use (M + Mᵀ)/2."
                check.require(fits, f"Mahalanobis.matrix[{i}][{j}]", rule, a[i][j], remedy)
        slack = ROUNDING * max(abs(a[i][i]) for i in range(n))
        for i in range(n):
            pivot = a[i][i] + slack
            fits = not (pivot < 0 or (pivot == 0 and any(a[i])))
            rule = f"must be positive semidefinite, and is not in {self.features[i]!r}"
            remedy = "A squared distance below 0 has no root; use AᵀA, or an inverse covariance."
            check.require(fits, "Mahalanobis.matrix", rule, self.matrix, remedy)
            for j in range(i + 1, n):
                factor = a[j][i] / pivot if pivot else 0.0
                for c in range(i + 1, n):
                    a[j][c] -= factor * a[i][c]

    def between(self, sides: Sides) -> FloatArray:
        for name in self.features:
            fits, rule = sides.left.schema[name].kind != "category", "must not be categories"
            check.require(fits, "Mahalanobis.features", rule, name, "Use WeightedL1.")
        form = np.zeros(sides.shape)
        with np.errstate(over="ignore", invalid="ignore"):
            columns = [sides.apart(methodcaller("column", name)) for name in self.features]
            for row, (left, _) in zip(self.matrix, columns, strict=True):
                for entry, (right, _) in zip(row, columns, strict=True):
                    if entry:
                        form = form + entry * (left * right)
            # beyond the floats (inf − inf): as far apart as can be
            form = np.where(np.isnan(form), np.inf, form)
            total = np.minimum(1.0, np.sqrt(np.maximum(0.0, form)) / self.scale)
        for _, uneven in columns:
            total = full_where(uneven, total)
        return total


@dataclass(frozen=True, init=False)
class Masked(BySides):
    """A distance that sees only some features, as if everybody lacked the others.

    As two missing values do not differ, a hidden feature adds nothing; a function of two people
    gets ``None``.

    >>> from likewise.people import Feature, FeatureSchema
    >>> schema = FeatureSchema((Feature("income", low=0, high=100), Feature("owns", "flag")))
    >>> people = schema.people([{"income": 20, "owns": 0}, {"income": 70, "owns": 1}])
    >>> Masked(WeightedL1({"income": 0.5, "owns": 0.25}), ["income"])(people).tolist()
    [[0.0, 0.25], [0.25, 0.0]]
    """

    name = "masked"

    base: Distance
    features: tuple[str, ...]

    def __init__(self, base: Distance, features: Iterable[str]) -> None:
        remedy = "Such as WeightedL1({'income': 0.5})."
        check.require(callable(base), "Masked.base", "must be a distance", base, remedy)
        seen = check.names("Masked.features", features, "Write ['income'].")
        check.assign(self, base=base, features=seen)

    @cached_property
    def _bare(self) -> WeightedL1 | None:
        """The base without the hidden features, if a metric can do without them."""
        return self.base.seeing(self.features) if type(self.base) is WeightedL1 else None

    def between(self, sides: Sides) -> FloatArray:
        places = [sides.left.schema.place(name) for name in self.features]
        if self._bare is not None:
            return self._bare.between(sides)
        left = self._masked(sides.left, places)
        right = left if sides.right is sides.left else self._masked(sides.right, places)
        masked, measure = Sides(left, right, sides.paired), by_blocks(self.base)
        return joined(self.base, masked) if measure is None else measure(masked)

    def _masked(self, people: People, places: list[int]) -> People:
        x = np.full_like(people.x, math.nan)
        x[:, places] = people.x[:, places]
        return People.unchecked(people.ids, x, people.schema, people.origin)

    def spec(self) -> dict[str, Any]:
        return {**super().spec(), "base": METRICS.write(self.base)}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Self:
        values = cls.read_parameters(spec)
        return cls(METRICS.read(values["base"]), values["features"])


@dataclass(frozen=True, init=False)
class Ratings(BySides):
    """d(x, x′) = |r(x) − r(x′)| / (high − low): people rated alike should be treated likewise.

    Ratings are given by person, or are a column of the features.

    >>> from likewise.people import Feature, FeatureSchema
    >>> people = FeatureSchema((Feature("income"),)).people([[20.0], [70.0]], ids=["ann", "bo"])
    >>> Ratings({"ann": 2, "bo": 5}, low=0, high=10)(people).tolist()
    [[0.0, 0.3], [0.3, 0.0]]
    """

    name = "ratings"

    ratings: tuple[tuple[str, float], ...] | str
    low: float
    high: float

    def __init__(self, ratings: ByName | str, low: float = 0.0, high: float = 1.0) -> None:
        least, best = (
            check.real(f"Ratings.{name}", bound, "It is the least or the best rating.")
            for name, bound in (("low", low), ("high", high))
        )
        check.assign(self, low=least, high=best)
        fits = -math.inf < least < best < math.inf
        rule = f"must be below high = {high!r}, both finite"
        check.require(fits, "Ratings.low", rule, low, "Swap them?")
        if not isinstance(ratings, str):
            named = by_name("Ratings.ratings", ratings)
            ratings = tuple((p, self._checked(r, p)) for p, r in named.items())
        check.assign(self, ratings=ratings)

    def _checked(self, rating: object, person: str) -> float:
        remedy = "Correct the rating, or low and high."
        return check.within(f"Ratings of {person!r}", rating, self.low, self.high, remedy)

    def between(self, sides: Sides) -> FloatArray:
        return scaled(sides, self._column, self.high - self.low)

    def _column(self, people: People) -> FloatArray:
        if isinstance(self.ratings, str):
            column = people.column(self.ratings)
            outside = (column < self.low) | (column > self.high)
            for place in np.flatnonzero(outside).tolist():
                self._checked(float(column[place]), people.ids[place])
            return column
        rating_by_person = dict(self.ratings)
        if unrated := [person for person in people.ids if person not in rating_by_person]:
            raise AuditError(
                f"Ratings must cover everybody; {unrated[0]!r} has none. Rate them, or use a "
                f"column of ratings, which may have missing values."
            )
        return np.array([rating_by_person[person] for person in people.ids], dtype=np.float64)


def _value(feature: Feature, number: float) -> Value:
    """A decoded value: the text of a level, a flag, a number, or None if missing."""
    if math.isnan(number):
        return None
    if feature.kind == "category":
        return feature.levels[int(number)]
    if feature.kind == "flag":
        return bool(number)
    return int(number) if feature.kind == "integer" else number


def _rows(people: People) -> list[dict[str, Value]]:
    features = people.schema.features
    return [
        {f.name: _value(f, v) for f, v in zip(features, x, strict=True)} for x in people.x.tolist()
    ]


@dataclass(frozen=True)
class _OfTwo(_Sided):
    """A function of two people or sets of columns; subclasses define how it is called."""

    function: Callable[[Mapping[str, Any], Mapping[str, Any]], Any]
    two: ClassVar[str]

    def __post_init__(self) -> None:
        where, rule = f"{type(self).__name__}.function", f"must be a function of {self.two}"
        fits = callable(self.function)
        check.require(fits, where, rule, self.function, "Write lambda one, other: ….")


def _larger(forward: FloatArray, backward: FloatArray, sides: Sides) -> FloatArray:
    """The larger of the distances in both orders, which must be the same up to rounding."""
    uneven = np.argwhere(np.abs(forward - backward) > ROUNDING)
    if len(uneven):
        place = tuple(uneven[0].tolist())
        pair = (sides.left.ids[place[0]], sides.right.ids[place[-1]])
        raise AuditError(
            f"A distance must be symmetric; the function says {float(forward[place])!r} for {pair} "
            f"and {float(backward[place])!r} the other way round. Take their mean, or the larger."
        )
    return np.maximum(forward, backward)


@dataclass(frozen=True)
class FromFunction(_OfTwo):
    """Any function of two people, each a mapping from feature to value.

    It is called in both orders; results must be within [0, 1] and the same up to 1e-9 (the larger
    counts). Nobody is compared with themselves. Missing values are ``None``. To give the same bits
    everywhere the function should use only + − · / and roots.

    >>> from likewise.people import Feature, FeatureSchema
    >>> people = FeatureSchema((Feature("age", "integer"),)).people([[20], [70]])
    >>> FromFunction(lambda a, b: 0.0 if a["age"] == b["age"] else 0.5)(people).tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """

    two = "two people"

    def between(self, sides: Sides) -> FloatArray:
        left, right = _rows(sides.left), _rows(sides.right)
        forward, backward = np.zeros(sides.shape), np.zeros(sides.shape)
        same = sides.right is sides.left and not sides.paired
        for place in np.ndindex(sides.shape):
            i, j = place[0], place[-1]
            pair = sides.left.ids[i], sides.right.ids[j]
            if pair[0] != pair[1] and not (same and i > j):
                forward[place] = self._ask(left[i], right[j], pair)
                backward[place] = self._ask(right[j], left[i], pair[::-1])
        d = _larger(forward, backward, sides)
        return np.maximum(d, d.T) if same else d

    def _ask(
        self, first: Mapping[str, Any], second: Mapping[str, Any], pair: tuple[str, ...]
    ) -> float:
        failure = f"The function of two people failed on {pair}"
        with foreign_code(AuditError, failure, "Repair it; a missing value is None."):
            value: object = self.function(first, second)
        if not isinstance(value, int | float | np.integer | np.floating) or not 0 <= value <= 1:
            raise AuditError(
                f"A distance must be a number within [0, 1]; the function says {shown(value)} for "
                f"({pair[0]!r}, {pair[1]!r}). Scale it, or cut it off at 1."
            )
        return float(value)


@dataclass(frozen=True)
class FromColumns(_OfTwo):
    """Any function of two sets of columns, called with a block of pairs at a time.

    Each set is a mapping from feature to an array of numbers, texts of levels, or truth values. The
    arrays broadcast: ``one["age"] - other["age"]`` is the difference of every pair of the block.
    Results must be within [0, 1] and the same in both orders up to 1e-9 (the larger counts). A
    missing value is NaN, or ``""`` for a category.

    >>> from likewise.people import Feature, FeatureSchema
    >>> people = FeatureSchema((Feature("age", "integer"),)).people([[20], [70]])
    >>> FromColumns(lambda a, b: np.minimum(1, abs(a["age"] - b["age"]) / 100))(people).tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """

    two = "two sets of columns"

    def between(self, sides: Sides) -> FloatArray:
        spread = [
            (name, sides.spread(_texts(sides.left, name), _texts(sides.right, name)))
            for name in sides.left.schema.names
        ]
        first = {name: left for name, (left, _) in spread}
        second = {name: right for name, (_, right) in spread}
        forward = self._ask(first, second, sides.shape)
        return _larger(forward, self._ask(second, first, sides.shape), sides)

    def _ask(
        self, first: Mapping[str, Any], second: Mapping[str, Any], shape: tuple[int, ...]
    ) -> FloatArray:
        rule = f"It gets arrays that broadcast to the shape {shape}, and returns such an array."
        with foreign_code(AuditError, f"The function of {self.two} failed", rule):
            distances = np.asarray(self.function(first, second))
            return np.broadcast_to(distances, shape).astype(np.float64)


def _texts(people: People, name: str) -> Any:
    """A decoded column: texts of levels, truth values or numbers."""
    feature, column = people.schema[name], people.column(name)
    if feature.kind == "category":
        levels = np.array([*feature.levels, ""])
        return levels[np.where(np.isnan(column), len(levels) - 1, column).astype(np.int64)]
    return column.astype(np.bool_) if feature.kind == "flag" and feature.missing is None else column
