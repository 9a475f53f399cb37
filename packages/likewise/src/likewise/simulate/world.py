"""The base of all worlds: a stream of rounds, each with people, their labels and a panel.

A world declares its settings as fields, with :func:`setting`; one place then checks them, lists
them and reads them from the command line. The settings of any other class are the parameters of its
constructor.
"""

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property
from typing import Annotated, Any, Protocol, Self, get_args, get_origin

import numpy as np
import numpy.typing as npt

from likewise.errors import LikewiseError, ParameterError
from likewise.hypotheses import Cut, HypothesisClass, Pool
from likewise.numerics.fixed_point import FloatArray, IntArray
from likewise.numerics.randomness import Purpose, Stream
from likewise.panel import Panel, Pivots
from likewise.people.schema import FeatureSchema, People
from likewise.validation import assign, choice, flag, integer, real, require, text, within

Approved = npt.NDArray[np.bool_]
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
        if self.low is None or self.kind not in (int, float):
            return value
        if self.kind is int:
            limit = None if self.high is None else int(self.high) + 1
            return integer(self.name, value, int(self.low), limit, self._remedy)
        high, ends = math.inf if self.high is None else self.high, "(]" if self.beyond else "[]"
        return within(self.name, value, self.low, high, self._remedy, ends)

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
        return text(self.name, value, self._remedy)

    def parse(self, text: str) -> Any:
        """Read the value from its text, as on the command line."""
        try:
            value = _FLAGS[text.lower()] if self.kind is bool else self.kind(text)
            fits = self.kind is not float or math.isfinite(value)
        except (KeyError, ValueError):
            fits = False
        kinds = {int: "an integer", float: "a finite number", bool: "yes or no"}
        rule, remedy = f"must be {kinds.get(self.kind, 'text')}", f"Such as {self.text}."
        require(fits, self.name, rule, text, remedy)
        return value

    @property
    def _remedy(self) -> str:
        return f"It is {self.about}; {self.default!r} is the default."

    @property
    def text(self) -> str:
        """The name and the default, as one would write it: ``spell=1000``."""
        return self.name if self.required else f"{self.name}={self.default}"


def setting(
    default: Any, about: str, *, low: float | None = None, high: float | None = None,
    beyond: bool = False,
) -> Any:  # fmt: skip
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
    return field(default=default, metadata={"setting": declared})


def settings_of(world: type) -> dict[str, Setting]:
    """Return the settings of a world by name: all of its parameters but the seed."""
    listed = fields(world) if is_dataclass(world) else ()
    declared = {f.name: f.metadata.get("setting", {}) for f in listed}
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
    annotation = parameter.annotation
    if get_origin(annotation) is Annotated:
        annotation, *notes = get_args(annotation)
        about = next((note for note in notes if isinstance(note, str)), "")
        declared = {"about": about, **declared}
    annotated = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    annotated = annotated.removesuffix(" | None")
    kind = type(default) if type(default) in kinds.values() else kinds.get(annotated, str)
    return Setting(parameter.name, kind, default, required=required, **declared)


def check_settings(world: Any) -> None:
    """Refuse a seed, a setting or a rule that makes no sense; for ``__post_init__``.

    A rule is checked against the world's ``panel``, if it has one: it may name members only.
    """
    assign(world, seed=integer("seed", world.seed, 0, 1 << 64, "Take any such number."))
    for name, declared in settings_of(type(world)).items():
        assign(world, **{name: declared.check(getattr(world, name))})
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


class MissingDataError(LikewiseError):
    """The file of a world is missing; the message says how to get it."""


@dataclass(frozen=True, eq=False)
class Encounter:
    """A round as the world makes it: people, their labels, and the panel that audits it."""

    people: People
    labels: IntArray
    panel: Panel

    @cached_property
    def distances(self) -> IntArray:
        """Everybody's distance to everybody by each auditor, (m, k, k); no learner sees them."""
        return self.panel.distances(self.people)

    @cached_property
    def pivots(self) -> Pivots:
        """The pivot of every pair and its distance; no learner ever sees them."""
        panel = self.panel
        return Pivots(*panel.rule.pivot(self.distances, panel.members), panel.members)


class View(Protocol):
    """All that a world may see of the policy that is about to be deployed.

    The adversary of the paper knows the policy but not its coins. A view has coins of its own: it
    shows neither what the panel will see nor anything of the draws to come.
    """

    def chances(self, people: People) -> IntArray:
        """Return everybody's chance of approval, in units of 2^-20."""


class Course(ABC):
    """One run through a world, round after round, with what the world remembers of it."""

    @abstractmethod
    def meet(self, t: int, view: View) -> Encounter:
        """Return round t, counted from 1; called once for every round, in order."""

    def hear(self, encounter: Encounter, approved: Approved) -> None:  # noqa: B027
        """Learn the decisions. Most worlds ignore them."""


