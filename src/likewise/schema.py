"""The schema of a person: features with names, kinds, bounds and words for people.

A :class:`FeatureSchema` turns rows, mappings or an array into :class:`People`, and refuses what
does not fit, naming the person, the feature, the rule and the value. Its hash is part of every
state, so that a state is never continued with features that mean something else.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from likewise.errors import ParameterError, PeopleError
from likewise.features import Feature, Kind, Value
from likewise.fixed_point import FloatArray
from likewise.rows import checked_ids, listed_rows, refuse_table, row_values
from likewise.validation import choice, items

__all__ = ["Feature", "FeatureSchema", "Kind", "People", "Value"]

BoolArray = npt.NDArray[np.bool_]
# Kinds of arrays that hold numbers: floats, integers with and without sign, truth values.
_NUMERIC = "fiub"


def _is_numeric(rows: object) -> TypeGuard[npt.NDArray[Any]]:
    refuse_table(rows)
    return isinstance(rows, np.ndarray) and rows.ndim > 0 and rows.dtype.kind in _NUMERIC


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
        rows: People | Iterable[Mapping[str, Any] | Sequence[Any]] | npt.ArrayLike,
        ids: Sequence[str] | None = None,
    ) -> People:
        """Check people given as mappings, or as rows in the order of the schema, and encode them.

        Categories are given by their levels. An array of numbers does not say which level is meant:
        where the schema has a category, it is for :meth:`encoded`. Frames and Series are refused
        (see :mod:`likewise.rows`). Without ``ids`` people are called ``p1``, ``p2``, …, in order.
        """
        if isinstance(rows, People):
            return self.encoded(rows, ids)
        if _is_numeric(rows):
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
            return rows if ids is None else People(checked_ids(len(rows), ids), rows.x, self)
        listed = rows if _is_numeric(rows) else listed_rows(rows)
        names = checked_ids(len(listed), ids)
        x = self._numbers(listed)
        if x is None or not self._fits(x):  # look again, so that an error names the person
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
            if rows.ndim != 2 or rows.shape[1] != len(self) or rows.dtype.kind not in _NUMERIC:
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

    def _fits(self, x: FloatArray) -> bool:
        """Test whether everything is within its limits; NaN only where it may be missing."""
        low, high, any_number, optional = self._limits
        with np.errstate(invalid="ignore"):
            within = (x >= low) & (x <= high) & (any_number | (np.floor(x) == x))
        return bool((within if optional is None else within | (optional & np.isnan(x))).all())

    @cached_property
    def _limits(self) -> tuple[FloatArray, FloatArray, BoolArray, BoolArray | None]:
        limits = [f.limits for f in self.features]
        finite = np.finfo(np.float64)
        low = np.maximum([a for a, _ in limits], finite.min)
        high = np.minimum([b for _, b in limits], finite.max)
        any_number = np.array([f.kind == "number" for f in self.features])
        optional = np.array([f.missing is not None for f in self.features])
        return low, high, any_number, optional if optional.any() else None

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


@dataclass(frozen=True, eq=False)
class People:
    """Some people: an id and a row of encoded features each. Made by :meth:`FeatureSchema.people`.

    NaN in ``x`` stands for a value that is missing, where the schema allows that.
    """

    ids: tuple[str, ...]
    x: FloatArray
    schema: FeatureSchema

    def __post_init__(self) -> None:
        if not isinstance(self.schema, FeatureSchema) or not _is_numeric(self.x):
            raise PeopleError(
                f"People are made of ids, an array and a schema; got {type(self.x).__name__} and "
                f"{type(self.schema).__name__}. FeatureSchema.people makes them."
            )
        object.__setattr__(self, "ids", checked_ids(len(self.x), self.ids))
        if len(set(self.ids)) != len(self.ids):
            twice = sorted({p for p in self.ids if self.ids.count(p) > 1})
            raise PeopleError(
                f"Everybody must have an id of their own; more than one person is called "
                f"{', '.join(map(repr, twice))}."
            )
        if self.x.shape != (len(self.ids), len(self.schema)):
            raise PeopleError(
                f"{len(self.ids)} people with {len(self.schema)} features need an array of that "
                f"shape; got {self.x.shape}. FeatureSchema.people makes it."
            )

    def __len__(self) -> int:
        return len(self.ids)

    def column(self, name: str) -> FloatArray:
        """One feature of everybody."""
        return self.x[:, self.schema.place(name)]

    def say(self, index: int) -> dict[str, str]:
        """One person's visible features in words."""
        return {
            f.title: f.say(float(v))
            for f, v in zip(self.schema.features, self.x[index], strict=True)
            if f.visible
        }
