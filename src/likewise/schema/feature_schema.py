"""The features of a person, in order; people are read, checked and made here."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.errors import ParameterError, PeopleError, shown
from likewise.features import Feature
from likewise.fixed_point import FloatArray
from likewise.rows import (
    checked_ids,
    is_numeric,
    is_table,
    listed_rows,
    refuse_table,
    row_values,
)
from likewise.schema.limits import Limits
from likewise.schema.people import People
from likewise.validation import choice, items

__all__ = ["FeatureSchema"]


def _listed_ids(ids: Sequence[str] | str | None) -> Sequence[str] | None:
    if isinstance(ids, str):
        raise PeopleError(
            f"Ids must be a list of text, one for each person; got {shown(ids)}. A name of a "
            f"column is for frames."
        )
    return ids


@dataclass(frozen=True)
class FeatureSchema:
    """The features of a person, in order.

    >>> schema = FeatureSchema((Feature("income", low=0), Feature("purpose", "category",
    ...                                                         levels=("car", "home"))))
    >>> people = schema.people([{"income": 30, "purpose": "home"}], ids=["ann"])
    >>> people.x.tolist()
    [[30.0, 1.0]]
    """

    features: tuple[Feature, ...]
    _places: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        listed = items("FeatureSchema.features", self.features, "List features: (Feature(…), …).")
        object.__setattr__(self, "features", tuple(listed))
        if not self.features:
            raise ParameterError("FeatureSchema.features", "must not be empty", (), "Add one.")
        if odd := [f for f in listed if not isinstance(f, Feature)]:
            raise ParameterError(
                "FeatureSchema.features", "must be features", odd[0], "Write Feature(name, …)."
            )
        object.__setattr__(self, "_places", {f.name: i for i, f in enumerate(self.features)})
        if len(self._places) != len(self.features):
            raise ParameterError(
                "FeatureSchema.features", "must have different names", self.names, ""
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple(f.name for f in self.features)

    def __len__(self) -> int:
        return len(self.features)

    def __getitem__(self, name: str) -> Feature:
        return self.features[self.place(name)]

    def place(self, name: str) -> int:
        """Which column a feature is."""
        return self._places[choice("feature", name, self._places, "Check the spelling.")]

    def people(
        self,
        rows: People | Iterable[Mapping[str, Any] | Sequence[Any]] | npt.ArrayLike | Any,
        ids: Sequence[str] | str | None = None,
        others: str = "refuse",
    ) -> People:
        """Check people given as mappings, as rows in the order of the schema or as a data frame.

        Categories are given by their levels. An array of numbers does not say which level is meant:
        where the schema has a category, it is for :meth:`encoded`. Without ``ids`` people are
        called ``p1``, ``p2``, …, in order.

        A frame (pandas, polars, Arrow) is read by column name; ``ids`` may name one of its columns.
        Columns that the schema does not have are refused, or left out with ``others="ignore"``. A
        single row or column of one (a Series) is refused; see :mod:`likewise.rows`.
        """
        if isinstance(rows, People):
            return self.encoded(rows, _listed_ids(ids))
        if is_table(rows) and (people := self._from_frame(rows, ids, others)) is not None:
            return people
        refuse_table(rows)
        ids = _listed_ids(ids)
        if is_numeric(rows):
            if categories := [f.name for f in self.features if f.kind == "category"]:
                raise PeopleError(
                    f"An array of numbers does not say which level of {categories[0]!r} is meant. "
                    f"If it holds the places of levels, say so: schema.encoded(array, ids=…). "
                    f"Otherwise give rows with the text of the levels."
                )
            return self.encoded(rows, ids)
        listed = listed_rows(rows)
        names = checked_ids(len(listed), ids)
        return People(names, self._read(listed, names, Feature.encode), self)

    def _from_frame(self, rows: Any, ids: Any, others: str) -> People | None:
        """People from a frame; None where it is none after all."""
        from likewise.frames import reading

        if (frame := reading.as_frame(rows)) is None:
            return None
        frame = reading.checked_frame(frame)
        names = reading.frame_ids(frame, ids)
        x = reading.frame_values(frame, self.features, names, others, ids)
        return People(names, x, self, reading.origin_of(frame))

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        ids: str | None = None,
        leave_out: Sequence[str] = (),
        label: str | None = None,
    ) -> FeatureSchema:
        """Propose a schema for a data frame: kinds, levels, bounds and missing values.

        It is a draft. ``print`` shows it as code to be edited: bounds are those of the data rounded
        outwards, and only those who know the data can say what else may come. Columns that look
        like identities or hold dates are left out, what looks like a protected trait or an outcome
        is named, each with a warning (:class:`~likewise.frames.proposal.SchemaAdvice`).

        Parameters
        ----------
        frame: of pandas, polars or Arrow.
        ids: the column of ids, which is no feature.
        leave_out: columns that are no features either, such as scores.
        label: the column of the outcome, which is what is predicted and so no feature.

        >>> import pandas as pd
        >>> frame = pd.DataFrame({"income": [31.5, 52.0, None], "purpose": ["car", "home", "car"],
        ...                       "repaid": [1, 0, 1]})
        >>> print(FeatureSchema.from_frame(frame, label="repaid"))
        FeatureSchema((
            Feature("income", "number", 30, 60, missing="not stated"),
            Feature("purpose", "category", levels=("car", "home")),
        ))
        """
        from likewise.frames.proposal import propose

        return cls(tuple(propose(frame, ids, leave_out, label)))

    def __str__(self) -> str:
        """The schema as Python code."""
        lines = "".join(f"    {feature.code()},\n" for feature in self.features)
        return f"FeatureSchema((\n{lines}))"

    def _repr_html_(self) -> str:
        from likewise.html import table

        rows = [(f.name, f.kind, f.range_text, f.missing or "", f.title) for f in self.features]
        return table("Schema", ("name", "kind", "values", "missing", "shown as"), rows)

    def encoded(
        self,
        rows: People | npt.ArrayLike | Sequence[Sequence[float | None]],
        ids: Sequence[str] | None = None,
    ) -> People:
        """Check people whose features are numbers already, in the order of the schema.

        A category is the place of its level, counted from 0; a missing value is NaN, or None.

        >>> schema = FeatureSchema((Feature("purpose", "category", levels=("car", "home")),))
        >>> schema.encoded([[1], [0]]).say(0)
        {'Purpose': 'home'}
        """
        if isinstance(rows, People):
            if rows.schema is not self and rows.schema.digest != self.digest:
                raise PeopleError(
                    f"These people have the features {', '.join(rows.schema.names)}, as another "
                    f"schema defines them; this one has {', '.join(self.names)}. Make them with it."
                )
            if ids is None:
                return rows
            return People(checked_ids(len(rows), ids), rows.x, self, rows.origin)
        listed = rows if is_numeric(rows) else listed_rows(rows)
        names = checked_ids(len(listed), ids)
        x = self._numbers(listed)
        if x is None or not self.admits(x):  # look again, so that an error names the person
            x = self._read(listed, names, Feature.checked)
        return People(names, x, self)

    def _read(
        self,
        rows: Iterable[Any],
        names: tuple[str, ...],
        read: Callable[[Feature, Any, str], float],
    ) -> FloatArray:
        """Read value after value; errors name the person and the feature."""
        x = np.empty((len(names), len(self)), dtype=np.float64)
        for i, (person, row) in enumerate(zip(names, rows, strict=True)):
            values = row_values(row, self.names, person)
            for j, (feature, value) in enumerate(zip(self.features, values, strict=True)):
                x[i, j] = read(feature, value, person)
        return x

    def _numbers(self, rows: npt.NDArray[Any] | list[Any]) -> FloatArray | None:
        """Rows of plain numbers as an array; None where they need a closer look."""
        if isinstance(rows, np.ndarray):
            if rows.ndim != 2 or rows.shape[1] != len(self) or not is_numeric(rows):
                return None
            return rows.astype(np.float64)
        # Exactly these: a subclass may have names of its own.
        if not all(type(row) in (list, tuple) and len(row) == len(self) for row in rows):
            return None
        if any(type(value) not in (float, int) for row in rows for value in row):
            return None
        try:
            return np.array(rows, dtype=np.float64).reshape(len(rows), len(self))
        except OverflowError:
            return None

    def admits(self, x: FloatArray) -> bool:
        """Test whether everything is within its limits; NaN only where it may be missing."""
        return self._limits.admit(x)

    @cached_property
    def _limits(self) -> Limits:
        return Limits.of(self.features)

    def spec(self) -> dict[str, Any]:
        """The schema as JSON."""
        return {"features": [f.spec() for f in self.features]}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> FeatureSchema:
        """Read a schema from its JSON."""
        if not isinstance(spec, Mapping) or set(spec) != {"features"}:
            raise ParameterError(
                "A schema", "must be an object with features", spec, 'Write {"features": […]}.'
            )
        listed = items("FeatureSchema.features", spec["features"], "List the features.")
        return cls(tuple(Feature.from_spec(feature) for feature in listed))

    @property
    def digest(self) -> str:
        """SHA-256 of the schema's JSON in a canonical form."""
        text = json.dumps(self.spec(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()