class World(ABC):
    """A stream of rounds: the same for the same seed and the same decisions.

    Algorithm "Online Learning with Individual Fairness", the adversary's part. A world is a
    dataclass whose first field is its ``seed``; the others are its settings, by whose names
    ``make``, studies and the command line set them (see :func:`setting`).

    It is registered under its ``name`` (:data:`likewise.registry.WORLDS`); ``summary`` is a line
    about it, ``k`` the most people in a round, ``classes`` the names that :meth:`hypotheses`
    takes. Subclass :class:`Steady` if a round is a function of its number, :class:`Memoryless` if
    the policy is seen too, and this, with a :class:`Course`, if it reacts to decisions.
    ``likewise.testing.check_world`` checks all of that.
    """

    name: str
    summary: str
    k: int
    classes: tuple[str, ...]

    def __post_init__(self) -> None:
        check_settings(self)

    @classmethod
    def make(cls, seed: int, **settings: Any) -> Self:
        """Make a world from its seed and its settings by name."""
        for name in settings:
            known_setting(cls, name)
        for declared in settings_of(cls).values():
            if declared.required and declared.name not in settings:
                remedy = f"It is a setting of {cls.__name__}."
                raise ParameterError(declared.name, "must be given", None, remedy)
        return cls(seed, **settings)  # type: ignore[call-arg] # its first field is the seed

    def caveat(self, rounds: int) -> str | None:  # noqa: ARG002
        """Return a sentence that readers of a game of ``rounds`` rounds should know, if any."""
        return None

    @property
    @abstractmethod
    def schema(self) -> FeatureSchema:
        """The features of the people."""

    @abstractmethod
    def hypotheses(self, name: str | None = None) -> HypothesisClass:
        """Return a class to choose from: one of ``classes``, the first by default."""

    def class_name(self, name: str | None) -> str:
        """Return the name of one of ``classes``, the first by default; refuse any other."""
        remedy = "Another registered class comes as the JSON of its spec(), in a file."
        return self.classes[0] if name is None else choice("hypotheses", name, self.classes, remedy)

    @abstractmethod
    def course(self) -> Course:
        """Begin a run through the world."""


class Memoryless(World, Course):
    """A world that forgets decisions: a round depends on its number and on the policy alone."""

    def course(self) -> Course:
        """Return the world itself, which remembers nothing."""
        return self


class Steady(Memoryless):
    """A world that does not react to the learner: every round is a function of its number."""

    @abstractmethod
    def encounter(self, t: int) -> Encounter:
        """Return round t."""

    def meet(self, t: int, view: View) -> Encounter:  # noqa: ARG002
        return self.encounter(t)


class Recorded(Steady):
    """The first rounds of a steady world, made once and stored."""

    def __init__(self, world: Steady, rounds: int) -> None:
        self.name, self.summary = world.name, world.summary
        self.k, self.classes = world.k, world.classes
        self.world = world
        self._encounters = [world.encounter(t) for t in range(1, rounds + 1)]

    @property
    def schema(self) -> FeatureSchema:
        return self.world.schema

    def hypotheses(self, name: str | None = None) -> HypothesisClass:
        return self.world.hypotheses(name)

    def encounter(self, t: int) -> Encounter:
        return self._encounters[t - 1]


def numbered(t: int, x: FloatArray, schema: FeatureSchema) -> People:
    """Name people by their round and their number in it."""
    return People(tuple(f"{t}-{i + 1}" for i in range(len(x))), x, schema)


def pool_of_cuts(
    schema: FeatureSchema, x: FloatArray, columns: Sequence[str], most: int | None = None
) -> Pool:
    """Make a pool of both constants and up to ``most`` cuts on each column, at values of ``x``."""
    members = [Cut(columns[0], float("-inf")), Cut(columns[0], float("inf"))]
    for column in columns:
        values = np.unique(x[:, schema.place(column)])[1:]
        if most is not None and len(values):
            values = values[np.unique(np.linspace(0, len(values) - 1, most).astype(np.int64))]
        members += [Cut(column, float(value)) for value in values]
    return Pool(schema, members, x)


def draw_round(seed: int, t: int, people: int, k: int) -> IntArray:
    """Draw the positions of the k people of round t, all different (Fisher and Yates's shuffle)."""
    positions = np.arange(people)
    stream = Stream(seed, Purpose.WORLD, t)
    for i in range(k):
        j = i + stream.below(people - i, i)
        positions[[i, j]] = positions[[j, i]]
    return positions[:k]


def encounter_of(
    t: int, people: People, labels: IntArray, positions: IntArray, panel: Panel
) -> Encounter:
    """Make a round of the people at these positions, whose ids begin with the round's number."""
    ids = tuple(f"{t}-{people.ids[i]}" for i in positions.tolist())
    round_people = People(ids, people.x[positions], people.schema)
    return Encounter(round_people, labels[positions], panel)


class Resampled(Steady):
    """A world of given people: their labels, a panel, and a class over their features."""

    name = "resampled"
    summary = "people of your own, drawn again and again"
    classes = ("given",)

    def __init__(
        self, seed: int, k: int, people: People, labels: IntArray, panel: Panel,
        hypotheses: HypothesisClass,
    ) -> None:  # fmt: skip
        self.seed = integer("seed", seed, 0, 1 << 64, "Any number.")
        self.k = integer("k", k, 1, len(people) + 1, f"There are {len(people)} people.")
        self.people, self.labels, self.panel = people, labels, panel
        self._hypotheses = hypotheses

    @property
    def schema(self) -> FeatureSchema:
        return self.people.schema

    def hypotheses(self, name: str | None = None) -> HypothesisClass:
        self.class_name(name)
        return self._hypotheses

    def encounter(self, t: int) -> Encounter:
        """k of the people, drawn without replacement."""
        positions = draw_round(self.seed, t, len(self.people), self.k)
        return encounter_of(t, self.people, self.labels, positions, self.panel)
