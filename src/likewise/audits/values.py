"""Scores and labels as callers give them: only those that can be read in one way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.errors import AuditError, PeopleError, shown
from likewise.fixed_point import ONE, IntArray
from likewise.rows import is_table
from likewise.schema import People
from likewise.validation import as_array


def _values(people: People, values: Any, title: str) -> npt.NDArray[Any]:
    """A value for everybody, in their order: from an array, a list, a Series, or by id."""
    if isinstance(values, Mapping):
        if unknown := [name for name in values if name not in set(people.ids)]:
            raise PeopleError(f"{title} name {shown(unknown[0])}, who is not among the people.")
        if lacking := [name for name in people.ids if name not in values]:
            raise PeopleError(f"{title} lack {lacking[0]!r}. Give one for everybody.")
        values = [values[name] for name in people.ids]
    if is_table(values):
        if people.origin is not None:
            people.origin.check_series(values, title)
        if not hasattr(values, "to_numpy") or hasattr(values, "columns"):
            raise PeopleError(
                f"{title} must be one column; got a {type(values).__name__}. Take a column of it."
            )
        values = values.to_numpy()
    array = as_array(values)
    if array.dtype == object and array.ndim == 1:
        array = as_array(array.tolist())
    if array.shape != (len(people),):
        size = f"{len(array)}" if array.ndim == 1 else f"shape {array.shape}"
        hint = " For predict_proba take one column: [:, 1]." if array.ndim == 2 else ""
        raise PeopleError(
            f"{title} must be a list, one for each of the {len(people)} people; got {size}.{hint}"
        )
    return array


def score_units(people: People, scores: Any) -> IntArray:
    """Scores as integers of 2^-20, rounded; decisions are 0 or 1, or truth values.

    >>> from likewise.schema import Feature, FeatureSchema
    >>> people = FeatureSchema((Feature("a"),)).people([[1], [2]], ids=["ann", "bo"])
    >>> score_units(people, {"bo": 0.25, "ann": 1.0}).tolist()
    [1048576, 262144]
    """
    values = _values(people, scores, "Scores")
    if values.dtype.kind in "biu":
        odd = values[~np.isin(values, (0, 1))]
        if odd.size:
            raise AuditError(
                f"Integers are read as decisions, 0 or 1; got {int(odd[0])}. Give scores as "
                f"numbers within [0, 1]."
            )
        return values.astype(np.int64) * ONE
    if values.dtype.kind != "f":
        raise AuditError(f"Scores must be numbers within [0, 1]; got {values.dtype}.")
    for place in np.flatnonzero(np.isnan(values)).tolist():
        raise AuditError(
            f"The score of {people.ids[place]!r} (row {place + 1}) is missing. Leave out people "
            f"without a score, or compute it."
        )
    for place in np.flatnonzero(~((values >= 0) & (values <= 1))).tolist():
        raise AuditError(
            f"A score must be within [0, 1]; got {float(values[place])!r} for "
            f"{people.ids[place]!r}. It is the probability of a favourable decision: scale it."
        )
    return np.rint(values.astype(np.float64) * ONE).astype(np.int64)


def checked_labels(people: People, labels: Any) -> IntArray:
    """Labels, 0 or 1 for everybody."""
    values = _values(people, labels, "Labels")
    numeric = values.dtype.kind in "biuf"
    odd = values[~np.isin(values, (0, 1))] if numeric else values
    if odd.size or not numeric:
        raise PeopleError(
            f"Labels must be 0 or 1, one for everybody; got {shown(odd[:1].tolist())}. Leave "
            f"people without a label out."
        )
    return values.astype(np.int64)
