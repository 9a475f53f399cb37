"""One feature of a person: a name, a kind, bounds, and words for people."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from numbers import Real
from typing import Any, Literal, cast

import numpy as np

from likewise.errors import ParameterError, PeopleError, shown
from likewise.validation import choice, flag, items, real, text

__all__ = ["Feature", "Kind", "Value"]

Kind = Literal["number", "integer", "category", "flag"]
Value = float | int | str | bool | None

_KINDS = ("number", "integer", "category", "flag")
_INTEGER = re.compile(r"\s*[+-]?[0-9]{1,30}\s*")


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
        remedy = "Name the column."
        if not text("Feature.name", self.name, remedy):
            raise ParameterError("Feature.name", "must not be empty", self.name, remedy)
        owner = f"Feature({self.name!r})"
        choice(f"{owner}.kind", self.kind, _KINDS, "A category lists its levels.")
        for bound in ("low", "high"):
            object.__setattr__(self, bound, _bound(f"{owner}.{bound}", getattr(self, bound)))
        if math.isnan(self.low) or math.isnan(self.high) or not self.low < self.high:
            raise ParameterError(
                f"{owner}.low",
                f"must be below high = {self.high!r}",
                self.low,
                "Bounds say what values are believable; leave them out for none.",
            )
        for words in ("label", "unit"):
            text(f"{owner}.{words}", getattr(self, words), "It is shown to people.")
        if self.missing is not None:
            text(f"{owner}.missing", self.missing, "It is shown where a value is missing.")
        object.__setattr__(self, "visible", flag(f"{owner}.visible", self.visible, "Say which."))
        self._check_levels(owner)

    def _check_levels(self, owner: str) -> None:
        remedy = "List every level that may occur."
        levels = items(f"{owner}.levels", self.levels, remedy)
        named = tuple(text(f"{owner}.levels", level, "Levels are text.") for level in levels)
        object.__setattr__(self, "levels", named)
        if (self.kind == "category") != bool(self.levels):
            raise ParameterError(
                f"{owner}.levels", "must be given for a category, and only for one", self.levels,
                remedy,
            )  # fmt: skip
        if len(set(self.levels)) != len(self.levels):
            raise ParameterError(
                f"{owner}.levels", "must not repeat a level", self.levels, "Drop one of them."
            )

    @property
    def title(self) -> str:
        """The label for people, or the name made readable."""
        return self.label or self.name.replace("_", " ").capitalize()

    def encode(self, value: Any, person: str) -> float:
        """Turn a value as people write it into a number; a category into the place of its level.

        An integer for a category is matched to the one level that reads so, and never taken as the
        place of a level.

        >>> Feature("rooms", "category", levels=("1", "2", "3")).encode(1, "ann")
        0.0
        """
        if self.kind == "category" and not _absent(value):
            return float(self._level(value, person))
        return self.checked(value, person)

    def checked(self, value: Any, person: str) -> float:
        """Check a number that stands for a value, encoded already; NaN and None are missing.

        >>> Feature("purpose", "category", levels=("car", "home")).checked(1, "ann")
        1.0
        """
        if _absent(value):
            if self.missing is None:
                raise PeopleError(
                    f"Person {person!r}: feature {self.name!r} is missing (NaN or absent). Give a "
                    f"value, or say in the schema what a missing one is called: "
                    f"Feature({self.name!r}, missing='not stated')."
                )
            return math.nan
        number = _number(value)
        if number is None:
            raise PeopleError(
                f"Person {person!r}: feature {self.name!r} must be of the kind {self.kind!r}; got "
                f"{shown(value)}. Correct the value{_or_read(value)}."
            )
        low, high = self.limits
        integral = self.kind != "number"
        if not math.isfinite(number) or not low <= number <= high or (integral and number % 1):
            what = "an integer" if integral else "a finite number"
            raise PeopleError(
                f"Person {person!r}: feature {self.name!r} must be {what} in [{low:g}, {high:g}]; "
                f"got {shown(value)}. Correct the value, or the bounds in the schema."
            )
        return number

    def _level(self, value: Any, person: str) -> int:
        if isinstance(value, str) and value in self.levels:
            return self.levels.index(value)
        remedy = "Add the level to the schema if it is real."
        if _is_integer(value):
            same = [place for place, level in enumerate(self.levels) if _reads_as(level, value)]
            if len(same) == 1:
                return same[0]
        if not isinstance(value, str):
            remedy = (
                "Give the level's own text: a number is not taken as the place of a level. An "
                "array that holds places is for FeatureSchema.encoded."
            )
        raise PeopleError(
            f"Person {person!r}: feature {self.name!r} must be one of {', '.join(self.levels)}; "
            f"got {shown(value)}. {remedy}"
        )

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the largest number that may stand for a value."""
        if self.kind == "category":
            return 0.0, len(self.levels) - 1.0
        return (0.0, 1.0) if self.kind == "flag" else (self.low, self.high)

    def say(self, number: float) -> str:
        """The value in words, for auditors and reports; ``number`` is encoded."""
        number = real(f"Feature({self.name!r}).say", number, "It is an encoded value.")
        if math.isnan(number):
            return self.missing or "missing"
        if self.kind == "category":
            return self.levels[int(self.checked(number, "?"))]
        if self.kind == "flag":
            return "yes" if number else "no"
        integral = self.kind == "integer" and math.isfinite(number)
        said = f"{int(number)}" if integral else f"{number:.4g}"
        return f"{said} {self.unit}" if self.unit else said

    @property
    def range_text(self) -> str:
        """The values that may occur, in words."""
        if self.kind == "category":
            return ", ".join(self.levels)
        if self.kind == "flag":
            return "yes or no"
        low, high = (f"{b:g}" if math.isfinite(b) else "" for b in (self.low, self.high))
        said = f"{low} to {high}" if low and high else f"from {low}" if low else f"up to {high}"
        return f"{said} {self.unit}".strip() if low or high else f"any {self.unit}".strip()

    def code(self) -> str:
        """The feature as Python code.

        >>> Feature("income", low=0, unit="k€").code()
        'Feature("income", "number", low=0, unit="k€")'
        """
        said = [json.dumps(self.name, ensure_ascii=False), json.dumps(self.kind)]
        finite = [math.isfinite(bound) for bound in (self.low, self.high)]
        if all(finite):
            said += [repr(self.low), repr(self.high)]
        said += [f"low={self.low!r}"] if finite == [True, False] else []
        said += [f"high={self.high!r}"] if finite == [False, True] else []
        if self.levels:
            levels = ", ".join(json.dumps(level, ensure_ascii=False) for level in self.levels)
            said.append(f"levels=({levels}{',' if len(self.levels) == 1 else ''})")
        for name in ("label", "unit"):
            if text_ := getattr(self, name):
                said.append(f"{name}={json.dumps(text_, ensure_ascii=False)}")
        said += [] if self.visible else ["visible=False"]
        if self.missing is not None:
            said.append(f"missing={json.dumps(self.missing, ensure_ascii=False)}")
        return f"Feature({', '.join(said)})"

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

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Feature:
        """Read a feature from its JSON.

        >>> Feature.from_spec({"name": "income", "kind": "number", "low": 0}).low
        0
        """
        known = {field.name for field in fields(cls)}
        if not isinstance(spec, Mapping) or "name" not in spec or not set(spec) <= known:
            raise ParameterError(
                "A feature", f"must be an object of {', '.join(sorted(known))}", spec,
                "Only the name is needed.",
            )  # fmt: skip
        return cls(**{**_OF_THEN, **spec})


