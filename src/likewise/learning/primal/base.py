"""The contract of a primal player: a policy a round, and the constants of its regret bound."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from likewise.fixed_point import IntArray, read_only
from likewise.hypotheses import Bits, HypothesisClass, Points
from likewise.randomness import Purpose

__all__ = ["Estimates", "Frozen", "Player"]


@dataclass(frozen=True, eq=False)
class Frozen:
    """All that a round's policy π^t is a function of, frozen when the round opens."""

    number: int
    seed: int
    costs: IntArray
    scale: float
    copies: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "costs", read_only(self.costs))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Frozen):
            return NotImplemented
        mine = (self.number, self.seed, self.scale, self.copies)
        theirs = (other.number, other.seed, other.scale, other.copies)
        return mine == theirs and np.array_equal(self.costs, other.costs)

    __hash__ = None  # type: ignore[assignment] # it holds an array


@dataclass(frozen=True)
class Estimates:
    """The knowledge of a round's policy at some points, in units of 2^-20.

    ``scores`` are π̃^t(x); ``inverses`` are J(x), one over the chance of approval. With draws, J is
    the number of the first one that approves, at most M (geometric resampling), so that
    E[J·1[approved]] = 1 − (1 − π^t(x))^M; a player that knows π^t knows J = 1/π^t(x).
    """

    scores: list[int]
    inverses: list[int]


class Player(ABC):
    """A no-regret player on the Lagrangian; the learner is a reduction to any of them.

    Its regret against the costs is at most C·sqrt(max S) with C = stability/x + gain·x, where x is
    the noise (or temperature) in units of sqrt(S). The two constants are its own; bounds are
    computed from them.

    A subclass is registered under its ``name`` (:data:`likewise.registry.PLAYERS`), and remembers
    nothing: a round's policy is a function of ``frozen`` alone, and its draws of the purpose and
    the batch too (:class:`~likewise.randomness.Stream`), so that a decision can be taken again.
    ``exact`` says that :meth:`estimates` is the policy itself, without draws.
    ``share_of_best_x`` times the bound's best x is its default x; ``share_estimated`` is the same
    for exact players with one-sided labels. ``likewise.testing.check_player`` checks all of that,
    the regret included.
    """

    name: str
    exact: bool
    # Less noise than the bound's best learns faster; chosen by `likewise tune`, see docs. The
    # second is for players that know J: their estimates have squares that are bounded, not ranges.
    share_of_best_x: float
    share_estimated: float

    @classmethod
    def make(cls, engine: str) -> Player:  # noqa: ARG003
        """A player by its name alone; ``engine`` is for those who make draws."""
        return cls()

    @abstractmethod
    def stability(self, hypotheses: HypothesisClass, *, estimated: bool = False) -> float:
        """The price of moving the policy: the bound's factor of 1/x."""

    @abstractmethod
    def gain(self, hypotheses: HypothesisClass) -> float:
        """The price of randomising the policy: the bound's factor of x."""

    @abstractmethod
    def estimates(
        self,
        hypotheses: HypothesisClass,
        frozen: Frozen,
        points: Points,
        draws: int,
        batch: int,
        purpose: Purpose = Purpose.ELICIT,
        *,
        cap: int = 1,
    ) -> Estimates:
        """Scores and inverse chances from the same fresh draws, J from the first ``cap``."""

    def scores(
        self,
        hypotheses: HypothesisClass,
        frozen: Frozen,
        points: Points,
        draws: int,
        batch: int,
        purpose: Purpose = Purpose.ELICIT,
    ) -> list[int]:
        """π̃^t(x) of every point in units of 2^-20, from fresh draws for every batch."""
        return self.estimates(hypotheses, frozen, points, draws, batch, purpose).scores

    @abstractmethod
    def decide(
        self, hypotheses: HypothesisClass, frozen: Frozen, points: Points, batch: int
    ) -> Bits:
        """The predictions of one more draw h ~ π^t on the points."""

    @abstractmethod
    def calls(self, draws: int) -> int:
        """How many oracle calls a batch takes."""

    def best_x(self, hypotheses: HypothesisClass, *, estimated: bool = False) -> float:
        """The x that makes C smallest: sqrt(stability/gain); 1 where there is nothing to choose."""
        gain = self.gain(hypotheses)
        stability = self.stability(hypotheses, estimated=estimated)
        return math.sqrt(stability / gain) if gain > 0 else 1.0

    def default_x(self, hypotheses: HypothesisClass, *, estimated: bool = False) -> float:
        """The x that was found to work well: a fixed share of the bound's best."""
        share = self.share_estimated if estimated else self.share_of_best_x
        return share * self.best_x(hypotheses, estimated=estimated)
