"""Scores and labels as callers give them: those that can be read in one way only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.auditing import Panel, WeightedL1
from likewise.errors import AuditError, PeopleError, shown
from likewise.fixed_point import ONE, IntArray
from likewise.rows import is_table
from likewise.schema import People
from likewise.validation import as_array

__all__ = ["checked_labels", "missing_values", "score_units"]


def _values(people: People, given: Any, what: str) -> npt.NDArray[Any]:
    """One value for everybody, in their order: from an array, a list, a Series, or by id."""
    if isinstance(given, Mapping):
        if unknown := [name for name in given if name not in set(people.ids)]:
            raise PeopleError(f"{what} name {shown(unknown[0])}, who is not among the people.")
        if lacking := [name for name in people.ids if name not in given]:
            raise PeopleError(f"{what} lack {lacking[0]!r}. Give one for everybody.")
        given = [given[name] for name in people.ids]
    if is_table(given):
        if people.origin is not None:
            people.origin.check_series(given, what)
        if not hasattr(given, "to_numpy") or hasattr(given, "columns"):
            raise PeopleError(
                f"{what} must be one column; got a {type(given).__name__}. Take a column of it."
            )
        given = given.to_numpy()
    values = as_array(given)
    if values.dtype == object and values.ndim == 1:
        values = as_array(values.tolist())
    if values.shape != (len(people),):
        got = f"{len(values)}" if values.ndim == 1 else f"shape {values.shape}"
        hint = " For predict_proba take one column: [:, 1]." if values.ndim == 2 else ""
        raise PeopleError(
            f"{what} must be a list, one for each of the {len(people)} people; got {got}.{hint}"
        )
    return values


def score_units(people: People, scores: Any) -> IntArray:
    """Scores as integers of 2^-20, rounded; decisions are 0 or 1, or truth values.

    >>> from likewise.schema import Feature, FeatureSchema
    >>> people = FeatureSchema((Feature("a"),)).people([[1], [2]], ids=["ann", "bo"])
    >>> score_units(people, {"bo": 0.25, "ann": 1.0}).tolist()
    [1048576, 262144]
    """
    values = _values(people, scores, "Scores")
    if values.dtype.kind == "b":
        return values.astype(np.int64) * ONE
    if values.dtype.kind in "iu":
        if not np.isin(values, (0, 1)).all():
            raise AuditError(
                f"Integers are read as decisions, 0 or 1; got "
                f"{int(values[~np.isin(values, (0, 1))][0])}. Give scores as numbers within "
                f"[0, 1]."
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
    if values.dtype.kind not in "biuf" or not np.isin(values, (0, 1)).all():
        odd = values[~np.isin(values, (0, 1))][:1] if values.dtype.kind in "biuf" else values[:1]
        raise PeopleError(
            f"Labels must be 0 or 1, one for everybody; got {shown(odd.tolist())}. Leave people "
            f"without a label out."
        )
    return values.astype(np.int64)


def missing_values(people: People, panel: Panel) -> list[str]:
    """Notes on missing values that an auditor weighs: such a difference is a whole one."""
    notes = []
    for auditor in panel.auditors:
        if not isinstance(auditor.distance, WeightedL1):
            continue
        for name, _ in auditor.distance.weights:
            lacking = int(np.isnan(people.column(name)).sum())
            if 0 < lacking < len(people):
                notes.append(
                    f"{lacking:,} of the people lack {name!r}. {auditor.name} finds them as far "
                    f"from those who have it as that feature can count."
                )
    return notes