# The meaning of what a written feature leaves out, whatever later defaults are.
_OF_THEN: dict[str, Any] = {
    "kind": "number", "low": -math.inf, "high": math.inf, "levels": (), "label": "", "unit": "",
    "visible": True, "missing": None,
}  # fmt: skip


def _bound(name: str, value: Any) -> float:
    """A bound as it was given, since 0 and 0.0 make different hashes of the schema."""
    number = real(name, value, "Leave it out for none.")
    return cast(float, value) if type(value) in (int, float) else number


def _absent(value: Any) -> bool:
    """Test for a value that is missing: None, or NaN of any kind of float."""
    if isinstance(value, Decimal):
        return value.is_nan()
    return value is None or (isinstance(value, float | np.floating) and math.isnan(value))


def _number(value: Any) -> float | None:
    """A number or truth value as a float; None for anything else, text that reads so included."""
    if isinstance(value, np.timedelta64) or not isinstance(value, Real | Decimal | np.bool_):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _is_integer(value: Any) -> bool:
    plain = isinstance(value, int | np.integer) and not isinstance(value, np.timedelta64)
    return plain and not isinstance(value, bool)


def _reads_as(level: str, number: int) -> bool:
    return bool(_INTEGER.fullmatch(level)) and int(level) == int(number)


def _or_read(value: Any) -> str:
    return ", or read it as a number first: float(…)" if isinstance(value, str) else ""
