"""Which violating pair is reported: the paper's arbitrary choice, made explicit.

Definition "Auditing scheme" reports one pair, "(arbitrarily) selected". A selection is given the
gaps of the pairs the panel objects to, ordered by the place of the person over, then of the one
under.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from likewise.errors import ParameterError
from likewise.fixed_point import IntArray
from likewise.randomness import Purpose, Stream

__all__ = ["AllPairs", "FirstPair", "LargestGap", "RandomPair", "Selection"]


class Selection(Protocol):
    """Chooses among n ≥ 1 violating pairs."""

    def choose(self, gaps: IntArray, round: int | None, /) -> list[int]:
        """The places of the pairs to report, given their gaps."""


@dataclass(frozen=True)
class LargestGap:
    """The pair whose scores are furthest apart; of several, the first.

    >>> LargestGap().choose(np.array([3, 8, 8]), None)
    [1]
    """

    def choose(self, gaps: IntArray, round: int | None = None) -> list[int]:  # noqa: ARG002
        """The first of the largest."""
        return [int(np.argmax(gaps))]


@dataclass(frozen=True)
class FirstPair:
    """The first pair, by the order of the people.

    >>> FirstPair().choose(np.array([3, 8, 8]), None)
    [0]
    """

    def choose(self, gaps: IntArray, round: int | None = None) -> list[int]:  # noqa: ARG002
        """The first."""
        return [0]


@dataclass(frozen=True)
class RandomPair:
    """A pair at random: a function of the seed and the round, and of nothing else.

    >>> RandomPair(seed=7).choose(np.array([3]), 1)
    [0]
    """

    seed: int

    def __post_init__(self) -> None:
        Stream(self.seed, Purpose.REPORT, 0)  # refuses a seed out of range

    def choose(self, gaps: IntArray, round: int | None = None) -> list[int]:
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
class AllPairs:
    """All pairs; the learner averages over them.

    >>> AllPairs().choose(np.array([3, 8, 8]), None)
    [0, 1, 2]
    """

    def choose(self, gaps: IntArray, round: int | None = None) -> list[int]:  # noqa: ARG002
        """All of them."""
        return list(range(len(gaps)))
