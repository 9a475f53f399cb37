"""Frames as an estimator meets them: columns by name, without bounds, and with gaps to fill."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.rows import is_table
from likewise.schema import Feature, FeatureSchema, People

__all__ = ["is_named_frame", "medians", "unbounded"]


def is_named_frame(rows: Any) -> bool:
    """Test for a frame with named columns; one with numbered columns is read as an array."""
    named = all(isinstance(name, str) for name in getattr(rows, "columns", (0,)))
    return is_table(rows) and named


def unbounded(feature: Feature) -> Feature:
    """The feature without bounds: rows to come may be beyond those of the first call."""
    return Feature(feature.name, feature.kind, levels=feature.levels, missing=feature.missing)


def medians(schema: FeatureSchema, people: People) -> tuple[tuple[str, float | None], ...]:
    """Values for missing ones, by feature: the median of those that are there; None for levels.

    >>> schema = FeatureSchema((Feature("years", missing="not stated"), Feature("age")))
    >>> medians(schema, schema.people([[1, 30], [None, 31], [5, 32]]))
    (('years', 3.0),)
    """
    found: list[tuple[str, float | None]] = []
    for feature in schema.features:
        if feature.missing is None:
            continue
        column = people.column(feature.name)
        there = column[~np.isnan(column)]
        middle = float(np.median(there)) if len(there) else 0.0
        found.append((feature.name, None if feature.kind == "category" else middle))
    return tuple(found)
