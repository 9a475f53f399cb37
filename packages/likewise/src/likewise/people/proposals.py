"""A schema proposed from the columns of a table, with advice on what is odd about them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from likewise.errors import PeopleError, SchemaAdvice, shown, warn
from likewise.numerics.fixed_point import FloatArray
from likewise.people import cells as reading
from likewise.people.columns import is_missing, is_table
from likewise.people.features import Feature, is_date, plain_number
from likewise.people.frames import as_frame, check_frame, floats, holds_dates, nw, only_flags
from likewise.validation import items, text

MOST_LEVELS = 50
"""Text with more different values than this is no category."""
NOT_STATED = "not stated"
STRETCH, FEWEST_VALUES = 3, 10
"""Of this many values, a range this many times that of the inner 98 % deserves advice."""
MOST_CODES, PEOPLE_A_CODE = 12, 5
"""Up to this many different integers, each of this many people on average, may be codes."""
LARGE = "integers that no float holds"
_NINES = re.compile("9{2,}")
_LEADING_ZERO = re.compile(r"0\d+", re.ASCII)
_MEASURE = re.compile(r"[+-]?\d+(?:\.\d+)?\s*([^\W\d]+)")  # such as 5 kg
_DAY = re.compile(r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])")

_IS_IDENTITY = "looks like an identity, and was left out. Name it with ids=… or --ids, or add it."
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
    """The values of one column without the missing ones, and their kind.

    ``kind`` is flag, integer, number, text, date, or the name of another type; ``levels`` are those
    of a type that orders them, or of a column that is named as a category.
    """

    name: str
    kind: str
    values: Sequence[Any]
    missing: bool
    levels: tuple[str, ...] = ()


def propose(
    frame: Any,
    ids: str | None,
    leave_out: Sequence[str],
    label: str | None,
    categories: Sequence[str],
) -> list[Feature]:
    """A feature for every column that can be one, except ids, label and those left out."""
    if not is_table(frame) or (table := as_frame(frame)) is None:
        raise PeopleError(f"A frame is needed to propose a schema; got {shown(frame)}.")
    for noun, name in (("ids", ids), ("label", label)):
        if name is not None and not isinstance(name, str):
            raise PeopleError(f"{noun} must be the name of a column; got {shown(name)}.")
    left, codes = _names("leave_out", leave_out), _names("categories", categories)
    left += [name for name in (ids, label) if name is not None]
    check_frame(table)
    for name in (*left, *codes):
        if name not in table.columns:
            raise PeopleError(
                f"There is no column {name!r}; the frame has {', '.join(table.columns)}."
            )
    return features_of([_of_frame(table[n], n, n in codes) for n in table.columns if n not in left])


def _names(parameter: str, columns: Sequence[str]) -> list[str]:
    name, remedy = f"from_frame.{parameter}", "List columns: ['name']."
    return [text(name, column, remedy) for column in items(name, columns, remedy)]


def features_of(columns: Sequence[Column]) -> list[Feature]:
    """A feature for every column that can be one."""
    features = [feature for column in columns if (feature := _feature(column)) is not None]
    if not columns:
        raise PeopleError("No column is left that could be a feature. People differ in some.")
    if not features:
        raise PeopleError(
            f"No column can be a feature ({', '.join(column.name for column in columns)}). "
            f"Numbers, flags and text with at most {MOST_LEVELS} different values can."
        )
    return features


def column_of_cells(
    name: str,
    cells: Sequence[Any],
    row_name: reading.RowName = reading.row_of_frame,
    *,
    category: bool = False,
) -> Column:
    """A column of text: numbers if all cells are; empty cells and marks are missing.

    Text that is mostly numbers is refused, unless it is a ``category``.

    >>> column_of_cells("income", ["10", "NA", "40"])
    Column(name='income', kind='integer', values=[10, 40], missing=True, levels=())
    """
    counts = Counter(cells)
    present = {
        cell: cell.strip() if isinstance(cell, str) else cell
        for cell in counts
        if not _is_mark(cell, among_numbers=not category)
    }
    numbers: dict[Any, Any] = {} if category else {
        cell: reading.parse_number(value) if isinstance(value, str) else value
        for cell, value in present.items()
    }  # fmt: skip
    if numbers and None not in numbers.values():
        texts = [value for value in present.values() if isinstance(value, str)]
        if not any(map(_LEADING_ZERO.fullmatch, texts)):
            values = [numbers[cell] for cell in cells if cell in numbers]
            integral = all(isinstance(number, int | np.integer) for number in numbers.values())
            kind = "integer" if integral else "number"
            return Column(name, kind, values, len(values) < len(cells))
        _advise(name, "has leading zeros, as codes have them: it is read as text.")
    elif present and all(map(reading.is_any_date, present.values())):
        return Column(name, "date", [], True)
    elif numbers:
        _refuse_numbers_in_text(name, cells, counts, numbers, row_name)
    words = {cell: str(cell).strip() for cell in counts if not _is_mark(cell)}
    values = [words[cell] for cell in cells if cell in words]
    levels = _sorted_levels(values) if category else ()
    return Column(name, "text", values, len(values) < len(cells), levels)


def _sorted_levels(values: Iterable[str]) -> tuple[str, ...]:
    """Levels in the order of numbers if all of them are, else in that of the alphabet."""
    numbers = {value: reading.parse_number(value) for value in values}
    if None in numbers.values():
        return tuple(sorted(numbers))
    return tuple(sorted(numbers, key=lambda value: (numbers[value], value)))


def _is_mark(cell: Any, *, among_numbers: bool = False) -> bool:
    if isinstance(cell, str):
        return reading.is_mark(cell.strip(), among_numbers=among_numbers)
    return is_missing(cell)


def _refuse_numbers_in_text(
    name: str,
    cells: Sequence[Any],
    counts: Mapping[Any, int],
    numbers: Mapping[Any, Any],
    row_name: reading.RowName,
) -> None:
    """Refuse a column if at least half of its cells are numbers, or would be without signs."""
    odd = [cell for cell, number in numbers.items() if number is None]
    others = sum(counts[cell] for cell in odd if not reading.is_amount(cell.strip()))
    if 2 * others > sum(counts[cell] for cell in numbers):
        return
    named = ", ".join(f"{cell!r} ({row_name(cells.index(cell))})" for cell in odd[:3])
    more = f" and {len(odd) - 3:,} others" if len(odd) > 3 else ""
    what = "holds numbers that are not written plainly:"
    if len(odd) < len(numbers):
        what = "is mostly numbers, but for"
    remedy = reading.number_remedy(odd[0].strip())
    raise PeopleError(
        f"Column {name!r} {what} {named}{more}. {remedy} Where it holds levels, say so: "
        f"categories=[{name!r}], or --category {name} on the command line; to do without it, "
        f"leave_out=[{name!r}] or --leave-out {name}."
    )


def _of_frame(column: Any, name: str, category: bool) -> Column:
    """A column of a narwhals frame."""
    dtype, values = column.dtype, column.drop_nulls()
    missing = bool(column.is_null().any()) or (dtype.is_float() and bool(column.is_nan().any()))
    if category:
        if not (dtype.is_integer() or dtype in (nw.Categorical, nw.Enum, nw.String)):
            raise PeopleError(
                f"A category is a column of text or integers; {name!r} holds {dtype}. Turn it into "
                f"text: for pandas frame[{name!r}].astype('Int64').astype('string')."
            )
        if dtype.is_integer():
            texts = list(map(str, values.to_list()))
            return Column(name, "text", texts, missing, _sorted_levels(texts))
    if holds_dates(column):
        return Column(name, "date", [], missing)
    if only_flags(column):
        return Column(name, "flag", values.to_list(), missing)
    if dtype.is_numeric():
        numbers = floats(column)
        if numbers is None:
            return Column(name, LARGE, [], missing)
        numbers = numbers[np.isfinite(numbers)]
        integral = bool((numbers % 1 == 0).all()) and not dtype.is_float()
        return Column(name, "integer" if integral else "number", numbers.tolist(), missing)
    if dtype in (nw.Categorical, nw.Enum):
        texts = [v for v in values.cast(nw.String).to_list() if isinstance(v, str)]
        return Column(name, "text", texts, missing, _levels(column))
    cells = column.to_list()
    if dtype != nw.String and not all(map(_is_cell, cells)):
        dates = all(is_date(cell) or is_missing(cell) for cell in cells)
        return Column(name, "date" if dates else str(dtype), [], missing)
    read = column_of_cells(name, cells, category=category)
    if read.kind in ("integer", "number") and any(isinstance(cell, str) for cell in cells):
        _advise(
            name, f"holds numbers as text, which are read as numbers. If they are levels, say so: "
            f"categories=[{name!r}].",
        )  # fmt: skip
    return read


def _is_cell(value: Any) -> bool:
    """Test for text, a number (no truth value) or nothing, which a column of objects may hold."""
    plain = isinstance(value, str | Real | Decimal) and not isinstance(value, bool | np.bool_)
    return (plain or is_missing(value)) and not isinstance(value, np.timedelta64)


def _levels(column: Any) -> tuple[str, ...]:
    """All levels of the column's type in its order; none if the type has no order.

    Categories of Arrow and polars are in the order of appearance, which means nothing.
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
            "decide, and leave it out or hide it from the panel (visible: false in the schema).",
        )
    if (reason := _left_out(column, words)) is not None:
        _advise(name, reason)
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
            f"feature: leave it out with label={name!r}, or with --leave-out, which `likewise "
            f"init` and `likewise audit` have.",
        )
    return feature


