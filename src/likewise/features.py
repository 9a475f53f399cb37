"""One feature of a person: a name, a kind, bounds, and words for people."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from likewise.errors import ParameterError, PeopleError

__all__ = ["Feature", "Kind", "Value"]

Kind = Literal["number", "integer", "category", "flag"]
Value = float | int | str | bool | None

_KINDS = ("number", "integer", "category", "flag")


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
        object.__setattr__(self, "levels", tuple(self.levels))
        if not self.name:
            raise ParameterError("Feature.name", "must not be empty", self.name, "Name the column.")
        if self.kind not in _KINDS:
            raise ParameterError(
                f"Feature({self.name!r}).kind", f"must be one of {', '.join(_KINDS)}", self.kind, ""
            )
        if math.isnan(self.low) or math.isnan(self.high) or not self.low < self.high:
            raise ParameterError(
                f"Feature({self.name!r}).low",
                f"must be below high = {self.high!r}",
                self.low,
                "Bounds say what values are believable; leave them out for none.",
            )
        if (self.kind == "category") != bool(self.levels):
            raise ParameterError(
                f"Feature({self.name!r}).levels",
                "must be given for a category, and only for one",
                self.levels,
                "List every level that may occur.",
            )
        if len(set(self.levels)) != len(self.levels):
            raise ParameterError(
                f"Feature({self.name!r}).levels", "must not repeat a level", self.levels, ""
            )

    @property
    def title(self) -> str:
        """The label for people, or the name made readable."""
        return self.label or self.name.replace("_", " ").capitalize()

    def encode(self, value: Any, person: str) -> float:
        """Turn a value into a number; a category into the place of its level."""
        if value is None or (isinstance(value, float) and math.isnan(value)):
            if self.missing is None:
                raise PeopleError(
                    f"Person {person!r}: feature {self.name!r} is missing (NaN or absent). Give a "
                    f"value, or say in the schema what a missing one is called: "
                    f"Feature({self.name!r}, missing='not stated')."
                )
            return math.nan
        if self.kind == "category" and isinstance(value, str):
            if value not in self.levels:
                raise PeopleError(
                    f"Person {person!r}: feature {self.name!r} must be one of "
                    f"{', '.join(self.levels)}; got {value!r}. Add the level to the schema if it "
                    f"is real."
                )
            return float(self.levels.index(value))
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise PeopleError(
                f"Person {person!r}: feature {self.name!r} must be of the kind {self.kind!r}; got "
                f"{value!r}. Correct the value."
            ) from None
        self._check_number(number, value, person)
        return number

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the largest number that may stand for a value."""
        if self.kind == "category":
            return 0.0, len(self.levels) - 1.0
        return (0.0, 1.0) if self.kind == "flag" else (self.low, self.high)

    def _check_number(self, number: float, value: Any, person: str) -> None:
        low, high = self.limits
        whole = self.kind != "number"
        if not math.isfinite(number) or not low <= number <= high or (whole and number % 1):
            what = "an integer" if whole else "a finite number"
            raise PeopleError(
                f"Person {person!r}: feature {self.name!r} must be {what} in [{low:g}, {high:g}]; "
                f"got {value!r}. Correct the value, or the bounds in the schema."
            )

    def say(self, number: float) -> str:
        """The value in words, for auditors and reports."""
        if math.isnan(number):
            return self.missing or "missing"
        if self.kind == "category":
            return self.levels[int(number)]
        if self.kind == "flag":
            return "yes" if number else "no"
        text = f"{number:.4g}" if self.kind == "number" else f"{int(number)}"
        return f"{text} {self.unit}" if self.unit else text

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
