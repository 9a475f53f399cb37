"""Which violating pair is reported: the paper's arbitrary choice, made explicit.

Definition "Auditing scheme" reports one pair, "(arbitrarily) selected". A selection is given the
gaps of the pairs the panel objects to, ordered by the place of the person over, then of the one
under.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from likewise.auditing.specs import Specified
from likewise.errors import ParameterError
from likewise.fixed_point import IntArray
from likewise.randomness import Purpose, Stream
from likewise.registry import SELECTIONS


class Selection(Specified, ABC):
    """Chooses which of n ≥ 1 violating pairs are reported.

    A subclass is a frozen dataclass of its parameters, and is registered under its ``name``
    (:data:`likewise.registry.SELECTIONS`); ``summary`` is a line about it for ``likewise list``.
    What it chooses is a function of its parameters, the gaps and the round alone.
    ``likewise.testing.check_selection`` checks all of that.

    >>> class SmallestGap(Selection):
    ...     name, summary = "smallest-gap", "the pair whose chances are nearest"
    ...     def choose(self, gaps, round=None):
    ...         return [int(np.argmin(gaps))]
    >>> SmallestGap().choose(np.array([8, 3, 8]))
    [1]
    """

    kind = "selection"
    summary: ClassVar[str]

    @classmethod
    def make(cls, seed: int) -> Self:  # noqa: ARG003
        """A selection by its name alone; ``seed`` is for those that choose at random."""
        return cls()

    @abstractmethod
    def choose(self, gaps: IntArray, round: int | None = None, /) -> list[int]:
        """The places of the pairs to report, at least one and none twice, given their gaps."""


def selection_to_spec(selection: Selection) -> dict[str, Any]:
    """Write a selection as JSON, if it can be read back by its name.

    >>> selection_to_spec(RandomPair(seed=7))
    {'selection': 'random', 'seed': 7}
    """
    if not isinstance(selection, Selection):
        raise ParameterError("selection", "must be a selection", selection, "Such as FirstPair().")
    SELECTIONS.check_name(selection.name, type(selection))
    return selection.spec()


def selection_from_spec(spec: Mapping[str, Any]) -> Selection:
    """Read any selection from its JSON, by the name that it is registered under.

    >>> selection_from_spec({"selection": "random", "seed": 7})
    RandomPair(seed=7)
    """
    selection: Selection = SELECTIONS.read("selection", spec, '{"selection": "largest-gap"}')
    return selection


@dataclass(frozen=True)
class LargestGap(Selection):
    """The pair whose scores are furthest apart; of several, the first.

    >>> LargestGap().choose(np.array([3, 8, 8]), None)
    [1]
    """

    name = "largest-gap"
    summary = "the pair whose chances are furthest apart"

    def choose(self, gaps: IntArray, round: int | None = None, /) -> list[int]:  # noqa: ARG002
        """The first of the largest."""
        return [int(np.argmax(gaps))]


@dataclass(frozen=True)
class FirstPair(Selection):
    """The first pair, by the order of the people.

    >>> FirstPair().choose(np.array([3, 8, 8]), None)
    [0]
    """

    name = "first"
    summary = "the first, in the order of the people"

    def choose(self, gaps: IntArray, round: int | None = None, /) -> list[int]:  # noqa: ARG002
        """The first."""
        return [0]


@dataclass(frozen=True)
class RandomPair(Selection):
    """A pair at random: a function of the seed and the round, and of nothing else.

    >>> RandomPair(seed=7).choose(np.array([3]), 1)
    [0]
    """

    name = "random"
    summary = "one at random"

    seed: int

    def __post_init__(self) -> None:
        # A stream refuses a seed out of range.
        object.__setattr__(self, "seed", Stream(self.seed, Purpose.REPORT, 0).seed)

    @classmethod
    def make(cls, seed: int) -> Self:
        """With the seed of the game."""
        return cls(seed)

    def choose(self, gaps: IntArray, round: int | None = None, /) -> list[int]:
        """Each with the same probability."""
        if round is None:
            raise ParameterError(
                "round",
                "must be given to RandomPair",
                round,
                "Without it every round would make the same choice.",
            )
        return [Stream(self.seed, Purpose.REPORT, round).below(len(gaps))]


@dataclass(frozen=True)
class AllPairs(Selection):
    """All pairs; the learner averages over them.

    >>> AllPairs().choose(np.array([3, 8, 8]), None)
    [0, 1, 2]
    """

    name = "all"
    summary = "all of them, averaged into one"

    def choose(self, gaps: IntArray, round: int | None = None, /) -> list[int]:  # noqa: ARG002
        """All of them."""
        return list(range(len(gaps)))