def _left_out(column: Column, words: str) -> str | None:
    """The reason why a column can be no feature, or None."""
    if column.kind == "date" or _are_days(column):
        return "holds dates, and was left out. Give a number: days or years since one."
    if (clock := _clock(column, words)) is not None:
        return (
            f"looks like {clock}, from {_day(column, clock)}, and was left out. Give a number that "
            f"people can compare: days or years since a date. If it is an amount, add it to the "
            f"schema."
        )
    if column.kind == LARGE:
        return f"holds {LARGE}, and was left out. Give them in thousands, or as text."
    if column.kind in ("integer", "number", "text") and not (column.values or column.levels):
        return "has no value at all, and was left out."
    return None


def _are_days(column: Column) -> bool:
    """Test for integers that are all days: 20260131."""
    days = set(column.values) if column.kind == "integer" else set()
    return len(days) > 1 and all(_DAY.fullmatch(f"{day:.0f}") for day in days)


_TIME = re.compile(
    r"(^|_)(date|dated?|day|time|timestamp|ts|epoch|unix|created|updated|opened|closed|at|on|"
    r"since|until|when|birth\w*|dob|start(ed)?|end(ed)?|joined|issued|expir\w*)($|_)"
)
_CLOCKS = {
    "seconds since 1970": (1, 0), "milliseconds since 1970": (1e3, 0),
    "microseconds since 1970": (1e6, 0), "nanoseconds since 1970": (1e9, 0),
    "days of a spreadsheet": (1 / 86400, 25569 * 86400),
}  # fmt: skip
"""By clock, its ticks in a second, and the seconds from its start to 1970."""
LAST_YEAR = 2100


