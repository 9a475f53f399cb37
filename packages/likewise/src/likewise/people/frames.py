"""Data frames of any library, column by column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from likewise.errors import PeopleError, missing, shown
from likewise.numerics.fixed_point import FloatArray
from likewise.people.cells import read_cells
from likewise.people.columns import checked_ids
from likewise.people.features import EXACT, Feature, is_date
from likewise.validation import choice


class _Narwhals:
    """narwhals, which is optional; imported only here, when the first frame comes."""

    def __getattr__(self, name: str) -> Any:
        try:
            import narwhals
        except ImportError as error:
            raise missing("A data frame", "narwhals", "frames", error) from error
        return getattr(narwhals, name)


nw: Any = _Narwhals()

BACKENDS = ("pandas", "polars", "pyarrow")
"""Libraries of frames, in the order in which they are looked for."""


@dataclass(frozen=True, eq=False)
class Origin:
    """The library of the frame that people were read from, and for pandas its index."""

    backend: str
    index: Any = None


def make_frame(columns: Mapping[str, Sequence[Any] | Any], backend: str | None = None) -> Any:
    """A frame of some columns, of the library named or the first that is installed."""
    if backend is None:
        backend = next((name for name in BACKENDS if find_spec(name) is not None), None)
        if backend is None:
            raise missing("A frame", "pandas", "audit")
    choice("backend", backend, BACKENDS, "It is a library of frames.")
    listed = {name: list(values) for name, values in columns.items()}
    try:
        return nw.from_dict(listed, backend=backend).to_native()
    except ImportError as error:
        raise missing("A frame", backend, "audit", error) from error


Frame = Any  # narwhals.DataFrame of any native frame
OTHERS = ("refuse", "ignore")


def as_frame(table: Any) -> Frame | None:
    """A frame of a library that narwhals knows; None for anything else, a Series included."""
    try:
        frame = nw.from_native(table, pass_through=True)
        if hasattr(frame, "__arrow_c_stream__") and hasattr(frame, "column_names"):
            frame = nw.from_arrow(frame, backend="pyarrow")  # a RecordBatch
    except Exception as error:  # narwhals and the libraries behind it have errors of their own
        reason = " ".join(str(error).split())
        raise PeopleError(
            f"This {type(table).__name__} cannot be read as a frame: {reason}. Give columns names "
            f"that are text and differ."
        ) from error
    if isinstance(frame, nw.LazyFrame):
        raise PeopleError(
            "A lazy frame has no rows yet. Compute them first, frame.collect(), or let an audit "
            "read them block by block: schema.scan(frame)."
        )
    return frame if isinstance(frame, nw.DataFrame) else None


def check_frame(frame: Frame) -> None:
    """Refuse a frame without rows, with an index that may be a column, or with odd names."""
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
    """The library of a frame, and for pandas the index by which a Series is matched."""
    native = frame.to_native()
    index = native.index if nw.dependencies.is_pandas_like_dataframe(native) else None
    return Origin(frame.implementation.name.lower(), index)


def frame_ids(frame: Frame, ids: Any, origin: Origin) -> tuple[str, ...]:
    """An id for everybody: from the column named, from a list, or p1, p2, …."""
    if isinstance(ids, str):
        if ids not in frame.columns:
            raise PeopleError(
                f"There is no column {ids!r} for the ids; the frame has {', '.join(frame.columns)}."
            )
        ids = frame[ids].to_native()
    return checked_ids(len(frame), ids, origin.index)


def frame_columns(
    frame: Frame, features: Sequence[Feature], others: str, ids: Any
) -> list[list[Any] | FloatArray]:
    """The values of each feature; other columns are refused, or left out with "ignore"."""
    choice("others", others, OTHERS, "Say what to do with columns that the schema does not have.")
    names = [feature.name for feature in features]
    if lacking := [name for name in names if name not in frame.columns]:
        raise PeopleError(
            f"The frame lacks {', '.join(map(repr, lacking))}; it has {', '.join(frame.columns)}. "
            f"Add the column, of missing values where the schema allows that."
        )
    used = {*names, ids} if isinstance(ids, str) else set(names)
    extra = [name for name in frame.columns if name not in used]
    if extra and others == "refuse":
        raise PeopleError(
            f"The frame has columns that the schema does not: {', '.join(map(repr, extra))}. Leave "
            f"them out with others='ignore', or add them to the schema."
        )
    return [feature_values(frame[feature.name], feature) for feature in features]


def feature_values(column: Any, feature: Feature) -> list[Any] | FloatArray:
    """Numbers as an array, anything else as a list; a missing value is NaN or None."""
    fits = column.dtype.is_numeric() or (column.dtype == nw.Boolean and feature.kind == "flag")
    if fits and feature.kind != "category" and (numbers := floats(column)) is not None:
        return numbers
    levels = column.dtype in (nw.Categorical, nw.Enum)
    values: list[Any] = (column.cast(nw.String) if levels else column).to_list()
    nulls = column.is_null()
    if nulls.any():
        values = [None if null else v for v, null in zip(values, nulls.to_list(), strict=True)]
    return read_cells(feature, values)


def floats(column: Any) -> FloatArray | None:
    """The numbers of a column; None for integers that a float may not hold."""
    if column.dtype.is_integer() and not column.is_null().all():
        largest = max(abs(int(column.min())), abs(int(column.max())))
        if largest >= EXACT:
            return None
    return np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)


def holds_dates(column: Any) -> bool:
    """Test for dates and times, also for text of nothing but these (2026-01-31)."""
    if column.dtype != nw.String:
        return bool(column.dtype.is_temporal())
    values = column.drop_nulls().to_list()
    return bool(values) and all(map(is_date, values))


def only_flags(column: Any) -> bool:
    """Test for truth values; pandas keeps them as objects where some are missing."""
    if column.dtype != nw.Object:
        return bool(column.dtype == nw.Boolean)
    values = column.drop_nulls().to_list()
    return bool(values) and all(isinstance(value, bool | np.bool_) for value in values)
