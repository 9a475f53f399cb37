"""Distances feature by feature: weighted differences, a quadratic form, and some features only."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from likewise.auditing.metrics.base import (
    BySides,
    Distance,
    Metric,
    metric_from_spec,
    metric_to_spec,
)
from likewise.auditing.metrics.differences import (
    by_name,
    checked_features,
    checked_number,
    difference,
    full_where_one_is_missing,
    signed_difference,
)
from likewise.auditing.metrics.sides import Sides, joined
from likewise.errors import ParameterError
from likewise.fixed_point import FloatArray
from likewise.schema import People
from likewise.validation import items, members, reals

_ROUNDING = 1e-9


@dataclass(frozen=True, init=False)
class WeightedL1(BySides):
    """d(x, x′) = min(1, Σ_f w_f · min(1, |x_f − x′_f| / scale_f)).

    Weights are at least 0. Where they add up to at most 1 the outer min does nothing; heavier
    ones make a more lenient auditor, for whom enough differences are a full one. Scales are by
    default the widths of the bounds in the schema. Two levels of a category differ wholly, by 1; so
    do a missing value and one that is there, while two missing ones do not differ.

    >>> from likewise.schema import Feature, FeatureSchema
    >>> schema = FeatureSchema((Feature("income", low=0, high=100), Feature("owns", "flag")))
    >>> people = schema.people([{"income": 20, "owns": 0}, {"income": 70, "owns": 1}])
    >>> WeightedL1({"income": 0.5, "owns": 0.25})(people).tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """

    name = "weighted-l1"

    weights: tuple[tuple[str, float], ...]  # pairs, as the order of a sum is part of its rounding
    scales: tuple[tuple[str, float], ...]

    def __init__(
        self,
        weights: Mapping[str, float] | Sequence[Sequence[Any]],
        scales: Mapping[str, float] | Sequence[Sequence[Any]] | None = None,
    ) -> None:
        weight_by_name = by_name("WeightedL1.weights", weights)
        scale_by_name = by_name("WeightedL1.scales", {} if scales is None else scales)
        if not weight_by_name:
            raise ParameterError("WeightedL1.weights", "must not be empty", {}, "Weigh a feature.")
        if idle := [name for name in scale_by_name if name not in weight_by_name]:
            raise ParameterError(
                "WeightedL1.scales", "must be of features with a weight", idle[0], "Weigh it too."
            )
        for field, numbers in (("weights", weight_by_name), ("scales", scale_by_name)):
            checked = tuple(
                (f, checked_number(number, f"WeightedL1.{field}[{f!r}]", field == "scales"))
                for f, number in numbers.items()
            )
            object.__setattr__(self, field, checked)

    def between(self, sides: Sides) -> FloatArray:
        """The distances of the left to the right."""
        scales = dict(self.scales)
        total, weighted = np.zeros(sides.shape), np.empty(sides.shape)
        for name, weight in self.weights:
            np.multiply(weight, difference(sides, name, scales.get(name)), out=weighted)
            np.add(total, weighted, out=total)
        return np.minimum(1.0, total, out=total)

    def seeing(self, features: Sequence[str]) -> WeightedL1 | None:
        """The same where everybody lacks all other features, which then add nothing; or none."""
        weights = {name: weight for name, weight in self.weights if name in features}
        scales = {name: scale for name, scale in self.scales if name in features}
        return WeightedL1(weights, scales) if weights else None


@dataclass(frozen=True, init=False)
class Mahalanobis(BySides):
    """d(x, x′) = min(1, √((x−x′)ᵀ M (x−x′)) / scale), M symmetric and positive semidefinite.

    A feature that only one of the two lacks makes the distance 1; one that both lack counts as
    equal. Categories have no differences to square and are refused.

    >>> from likewise.schema import Feature, FeatureSchema
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
        object.__setattr__(self, "features", checked_features(features, "Mahalanobis.features"))
        object.__setattr__(self, "scale", checked_number(scale, "Mahalanobis.scale", positive=True))
        n, remedy = len(self.features), "Order rows and columns as the features."
        listed = items("Mahalanobis.matrix", matrix, remedy)
        rows = tuple(reals(f"Mahalanobis.matrix[{i}]", row, remedy) for i, row in enumerate(listed))
        if len(rows) != n or any(len(row) != n for row in rows):
            raise ParameterError(
                "Mahalanobis.matrix", f"must be {n} by {n}, a row and a column for each feature",
                matrix, remedy,
            )  # fmt: skip
        object.__setattr__(self, "matrix", rows)
        self._check_matrix()

    def _check_matrix(self) -> None:
        """Symmetric, and every pivot of an elimination at least 0, up to rounding."""
        n, a = len(self.features), [list(row) for row in self.matrix]
        for i in range(n):
            for j in range(n):
                if not math.isfinite(a[i][j]) or a[i][j] != a[j][i]:
                    raise ParameterError(
                        f"Mahalanobis.matrix[{i}][{j}]",
                        f"must be finite and equal to matrix[{j}][{i}] = {a[j][i]!r}",
                        a[i][j],
                        "Distances must be symmetric; use (M + Mᵀ)/2.",
                    )
        slack = _ROUNDING * max(abs(a[i][i]) for i in range(n))
        for i in range(n):
            pivot = a[i][i] + slack
            if pivot < 0 or (pivot == 0 and any(a[i])):
                raise ParameterError(
                    "Mahalanobis.matrix",
                    f"must be positive semidefinite, and is not in {self.features[i]!r}",
                    self.matrix,
                    "A squared distance below 0 has no root; use AᵀA, or an inverse covariance.",
                )
            for j in range(i + 1, n):
                factor = a[j][i] / pivot if pivot else 0.0
                for c in range(i + 1, n):
                    a[j][c] -= factor * a[i][c]

    def between(self, sides: Sides) -> FloatArray:
        """The distances of the left to the right."""
        for name in self.features:
            if sides.left.schema[name].kind == "category":
                raise ParameterError(
                    "Mahalanobis.features", "must not be categories", name, "Use WeightedL1."
                )
        columns = [sides.columns(name) for name in self.features]
        complete = all(sides.complete(name) for name in self.features)
        form = np.zeros(sides.shape)
        with np.errstate(over="ignore", invalid="ignore"):
            deltas = [
                left - right if complete else signed_difference(left, right)
                for left, right in columns
            ]
            for row, left in zip(self.matrix, deltas, strict=True):
                for entry, right in zip(row, deltas, strict=True):
                    if entry:
                        form = form + entry * (left * right)
            # beyond the floats (inf − inf): as far apart as can be
            form = np.where(np.isnan(form), np.inf, form)
            total = np.minimum(1.0, np.sqrt(np.maximum(0.0, form)) / self.scale)
        for left, right in () if complete else columns:
            total = full_where_one_is_missing(total, left, right)
        return total