def _seconds(value: float, clock: str) -> float:
    ticks, start = _CLOCKS[clock]
    return float(value) / ticks - start


def _clock(column: Column, words: str) -> str | None:
    """The clock whose times the numbers are: all within a lifetime, as hardly any amounts are.

    Days of a spreadsheet (45,000) may well be amounts, so the name of the column must mention a
    time too; so it must for seconds before 2000.
    """
    if column.kind not in ("integer", "number") or not column.values:
        return None
    least, most, named = min(column.values), max(column.values), _TIME.search(words) is not None
    if least == most and not named:
        return None
    for clock in _CLOCKS:
        low, high = (_seconds(v, clock) / (365.2425 * 86400) + 1970 for v in (least, most))
        spreadsheet = clock == "days of a spreadsheet"
        first = 1920 if spreadsheet else 1971 if named else 2000
        if (named or not spreadsheet) and first <= low and high < LAST_YEAR:
            return clock
    return None


def _day(column: Column, clock: str) -> str:
    """The first and the last day, in words."""
    ends = (_seconds(v, clock) for v in (min(column.values), max(column.values)))
    return " to ".join(datetime.fromtimestamp(s, UTC).date().isoformat() for s in ends)


def _numeric(column: Column, words: str, missing: str | None) -> Feature | None:
    values, integral = np.asarray(column.values, dtype=np.float64), column.kind == "integer"
    values = values[np.isfinite(values)]
    if integral and set(np.unique(values)) <= {0.0, 1.0}:
        return Feature(column.name, "flag", missing=missing)
    distinct = len(values) > 1 and len(np.unique(values)) == len(values)
    if integral and distinct and _IDENTITY.search(words):
        _advise(column.name, _IS_IDENTITY)
        return None
    _advise_on_numbers(column.name, np.sort(values), integral)
    low, high = _bounds(values)
    return Feature(column.name, "integer" if integral else "number", low, high, missing=missing)


