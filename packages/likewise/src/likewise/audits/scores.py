"""Scores, decisions and labels of some people, as an audit takes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np

from likewise.audits.groups import GroupCounts, Traits
from likewise.errors import AuditError, PeopleError, shown
from likewise.numerics.fixed_point import ONE, FloatArray, IntArray
from likewise.people import People, cells, features
from likewise.people.columns import Values, column_values, is_missing


@dataclass(frozen=True, eq=False)
class Rows:
    """People with their scores, labels and groups; of kinds also how many each stands for."""

    people: People
    chances: FloatArray
    labels: IntArray | None = None
    traits: Traits = field(default_factory=dict)
    counts: IntArray | None = None

    @cached_property
    def units(self) -> IntArray:
        return score_units(self.chances)

    def take(self, places: IntArray) -> Rows:
        return Rows(
            self.people.take(places), self.chances[places],
            None if self.labels is None else self.labels[places],
            {name: [values[p] for p in places.tolist()] for name, values in self.traits.items()},
            None if self.counts is None else self.counts[places],
        )  # fmt: skip

    @property
    def sizes(self) -> IntArray:
        """How many people each stands for."""
        return np.ones(len(self.people), dtype=np.int64) if self.counts is None else self.counts

    @property
    def backend(self) -> str | None:
        """The kind of frame that people came as."""
        return None if self.people.origin is None else self.people.origin.backend

    def groups_of(self, place: int) -> dict[str, str]:
        return {name: values[place] for name, values in self.traits.items()}

    def by_id(self) -> Rows:
        """The same people in the order of their ids, shorter ones first."""
        ids = self.people.ids
        order = sorted(range(len(ids)), key=lambda place: (len(ids[place]), ids[place]))
        return self.take(np.array(order, dtype=np.int64))

    @property
    def groups(self) -> GroupCounts:
        """How many people are in each group, and their scores."""
        return GroupCounts.of(self.traits, self.chances, self.labels, self.sizes)


def read_scores(people: People, scores: Any, favourable: Any = None) -> FloatArray:
    """Chances within [0, 1]; decisions are 0 or 1, truth values, or favourable or not."""
    values = column_values("Scores", scores, people)
    _refuse_missing("The score", values, people)
    floats = values.dtype.kind == "f"  # never decisions: 0.0 is a chance of a favourable one
    if not floats and (decisions := _favourable(values, favourable)) is not None:
        return decisions.astype(np.float64)
    numbers = _numbers("Scores", values, "within [0, 1]")
    if values.dtype.kind in "biu" and (odd := numbers[~np.isin(numbers, (0, 1))]).size:
        raise AuditError(
            f"Integers are read as decisions, 0 or 1; got {int(odd[0])}. Give scores as "
            f"numbers within [0, 1]."
        )
    for place in np.flatnonzero(~((numbers >= 0) & (numbers <= 1))).tolist():
        raise AuditError(
            f"A score must be within [0, 1]; got {float(numbers[place])!r} for "
            f"{people.ids[place]!r}. It is the probability of a favourable decision: scale it."
        )
    return numbers


def score_units(chances: FloatArray) -> IntArray:
    """Scores as integers of 2^-20, rounded."""
    return np.rint(chances * ONE).astype(np.int64)


def read_labels(people: People, labels: Any, favourable: Any = None) -> IntArray:
    """Labels, 0 or 1 for everybody; of two other values the favourable one is 1."""
    values = column_values("Labels", labels, people)
    _refuse_missing("The label", values, people)
    if (outcomes := _favourable(values, favourable)) is not None:
        return outcomes.astype(np.int64)
    numbers = _numbers("Labels", values, "0 or 1")
    if (odd := numbers[~np.isin(numbers, (0, 1))]).size:
        two = len(set(numbers.tolist())) == 2 and not (odd % 1).any()
        raise PeopleError(
            f"Labels must be 0 or 1, one for everybody; got {float(odd[0]):g}. "
            + (_remedy(values) if two else "Leave people without a label out.")
        )
    return numbers.astype(np.int64)


def _refuse_missing(noun: str, values: Values, people: People) -> None:
    if values.dtype.kind in "biu":
        return
    floats = values.dtype.kind == "f"
    gaps = np.isnan(values) if floats else np.array([is_gap(value) for value in values])
    for place in np.flatnonzero(gaps).tolist():
        raise AuditError(
            f"{noun} of {people.ids[place]!r} (row {place + 1}) is missing. Leave out people "
            f"without one, or find it."
        )


def is_gap(value: Any) -> bool:
    """Test for a missing score or label, or a text that marks one."""
    return cells.is_mark(value.strip()) if isinstance(value, str) else is_missing(value)


def _named(favourable: Any) -> list[Any]:
    listed = isinstance(favourable, Sequence) and not isinstance(favourable, str | bytes)
    return list(favourable) if listed else [] if favourable is None else [favourable]


def notes_on_unused(favourable: Any, people: People, scores: Any, labels: Any) -> list[str]:
    """Notes on favourable values that neither the scores nor the labels have, such as a typo."""
    columns = [("Scores", scores), ("Labels", labels)]
    named = _named(favourable)
    read = [column_values(n, c, people) for n, c in columns if named and c is not None]
    return [
        f"{shown(value)} was named as favourable; neither scores nor labels have it."
        for value in named
        if not any(value in _different(values) for values in read)
    ]


def _favourable(values: Values, favourable: Any) -> Values | None:
    """Test everybody for the favourable value; None where the column has none that was named."""
    named = favourable_among(_different(values) if _named(favourable) else [], favourable)
    return np.array([value == named[0] for value in values.tolist()]) if named else None


def favourable_among(different: Sequence[Any], favourable: Any) -> list[Any]:
    """The favourable one of the different values of a column; none where none was named."""
    present = [value for value in _named(favourable) if value in different]
    chances = any(isinstance(value, float | Decimal) and value % 1 for value in different)
    if not present or chances:  # 0 and 1 may be among chances
        return []
    if same := cells.alike(value for value in different if isinstance(value, str)):
        raise AuditError(f"Values may be one: {', '.join(map(shown, same))}. Write them alike.")
    if len(different) > 2:
        raise AuditError(
            f"favourable is for a column of two values; got {len(different)} of them, such as "
            f"{', '.join(shown(value) for value in different[:3])}. Join them into two."
        )
    if len(present) > 1:
        raise AuditError(
            f"favourable must be one of a column's two values; got both, {shown(present)}."
        )
    return present


def _numbers(title: str, values: Values, rule: str) -> FloatArray:
    """Numbers of any type as floats; what is no number, or truth values among them, is refused."""
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    listed = values.tolist()
    truths = sum(isinstance(value, bool | np.bool_) for value in listed)
    numbers = [features.as_number(value) for value in listed]
    odd = [value for value, number in zip(listed, numbers, strict=True) if number is None]
    if not odd and truths in (0, len(listed)):
        return np.array(numbers, dtype=np.float64)
    if truths:
        raise AuditError(f"{title} must not mix truth values and numbers. Give one or the other.")
    raise AuditError(
        f"{title} must be numbers {rule}; got {shown(odd[0])}. {_remedy(values)}".rstrip()
    )


def _different(values: Values) -> list[Any]:
    """The different values, in the order of their first appearance."""
    try:
        return list(dict.fromkeys(values.tolist()))
    except TypeError as error:
        raise AuditError(f"Values must be numbers or text; got {shown(values[0])}.") from error


def _remedy(values: Values) -> str:
    different = _different(values)
    if len(different) != 2:
        return "Read text as numbers first: float(…)." if isinstance(different[0], str) else ""
    low, high = sorted(map(shown, different))
    return f"Of two values, {low} and {high}, say which is favourable: favourable={low}, or {high}."
