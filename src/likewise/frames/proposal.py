"""A schema proposed for a frame: kinds, levels, bounds and missing values, to be edited.

A proposal is a first draft for people who know the data. Bounds are those of the data, rounded
outwards; columns that look like identities or dates are left out, and those that look like
protected traits or outcomes are named, each with a warning.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from likewise.errors import LikewiseWarning, PeopleError, shown, warn
from likewise.features import Feature
from likewise.frames.library import nw
from likewise.frames.reading import Frame, as_frame, check_frame, holds_dates, only_flags
from likewise.rows import is_table
from likewise.validation import items, text

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


def propose(
    frame: Any, ids: str | None, leave_out: Sequence[str], label: str | None
) -> list[Feature]:
    """A feature for every column that can be one, but for the ids, the label and those named."""
    if not is_table(frame) or (table := as_frame(frame)) is None:
        raise PeopleError(f"A frame is needed to propose a schema; got {shown(frame)}.")
    check_frame(table)
    for parameter, name in (("ids", ids), ("label", label)):
        if name is not None and not isinstance(name, str):
            raise PeopleError(f"{parameter} must be the name of a column; got {shown(name)}.")
    remedy = "List columns: ['name']."
    listed = items("from_frame.leave_out", leave_out, remedy)
    left = [text("from_frame.leave_out", name, remedy) for name in listed]
    return _features(table, [*left, *(n for n in (ids, label) if n is not None)])


def _features(frame: Frame, left: Sequence[str]) -> list[Feature]:
    columns = ", ".join(frame.columns)
    for name in left:
        if name not in frame.columns:
            raise PeopleError(f"There is no column {name!r}; the frame has {columns}.")
    names = [name for name in frame.columns if name not in left]
    features = [feature for name in names if (feature := _feature(frame[name], name))]
    if not features:
        raise PeopleError(
            f"No column of the frame can be a feature ({columns}). Numbers, flags "
            f"and text with at most {MOST_LEVELS} different values can."
        )
    return features


def _advise(name: str, advice: str) -> None:
    warn(f"Column {name!r} {advice}", SchemaAdvice)


def _words(name: str) -> str:
    """A name in lower case with its words apart: ``applicantAge`` is ``applicant_age``."""
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower())


def _feature(column: Any, name: str) -> Feature | None:
    words = _words(name)
    if _PROTECTED.search(words):
        _advise(
            name,
            "looks like a protected trait. The law may forbid its use, and auditors may need it: "
            "decide, and hide it from the panel with visible=False or leave it out.",
        )
    if holds_dates(column):
        _advise(name, "holds dates, and was left out. Give a number: days or years since one.")
        return None
    missing = NOT_STATED if column.is_null().any() or _has_nan(column) else None
    if only_flags(column):
        feature: Feature | None = Feature(name, "flag", missing=missing)
    elif column.dtype.is_numeric():
        feature = _numeric(column, name, words, missing)
    else:
        feature = _category(column, name, words, missing)
    if feature is not None and _OUTCOME.search(words) and _values(column) == 2:
        _advise(
            name,
            f"has two values and looks like an outcome. If it is what a model predicts, it is no "
            f"feature: leave it out with label={name!r}.",
        )
    return feature


def _values(column: Any) -> int:
    """The number of different values, missing ones apart."""
    return len(set(column.drop_nulls().to_list()))


def _has_nan(column: Any) -> bool:
    return column.dtype.is_float() and bool(column.is_nan().any())


def _numeric(column: Any, name: str, words: str, missing: str | None) -> Feature | None:
    values = column.cast(nw.Float64).to_numpy()
    values = np.asarray(values, dtype=np.float64)
    values = values[np.isfinite(values)]
    integral = bool((values % 1 == 0).all()) and not column.dtype.is_float()
    if integral and set(np.unique(values)) <= {0.0, 1.0}:
        return Feature(name, "flag", missing=missing)
    distinct = len(values) > 1 and len(np.unique(values)) == len(values)
    if integral and distinct and _IDENTITY.search(words):
        _advise(name, "looks like an identity, and was left out. Name it as ids=…, or add it.")
        return None
    low, high = _bounds(values)
    kind = "integer" if integral else "number"
    return Feature(name, kind, low, high, missing=missing)  # type: ignore[arg-type]


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


def _category(column: Any, name: str, words: str, missing: str | None) -> Feature | None:
    if column.dtype not in (nw.Categorical, nw.Enum, nw.String):
        _advise(name, f"holds {column.dtype}, and was left out: it is neither numbers nor text.")
        return None
    values = [v for v in column.cast(nw.String).to_list() if isinstance(v, str)]
    levels = _own_levels(column) or sorted(set(values))
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
    return Feature(name, "category", levels=tuple(levels), missing=missing)


def _own_levels(column: Any) -> list[str]:
    """Levels in the order that the column's type says, those that nobody has included; or none.

    Arrow and polars have categories in the order of appearance, which says nothing.
    """
    if column.dtype == nw.Enum:
        return list(map(str, column.dtype.categories))
    native = column.to_native()
    pandas = column.dtype == nw.Categorical and nw.dependencies.is_pandas_like_series(native)
    return list(map(str, native.cat.categories)) if pandas else []
