"""Common parts of classes over cells: one cost a cell, people in groups, and numbers in bands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from likewise.errors import ParameterError
from likewise.fixed_point import IntArray
from likewise.hypotheses.base import ExactWeights, HypothesisClass, Points
from likewise.schema import FeatureSchema, People
from likewise.validation import instance, items, reals, text

__all__ = ["Groups", "OverCells", "bands", "grouping"]


class OverCells(HypothesisClass, ExactWeights):
    """A class over a finite domain of cells: a point is a cell, and every cell separates."""

    def separating_points(self) -> Points:
        """Every cell, in order."""
        return np.arange(self.separators)

    def no_costs(self) -> IntArray:
        """One cost for every cell."""
        return np.zeros(self.separators, dtype=np.int64)

    def charge(self, costs: IntArray, points: Points, amounts: IntArray) -> IntArray:
        """Add each amount to its cell."""
        charged = costs.copy()
        np.add.at(charged, points, amounts)
        return charged


def grouping(owner: str, by: str | Sequence[str]) -> tuple[str, ...]:
    """The features that people are grouped by; one may be given by its name alone.

    >>> grouping("Segments", "purpose")
    ('purpose',)
    """
    listed = [by] if isinstance(by, str) else items(f"{owner}.by", by, "List features.")
    return tuple(text(f"{owner}.by", name, "Name a feature.") for name in listed)


@dataclass(frozen=True)
class Groups:
    """All combinations of levels of the features ``by``; ``owner`` is named in errors.

    >>> from likewise.schema import Feature
    >>> schema = FeatureSchema((Feature("car", "flag"), Feature("home", "flag")))
    >>> groups = Groups(schema, ("car", "home"), "Segments")
    >>> groups.count, groups.of(schema.people([[1, 0]])).tolist(), groups.names[2]
    (4, [2], ('yes', 'no'))
    """

    schema: FeatureSchema
    by: tuple[str, ...]
    owner: str

    def __post_init__(self) -> None:
        remedy = "Make one: FeatureSchema((Feature(…), …))."
        instance(f"{self.owner}.schema", self.schema, FeatureSchema, remedy)
        if len(set(self.by)) != len(self.by):
            raise ParameterError(
                f"{self.owner}.by", "must not name a feature twice", self.by, "Drop one."
            )
        for name in self.by:
            feature = self.schema[name]
            if feature.missing is not None or feature.kind not in ("category", "flag"):
                raise ParameterError(
                    f"{self.owner}.by",
                    "must name categories or flags that are never missing",
                    name,
                    "Give 'missing' a level of its own, or bands to a number.",
                )

    @cached_property
    def levels(self) -> tuple[tuple[str, ...], ...]:
        """The levels of every feature."""
        return tuple(self.schema[name].levels or ("no", "yes") for name in self.by)

    @cached_property
    def count(self) -> int:
        """How many groups there are."""
        return math.prod(len(levels) for levels in self.levels)

    @property
    def names(self) -> list[tuple[str, ...]]:
        """The levels that make each group, in order."""
        return list(product(*self.levels))

    def of(self, people: People) -> IntArray:
        """Everybody's group."""
        group = np.zeros(len(people), dtype=np.int64)
        for name, levels in zip(self.by, self.levels, strict=True):
            group = group * len(levels) + people.column(name).astype(np.int64)
        return group


def bands(
    schema: FeatureSchema, name: str, cuts: Sequence[float], parameters: tuple[str, str]
) -> tuple[float, ...]:
    """The cuts that divide a number into bands; ``parameters`` are what errors call the two.

    >>> from likewise.schema import Feature
    >>> bands(FeatureSchema((Feature("score"),)), "score", [1, 2], ("score", "cuts"))
    (1.0, 2.0)
    """
    feature = schema[name]
    if feature.missing is not None or feature.kind == "category":
        raise ParameterError(
            parameters[0],
            "must be a number that is never missing",
            name,
            "Fill missing values before they come here, or put a category into by.",
        )
    found = reals(parameters[1], cuts, "List them.")
    if not np.isfinite(found).all() or sorted(set(found)) != list(found):
        raise ParameterError(parameters[1], "must increase and be finite", found, "Sort them.")
    return found
