"""A world: who arrives, what becomes of them, and who sits on the panel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from likewise.auditing import Panel
from likewise.hypotheses import HypothesisClass
from likewise.schema import FeatureSchema, People
from likewise.units import IntArray

__all__ = ["Encounter", "World"]


@dataclass(frozen=True, eq=False)
class Encounter:
    """A round as the world makes it: people, their labels, and the panel that will look at them."""

    people: People
    labels: IntArray
    panel: Panel


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
