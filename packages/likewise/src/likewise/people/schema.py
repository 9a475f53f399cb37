"""The features of a person, in order; and people, whom a schema has checked."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from likewise.errors import PeopleError, shown
from likewise.html import table
from likewise.numerics.fixed_point import FloatArray, IntArray
from likewise.people import columns, features
from likewise.people.features import Feature
from likewise.validation import as_array, assign, choice, instance, items, members, require, text

if TYPE_CHECKING:
    from likewise.people.frames import Origin
    from likewise.people.scans import Scan


BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class People:
    """Ids and rows of encoded features, made by :meth:`FeatureSchema.people`.

    NaN in ``x`` is a missing value, where the schema allows that. ``origin`` is the kind of frame
    that they came from, if any: results are returned as such a frame.
    """

    ids: tuple[str, ...]
    x: FloatArray
    schema: FeatureSchema
    origin: Origin | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.schema, FeatureSchema) or not features.is_numeric(self.x):
            raise PeopleError(
                f"People are made of ids, an array and a schema; got {type(self.x).__name__} and "
                f"{type(self.schema).__name__}. FeatureSchema.people makes them."
            )
        assign(self, ids=columns.checked_ids(len(self.x), self.ids))
        columns.refuse_repeated(self.ids)
        if self.x.shape != (len(self.ids), len(self.schema)):
            raise PeopleError(
                f"{len(self.ids)} people with {len(self.schema)} features need an array of that "
                f"shape; got {self.x.shape}. FeatureSchema.people makes it."
            )

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of everybody, by id."""
        return {name: place for place, name in enumerate(self.ids)}

    def take(self, places: Sequence[int] | IntArray, *, repeated: bool = False) -> People:
        """The people at some places; each at most once, unless they may be ``repeated``."""
        chosen = as_array(places)
        integral = chosen.ndim == 1 and (chosen.dtype.kind in "iu" or not chosen.size)
        if not integral or (chosen.size and not 0 <= chosen.min() <= chosen.max() < len(self)):
            raise PeopleError(
                f"People are taken by their places, from 0 to {len(self) - 1}; got {shown(places)}."
            )
        chosen = chosen.astype(np.int64)
        if not repeated and len(np.unique(chosen)) != len(chosen):
            raise PeopleError(
                f"Everybody is taken once; got {shown(places)}. Say so if people are repeated."
            )
        origin = self.origin
        if origin is not None and origin.index is not None:
            origin = type(origin)(origin.backend, origin.index[chosen])
        ids = tuple([self.ids[place] for place in chosen.tolist()])
        return People.unchecked(ids, self.x[chosen], self.schema, origin)

    def with_more(self, others: People) -> People:
        """These people followed by others of the same schema, who may be the same."""
        x = np.concatenate([self.x, others.x])
        return People.unchecked((*self.ids, *others.ids), x, self.schema)

    @classmethod
    def unchecked(
        cls,
        ids: tuple[str, ...],
        x: FloatArray,
        schema: FeatureSchema,
        origin: Origin | None = None,
    ) -> People:
        """People made of parts of others, without a check of every id."""
        people = object.__new__(cls)
        assign(people, ids=ids, x=x, schema=schema, origin=origin)
        return people

    def column(self, name: str) -> FloatArray:
        """A feature of everybody."""
        return self.x[:, self.schema.place(name)]

    def say(self, index: int) -> dict[str, str]:
        """One person's visible features in words."""
        return {
            title: self.schema.features[place].say(float(self.x[index, place]))
            for title, place in self.schema.shown_as.items()
        }

    def say_apart(self, first: int, second: int) -> dict[str, tuple[str, str]]:
        """Two people's visible features in words, which differ if the values do."""
        a, b = self.x[first].tolist(), self.x[second].tolist()
        return {
            title: self.schema.features[n].say_apart(a[n], b[n])
            for title, n in self.schema.shown_as.items()
        }

    def differences(self, first: int, second: int) -> dict[str, str]:
        """How far two people differ, in words, by the title of a visible feature."""
        a, b = self.x[first].tolist(), self.x[second].tolist()
        return {
            title: self.schema.features[n].say_difference(a[n], b[n])
            for title, n in self.schema.shown_as.items()
            if a[n] != b[n] and not (math.isnan(a[n]) and math.isnan(b[n]))
        }


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
        require(bool(listed), "FeatureSchema.features", "must not be empty", (), "Add one.")
        for feature in listed:
            instance("FeatureSchema.features", feature, Feature, "Write Feature(name, …).")
        places = {feature.name: place for place, feature in enumerate(listed)}
        assign(self, features=tuple(listed), _places=places)
        different = len(places) == len(listed)
        require(different, "FeatureSchema.features", "must have different names", self.names, "")

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple(f.name for f in self.features)

    def __len__(self) -> int:
        return len(self.features)

    def __getitem__(self, name: str) -> Feature:
        return self.features[self.place(name)]

    def place(self, name: str) -> int:
        """The column of a feature."""
        return self._places[choice("feature", name, self._places, "Check the spelling.")]

    def people(
        self,
        rows: People | Iterable[Mapping[str, Any] | Sequence[Any]] | npt.ArrayLike | Any,
        ids: Sequence[str | int] | str | Any | None = None,
        others: str = "refuse",
    ) -> People:
        """Check people given as mappings, as rows in the order of the schema or as a data frame.

        Categories are given by their levels. An array of numbers does not say which level is meant:
        where the schema has a category, it is for :meth:`encoded`. ``ids`` are text or integers, in
        any kind of column; without them people are called ``p1``, ``p2``, …, in order.

        A frame (pandas, polars, Arrow) is read by column name; ``ids`` may name one of its columns.
        Columns that the schema does not have are refused, or left out with ``others="ignore"``. A
        single row or column (a Series) is refused.
        """
        if columns.is_table(rows) and (people := self._from_frame(rows, ids, others)) is not None:
            return people
        features.refuse_table(rows)
        if isinstance(ids, str):
            raise PeopleError(
                f"Ids must be a list of text, one for each person; got {shown(ids)}. A name of a "
                f"column is for frames."
            )
        if isinstance(rows, People):
            return self.encoded(rows, ids)
        if features.is_numeric(rows):
            if categories := [f.name for f in self.features if f.kind == "category"]:
                raise PeopleError(
                    f"An array of numbers does not say which level of {categories[0]!r} is meant. "
                    f"If it holds the places of levels, say so: schema.encoded(array, ids=…). "
                    f"Otherwise give rows with the text of the levels."
                )
            return self.encoded(rows, ids)
        listed = features.listed_rows(rows)
        names = columns.checked_ids(len(listed), ids)
        return self.from_columns(self._columns(listed, names), names)

    def from_columns(
        self,
        values: Sequence[Sequence[Any] | FloatArray],
        names: tuple[str, ...],
        origin: Origin | None = None,
        *,
        encoded: bool = False,
    ) -> People:
        """People from a column of values for each feature; every other way in ends here."""
        x = np.empty((len(names), len(self)))
        for place, (feature, column) in enumerate(zip(self.features, values, strict=True)):
            x[:, place] = feature.encode_column(column, names, encoded=encoded)
        return People(names, x, self, origin)

    def scan(self, source: Any, ids: str | None = None) -> Scan:
        """People for an audit that never holds more than a block of them in memory.

        ``source`` is a path of Parquet files, a lazy frame of DuckDB, Polars, Spark, Dask or Ibis,
        or a function that opens a stream of Arrow data. ``ids`` names a column; columns that the
        schema does not have are not read, unless the audit names them.
        """
        from likewise.people.scans import Encoder, Scan, open_source

        if ids is not None:
            text("ids", ids, "Name a column.")
        return Scan(Encoder(self, ids), open_source(source))

    def _columns(self, rows: Iterable[Any], names: tuple[str, ...]) -> list[tuple[Any, ...]]:
        """The values of each feature in rows, by name or in the order of the schema."""
        values = [
            features.row_values(row, self.names, name)
            for row, name in zip(rows, names, strict=True)
        ]
        return list(zip(*values, strict=True)) or [()] * len(self)

    def _from_frame(self, rows: Any, ids: Any, others: str) -> People | None:
        """People from a frame; None where it is a single column or row."""
        from likewise.people import frames

        if (frame := frames.as_frame(rows)) is None:
            return None
        frames.check_frame(frame)
        origin = frames.origin_of(frame)
        names = frames.frame_ids(frame, ids, origin)
        values = frames.frame_columns(frame, self.features, others, ids)
        return self.from_columns(values, names, origin)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        ids: str | None = None,
        leave_out: Sequence[str] = (),
        label: str | None = None,
        categories: Sequence[str] = (),
    ) -> FeatureSchema:
        """Propose a schema for a data frame: kinds, levels, bounds and missing values.

        It is a draft, which ``print`` shows as code to be edited: its bounds are those of the data,
        rounded outwards, and only you know which other values may come. Warnings
        (:class:`~likewise.errors.SchemaAdvice`) name the columns that are left out, such as
        identities and dates, and those that look like a protected trait or an outcome.

        Args:
            frame: of pandas, polars or Arrow.
            ids: the column of ids, which is no feature.
            leave_out: other columns that are no features, such as scores.
            label: the column of the outcome, which is predicted and so no feature.
            categories: columns of levels that look like numbers, of text or integers.

        >>> import pandas as pd
        >>> frame = pd.DataFrame({"income": [31.5, 52.0, None], "purpose": ["car", "home", "car"],
        ...                       "repaid": [1, 0, 1]})
        >>> print(FeatureSchema.from_frame(frame, label="repaid"))
        FeatureSchema((
            Feature("income", "number", 30, 60, missing="not stated"),
            Feature("purpose", "category", levels=("car", "home")),
        ))
        """
        from likewise.people.proposals import propose

        return cls(tuple(propose(frame, ids, leave_out, label, categories)))

    def __str__(self) -> str:
        """The schema as Python code."""
        lines = "".join(f"    {feature.code()},\n" for feature in self.features)
        return f"FeatureSchema((\n{lines}))"

    def _repr_html_(self) -> str:
        rows = [(f.name, f.kind, f.range_text, f.missing or "", f.title) for f in self.features]
        return table("Schema", ("name", "kind", "values", "missing", "shown as"), rows)

    def encoded(
        self,
        rows: People | npt.ArrayLike | Sequence[Sequence[float | None]],
        ids: Sequence[str | int] | Any | None = None,
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
            return People(columns.checked_ids(len(rows), ids), rows.x, self, rows.origin)
        listed = rows if features.is_numeric(rows) else features.listed_rows(rows)
        names = columns.checked_ids(len(listed), ids)
        x = self._numbers(listed)
        if x is not None and self.admits(x):
            return People(names, x, self)
        values = self._columns(listed, names) if x is None else list(x.T)
        return self.from_columns(values, names, encoded=True)

    def _numbers(self, rows: npt.NDArray[Any] | list[Any]) -> FloatArray | None:
        """Rows of plain numbers as an array; None where they need a closer look."""
        if isinstance(rows, np.ndarray):
            if rows.ndim != 2 or rows.shape[1] != len(self):
                return None
            truths = rows.dtype.kind == "b" and any(f.kind != "flag" for f in self.features)
            x = rows.astype(np.float64)
            return None if truths or (rows.dtype.kind in "iu" and not _exact(x)) else x
        for row in rows:  # exactly these types: a subclass may have names of its own
            if type(row) not in (list, tuple) or len(row) != len(self):
                return None
            if not {*map(type, row)} <= {float, int}:
                return None
        try:
            x = np.array(rows, dtype=np.float64).reshape(len(rows), len(self))
        except OverflowError:
            return None
        return x if _exact(x) else None

    def admits(self, x: FloatArray) -> bool:
        """Test whether all values are within their limits, or NaN where they may be missing."""
        low, high, real, optional = self._limits
        within = x >= low
        within &= x <= high
        if real is not None:
            within &= real | (np.floor(x) == x)
        if optional is not None:
            within |= optional & np.isnan(x)
        # Faster than all() where people are few.
        return bool(np.count_nonzero(within) == within.size)

    @cached_property
    def _limits(self) -> tuple[FloatArray, FloatArray, BoolArray | None, BoolArray | None]:
        """Limits, which features may be fractions (None: all), and which missing (None: none)."""
        finite = np.finfo(np.float64)
        real = np.array([f.kind == "number" for f in self.features])
        optional = np.array([f.missing is not None for f in self.features])
        return (
            np.maximum([f.limits[0] for f in self.features], finite.min),
            np.minimum([f.limits[1] for f in self.features], finite.max),
            None if real.all() else real,
            optional if optional.any() else None,
        )

    @cached_property
    def shown_as(self) -> dict[str, int]:
        """The places of visible features by their titles; by name where two have one title."""
        titles = [f.title for f in self.features if f.visible]
        return {
            f.title if titles.count(f.title) == 1 else f.name: place
            for place, f in enumerate(self.features)
            if f.visible
        }

    def spec(self) -> dict[str, Any]:
        """The schema as JSON."""
        return {"features": [f.spec() for f in self.features]}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> FeatureSchema:
        """Read a schema from its JSON."""
        values = members("A schema", spec, ["features"])["features"]
        listed = items("FeatureSchema.features", values, "List the features.")
        return cls(tuple(Feature.from_spec(feature) for feature in listed))

    @property
    def digest(self) -> str:
        """SHA-256 of the schema's JSON in a canonical form."""
        text = json.dumps(self.spec(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()


def _exact(x: FloatArray) -> bool:
    """Test whether floats hold all integers of this size; if not, each number is checked alone."""
    return not bool((np.abs(x) >= features.EXACT).any())
