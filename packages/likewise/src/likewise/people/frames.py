"""Columns of a data frame as :meth:`likewise.FeatureSchema.from_columns` takes them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from importlib.util import find_spec
from typing import Any

import numpy as np

from likewise.errors import LikewiseWarning, ParameterError, PeopleError, missing, shown, warn
from likewise.numerics.fixed_point import FloatArray
from likewise.people.features import Feature, checked_ids, is_date, is_table
from likewise.validation import as_list, choice, items, text


class _Narwhals:
    """narwhals, which is optional, imported when the first frame comes: here alone."""

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
    """The library of the frame that people were read from; for pandas its index too."""

    backend: str
    index: Any = None

    def check_series(self, series: Any, title: str) -> None:
        """Refuse a pandas Series whose index is not the frame's: it may be in another order."""
        index = getattr(series, "index", None)
        if self.index is None or index is None or callable(index):
            return
        if not self.index.equals(index):
            raise PeopleError(
                f"{title} is a Series with another index than the people's frame, so it may be in "
                f"another order. Give it in the frame's order: series.loc[frame.index], or "
                f"series.to_numpy() if its order is right."
            )


def make_frame(columns: Mapping[str, Sequence[Any] | Any], backend: str | None = None) -> Any:
    """A frame of some columns: of the library named, else of the first that is installed."""
    if backend is None:
        installed = [name for name in BACKENDS if find_spec(name) is not None]
        if not installed:
            raise missing("A frame", "pandas", "audit")
        backend = installed[0]
    choice("backend", backend, BACKENDS, "It is a library of frames.")
    if not isinstance(columns, Mapping):
        raise ParameterError("columns", "must be lists by name", columns, "Write {'a': [1, 2]}.")

    listed = {name: as_list(values) for name, values in columns.items()}
    lengths = {-1 if values is None else len(values) for values in listed.values()}
    if len(lengths) > 1 or -1 in lengths or not all(isinstance(name, str) for name in listed):
        remedy = "Write {'a': [1, 2]}."
        raise ParameterError("columns", "must be lists of one length by name", columns, remedy)
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
    except Exception as error:  # narwhals and the libraries behind it have errors of their own
        reason = " ".join(str(error).split())
        raise PeopleError(
            f"This {type(table).__name__} cannot be read as a frame: {reason}. Give columns names "
            f"that are text and differ."
        ) from error
    if isinstance(frame, nw.LazyFrame):
        raise PeopleError("A lazy frame has no rows yet. Compute them first: frame.collect().")
    return frame if isinstance(frame, nw.DataFrame) else None


def check_frame(frame: Frame) -> None:
    """Refuse a frame without rows, with an index that hides a column, or without names as text."""
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
    return [_values(frame[feature.name], feature) for feature in features]


def _values(column: Any, feature: Feature) -> list[Any] | FloatArray:
    """Numbers as an array, anything else as a list; a missing value is NaN or None."""
    numeric = column.dtype.is_numeric() or column.dtype == nw.Boolean
    if numeric and feature.kind != "category":
        return np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)
    values: list[Any] = _text(column) or column.to_list()
    nulls = column.is_null()
    if not nulls.any():
        return values
    return [None if null else v for v, null in zip(values, nulls.to_list(), strict=True)]


def holds_dates(column: Any) -> bool:
    """Test for dates and times, also for text that reads so everywhere (2026-01-31)."""
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


def _text(column: Any) -> list[Any] | None:
    """The values of a column of text; None for one of anything else."""
    if column.dtype in (nw.Categorical, nw.Enum):
        return list(column.cast(nw.String).to_list())
    return list(column.to_list()) if column.dtype == nw.String else None


MOST_LEVELS = 50
"""Text with more different values than this is no category."""
NOT_STATED = "not stated"

