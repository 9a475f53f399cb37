"""A world: who arrives, what becomes of them, and who sits on the panel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

from likewise.auditing import Panel, Pivots
from likewise.hypotheses import HypothesisClass
from likewise.schema import FeatureSchema, People
from likewise.units import IntArray

__all__ = ["Encounter", "Recorded", "World"]


@dataclass(frozen=True, eq=False)
class Encounter:
    """A round as the world makes it: people, their labels, and the panel that will look at them."""

    people: People
    labels: IntArray
    panel: Panel

    @cached_property
    def pivots(self) -> Pivots:
        """Whose distance decides on each pair; no learner ever sees it."""
        return self.panel.pivots(self.people)


class World(ABC):
    """A stream of rounds, the same for the same seed. Rounds are counted from 1.

    Definition "Online Learning with Individual Fairness", the adversary's part.
    """

    name: str
    summary: str
    k: int
    classes: tuple[str, ...]

    @property
    @abstractmethod
    def schema(self) -> FeatureSchema:
        """The features of the people."""

    @abstractmethod
    def hypotheses(self, name: str | None = None) -> HypothesisClass:
        """A class to choose from in this world: one of ``classes``, the first by default."""

    @abstractmethod
    def encounter(self, t: int) -> Encounter:
        """Round t."""


class Recorded(World):
    """The first rounds of a world that does not react to the learner, made once and kept."""

    def __init__(self, world: World, rounds: int) -> None:
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