@dataclass(frozen=True, init=False)
class Masked(Metric):
    """A distance that sees some features only; to it, everybody lacks the others.

    As two missing values do not differ, a hidden feature adds nothing to any distance; a function
    of two people sees ``None``.

    >>> from likewise.schema import Feature, FeatureSchema
    >>> schema = FeatureSchema((Feature("income", low=0, high=100), Feature("owns", "flag")))
    >>> people = schema.people([{"income": 20, "owns": 0}, {"income": 70, "owns": 1}])
    >>> Masked(WeightedL1({"income": 0.5, "owns": 0.25}), ["income"])(people).tolist()
    [[0.0, 0.25], [0.25, 0.0]]
    """

    name = "masked"

    base: Distance
    features: tuple[str, ...]

    def __init__(self, base: Distance, features: Iterable[str]) -> None:
        if not callable(base):
            raise ParameterError(
                "Masked.base", "must be a distance", base, "Such as WeightedL1({'income': 0.5})."
            )
        object.__setattr__(self, "base", base)
        object.__setattr__(self, "features", checked_features(features, "Masked.features"))

    def __call__(self, people: People) -> FloatArray:
        """The distances of all pairs."""
        return self.base(self._masked(people))

    def among(self, sides: Sides) -> FloatArray:
        """Without the features that are hidden, where the metric behind can do without them."""
        if self._bare is None:
            return self(sides.left)
        return self._bare.between(sides)

    @cached_property
    def _bare(self) -> WeightedL1 | None:
        return self.base.seeing(self.features) if type(self.base) is WeightedL1 else None

    def between(self, sides: Sides) -> FloatArray:
        """The distances of the left to the right."""
        masked = Sides(self._masked(sides.left), self._masked(sides.right), sides.paired)
        return (
            self.base.between(masked)
            if isinstance(self.base, Metric)
            else joined(self.base, masked)
        )

    def _masked(self, people: People) -> People:
        places = [people.schema.place(name) for name in self.features]
        x = np.full_like(people.x, math.nan)
        x[:, places] = people.x[:, places]
        return people.with_values(x)

    def spec(self) -> dict[str, Any]:
        """The metric behind, and the features that it sees."""
        return {**super().spec(), "base": metric_to_spec(self.base)}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Self:
        """Read the metric from its JSON."""
        fields = members(cls.name, spec, (cls.kind, "base", "features"))
        return cls(metric_from_spec(fields["base"]), fields["features"])