_IDENTITY = re.compile(
    r"(^|_)(id|ids|uuid|guid|key|ssn|passport|iban|account|e?mail|phone|tel|name|surname|address|"
    r"street|zip|postcode)($|_)"
)
_PROTECTED = re.compile(
    r"(^|_)(sex|gender|race|ethnic\w*|colou?r|religion|belief|faith|age|birth\w*|dob|nationality|"
    r"citizen\w*|origin|disab\w*|marital\w*|married|pregnan\w*|orient\w*|veteran|caste|union)($|_)"
)
_OUTCOME = re.compile(
    r"(^|_)(hired?|approved?|repaid|default(ed)?|outcome|label|target|y|accept(ed)?|reject(ed)?|"
    r"granted|denied|decision|decided|result|response|churn(ed)?|recidivated|reoffended|admitted|"
    r"passed|class|ground_truth|y_true)($|_)"
)


class SchemaAdvice(LikewiseWarning):
    """A column that was left out of a proposed schema, or that deserves a second look."""


@dataclass(frozen=True)
class Column:
    """The values of one column, missing ones apart, and what they are.

    ``kind`` is flag, integer, number, text or date, or the name of another type; ``levels`` are
    those of a column whose type has them in order.
    """

    name: str
    kind: str
    values: Sequence[Any]
    missing: bool
    levels: tuple[str, ...] = ()


def propose(
    frame: Any, ids: str | None, leave_out: Sequence[str], label: str | None
) -> list[Feature]:
    """A feature for every column that can be one, but for the ids, the label and those named."""
    if not is_table(frame) or (table := as_frame(frame)) is None:
        raise PeopleError(f"A frame is needed to propose a schema; got {shown(frame)}.")
    for noun, name in (("ids", ids), ("label", label)):
        if name is not None and not isinstance(name, str):
            raise PeopleError(f"{noun} must be the name of a column; got {shown(name)}.")
    remedy = "List columns: ['name']."
    listed = items("from_frame.leave_out", leave_out, remedy)
    left = [text("from_frame.leave_out", name, remedy) for name in listed]
    left += [name for name in (ids, label) if name is not None]
    check_frame(table)
    for name in left:
        if name not in table.columns:
            raise PeopleError(
                f"There is no column {name!r}; the frame has {', '.join(table.columns)}."
            )
    return features_of([_of_frame(table[n], n) for n in table.columns if n not in left])


def features_of(columns: Sequence[Column]) -> list[Feature]:
    """A feature for every column that can be one."""
    features = [feature for column in columns if (feature := _feature(column)) is not None]
    if not features:
        raise PeopleError(
            f"No column can be a feature ({', '.join(column.name for column in columns)}). "
            f"Numbers, flags and text with at most {MOST_LEVELS} different values can."
        )
    return features


def column_of_cells(name: str, cells: Sequence[str]) -> Column:
    """A column of a file of text: numbers where all cells are written so; empty ones are missing.

    >>> column_of_cells("income", ["10", "", "40"])
    Column(name='income', kind='integer', values=[10, 40], missing=True, levels=())
    """
    values = [cell for cell in cells if cell != ""]
    missing = len(values) < len(cells)
    if not values:
        return Column(name, "text", [], missing)
    for kind, number in (("integer", int), ("number", float)):
        try:
            return Column(name, kind, [number(value) for value in values], missing)
        except ValueError:
            continue
    return Column(name, "date" if all(map(is_date, values)) else "text", values, missing)


def _of_frame(column: Any, name: str) -> Column:
    """A column of a narwhals frame."""
    dtype, values = column.dtype, column.drop_nulls()
    missing = bool(column.is_null().any()) or (dtype.is_float() and bool(column.is_nan().any()))
    if holds_dates(column):
        return Column(name, "date", [], missing)
    if only_flags(column):
        return Column(name, "flag", values.to_list(), missing)
    if dtype.is_numeric():
        numbers = np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)
        numbers = numbers[np.isfinite(numbers)]
        integral = bool((numbers % 1 == 0).all()) and not dtype.is_float()
        return Column(name, "integer" if integral else "number", numbers.tolist(), missing)
    if dtype in (nw.Categorical, nw.Enum, nw.String):
        texts = [v for v in values.cast(nw.String).to_list() if isinstance(v, str)]
        return Column(name, "text", texts, missing, _levels(column))
    return Column(name, str(dtype), values.to_list(), missing)


