"""People from a data frame: by column name, a column at a time, with the rules of single rows.

Whatever a frame says is read as :class:`~likewise.features.Feature` would read it row by row;
columns only make it fast. A value that does not fit is looked at again alone, so that the error
names the person, the feature and the value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from likewise.errors import PeopleError, shown
from likewise.features import Feature
from likewise.fixed_point import FloatArray
from likewise.frames.library import nw
from likewise.frames.origin import Origin
from likewise.frames.proposal import is_date
from likewise.rows import checked_ids
from likewise.validation import choice

__all__ = [
    "Frame",
    "as_frame",
    "checked_frame",
    "frame_ids",
    "frame_values",
    "holds_dates",
    "only_flags",
    "origin_of",
]

Frame = Any  # narwhals.DataFrame of any native frame
OTHERS = ("refuse", "ignore")


def as_frame(thing: Any) -> Frame | None:
    """A frame of a library that narwhals knows; None for anything else, a Series included."""
    try:
        frame = nw.from_native(thing, pass_through=True)
    except Exception as error:  # narwhals and the libraries behind it have errors of their own
        why = " ".join(str(error).split())
        raise PeopleError(
            f"This {type(thing).__name__} cannot be read as a frame: {why}. Give columns names "
            f"that are text and differ."
        ) from error
    if isinstance(frame, nw.LazyFrame):
        raise PeopleError("A lazy frame has no rows yet. Compute them first: frame.collect().")
    return frame if isinstance(frame, nw.DataFrame) else None


def checked_frame(frame: Frame) -> Frame:
    """The frame, if its columns have different names, no index hides any, and it has rows."""
    native = frame.to_native()
    if nw.dependencies.is_pandas_like_dataframe(native):
        _check_index(native)
        if odd := [name for name in native.columns if not isinstance(name, str)]:
            raise PeopleError(
                f"A column must be named by text; got {shown(odd[0])}. Rename it: "
                f"frame.rename(columns=str)."
            )
    if len(frame) == 0:
        raise PeopleError("The frame has no rows; give at least one person.")
    return frame


def _check_index(native: Any) -> None:
    for axis, remedy in (
        ("columns", "frame.columns = ['_'.join(c) for c in frame]"),
        ("index", "frame.reset_index()"),
    ):
        if getattr(native, axis).nlevels > 1:
            raise PeopleError(
                f"The frame's {axis} have several levels (a MultiIndex), which can be read in more "
                f"than one way. Make plain columns of them: {remedy}."
            )
    if native.index.name is not None:
        raise PeopleError(
            f"The frame's index is called {native.index.name!r}, as a column would be, and an "
            f"index is not read. Make it a column, frame.reset_index(), or drop it, "
            f"frame.reset_index(drop=True)."
        )


def origin_of(frame: Frame) -> Origin:
    """The library, and for pandas the index, with which other columns are compared."""
    native = frame.to_native()
    index = native.index if nw.dependencies.is_pandas_like_dataframe(native) else None
    return Origin(frame.implementation.name.lower(), index)


def frame_ids(frame: Frame, ids: Any) -> tuple[str, ...]:
    """An id for everybody: from the column named, from a list, or p1, p2, …."""
    if not isinstance(ids, str):
        return checked_ids(len(frame), ids)
    if ids not in frame.columns:
        raise PeopleError(
            f"There is no column {ids!r} for the ids; the frame has {', '.join(frame.columns)}."
        )
    column = frame[ids]
    names = _text(column)
    if names is None:
        raise PeopleError(
            f"Ids must be text; the column {ids!r} holds {column.dtype}. A number may have lost "
            f"its leading zeros: if it has not, turn it into text, for pandas "
            f"frame[{ids!r}].astype(str), for polars frame[{ids!r}].cast(str)."
        )
    for place, name in enumerate(names):
        if not isinstance(name, str):
            raise PeopleError(
                f"Row {place + 1} has no id in {ids!r}; got {shown(name)}. Give it one, or leave "
                f"the row out."
            )
    return checked_ids(len(frame), tuple(names))


def frame_values(
    frame: Frame, features: Sequence[Feature], names: Sequence[str], others: str, ids: Any
) -> FloatArray:
    """The encoded features of everybody; other columns are refused, or left out as asked."""
    choice("others", others, OTHERS, "Say what to do with columns that the schema does not have.")
    wanted = [feature.name for feature in features]
    if lacking := [name for name in wanted if name not in frame.columns]:
        raise PeopleError(
            f"The frame lacks {', '.join(map(repr, lacking))}; it has {', '.join(frame.columns)}. "
            f"Add the column, of missing values where the schema allows that."
        )
    known = {*wanted, ids} if isinstance(ids, str) else set(wanted)
    extra = [name for name in frame.columns if name not in known]
    if extra and others == "refuse":
        raise PeopleError(
            f"The frame has columns that the schema does not: {', '.join(map(repr, extra))}. Leave "
            f"them out with others='ignore', or add them to the schema."
        )
    x = np.empty((len(frame), len(features)))
    for place, feature in enumerate(features):
        x[:, place] = _encoded(frame[feature.name], feature, names)
    return x


def holds_dates(column: Any) -> bool:
    """Test for dates and times, also for text that reads so everywhere (2026-01-31)."""
    if column.dtype != nw.String:
        return bool(column.dtype.is_temporal())
    values = column.drop_nulls().to_list()
    return bool(values) and all(isinstance(v, str) and is_date(v) for v in values)


def only_flags(column: Any) -> bool:
    """Test for truth values; pandas keeps them as objects where some are missing."""
    if column.dtype != nw.Object:
        return bool(column.dtype == nw.Boolean)
    values = column.drop_nulls().to_list()
    return bool(values) and all(isinstance(value, bool | np.bool_) for value in values)


def _encoded(column: Any, feature: Feature, names: Sequence[str]) -> FloatArray:
    """One column as numbers, read as a value alone would be."""
    dtype = column.dtype
    # Text may be levels, whatever it reads like.
    if dtype.is_temporal() or (feature.kind != "category" and holds_dates(column)):
        said = dtype if dtype.is_temporal() else "dates as text"
        raise PeopleError(
            f"Feature {feature.name!r} must be of the kind {feature.kind!r}, but the column holds "
            f"{said}. Say which number is meant, such as days or years since a date, and give "
            f"that."
        )
    if feature.kind == "category":
        return _levels(column, feature, names)
    if dtype.is_numeric() or dtype == nw.Boolean:
        x = np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)
        return _checked(x, column, feature, names)
    return _one_by_one(column, feature, names, range(len(column)), np.empty(len(column)))


def _levels(column: Any, feature: Feature, names: Sequence[str]) -> FloatArray:
    """Places of levels: by their text, or by the integer that reads so."""
    table: dict[Any, float] = {level: float(i) for i, level in enumerate(feature.levels)}
    values = _text(column)
    if values is None and column.dtype.is_integer():
        distinct = column.drop_nulls().unique().to_list()
        same = {v: [i for i, level in enumerate(feature.levels) if _reads(level, v)]
                for v in distinct}  # fmt: skip
        table = {v: float(places[0]) for v, places in same.items() if len(places) == 1}
        values = column.to_list()
    if values is None:
        return _one_by_one(column, feature, names, range(len(column)), np.empty(len(column)))
    x = np.array([table.get(value, -1.0) for value in values])
    return _one_by_one(column, feature, names, np.flatnonzero(x < 0), x)


def _reads(level: str, number: int) -> bool:
    alone = Feature("level", "category", levels=(level,))
    try:
        return alone.encode(number, "") == 0
    except PeopleError:
        return False


def _checked(x: FloatArray, column: Any, feature: Feature, names: Sequence[str]) -> FloatArray:
    """The numbers, if all are within the limits; else the error of the first that is not."""
    low, high = feature.limits
    with np.errstate(invalid="ignore"):
        fits = np.isfinite(x) & (x >= low) & (x <= high)
        if feature.kind != "number":
            fits &= x % 1 == 0
    return _one_by_one(column, feature, names, np.flatnonzero(~fits), x)


def _one_by_one(
    column: Any, feature: Feature, names: Sequence[str], rows: Any, x: FloatArray
) -> FloatArray:
    """Some rows of a column, each read alone; the rest of ``x`` stays as it is."""
    rows = np.asarray(rows, dtype=np.int64)
    if not len(rows):
        return x
    x = np.array(x)  # what a library gave may be read-only
    nulls = np.asarray(column.is_null().to_numpy(), dtype=np.bool_)
    if feature.missing is not None:
        x[rows[nulls[rows]]] = np.nan
        rows = rows[~nulls[rows]]
    values = column.to_list() if len(rows) == len(x) else column[rows.tolist()].to_list()
    for row, value in zip(rows.tolist(), values, strict=True):
        x[row] = feature.encode(None if nulls[row] else value, names[row])
    return x


def _text(column: Any) -> list[Any] | None:
    """The values of a column of text; None for one of anything else."""
    if column.dtype in (nw.Categorical, nw.Enum):
        return list(column.cast(nw.String).to_list())
    return list(column.to_list()) if column.dtype == nw.String else None
