"""Worlds of lending before a panel that is not steady: it turns strict, or members err or toss."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from likewise.numerics.fixed_point import ONE, IntArray
from likewise.numerics.randomness import Purpose, Stream
from likewise.panel.panels import Panel
from likewise.simulate.loans import Loans, five_auditors
from likewise.simulate.world import Encounter, setting

STRICT = 0.01
# Nobody else draws so far in a round; twelve uniform numbers make one that is nearly normal.
FIRST, TWELVE = 1 << 20, 12


@dataclass(frozen=True)
class TurnsStrict(Loans):
    """``loans``, until the panel turns strict without a word: distances shrink to a hundredth."""

    turn: int = setting(2000, "the last round before the panel is strict", low=1, high=10**9)
    name = "turns-strict"
    summary = "loans, before a panel that turns strict unannounced"

    def encounter(self, t: int) -> Encounter:
        encounter = super().encounter(t)
        if t <= self.turn:
            return encounter
        return replace(encounter, panel=Panel(five_auditors(STRICT), self.rule))


@dataclass(frozen=True, eq=False)
class Erring(Encounter):
    """A round in which every auditor misjudges every distance by a number of their own."""

    stream: Stream
    noise: float

    @cached_property
    def distances(self) -> IntArray:
        exact = super().distances
        count = exact.size * TWELVE
        numbers = self.stream.uniforms(FIRST, 1, count).reshape(*exact.shape, TWELVE).sum(axis=-1)
        wrong = np.triu(np.rint(self.noise * ONE * (numbers - TWELVE / 2)).astype(np.int64), 1)
        distances: IntArray = np.clip(exact + wrong + np.swapaxes(wrong, 1, 2), 0, ONE)
        return distances


@dataclass(frozen=True)
class ErringLoans(Loans):
    """``loans``, before auditors who are inconsistent: each distance is off, anew every round."""

    noise: float = setting(0.05, "the standard deviation of a distance", low=0, high=1)
    name = "erring"
    summary = "loans, before auditors who misjudge every distance, anew every round"

    def encounter(self, t: int) -> Encounter:
        encounter = super().encounter(t)
        people, labels, panel = encounter.people, encounter.labels, encounter.panel
        return Erring(people, labels, panel, Stream(self.seed, Purpose.WORLD, t), self.noise)


@dataclass(frozen=True, eq=False)
class Careless(Encounter):
    """A round in which some auditors respond at random: they object to a pair with chance ½."""

    stream: Stream
    names: tuple[str, ...]

    @cached_property
    def distances(self) -> IntArray:
        distances = super().distances.copy()
        for name in self.names:
            place = self.panel.members.index(name)
            coins = np.triu(self.stream.uniforms(FIRST + place, 1, distances[0].size) < 0.5)
            apart = np.where(coins.reshape(distances[0].shape), ONE, 0)
            distances[place] = np.triu(apart, 1) + np.triu(apart, 1).T
        return distances


@dataclass(frozen=True)
class CarelessLoans(Loans):
    """``loans``, before a panel of which some members respond at random."""

    careless: int = setting(1, "how many of the five respond at random", low=0, high=4)
    seated: int = setting(1, "0 leaves them out of the panel", low=0, high=1)
    name = "careless"
    summary = "loans, before a panel of which some members respond at random"

    @property
    def names(self) -> tuple[str, ...]:
        """Those who respond at random: the last of the five."""
        return self.panel.members[5 - self.careless :]

    def encounter(self, t: int) -> Encounter:
        encounter = super().encounter(t)
        people, labels, panel = encounter.people, encounter.labels, encounter.panel
        if not self.seated:
            others = [a for a in panel.auditors if a.name not in self.names]
            return Encounter(people, labels, Panel(others, self.rule))
        return Careless(people, labels, panel, Stream(self.seed, Purpose.WORLD, t), self.names)