def _advise_on_numbers(name: str, values: FloatArray, integral: bool) -> None:
    """Advise on sorted numbers that may be marks, typing errors or codes."""
    different = np.unique(values)
    if len(different) < 3:
        return
    mark = _mark(different)
    trim = max(1, len(values) // 100)
    inner = values[trim : len(values) - trim]
    few = 3 <= len(different) <= MOST_CODES and len(values) >= PEOPLE_A_CODE * len(different)
    if mark is not None:
        count = int((values == mark).sum())
        times = "once" if count == 1 else f"{count:,} times"
        others = different[different != mark]
        _advise(
            name, f"holds {plain_number(mark)} {times}, and otherwise {_span(others)}. If that "
            f"stands for a missing value, leave these cells empty.",
        )  # fmt: skip
    elif len(values) >= FEWEST_VALUES and np.ptp(values) > STRETCH * np.ptp(inner) > 0:
        share = len(inner) / len(values)
        _advise(
            name, f"reaches {_span(values)}, while {100 * share:.0f} % of its values lie between "
            f"{plain_number(inner[0], 6)} and {plain_number(inner[-1], 6)}. Differences are "
            f"measured by the whole range, so that a few values make all others alike. Correct "
            f"them, or give auditors the range of the others: "
            f"scales={{{name!r}: {np.ptp(inner):.6g}}}.",
        )  # fmt: skip
    elif integral and few:
        codes = ", ".join(map(plain_number, different.tolist()))
        _advise(
            name, f"has {len(different)} different integers ({codes}). If they are codes and no "
            f"amounts, say so: categories=[{name!r}], or --category {name}.",
        )  # fmt: skip


def _mark(different: FloatArray) -> float | None:
    """A number that may mark missing values: −1 or nines, far from the others."""
    least, most = float(different[0]), float(different[-1])
    if _NINES.fullmatch(f"{most:.0f}") and most - different[-2] > different[-2] - least:
        return most
    negative = least == -1 or bool(_NINES.fullmatch(f"{-least:.0f}"))
    return least if negative and different[1] >= 0 else None


def _span(values: FloatArray) -> str:
    return f"from {plain_number(values.min(), 6)} to {plain_number(values.max(), 6)}"


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
    name, values, different = column.name, column.values, len(set(column.values))
    if column.kind != "text":
        _advise(name, f"holds {column.kind}, and was left out: it is neither numbers nor text.")
        return None
    levels = column.levels or tuple(sorted(set(values)))
    alone = len(values) > 2 and different == len(values)
    named = _IDENTITY.search(words) and different > len(values) / 2
    if not column.levels and (alone or named):
        _advise(name, _IS_IDENTITY)
        return None
    if len(levels) > MOST_LEVELS:
        _advise(
            name, f"has {len(levels)} different texts, and was left out. Group them into at most "
            f"{MOST_LEVELS} levels.",
        )  # fmt: skip
        return None
    _advise_on_levels(name, values, levels)
    if missing in levels:
        missing = f"{missing} (no value)"
    return Feature(name, "category", levels=levels, missing=missing)


def _advise_on_levels(name: str, values: Sequence[str], levels: Sequence[str]) -> None:
    """Advise on levels that look alike, that mark missing values, or that are measures."""
    if same := reading.alike(levels):
        _advise(
            name, f"has levels that may be one: {', '.join(map(repr, same))}. Write them alike."
        )
    if marks := [level for level in levels if reading.is_mark(level.strip())]:
        _advise(
            name, f"has the level {marks[0]!r}, which mostly marks a missing value. If it does, "
            f"leave these cells empty.",
        )  # fmt: skip
    measures = [_MEASURE.fullmatch(value) for value in values]
    units = {measure and measure[1] for measure in measures}
    if len(units) == 1 and None not in units and len(levels) > 2:
        _advise(
            name, f"holds measures such as {values[0]!r}, which are read as levels. If they are "
            f"amounts, give numbers, and name the unit in the schema.",
        )  # fmt: skip
