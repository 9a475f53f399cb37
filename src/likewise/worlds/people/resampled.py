"""People from a file, drawn again and again: the base of worlds of real people.

A file has a few hundred people, and a game needs thousands: every round draws k different ones of
them, each equally likely. Labels and panel are as given.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from likewise.auditing import Panel, Rule
from likewise.errors import ParameterError
from likewise.fixed_point import IntArray
from likewise.hypotheses import HypothesisClass
from likewise.randomness import Purpose, Stream
from likewise.schema import FeatureSchema, People
from likewise.validation import integer
from likewise.worlds.base import Encounter, Steady
from likewise.worlds.people.sources import check_paths
from likewise.worlds.settings import setting

__all__ = ["OfFiles", "Resampled", "draw_round"]


def draw_round(seed: int, t: int, people: int, k: int) -> IntArray:
    """The places of the k people of round t, all different.

    >>> sorted(draw_round(1, 1, people=3, k=3).tolist())
    [0, 1, 2]
    """
    left = np.arange(people)
    stream = Stream(seed, Purpose.WORLD, t)
    for place in range(k):
        other = place + stream.below(people - place, place)
        left[[place, other]] = left[[other, place]]
    return left[:k]


@dataclass(frozen=True)
class OfFiles(Steady):
    """The settings of worlds whose people are in a file that Likewise may not hand on."""

    seed: int
    k: int = setting(8, "the number of people a round", low=1, high=100)
    rule: Rule | str = setting("majority", "when objections make a report")
    file: str = setting("", "the file; that of an installed distribution where it is empty")

    def __post_init__(self) -> None:
        check_paths(file=self.file)
        super().__post_init__()


class Resampled(Steady):
    """A world of given people: ``x`` as the class's schema encodes them, their labels, a panel."""

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
        """That of the people."""
        return self.people.schema

    def hypotheses(self, name: str | None = None) -> HypothesisClass:
        """The class that was given."""
        if name not in (None, "given"):
            raise ParameterError("hypotheses", "must be given", name, "This world has no other.")
        return self._hypotheses

    def encounter(self, t: int) -> Encounter:
        """k of the people, drawn without replacement."""
        places = draw_round(self.seed, t, len(self.people), self.k)
        people = _some(self.people, places, t)
        return Encounter(people, self.labels[places], self.panel)


def _some(people: People, places: IntArray, t: int) -> People:
    ids = tuple(f"{t}-{people.ids[place]}" for place in places.tolist())
    return People(ids, people.x[places], people.schema)
