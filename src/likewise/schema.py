"""The schema of a person: features with names, kinds, bounds and words for people.

A :class:`FeatureSchema` turns rows, mappings or an array into :class:`People`, and refuses what
does not fit, naming the person, the feature, the rule and the value. Its hash is part of every
state, so that a state is never continued with features that mean something else.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.errors import ParameterError, PeopleError
from likewise.features import Feature, Kind, Value
from likewise.fixed_point import FloatArray

__all__ = ["Feature", "FeatureSchema", "Kind", "People", "Value"]


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
        object.__setattr__(self, "features", tuple(self.features))
        if not self.features:
            raise ParameterError("FeatureSchema.features", "must not be empty", (), "Add one.")
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
        if name not in self._places:
            raise ParameterError(
                "feature", f"must be one of {', '.join(self.names)}", name, "Check the spelling."
            )
        return self._places[name]

    def people(
        self, rows: Iterable[Mapping[str, Any]] | npt.ArrayLike, ids: Sequence[str] | None = None
    ) -> People:
        """Check people given as mappings, or as rows of an array, and encode them.

        Without ``ids`` they are called ``p1``, ``p2``, …, in order.
        """
        if isinstance(rows, np.ndarray) and self._plain(rows):
            x = rows.astype(np.float64)
            return People(self._ids(len(x), ids), x, self)
        listed: list[Any] = list(rows) if isinstance(rows, Iterable) else [rows]
        names = self._ids(len(listed), ids)
        x = np.empty((len(listed), len(self)), dtype=np.float64)
        for i, (person, row) in enumerate(zip(names, listed, strict=True)):
            values = self._row(row, person)
            for j, (feature, value) in enumerate(zip(self.features, values, strict=True)):
                x[i, j] = feature.encode(value, person)
        return People(names, x, self)

    @staticmethod
    def _ids(count: int, ids: Sequence[str] | None) -> tuple[str, ...]:
        names = tuple(f"p{i + 1}" for i in range(count)) if ids is None else tuple(ids)
        if len(names) != count:
            raise PeopleError(f"There are {count} people but {len(names)} ids; give one each.")
        for name in names:
            if not isinstance(name, str):
                raise PeopleError(f"An id must be text; got {name!r}. Use str(…).")
        return names

    def _plain(self, rows: npt.NDArray[Any]) -> bool:
        """Test whether an array needs no second look: right shape, no NaN, everything in bounds."""
        if rows.ndim != 2 or rows.shape[1] != len(self) or rows.dtype.kind not in "fiub":
            return False
        low, high, whole = self._limits
        return bool(np.all((rows >= low) & (rows <= high)) and np.all(rows[:, whole] % 1 == 0))

    @cached_property
    def _limits(self) -> tuple[FloatArray, FloatArray, npt.NDArray[np.bool_]]:
        limits = [f.limits for f in self.features]
        finite = np.finfo(np.float64)
        low = np.maximum([a for a, _ in limits], finite.min)
        high = np.minimum([b for _, b in limits], finite.max)
        return low, high, np.array([f.kind != "number" for f in self.features])

    def _row(self, row: Any, person: str) -> list[Any]:
        if isinstance(row, Mapping):
            if unknown := [str(key) for key in row if key not in self._places]:
                raise PeopleError(
                    f"Person {person!r}: unknown features {', '.join(unknown)}. The schema has "
                    f"{', '.join(self.names)}."
                )
            return [row.get(name) for name in self.names]
        values = list(np.asarray(row).reshape(-1)) if np.ndim(row) == 1 else None
        if values is None or len(values) != len(self):
            raise PeopleError(
                f"Person {person!r}: a row must have {len(self)} values ({', '.join(self.names)}); "
                f"got shape {np.shape(row)}."
            )
        return values

    def spec(self) -> dict[str, Any]:
        """The schema as JSON."""
        return {"features": [f.spec() for f in self.features]}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> FeatureSchema:
        """Read a schema from its JSON."""
        return cls(tuple(Feature(**feature) for feature in spec["features"]))

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