def _levels(column: Any) -> tuple[str, ...]:
    """Levels in the order that the column's type says, those that nobody has included; or none.

    Arrow and polars have categories in the order of appearance, which says nothing.
    """
    if column.dtype == nw.Enum:
        return tuple(map(str, column.dtype.categories))
    native = column.to_native()
    pandas = column.dtype == nw.Categorical and nw.dependencies.is_pandas_like_series(native)
    return tuple(map(str, native.cat.categories)) if pandas else ()


def _advise(name: str, advice: str) -> None:
    warn(f"Column {name!r} {advice}", SchemaAdvice)


def _words(name: str) -> str:
    """A name in lower case with its words apart: ``applicantAge`` is ``applicant_age``."""
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower())


def _feature(column: Column) -> Feature | None:
    name, words = column.name, _words(column.name)
    if _PROTECTED.search(words):
        _advise(
            name,
            "looks like a protected trait. The law may forbid its use, and auditors may need it: "
            "decide, and hide it from the panel with visible=False or leave it out.",
        )
    if column.kind == "date":
        _advise(name, "holds dates, and was left out. Give a number: days or years since one.")
        return None
    missing = NOT_STATED if column.missing else None
    if column.kind == "flag":
        feature: Feature | None = Feature(name, "flag", missing=missing)
    elif column.kind in ("integer", "number"):
        feature = _numeric(column, words, missing)
    else:
        feature = _category(column, words, missing)
    if feature is not None and _OUTCOME.search(words) and len(set(column.values)) == 2:
        _advise(
            name,
            f"has two values and looks like an outcome. If it is what a model predicts, it is no "
            f"feature: leave it out with label={name!r}.",
        )
    return feature


def _numeric(column: Column, words: str, missing: str | None) -> Feature | None:
    values, integral = np.asarray(column.values, dtype=np.float64), column.kind == "integer"
    values = values[np.isfinite(values)]
    if integral and set(np.unique(values)) <= {0.0, 1.0}:
        return Feature(column.name, "flag", missing=missing)
    distinct = len(values) > 1 and len(np.unique(values)) == len(values)
    if integral and distinct and _IDENTITY.search(words):
        _advise(
            column.name, "looks like an identity, and was left out. Name it as ids=…, or add it."
        )
        return None
    low, high = _bounds(values)
    return Feature(column.name, "integer" if integral else "number", low, high, missing=missing)


def _bounds(values: Any) -> tuple[float, float]:
    """The least and the largest value, rounded outwards to the first digit of their difference.

    >>> _bounds(np.array([18.0, 75.0])), _bounds(np.array([0.02, 0.97]))
    ((10, 80), (0, 1.0))
    """
    if not len(values) or values.min() == values.max():
        return -math.inf, math.inf
    low, high = Decimal(repr(float(values.min()))), Decimal(repr(float(values.max())))
    step = Decimal(1).scaleb((high - low).adjusted())
    ends = ((low / step).to_integral_value("ROUND_FLOOR") * step,
            (high / step).to_integral_value("ROUND_CEILING") * step)  # fmt: skip
    least, most = (int(e) if e == e.to_integral_value() and step >= 1 else float(e) for e in ends)
    return (int(least) if least == 0 else least), most


def _category(column: Column, words: str, missing: str | None) -> Feature | None:
    name, values = column.name, column.values
    if column.kind != "text":
        _advise(name, f"holds {column.kind}, and was left out: it is neither numbers nor text.")
        return None
    levels = column.levels or tuple(sorted(set(values)))
    alone = len(values) > 2 and len(set(values)) == len(values)
    if alone or (_IDENTITY.search(words) and len(set(values)) > len(values) / 2):
        _advise(name, "looks like an identity, and was left out. Name it as ids=…, or add it.")
        return None
    if len(levels) > MOST_LEVELS:
        _advise(
            name, f"has {len(levels)} different texts, and was left out. Group them into at most "
            f"{MOST_LEVELS} levels.",
        )  # fmt: skip
        return None
    if not levels:
        _advise(name, "has no value at all, and was left out.")
        return None
    return Feature(name, "category", levels=levels, missing=missing)
