"""The settings of a world: their meaning, their bounds, and how they are written as text.

A world declares them as fields, with :func:`setting`; one place then checks them, lists them and
reads them from the command line. The settings of any other class are the parameters of its
constructor.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from likewise.errors import ParameterError
from likewise.validation import flag, integer, real
from likewise.validation import text as as_text

_FLAGS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


@dataclass(frozen=True)
class Setting:
    """One setting: its name, its default, what it is, and its bounds where it has them.

    ``kind`` is int, float, bool or str; numbers of the first two are in [low, high], or in
    (low, high] if ``beyond``.
    """

    name: str
    kind: type
    default: Any = None
    about: str = ""
    low: float | None = None
    high: float | None = None
    beyond: bool = False
    required: bool = False

    def check(self, value: Any) -> Any:
        """Return the value as a plain number, or refuse it; without bounds, return it as it is."""
        if self.kind is int and self.low is not None:
            limit = None if self.high is None else int(self.high) + 1
            return integer(self.name, value, int(self.low), limit, self._remedy)
        if self.kind is not float or self.low is None or self.high is None:
            return value
        number = real(self.name, value, self._remedy)
        if not self.low <= number <= self.high or (self.beyond and number == self.low):
            interval = f"{'(' if self.beyond else '['}{self.low:g}, {self.high:g}]"
            raise ParameterError(self.name, f"must be in {interval}", value, self._remedy)
        return number

    def plain(self, value: Any) -> Any:
        """Return the value as a plain one of its kind; None where that is the default."""
        if value is None and self.default is None and not self.required:
            return None
        if self.kind is int:
            return self.check(integer(self.name, value, -(1 << 63), 1 << 63, self._remedy))
        if self.kind is float:
            return self.check(real(self.name, value, self._remedy))
        if self.kind is bool:
            return flag(self.name, value, self._remedy)
        return as_text(self.name, value, self._remedy)

    def parse(self, text: str) -> Any:
        """Read the value from its text, as on the command line."""
        try:
            value = _FLAGS[text.lower()] if self.kind is bool else self.kind(text)
        except (KeyError, ValueError):
            kinds = {int: "an integer", float: "a number", bool: "yes or no"}
            remedy = f"Such as {self.text}."
            raise ParameterError(self.name, f"must be {kinds[self.kind]}", text, remedy) from None
        if self.kind is float and not math.isfinite(value):
            remedy = f"Such as {self.text}."
            raise ParameterError(self.name, "must be a finite number", text, remedy)
        return value

    @property
    def _remedy(self) -> str:
        return f"It is {self.about}; {self.default!r} is the default."

    @property
    def text(self) -> str:
        """The name and the default, as one would write it: ``spell=1000``."""
        return self.name if self.required else f"{self.name}={self.default}"


def setting(
    default: Any,
    about: str,
    *,
    low: float | None = None,
    high: float | None = None,
    beyond: bool = False,
) -> Any:
    """A field of a world that is a dataclass; numbers are checked to be in [low, high].

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Rain:
    ...     seed: int
    ...     wet: float = setting(0.5, "the share of rainy days", low=0, high=1)
    ...     def __post_init__(self):
    ...         check_settings(self)
    >>> [declared.text for declared in settings_of(Rain).values()]
    ['wet=0.5']
    >>> Rain(1, wet=2)
    Traceback (most recent call last):
    likewise.errors.ParameterError: wet must be in [0, 1]; got 2. It is the share of rainy days; \
0.5 is the default.
    """
    declared = {"about": about, "low": low, "high": high, "beyond": beyond}
    return dataclasses.field(default=default, metadata={"setting": declared})


def settings_of(world: type) -> dict[str, Setting]:
    """Return the settings of a world by name: all of its parameters but the seed."""
    declared: dict[str, Mapping[str, Any]] = {}
    if dataclasses.is_dataclass(world):
        declared = {f.name: f.metadata.get("setting", {}) for f in dataclasses.fields(world)}
    settings = settings_of_function(world, declared)
    settings.pop("seed", None)
    return settings


def settings_of_function(
    function: Callable[..., Any], declared: Mapping[str, Mapping[str, Any]] | None = None
) -> dict[str, Setting]:
    """Return the parameters of a function by name, as settings."""
    return {
        p.name: _setting_of(p, (declared or {}).get(p.name, {}))
        for p in inspect.signature(function).parameters.values()
        if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    }


def _setting_of(parameter: inspect.Parameter, declared: Mapping[str, Any]) -> Setting:
    required = parameter.default is parameter.empty
    default = None if required else parameter.default
    kinds = {"int": int, "float": float, "bool": bool}
    annotated = getattr(parameter.annotation, "__name__", str(parameter.annotation))
    annotated = annotated.removesuffix(" | None")
    kind = type(default) if type(default) in kinds.values() else kinds.get(annotated, str)
    return Setting(parameter.name, kind, default, required=required, **declared)


def check_settings(world: Any) -> None:
    """Refuse a seed, a setting or a rule that makes no sense; for ``__post_init__``.

    A rule is checked against the world's ``panel``, if it has one: it may name members only.
    """
    seed = integer("seed", world.seed, 0, 1 << 64, "Take any such number.")
    object.__setattr__(world, "seed", seed)
    for name, declared in settings_of(type(world)).items():
        object.__setattr__(world, name, declared.check(getattr(world, name)))
    panel = getattr(world, "panel", None)
    if panel is not None:
        panel.rule.check(panel.members)


def known_setting(world: type, name: str) -> Setting:
    """Return the setting of that name, or refuse it with a list of the world's settings."""
    owner = f"world {getattr(world, 'name', world.__name__)}"
    return named_setting(settings_of(world), name, owner)


def named_setting(settings: Mapping[str, Setting], name: str, owner: str) -> Setting:
    """Return the setting of that name, or refuse it with a list of its owner's settings."""
    if name not in settings:
        listed = ", ".join(declared.text for declared in settings.values())
        rule = f"must be one of its own ({listed or 'none at all'})"
        raise ParameterError(f"A setting of the {owner}", rule, name, "Check the spelling.")
    return settings[name]
