"""A feature of a person: a name, a kind, bounds, and words for people."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any, Literal, TypeGuard, cast, get_args

import numpy as np
import numpy.typing as npt

from likewise.errors import PeopleError, shown
from likewise.numerics.fixed_point import FloatArray
from likewise.people.columns import id_text, is_missing, is_table
from likewise.validation import assign, choice, flag, items, members, real, require, text

Kind = Literal["number", "integer", "category", "flag"]
Value = float | int | str | bool | None

_INTEGER = re.compile(r"\s*[+-]?[0-9]{1,30}\s*")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ].*)?")
# From here on a float does not hold every integer.
EXACT = 2.0**53
_DATES = (date, time, timedelta, np.datetime64, np.timedelta64)


@dataclass(frozen=True)
class Feature:
    """A feature of a person, for the learner and for the people who look at it.

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
        remedy = "Name the column."
        name = text("Feature.name", self.name, remedy)
        require(bool(name), "Feature.name", "must not be empty", name, remedy)
        owner = f"Feature({self.name!r})"
        choice(f"{owner}.kind", self.kind, get_args(Kind), "A category lists its levels.")
        assign(self, low=_bound(f"{owner}.low", self.low), high=_bound(f"{owner}.high", self.high))
        remedy = "Bounds say what values are believable; leave them out for none."
        rule = f"must be below high = {self.high!r}"
        require(self.low < self.high, f"{owner}.low", rule, self.low, remedy)
        for words in ("label", "unit"):
            text(f"{owner}.{words}", getattr(self, words), "It is shown to people.")
        if self.missing is not None:
            text(f"{owner}.missing", self.missing, "It is shown where a value is missing.")
        assign(self, visible=flag(f"{owner}.visible", self.visible, "Say which."))
        self._check_levels(owner)

    def _check_levels(self, owner: str) -> None:
        owner, remedy = f"{owner}.levels", "List every level that may occur."
        levels = tuple(
            text(owner, level, "Levels are text.") for level in items(owner, self.levels, remedy)
        )
        assign(self, levels=levels)
        fits = (self.kind == "category") == bool(levels)
        require(fits, owner, "must be given for a category alone", levels, remedy)
        different = len(set(levels)) == len(levels)
        require(different, owner, "must not repeat a level", levels, "Drop one of them.")

    @property
    def title(self) -> str:
        """The label for people, or the name made readable."""
        return self.label or self.name.replace("_", " ").capitalize()

    def encode(self, value: Any, person: str) -> float:
        """Encode a value as people write it: a number, or the text of a category's level.

        An integer or truth value for a category means the one level whose text it is, never its
        place.
        """
        if self.kind == "category" and not is_missing(value):
            return float(self._level(value, person))
        return self.checked(value, person)

    def encode_column(
        self, values: Sequence[Any] | FloatArray, people: Sequence[str], *, encoded: bool = False
    ) -> FloatArray:
        """Encode a value for each person; an array of numbers is checked at once.

        Numbers that are ``encoded`` already are the places of a category's levels.
        """
        if isinstance(values, np.ndarray):
            for place in np.flatnonzero(~self._admits(values)).tolist():
                self.checked(float(values[place]), people[place])
            return values
        if self.kind != "category" or encoded:
            return np.array([self.checked(v, p) for v, p in zip(values, people, strict=True)])
        codes: dict[Any, float] = {level: float(i) for i, level in enumerate(self.levels)}
        if self.missing is not None:
            codes[None] = math.nan
        try:
            return np.array([codes[value] for value in values])
        except (KeyError, TypeError):  # not all of them are texts of levels
            return np.array([self.encode(v, p) for v, p in zip(values, people, strict=True)])

    def _admits(self, x: FloatArray) -> Any:
        low, high = self.limits
        with np.errstate(invalid="ignore"):
            fits = np.isfinite(x) & (x >= low) & (x <= high)
            if self.kind != "number":
                fits &= x % 1 == 0
        return fits if self.missing is None else fits | np.isnan(x)

    def checked(self, value: Any, person: str) -> float:
        """Check an encoded value; NaN and None are missing."""
        if is_missing(value):
            if self.missing is None:
                raise PeopleError(
                    f"Person {person!r}: feature {self.name!r} is missing (NaN or absent). Give a "
                    f"value, or say in the schema what a missing one is called: "
                    f"Feature({self.name!r}, missing='not stated')."
                )
            return math.nan
        number = as_number(value)
        if isinstance(value, bool | np.bool_) and self.kind in ("number", "integer"):
            number = None
        if number is None:
            raise self._misfit(person, f"of the kind {self.kind!r}", value, _remedy(value))
        if not is_exact(value, number):
            remedy = "Give it in thousands, or as a category."
            raise self._misfit(person, "a number that a float holds exactly", value, remedy)
        low, high = self.limits
        integral = self.kind != "number"
        if not math.isfinite(number) or not low <= number <= high or (integral and number % 1):
            noun = "an integer" if integral else "a finite number"
            bounds = f"[{plain_number(low, 6)}, {plain_number(high, 6)}]"
            remedy = "Correct the value, or the bounds in the schema."
            raise self._misfit(person, f"{noun} in {bounds}", value, remedy)
        return number

    def _misfit(self, person: str, rule: str, value: Any, remedy: str) -> PeopleError:
        return PeopleError(
            f"Person {person!r}: feature {self.name!r} must be {rule}; got {shown(value)}. {remedy}"
        )

    def _level(self, value: Any, person: str) -> int:
        if isinstance(value, str) and value in self.levels:
            return self.levels.index(value)
        remedy = (
            "Give the level's own text: a number is not taken as the place of a level. An array "
            "that holds places is for FeatureSchema.encoded."
        )
        if isinstance(value, str):
            remedy = "Add the level to the schema if it is real."
        elif isinstance(value, _DATES):
            remedy = _remedy(value)
        else:
            same = [place for place, level in enumerate(self.levels) if _says(level, value)]
            if len(same) == 1:
                return same[0]
        raise self._misfit(person, f"one of {', '.join(self.levels)}", value, remedy)

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the largest encoded value."""
        if self.kind == "category":
            return 0.0, len(self.levels) - 1.0
        return (0.0, 1.0) if self.kind == "flag" else (float(self.low), float(self.high))

    def say(self, number: float, digits: int = 4) -> str:
        """The value in words, for auditors and reports; ``number`` is encoded."""
        if type(number) is not float:
            number = real(f"Feature({self.name!r}).say", number, "It is an encoded value.")
        if math.isnan(number):
            return self.missing or "missing"
        if self.kind == "category":
            return self.levels[int(self.checked(number, "?"))]
        if self.kind == "flag":
            return "yes" if number else "no"
        amount = plain_number(number, digits)
        return f"{amount} {self.unit}" if self.unit else amount

    def say_apart(self, first: float, second: float) -> tuple[str, str]:
        """Two values in words, with enough digits to tell them apart.

        >>> Feature("pay").say_apart(123456.0, 123456.5)
        ('123,456', '123,456.5')
        """
        same = first == second or (math.isnan(first) and math.isnan(second))
        a = b = ""
        for digits in (4, 6, 9, 12, 17):
            a, b = self.say(first, digits), self.say(second, digits)
            if same or a != b:
                return a, b
        # A level may have the name of a missing value.
        return (f"{a} (no value)", b) if math.isnan(first) else (a, f"{b} (no value)")

    def say_difference(self, first: float, second: float) -> str:
        """How far two values differ, in words: 579 against 581 is not 579 against 200.

        >>> Feature("score", low=300, high=850).say_difference(579, 581)
        '2 apart, under 1\\u202f% of the range'
        >>> Feature("debt").say_difference(1, 4), Feature("owns", "flag").say_difference(0, 1)
        ('3 apart', 'differs')
        """
        amount = abs(first - second)
        if self.kind in ("category", "flag") or math.isnan(amount):
            return "differs"
        low, high = self.limits
        if not math.isfinite(high - low):
            return f"{self.say(amount)} apart"
        share = amount / (high - low)
        percent = "under 1" if share < 0.01 else f"{100 * share:.0f}"
        return f"{self.say(amount)} apart, {percent}\u202f% of the range"

    @property
    def range_text(self) -> str:
        """The values that may occur, in words."""
        if self.kind == "category":
            return ", ".join(self.levels)
        if self.kind == "flag":
            return "yes or no"
        low, high = (plain_number(b, 6) if math.isfinite(b) else "" for b in (self.low, self.high))
        bounds = f"{low} to {high}" if low and high else f"from {low}" if low else f"up to {high}"
        return f"{bounds if low or high else 'any'} {self.unit}".strip()

    def code(self) -> str:
        """The feature as Python code."""
        spec = self.spec()
        arguments = [_code(spec.pop("name")), _code(spec.pop("kind"))]
        if "low" in spec and "high" in spec:
            arguments += [_code(spec.pop("low")), _code(spec.pop("high"))]
        arguments += [f"{name}={_code(value)}" for name, value in spec.items()]
        return f"Feature({', '.join(arguments)})"

    def spec(self) -> dict[str, Any]:
        """The feature as JSON: its name and kind, and what is not as it is by default."""
        spec: dict[str, Any] = {"name": self.name, "kind": self.kind}
        for field in fields(self)[2:]:
            value = getattr(self, field.name)
            if value != field.default:
                spec[field.name] = list(value) if field.name == "levels" else value
        return spec

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Feature:
        """Read a feature from its JSON."""
        optional = [field.name for field in fields(cls) if field.name != "name"]
        return cls(**members("A feature", spec, ["name"], optional))


AS_GIVEN = 15
"""Digits by which a number reads as it was given: any of so many digits comes back from a float."""


def plain_number(number: float, digits: int = 4) -> str:
    """A number in full: all digits before the point, ``digits`` in all where that is more.

    >>> [plain_number(x) for x in (12_000.0, 1987.0, 0.000123456, 52.25, 1e20)]
    ['12,000', '1987', '0.0001235', '52.25', '1e+20']
    >>> [plain_number(x, AS_GIVEN) for x in (1234.56, 0.1, 98765.4321)]
    ['1234.56', '0.1', '98,765.4321']
    """
    size = abs(number)
    if 0 < size < 9999 and number == int(number):
        return str(int(number))
    if not (number == 0 or 1e-6 <= size < 1e15):
        return f"{number:.{digits}g}"
    rounded = f"{number:.0f}" if size >= 10 ** (digits - 1) else f"{number:.{digits}g}"
    return format(Decimal(rounded), ",f" if size >= 9999.5 else "f")


def _code(value: Any) -> str:
    """A value as Python code; a list becomes a tuple."""
    if isinstance(value, list):
        comma = "," if len(value) == 1 else ""
        return f"({', '.join(map(_code, value))}{comma})"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _says(level: str, value: Any) -> bool:
    """Test for the text of an integer or a truth value."""
    if isinstance(value, bool | np.bool_):
        return level.lower() == str(value).lower()
    digits = id_text(value)
    return digits is not None and bool(_INTEGER.fullmatch(level)) and int(level) == int(digits)


def _bound(name: str, value: Any) -> float:
    """A bound, unchanged: 0 and 0.0 make different hashes of the schema."""
    number = real(name, value, "Leave it out for none.")
    return cast(float, value) if type(value) in (int, float) else number


def as_number(value: Any) -> float | None:
    """A number or truth value as a float; None for anything else, such as the text of a number."""
    if isinstance(value, np.timedelta64) or not isinstance(value, Real | Decimal | np.bool_):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf


def is_exact(value: Any, number: float) -> bool:
    """Test whether a float is equal to the integer that it was made from; a fraction may round."""
    if abs(number) < EXACT or not math.isfinite(number):
        return True
    return not isinstance(value, int | np.integer | Decimal) or int(number) == value


def is_date(value: Any) -> bool:
    """Test for dates, times and spans of time, also for their text (2026-01-31)."""
    if isinstance(value, _DATES):
        return True
    if not isinstance(value, str) or not _DATE.fullmatch(value):
        return False
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def _remedy(value: Any) -> str:
    """Advice on a value that is no number."""
    if is_date(value):
        return "Say which number is meant, such as days or years since a date, and give that."
    if isinstance(value, bool | np.bool_):
        return "Truth values are for a feature of the kind 'flag'."
    hint = ", or read it as a number first: float(…)" if isinstance(value, str) else ""
    return f"Correct the value{hint}."


def is_numeric(rows: object) -> TypeGuard[npt.NDArray[Any]]:
    """Test for a plain array of numbers or truth values; refuse an ambiguous table."""
    if type(rows) is not np.ndarray or rows.dtype.names is not None:
        refuse_table(rows)
    return isinstance(rows, np.ndarray) and rows.ndim > 0 and rows.dtype.kind in "fiub"


def refuse_table(value: object) -> None:
    """Refuse a frame, a Series, and arrays with names or masks."""
    named = isinstance(value, np.ndarray | np.void) and value.dtype.names is not None
    if named or isinstance(value, np.ma.MaskedArray):
        raise PeopleError(
            "An array with field names or a mask can be read in two ways. Give rows by name, "
            "[dict(zip(a.dtype.names, row)) for row in a.tolist()], or a plain array."
        )
    if is_table(value):
        raise PeopleError(
            f"A {type(value).__name__} of {type(value).__module__.partition('.')[0]} can be read "
            f"by row or by column, by name or by place. Give rows by name: "
            f"frame.to_dict('records') for pandas, frame.to_dicts() for polars, "
            f"table.to_pylist() for Arrow."
        )


def listed_rows(rows: Any) -> list[Any]:
    """All rows, as a list; a single row or column and text are refused."""
    single = isinstance(rows, Mapping | str | bytes) or not isinstance(rows, Iterable)
    if single or (isinstance(rows, np.ndarray) and rows.ndim == 0):
        raise PeopleError(
            f"People must be a list of rows, one for each person; got {shown(rows)}. For one "
            f"person write [row]."
        )
    return list(rows)


def row_values(row: Any, names: Sequence[str], person: str) -> list[Any]:
    """The values of one row in the order of ``names``; by name where the row is a mapping."""
    refuse_table(row)
    if isinstance(row, Mapping):
        if unknown := [str(key) for key in row if key not in names]:
            raise PeopleError(
                f"Person {person!r}: unknown features {', '.join(unknown)}. The schema has "
                f"{', '.join(names)}."
            )
        return [row.get(name) for name in names]
    keys = _own_names(row)
    if keys is not None and keys != tuple(names):
        raise PeopleError(
            f"Person {person!r}: the row has names of its own ({', '.join(map(str, keys))}), which "
            f"are not those of the schema in its order ({', '.join(names)}). Give a mapping: "
            f"row._asdict(), or dict(row)."
        )
    values = None if keys is None and not _is_sequence(row) else list(row)
    if values is None or len(values) != len(names):
        actual = f"shape {row.shape}" if isinstance(row, np.ndarray) else shown(row)
        raise PeopleError(
            f"Person {person!r}: a row must have {len(names)} values ({', '.join(names)}); got "
            f"{actual}."
        )
    return values


def _own_names(row: Any) -> tuple[Any, ...] | None:
    """The names that a named tuple or a database row has itself."""
    if isinstance(row, tuple) and hasattr(row, "_fields"):
        return tuple(row._fields)
    return tuple(row.keys()) if callable(getattr(row, "keys", None)) else None


def _is_sequence(row: Any) -> bool:
    if isinstance(row, np.ndarray):
        return row.ndim == 1
    return isinstance(row, Sequence) and not isinstance(row, str | bytes | bytearray | memoryview)
