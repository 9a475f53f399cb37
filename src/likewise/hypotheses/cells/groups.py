"""Groups of people by the levels of some features, and numbers in bands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product

import numpy as np

from likewise.errors import ParameterError
from likewise.fixed_point import IntArray
from likewise.schema import FeatureSchema, People
from likewise.validation import instance, items, reals, text

# Classes that are played side by side; each needs draws of its own.
MOST_NESTED = 16


def grouping(owner: str, by: str | Sequence[str]) -> tuple[str, ...]:
    """The features that people are grouped by, from a list or a single name.

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
        """The number of groups."""
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
    """Check the cuts that divide a number into bands; errors name the two ``parameters``.

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
    levels = reals(parameters[1], cuts, "List them.")
    if not np.isfinite(levels).all() or sorted(set(levels)) != list(levels):
        raise ParameterError(parameters[1], "must increase and be finite", levels, "Sort them.")
    return levels


@dataclass(frozen=True)
class CoarserGroups:
    """Groups by some of the features only; costs are summed over the others."""

    groups: Groups
    keep: tuple[int, ...]
    cells: int

    @property
    def by(self) -> tuple[str, ...]:
        """The features that are left."""
        return tuple(self.groups.by[f] for f in self.keep)

    @cached_property
    def _shape(self) -> tuple[int, ...]:
        return tuple(len(levels) for levels in self.groups.levels)

    def costs(self, costs: IntArray) -> IntArray:
        """Costs of cells, summed over the features that are left out."""
        omitted = tuple(f for f in range(len(self._shape)) if f not in self.keep)
        return np.asarray(costs.reshape(*self._shape, self.cells).sum(axis=omitted).reshape(-1))

    def points(self, points: IntArray) -> IntArray:
        """The coarser group of each point, with its own cell."""
        places = np.unravel_index(points // self.cells, self._shape) if self._shape else ()
        group = np.zeros(len(points), dtype=np.int64)
        for f in self.keep:
            group = group * self._shape[f] + places[f]
        return group * self.cells + points % self.cells


def coarser_groups(groups: Groups, cells: int) -> tuple[CoarserGroups, ...]:
    """Groups by every subset of the features, or by the first ones where that would be too many.

    The fewest features come first, and all of them last. Features with one level do not count.
    """
    features = [f for f, levels in enumerate(groups.levels) if len(levels) > 1]
    subsets = [subset for n in range(len(features)) for subset in combinations(features, n)]
    if len(subsets) >= MOST_NESTED:
        subsets = [tuple(features[:n]) for n in range(min(len(features), MOST_NESTED - 1))]
    subsets.append(tuple(range(len(groups.levels))))
    return tuple(CoarserGroups(groups, subset, cells) for subset in subsets)
