"""The contract of a primal player: a policy a round, and the constants of its regret bound."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from likewise.errors import ParameterError
from likewise.fixed_point import FloatArray, HoldsArrays, IntArray, read_only
from likewise.hypotheses import Bits, HypothesisClass, Points
from likewise.oracles import ENGINES
from likewise.randomness import Purpose
from likewise.validation import choice


@dataclass(frozen=True, eq=False)
class Frozen(HoldsArrays):
    """All that a round's policy π^t is a function of, frozen when the round opens.

    ``scales`` are the player's noise scales (temperatures), most often one. ``incurred`` is what
    each of its experts has cost so far, in units of 2^-40, for a player that is a mixture.
    """

    number: int
    seed: int
    costs: IntArray
    scales: FloatArray
    copies: int
    incurred: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "costs", read_only(self.costs))
        object.__setattr__(self, "scales", read_only(np.atleast_1d(np.asarray(self.scales))))

    @property
    def scale(self) -> float:
        """The scale of a player with one; the first of several."""
        return float(self.scales[0])


@dataclass(frozen=True, slots=True)
class Draws:
    """The draws that scores come from: how many, of which batch, for which purpose.

    Every batch and every purpose has draws of its own. J is made from the first ``cap`` of them. A
    player that knows its policy makes none, whatever is asked for.
    """

    count: int
    batch: int = 0
    purpose: Purpose = Purpose.ELICIT
    cap: int = 1


@dataclass(frozen=True)
class Estimates:
    """The knowledge of a round's policy at some points, in units of 2^-20.

    ``scores`` are π̃^t(x); ``inverses`` are J(x), one over the chance of approval. With draws, J is
    the number of the first one that approves, at most M (geometric resampling), so that
    E[J·1[approved]] = 1 − (1 − π^t(x))^M; a player that knows π^t knows J = 1/π^t(x). ``experts``
    are the scores of each of its experts, for a player that is a mixture.
    """

    scores: list[int]
    inverses: list[int]
    experts: list[tuple[int, ...]] | None = None


@dataclass(frozen=True)
class Term:
    """A part of a player's regret bound, with a scale of x·sqrt(max S) for each of ``parts``.

    The regret of one part is at most (stability/x + gain·x)·sqrt(max S), with its own S. All of
    them together have at most C·sqrt(Σ B̄²) + burst·max B̄, with C = sqrt(parts)·(stability/x +
    gain·x), and burst = parts·gain·x if there are several (Theorem A for products). Feedback that
    is late makes the stability's share ``slow`` times as large, and the gain's ``wide`` times;
    ``late`` is the weight of what is late beside a round's own cost, 1 for noise and 2 for weights.

    >>> Term(stability=1.0, gain=4.0, x=0.5).constant(), Term(1.0, 1.0, 1.0, parts=4).constant()
    (4.0, 4.0)
    >>> Term(1.0, 4.0, 0.5).burst(), Term(1.0, 1.0, 1.0, parts=4).burst()
    (0.0, 4.0)
    """

    stability: float
    gain: float
    x: float
    parts: int = 1
    late: int = 1

    def constant(self, slow: float = 1.0, wide: float = 1.0) -> float:
        """C."""
        constant = slow * self.stability / self.x + wide * self.gain * self.x
        return math.sqrt(self.parts) * constant

    def burst(self, wide: float = 1.0) -> float:
        """The price of a round's full bound, which every part has in its S when a round opens."""
        return self.parts * self.gain * self.x * wide if self.parts > 1 else 0.0


