"""A schema proposed for a frame: kinds, levels, bounds and missing values, to be edited.

A proposal is a first draft for people who know the data. Bounds are those of the data, rounded
outwards; columns that look like identities or dates are left out, and those that look like
protected traits are named, each with a warning.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from likewise.errors import LikewiseWarning, PeopleError
from likewise.features import Feature
from likewise.frames.library import nw
from likewise.frames.reading import Frame

__all__ = ["SchemaAdvice", "propose"]

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


class SchemaAdvice(LikewiseWarning):
    """A column that was left out of a proposed schema, or that deserves a second look."""


def propose(frame: Frame, ids: str | None, leave_out: Sequence[str]) -> list[Feature]:
    """A feature for every column that can be one."""
    for name in (*leave_out, *([ids] if ids is not None else [])):
        if name not in frame.columns:
            raise PeopleError(
                f"There is no column {name!r}; the frame has {', '.join(frame.columns)}."
            )
    names = [name for name in frame.columns if name not in leave_out and name != ids]
    found = [feature for name in names if (feature := _feature(frame[name], name)) is not None]
    if not found:
        raise PeopleError(
            f"No column of the frame can be a feature ({', '.join(frame.columns)}). Numbers, flags "
            f"and text with at most {MOST_LEVELS} different values can."
        )
    return found


def _advise(name: str, text: str) -> None:
    warnings.warn(f"Column {name!r} {text}", SchemaAdvice, stacklevel=5)


def _words(name: str) -> str:
    """A name in lower case with its words apart: ``applicantAge`` is ``applicant_age``."""
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower())


def _feature(column: Any, name: str) -> Feature | None:
    dtype, words = column.dtype, _words(name)
    missing = NOT_STATED if column.is_null().any() or _has_nan(column) else None
    if _PROTECTED.search(words):
        _advise(
            name,
            "looks like a protected trait. The law may forbid its use, and auditors may need it: "
            "decide, and hide it from the panel with visible=False or leave it out.",
        )
    if dtype.is_temporal():
        _advise(name, "holds dates, and was left out. Give a number: days or years since one.")
        return None
    if dtype.is_numeric() or dtype == nw.Boolean:
        return _numeric(column, name, words, missing)
    return _category(column, name, words, missing)


def _has_nan(column: Any) -> bool:
    return column.dtype.is_float() and bool(column.is_nan().any())


def _numeric(column: Any, name: str, words: str, missing: str | None) -> Feature | None:
    values = column.cast(nw.Float64).to_numpy()
    values = np.asarray(values, dtype=np.float64)
    values = values[np.isfinite(values)]
    integral = bool((values % 1 == 0).all()) and not column.dtype.is_float()
    if column.dtype == nw.Boolean or (integral and set(np.unique(values)) <= {0.0, 1.0}):
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
    text = column.dtype in (nw.Categorical, nw.Enum)
    if not text and column.dtype != nw.String:
        _advise(name, f"holds {column.dtype}, and was left out: it is neither numbers nor text.")
        return None
    values = [v for v in column.cast(nw.String).to_list() if isinstance(v, str)]
    levels = list(column.cat.get_categories().to_list()) if text else sorted(set(values))
    levels = [str(level) for level in levels]
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
