"""A schema proposed from the columns of a table, with advice on what is odd about them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from likewise.errors import PeopleError, SchemaAdvice, shown, warn
from likewise.people.features import Feature, is_date, is_table
from likewise.people.frames import as_frame, check_frame, holds_dates, nw, only_flags
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
