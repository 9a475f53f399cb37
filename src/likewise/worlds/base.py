"""The base of all worlds: a stream of rounds, each with people, their labels and a panel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from likewise.auditing import Panel, Pivots
from likewise.errors import ParameterError
from likewise.fixed_point import IntArray
from likewise.hypotheses import HypothesisClass
from likewise.schema import FeatureSchema, People
from likewise.worlds.settings import check_settings, known_setting, settings_of

__all__ = ["Course", "Encounter", "Memoryless", "Recorded", "Steady", "View", "World"]

Approved = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Encounter:
    """A round as the world makes it: people, their labels, and the panel that will look at them."""

    people: People
    labels: IntArray
    panel: Panel

    @cached_property
    def pivots(self) -> Pivots:
        """The pivot of every pair and its distance; no learner ever sees them."""
        return self.panel.pivots(self.people)


class View(Protocol):
    """All that a world may see of the policy that is about to be deployed.

    The adversary of the paper knows the policy but not its coins. A view has coins of its own: what
    it shows is not what the panel will see, and tells nothing about the draws to come.
    """

    def chances(self, people: People) -> IntArray:
        """Everybody's chance of approval, in units of 2^-20."""


class Course(ABC):
    """One run through a world, round after round, with what the world remembers of it."""

    @abstractmethod
    def meet(self, t: int, view: View) -> Encounter:
        """Round t, counted from 1; called once for every round, in order."""

    def hear(self, encounter: Encounter, approved: Approved) -> None:  # noqa: B027
        """Learn what was decided. Most worlds do not care."""


class World(ABC):
    """A stream of rounds: the same for the same seed and the same decisions.

    Algorithm "Online Learning with Individual Fairness", the adversary's part. A world is a
    dataclass whose first field is its ``seed``; the others are its settings, by whose names
    ``make``, studies and the command line set them (see :mod:`likewise.worlds.settings`).

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
        """A world from its seed and its settings by name, as studies and the command line do.

        >>> from likewise.worlds import Drift
        >>> Drift.make(1, spell=200).spell
        200
        """
        for name in settings:
            known_setting(cls, name)
        for known in settings_of(cls).values():
            if known.required and known.name not in settings:
                raise ParameterError(
                    known.name, "must be given", None, f"It is a setting of {cls.__name__}."
                )
        return cls(seed, **settings)  # type: ignore[call-arg] # its first field is the seed

    def caveat(self, rounds: int) -> str | None:  # noqa: ARG002
        """A sentence that readers of a game of so many rounds should know, if there is one."""
        return None

    @property
    @abstractmethod
    def schema(self) -> FeatureSchema:
        """The features of the people."""

    @abstractmethod
    def hypotheses(self, name: str | None = None) -> HypothesisClass:
        """A class to choose from in this world: one of ``classes``, the first by default."""

    @abstractmethod
    def course(self) -> Course:
        """A run through the world, from its first round on."""


class Memoryless(World):
    """A world that remembers no decision: a round depends on its number and on the policy alone."""

    @abstractmethod
    def meet(self, t: int, view: View) -> Encounter:
        """Round t, before a policy that can be seen."""

    def course(self) -> Course:
        """The rounds in order."""
        return _MemorylessCourse(self)


class _MemorylessCourse(Course):
    def __init__(self, world: Memoryless) -> None:
        self._world = world

    def meet(self, t: int, view: View) -> Encounter:
        return self._world.meet(t, view)


class Steady(Memoryless):
    """A world that does not react to the learner: every round is a function of its number."""

    @abstractmethod
    def encounter(self, t: int) -> Encounter:
        """Round t."""

    def meet(self, t: int, view: View) -> Encounter:  # noqa: ARG002
        """Round t, whatever the policy."""
        return self.encounter(t)


class Recorded(Steady):
    """The first rounds of a steady world, made once and kept."""

    def __init__(self, world: Steady, rounds: int) -> None:
        self.name, self.summary = world.name, world.summary
        self.k, self.classes = world.k, world.classes
        self.world = world
        self._encounters = [world.encounter(t) for t in range(1, rounds + 1)]

    @property
    def schema(self) -> FeatureSchema:
        """That of the world."""
        return self.world.schema

    def hypotheses(self, name: str | None = None) -> HypothesisClass:
        """Those of the world."""
        return self.world.hypotheses(name)

    def encounter(self, t: int) -> Encounter:
        """Round t, as it was recorded."""
        return self._encounters[t - 1]