@dataclass(frozen=True)
class Player(ABC):
    """A no-regret player on the Lagrangian; the learner is a reduction to any of them.

    Its regret against the costs is at most C·sqrt(max S) with C = stability/x + gain·x, where x is
    the noise (or temperature) in units of sqrt(S). The two constants are its own; bounds are
    computed from them. A player with several scales says in :meth:`terms` what they add up to.

    A subclass is registered under its ``name`` (:data:`likewise.registry.PLAYERS`), and remembers
    nothing: a round's policy is a function of ``frozen`` alone, and its draws of the purpose and
    the batch too (:class:`~likewise.randomness.Stream`), so that a decision can be taken again.
    ``exact`` says that :meth:`estimates` is the policy itself, without draws.
    ``likewise.testing.check_player`` checks all of that, the regret included.

    ``engine`` names who makes its draws and weights. With ``per_part`` each part of a product class
    has a scale of its own, which is for players that ``can_be_per_part``. A player with other
    scales says how many in :meth:`scales`, and in :meth:`places` which of them a cost on a point
    counts for: each has an S of its own.
    A player that is a mixture of experts says how many in :meth:`experts`; their scores are kept
    with every decision, and what they have cost by them is ``frozen.incurred``.
    """

    engine: str = "compiled"
    per_part: bool = False
    name: ClassVar[str]
    exact: ClassVar[bool]
    can_be_per_part: ClassVar[bool] = False

    def __post_init__(self) -> None:
        choice("engine", self.engine, ENGINES, "They all agree.")
        if self.per_part and not self.can_be_per_part:
            raise ParameterError(
                "scales", f"must be shared for the player {self.name}", "per-part",
                "context-ftpl and exponential-weights can have one for every part.",
            )  # fmt: skip

    @abstractmethod
    def stability(self, hypotheses: HypothesisClass, *, estimated: bool = False) -> float:
        """The price of moving the policy: the bound's factor of 1/x."""

    @abstractmethod
    def gain(self, hypotheses: HypothesisClass) -> float:
        """The price of randomising the policy: the bound's factor of x."""

    def terms(
        self, hypotheses: HypothesisClass, x: float, *, estimated: bool = False
    ) -> tuple[Term, ...]:
        """The parts of its regret bound, which add up: one scale, or one for every part."""
        parts = hypotheses.parts if self.per_part else 1
        stability = self.stability(hypotheses, estimated=estimated)
        gain, late = self.gain(hypotheses) / parts, 2 if self.exact else 1
        return (Term(stability, gain, x, parts, late),)

    @abstractmethod
    def default_x(self, hypotheses: HypothesisClass, *, estimated: bool = False) -> float:
        """The x that was found to work well; ``estimated`` where J is exact and has no bound."""

    @abstractmethod
    def estimates(
        self, hypotheses: HypothesisClass, frozen: Frozen, points: Points, draws: Draws
    ) -> Estimates:
        """π̃^t(x) of every point in units of 2^-20, and J, from the same fresh draws."""

    @abstractmethod
    def decide(
        self, hypotheses: HypothesisClass, frozen: Frozen, points: Points, batch: int
    ) -> Bits:
        """The predictions of one more draw h ~ π^t on the points."""

    @abstractmethod
    def calls(self, hypotheses: HypothesisClass, draws: int) -> int:
        """How many oracle calls a batch takes."""

    def scales(self, hypotheses: HypothesisClass) -> int:
        """How many scales it has: one, or one for every part."""
        return hypotheses.parts if self.per_part else 1

    def places(self, hypotheses: HypothesisClass, points: Points) -> IntArray:
        """The scales that a cost on each point counts for, shape (points, some)."""
        if self.per_part:
            return hypotheses.part_of(points)[:, None]
        return np.zeros((len(points), 1), dtype=np.int64)

    def experts(self, hypotheses: HypothesisClass) -> int:  # noqa: ARG002
        """How many experts it has whose costs are kept; 0 for a player that is no mixture."""
        return 0

    def scale_factors(self, hypotheses: HypothesisClass, x: float) -> FloatArray:
        """Each scale in units of its sqrt(S), where the schedule or the default says x."""
        return np.full(self.scales(hypotheses), x)

    def best_x(self, hypotheses: HypothesisClass, *, estimated: bool = False) -> float:
        """The x that makes C smallest: sqrt(stability/gain); 1 where there is nothing to choose."""
        gain = self.gain(hypotheses)
        stability = self.stability(hypotheses, estimated=estimated)
        return math.sqrt(stability / gain) if gain > 0 else 1.0
