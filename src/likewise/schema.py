"""What is known about a person: features with names, kinds, bounds and words for people.

A :class:`FeatureSchema` turns rows, mappings or an array into :class:`People`, and refuses what
does not fit, naming the person, the feature, the rule and the value. Its hash is part of every
state, so that a state is never continued with features that mean something else.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from likewise.errors import ParameterError, PeopleError
from likewise.units import FloatArray

__all__ = ["Feature", "FeatureSchema", "Kind", "People", "Value"]

Kind = Literal["number", "integer", "category", "flag"]
Value = float | int | str | bool | None

_KINDS = ("number", "integer", "category", "flag")


@dataclass(frozen=True)
class Feature:
    """One feature of a person, for the learner and for the people who look at it.

    ``missing`` is the text shown where the value is missing; without one a missing value is
    refused. People who sit on a panel are shown a feature only if it is ``visible``.

    >>> Feature("income", "number", low=0, high=400, label="Yearly income", unit="k€").say(52.0)
    '52 k€'
    >>> Feature("purpose", "category", levels=("car", "home")).say(1.0)
    'home'
    """

    name: str
    kind: Kind = "number"
    low: float = -math.inf
    high: float = math.inf
    levels: tuple[str, ...] = ()
    label: str = ""
    unit: str = ""
    visible: bool = True
    missing: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", tuple(self.levels))
        if not self.name:
            raise ParameterError("Feature.name", "must not be empty", self.name, "Name the column.")
        if self.kind not in _KINDS:
            raise ParameterError(
                f"Feature({self.name!r}).kind", f"must be one of {', '.join(_KINDS)}", self.kind, ""
            )
        if math.isnan(self.low) or math.isnan(self.high) or not self.low < self.high:
            raise ParameterError(
                f"Feature({self.name!r}).low",
                f"must be below high = {self.high!r}",
                self.low,
                "Bounds say what values are believable; leave them out for none.",
            )
        if (self.kind == "category") != bool(self.levels):
            raise ParameterError(
                f"Feature({self.name!r}).levels",
                "must be given for a category, and only for one",
                self.levels,
                "List every level that may occur.",
            )
        if len(set(self.levels)) != len(self.levels):
            raise ParameterError(
                f"Feature({self.name!r}).levels", "must not repeat a level", self.levels, ""
            )

    @property
    def title(self) -> str:
        """The label for people, or the name made readable."""
        return self.label or self.name.replace("_", " ").capitalize()

    def encode(self, value: Any, person: str) -> float:
        """Turn a value into a number; a category into the place of its level."""
        if value is None or (isinstance(value, float) and math.isnan(value)):
            if self.missing is None:
                raise PeopleError(
                    f"Person {person!r}: feature {self.name!r} is missing (NaN or absent). Give a "
                    f"value, or say in the schema what a missing one is called: "
                    f"Feature({self.name!r}, missing='not stated')."
                )
            return math.nan
        if self.kind == "category" and isinstance(value, str):
            if value not in self.levels:
                raise PeopleError(
                    f"Person {person!r}: feature {self.name!r} must be one of "
                    f"{', '.join(self.levels)}; got {value!r}. Add the level to the schema if it "
                    f"is real."
                )
            return float(self.levels.index(value))
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise PeopleError(
                f"Person {person!r}: feature {self.name!r} must be of the kind {self.kind!r}; got "
                f"{value!r}. Correct the value."
            ) from None
        self._check_number(number, value, person)
        return number

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the largest number that may stand for a value."""
        if self.kind == "category":
            return 0.0, len(self.levels) - 1.0
        return (0.0, 1.0) if self.kind == "flag" else (self.low, self.high)

    def _check_number(self, number: float, value: Any, person: str) -> None:
        low, high = self.limits
        whole = self.kind != "number"
        if not math.isfinite(number) or not low <= number <= high or (whole and number % 1):
            what = "a whole number" if whole else "a finite number"
            raise PeopleError(
                f"Person {person!r}: feature {self.name!r} must be {what} in [{low:g}, {high:g}]; "
                f"got {value!r}. Correct the value, or the bounds in the schema."
            )

    def say(self, number: float) -> str:
        """The value in words, for auditors and reports."""
        if math.isnan(number):
            return self.missing or "missing"
        if self.kind == "category":
            return self.levels[int(number)]
        if self.kind == "flag":
            return "yes" if number else "no"
        text = f"{number:.4g}" if self.kind == "number" else f"{int(number)}"
        return f"{text} {self.unit}" if self.unit else text

    def spec(self) -> dict[str, Any]:
        """The feature as JSON; bounds that are infinite are left out."""
        spec: dict[str, Any] = {"name": self.name, "kind": self.kind}
        if math.isfinite(self.low):
            spec["low"] = self.low
        if math.isfinite(self.high):
            spec["high"] = self.high
        for key in ("levels", "label", "unit"):
            if value := getattr(self, key):
                spec[key] = list(value) if key == "levels" else value
        if not self.visible:
            spec["visible"] = False
        if self.missing is not None:
            spec["missing"] = self.missing
        return spec


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
        """Whether an array needs no second look: right shape, no NaN, everything in bounds."""
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
