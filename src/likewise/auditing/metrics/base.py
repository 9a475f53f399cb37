"""Distances between people: what an auditor who measures would measure.

The paper asks of d: X × X → [0, 1] only that it be symmetric (footnote to definition "Fairness
violation"); it need not be a metric. See
:mod:`likewise.auditing.metrics.differences` for missing values and for how the results are the
same on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from likewise.auditing.metrics.differences import (
    checked_features,
    checked_number,
    difference,
    one_missing,
    signed_difference,
)
from likewise.errors import ParameterError
from likewise.fixed_point import FloatArray
from likewise.schema import People

__all__ = ["Mahalanobis", "Masked", "Metric", "WeightedL1"]

_ROUNDING = 1e-9


class Metric(Protocol):
    """The distances of some people from each other: a symmetric array (k, k) within [0, 1]."""

    def __call__(self, people: People, /) -> FloatArray:
        """The distances of all pairs."""


@dataclass(frozen=True, init=False)
class WeightedL1:
    """d(x, x′) = min(1, Σ_f w_f · min(1, |x_f − x′_f| / scale_f)).

    Weights are at least 0. Where they add up to at most 1 the outer min does nothing; heavier
    ones make a more lenient auditor, for whom enough differences are a full one. Scales are by
    default the widths of the bounds in the schema.

    >>> from likewise.schema import Feature, FeatureSchema
    >>> schema = FeatureSchema((Feature("income", low=0, high=100), Feature("owns", "flag")))
    >>> people = schema.people([{"income": 20, "owns": 0}, {"income": 70, "owns": 1}])
    >>> WeightedL1({"income": 0.5, "owns": 0.25})(people).tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """

    weights: tuple[tuple[str, float], ...]
    scales: tuple[tuple[str, float], ...]

    def __init__(
        self, weights: Mapping[str, float], scales: Mapping[str, float] | None = None
    ) -> None:
        given = scales or {}
        if not weights:
            raise ParameterError("WeightedL1.weights", "must not be empty", {}, "Weigh a feature.")
        if idle := [name for name in given if name not in weights]:
            raise ParameterError(
                "WeightedL1.scales", "must be of features with a weight", idle[0], "Weigh it too."
            )
        for field, numbers in (("weights", weights), ("scales", given)):
            checked = tuple(
                (f, checked_number(number, f"WeightedL1.{field}[{f!r}]", field == "scales"))
                for f, number in numbers.items()
            )
            object.__setattr__(self, field, checked)

    def __call__(self, people: People) -> FloatArray:
        """The distances of all pairs."""
        scales = dict(self.scales)
        total = np.zeros((len(people), len(people)))
        for name, weight in self.weights:
            total = total + weight * difference(people, name, scales.get(name))
        return np.minimum(1.0, total)


@dataclass(frozen=True, init=False)
class Mahalanobis:
    """d(x, x′) = min(1, √((x−x′)ᵀ M (x−x′)) / scale), M symmetric and positive semidefinite.

    A feature that only one of the two lacks makes the distance 1; one that both lack counts as
    equal. Categories have no differences to square and are refused.

    >>> from likewise.schema import Feature, FeatureSchema
    >>> people = FeatureSchema((Feature("a"), Feature("b"))).people([[0, 0], [3, 4]])
    >>> Mahalanobis(("a", "b"), [[1, 0], [0, 1]], scale=10)(people).tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """

    features: tuple[str, ...]
    matrix: tuple[tuple[float, ...], ...]
    scale: float

    def __init__(
        self, features: Iterable[str], matrix: Sequence[Sequence[float]] | FloatArray, scale: float
    ) -> None:
        object.__setattr__(self, "features", checked_features(features, "Mahalanobis.features"))
        object.__setattr__(self, "scale", checked_number(scale, "Mahalanobis.scale", positive=True))
        n, entries = len(self.features), np.array(matrix, dtype=np.float64)
        if entries.shape != (n, n):
            raise ParameterError(
                "Mahalanobis.matrix",
                f"must be {n} by {n}, a row and a column for each feature",
                matrix,
                "Order rows and columns as the features.",
            )
        object.__setattr__(self, "matrix", tuple(map(tuple, entries.tolist())))
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

    def __call__(self, people: People) -> FloatArray:
        """The distances of all pairs."""
        for name in self.features:
            if people.schema[name].kind == "category":
                raise ParameterError(
                    "Mahalanobis.features", "must not be categories", name, "Use WeightedL1."
                )
        deltas = [signed_difference(people.column(name)) for name in self.features]
        form = np.zeros((len(people), len(people)))
        with np.errstate(over="ignore", invalid="ignore"):
            for row, left in zip(self.matrix, deltas, strict=True):
                for entry, right in zip(row, deltas, strict=True):
                    if entry:
                        form = form + entry * (left * right)
            # beyond the floats (inf − inf): as far apart as can be
            form = np.where(np.isnan(form), np.inf, form)
            total = np.minimum(1.0, np.sqrt(np.maximum(0.0, form)) / self.scale)
        for name in self.features:
            total = np.maximum(total, one_missing(people.column(name)))
        return total


@dataclass(frozen=True, init=False)
class Masked:
    """A distance that sees some features only; to it, everybody lacks the others.

    As two missing values do not differ, a hidden feature adds nothing to any distance; a function
    of two people sees ``None``.

    >>> from likewise.schema import Feature, FeatureSchema
    >>> schema = FeatureSchema((Feature("income", low=0, high=100), Feature("owns", "flag")))
    >>> people = schema.people([{"income": 20, "owns": 0}, {"income": 70, "owns": 1}])
    >>> Masked(WeightedL1({"income": 0.5, "owns": 0.25}), ["income"])(people).tolist()
    [[0.0, 0.25], [0.25, 0.0]]
    """

    base: Metric
    features: tuple[str, ...]

    def __init__(self, base: Metric, features: Iterable[str]) -> None:
        object.__setattr__(self, "base", base)
        object.__setattr__(self, "features", checked_features(features, "Masked.features"))

    def __call__(self, people: People) -> FloatArray:
        """The distances of all pairs."""
        seen = [people.schema.place(name) for name in self.features]
        x = np.full_like(people.x, math.nan)
        x[:, seen] = people.x[:, seen]
        return self.base(People(people.ids, x, people.schema))
