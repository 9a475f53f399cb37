"""The contract of a metric, and metrics as JSON.

The paper asks of d: X × X → [0, 1] only that it be symmetric (footnote to definition "Fairness
violation"); it need not be a metric. See :mod:`likewise.auditing.metrics.differences` for missing
values and for how the results are the same on every machine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from likewise.auditing.metrics.sides import Sides, joined
from likewise.auditing.specs import Specified
from likewise.errors import AuditError, shown
from likewise.fixed_point import FloatArray
from likewise.registry import METRICS
from likewise.schema import People

Distance = Callable[[People], FloatArray]


class Metric(Specified, ABC):
    """A distance between people that can be written down: a symmetric array (k, k) within [0, 1].

    A subclass is a frozen dataclass of its parameters, which it checks when it is made, and is
    registered under its ``name`` (:data:`likewise.registry.METRICS`), with which its :meth:`spec`
    begins, so that panels can be files. It is a function of the people's features alone; people in
    another order have the same distances. A plain function of people is a distance too, but cannot
    be written down. ``likewise.testing.check_metric`` checks all of that.

    >>> import numpy as np
    >>> from dataclasses import dataclass
    >>> from likewise.schema import Feature, FeatureSchema
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

    kind = "metric"

    @abstractmethod
    def __call__(self, people: People, /) -> FloatArray:
        """The distances of all pairs; the diagonal plays no part."""

    def between(self, sides: Sides) -> FloatArray:
        """The distances of the left to the right: a block of pairs, where there are many people.

        The same numbers as those of a call with everybody, which is the default. Override it in a
        metric that is to measure many pairs.
        """
        return joined(self, sides)

    def among(self, sides: Sides) -> FloatArray:
        """The distances of people among each other, both sides being the same.

        Override it in a metric that can reuse what other auditors have computed of these sides.
        """
        return self(sides.left)


class BySides(Metric):
    """A metric that is made of :meth:`between`, which a subclass gives."""

    def __call__(self, people: People, /) -> FloatArray:
        """The distances of all pairs."""
        return self.between(Sides.of(people))

    @abstractmethod
    def between(self, sides: Sides) -> FloatArray:
        """The distances of the left to the right."""

    def among(self, sides: Sides) -> FloatArray:
        """The same, unless a subclass has a call of its own."""
        return self.between(sides) if type(self).__call__ is BySides.__call__ else self(sides.left)


def metric_to_spec(metric: Distance) -> dict[str, Any]:
    """Write a metric as JSON, if it can be read back by its name.

    >>> from likewise.auditing import WeightedL1
    >>> metric_to_spec(WeightedL1({"income": 0.5}))
    {'metric': 'weighted-l1', 'weights': [['income', 0.5]], 'scales': []}
    """
    if not isinstance(metric, Metric):
        raise AuditError(
            f"{shown(metric)} cannot be written down, as no code is ever kept in a file. Make it a "
            f"subclass of likewise.auditing.Metric, and register that."
        )
    spec = metric.spec()
    METRICS.check_name(spec.get("metric"), type(metric))
    return spec


def metric_from_spec(spec: Mapping[str, Any]) -> Metric:
    """Read any metric from its JSON, by the name that it is registered under.

    >>> metric_from_spec({"metric": "ratings", "ratings": "interview", "low": 0, "high": 10})
    Ratings(ratings='interview', low=0.0, high=10.0)
    """
    example = '{"metric": "weighted-l1", "weights": {"income": 0.5}}'
    metric: Metric = METRICS.read("metric", spec, example)
    return metric
