"""``resampled``: people of your own, drawn again and again.

A file has a few hundred people, and a game needs thousands: every round draws k different people
from the file, each equally likely.
"""

from __future__ import annotations

import numpy as np

from likewise.auditing import Panel
from likewise.fixed_point import IntArray
from likewise.hypotheses import HypothesisClass
from likewise.randomness import Purpose, Stream
from likewise.schema import FeatureSchema, People
from likewise.validation import integer
from likewise.worlds.base import Encounter, Steady


def draw_round(seed: int, t: int, people: int, k: int) -> IntArray:
    """Draw the positions of the k people of round t, all different (Fisher and Yates's shuffle).

    >>> sorted(draw_round(1, 1, people=3, k=3).tolist())
    [0, 1, 2]
    """
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
        """The schema of the people."""
        return self.people.schema

    def hypotheses(self, name: str | None = None) -> HypothesisClass:
        """Return the given class."""
        self.class_name(name)
        return self._hypotheses

    def encounter(self, t: int) -> Encounter:
        """k of the people, drawn without replacement."""
        positions = draw_round(self.seed, t, len(self.people), self.k)
        return encounter_of(t, self.people, self.labels, positions, self.panel)
