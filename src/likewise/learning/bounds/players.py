"""The primal player's regret as two numbers, C and burst, with late feedback and the grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from likewise.hypotheses import ExactWeights
from likewise.learning.bounds.base import UNIT
from likewise.learning.learner import Learner


@dataclass(frozen=True)
class Lateness:
    """How late feedback is: at most ``delay`` rounds, that of a round in ``pieces``.

    ``counted`` says that S counts what is outstanding, ``steady`` that the multiplier never
    decreases, so that no round has a larger bound than a later one.
    """

    delay: int = 0
    pieces: int = 1
    counted: bool = True
    steady: bool = False

    def slow(self, late: int) -> float:
        """The factor of the stability: (1 + late·d)·sqrt(m), and sqrt(1 + d) unless all is counted.

        >>> Lateness().slow(2), Lateness(delay=3).slow(1), Lateness(delay=3, steady=True).slow(1)
        (1.0, 8.0, 4.0)
        """
        d = self.delay
        root = 1.0 if self.counted and self.steady else math.sqrt(1 + d)
        return (1 + late * d) * math.sqrt(self.pieces) * root

    @property
    def wide(self) -> float:
        """The factor of the gain: sqrt(max S / Σ B̄²)."""
        d = self.delay
        if not d:
            return 1.0
        if not self.counted:
            return math.sqrt(1 + d)
        return math.sqrt((1 + d / 4) * (1 + d if self.steady else 1.5 + d))


@dataclass(frozen=True)
class Price:
    """The primal player's regret: at most C·sqrt(Σ B̄²) + burst·max B̄, on the program's grid.

    C is the sum of the player's terms (Theorems A, A′ and those on cells, products and mixtures),
    and of what the grid adds in ``rounds`` rounds: the noise is one of integers, which costs
    s·2^-20/(unit·x), and weights are cut off, or words have 32 bits, which puts every chance off by
    ``cut`` and costs cut·sqrt(T).
    """

    learner: Learner
    late: Lateness
    rounds: int

    @cached_property
    def _terms(self) -> tuple[float, float]:
        learner, late = self.learner, self.late
        terms = learner.primal.terms(
            learner.hypotheses, learner.x, estimated=learner.label_square is not None
        )
        constant = sum(t.constant(late.slow(t.late), late.wide) for t in terms)
        return constant, sum(t.burst(late.wide) for t in terms)

    @property
    def cut(self) -> float:
        """The most by which the grid puts a chance of approval off."""
        hypotheses = self.learner.hypotheses
        if self.learner.primal.exact and isinstance(hypotheses, ExactWeights):
            return hypotheses.cut
        # Rounded are the scores of experts and of their mixture, half a unit each, and the weights.
        experts = self.learner.primal.experts(hypotheses)
        mixed = UNIT + experts * 2.0**-40 if experts else 0.0
        return hypotheses.separators * 2.0**-31 + mixed

    @cached_property
    def constant(self) -> float:
        """C."""
        learner, grid = self.learner, 0.0
        if not learner.primal.exact:
            noise = float(learner.scale_factors[-1])
            grid = learner.hypotheses.separators / (learner.pricing.unit * noise)
            grid *= self.late.slow(1)
        return self._terms[0] + grid + self.cut * math.sqrt(self.rounds)

    @property
    def burst(self) -> float:
        """The price that every part adds for the bound of a single round."""
        return self._terms[1]

    @property
    def prices(self) -> float:
        """An addition to W, since multipliers are charged as integers, divided among pairs."""
        k, rounds = self.learner.k, self.rounds
        lost = self.learner.margins.beta * k * k / 2.0 * rounds
        return UNIT * (lost + self.constant * math.sqrt(rounds))
