"""The contract of a hypothesis class: people become points, costs add up, the least is found.

A round's loss is a short list of signed costs on points: a cost c at x means that predicting 1
at x costs c. A class keeps the sum of all of them in one array of integers whose meaning is
its own (a cost for every hypothesis, or for every cell), and whose size does not grow with time.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from likewise.fixed_point import FloatArray, IntArray
from likewise.hypotheses.priors import COARSE_TO_FINE, Prior
from likewise.portable_math import log
from likewise.randomness import Stream
from likewise.schema import FeatureSchema, People

__all__ = ["Bits", "ExactWeights", "GibbsPolicy", "HypothesisClass", "Nested", "Points"]

Bits = npt.NDArray[np.uint8]
# People as a class sees them: cells (k,), or the predictions of all its members (k, N).
Points = npt.NDArray[Any]


def _same(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return array


class HypothesisClass(ABC):
    """A finite class H of binary predictors, with a constant inside and a separating set Q.

    A hypothesis is written as a short array of integers, its code. Ties are broken towards
    the smallest code, the same way every time.

    A class whose hypotheses can be listed is best made from
    :class:`~likewise.hypotheses.listed.base.Listed`, which needs their predictions and no more. Any
    other subclass gives all that is abstract here; with :class:`ExactWeights` beside, the exact
    player works with it too, otherwise Context-FTPL does. Everything must be a function of the
    arguments alone, computed by integers, comparisons and + − · /, so that all machines agree. The
    class is registered under a name (:data:`likewise.registry.HYPOTHESES`), with which its
    :meth:`spec` begins: then states that use it can be saved, and loaded by another process.
    ``likewise.testing.check_hypotheses`` checks all of that, by brute force where H is small.
    """

    schema: FeatureSchema
    # Whether every point is one of Q: then noise is needed on few of them (Theorem A for cells).
    cellular: ClassVar[bool] = False

    @property
    @abstractmethod
    def size(self) -> int:
        """|H|, exactly."""

    @property
    def log_size(self) -> float:
        """log |H|."""
        return log(self.size)

    @property
    @abstractmethod
    def separators(self) -> int:
        """s = |Q|, the size of the separating set."""

    @property
    def noise_gain(self) -> float:
        """A bound on A = E max_h Σ_q z_q·h(q) for unit Laplace z: min(s/2, sqrt(8·s·log|H|))."""
        return min(self.separators / 2, math.sqrt(8.0 * self.separators * self.log_size))

    @abstractmethod
    def separating_points(self) -> Points:
        """Q: for any two hypotheses there is a point in it on which they differ."""

    @abstractmethod
    def locate(self, people: People) -> Points:
        """Turn people into points of this class: an array whose first axis is the people."""

    @property
    def parts(self) -> int:
        """How many independent parts a hypothesis has; costs of one part say nothing of others."""
        return 1

    def part_of(self, points: Points) -> IntArray:
        """The part that each point is in."""
        return np.zeros(len(points), dtype=np.int64)

    def nested(self) -> tuple[Nested, ...]:
        """Coarser classes inside this one, and at last the class itself."""
        return (Nested(self, _same, _same),)

    @abstractmethod
    def no_costs(self) -> IntArray:
        """The sum of no costs at all: zeros, of the shape that all sums of costs have."""

    @abstractmethod
    def charge(self, costs: IntArray, points: Points, amounts: IntArray) -> IntArray:
        """The costs with one more on every point, as a new array; ``costs`` is read-only."""

    @abstractmethod
    def totals(self, costs: IntArray, codes: IntArray) -> IntArray:
        """Σ_j c_j·h(x_j) of some hypotheses: what each has cost by all that was charged."""

    @abstractmethod
    def minimise(self, costs: IntArray, noise: IntArray) -> IntArray:
        """The oracle: argmin_h Σ_j c_j·h(x_j) + Σ_q noise_q·h(q), a code for each row of noise."""

    @abstractmethod
    def predict(self, codes: IntArray, points: Points) -> Bits:
        """h(x) for every code and every point, shape (codes, points)."""

    @abstractmethod
    def codes(self) -> IntArray:
        """All hypotheses, for classes small enough to list; in order of their codes."""

    @abstractmethod
    def describe(self, code: IntArray) -> str:
        """A hypothesis in words."""

    @abstractmethod
    def spec(self) -> dict[str, Any]:
        """The class as JSON: ``{"class": its name, "schema": self.schema.spec(), …}``."""

    @classmethod
    @abstractmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> HypothesisClass:
        """Read the class from its JSON; exactly what :meth:`spec` wrote."""


class GibbsPolicy(ABC):
    """π(h) ∝ prior(h)·exp(−cost(h)/temperature), as integer weights, ready to be asked.

    Both methods must speak of the same policy, up to the class's ``cut``; see
    :mod:`likewise.hypotheses.weights`.
    """

    @abstractmethod
    def approval(self, points: Points) -> list[tuple[int, int]]:
        """π(x) of every point as a fraction of integers, (weight that approves, all weight)."""

    @abstractmethod
    def draw(self, points: Points, stream: Stream, draw: int) -> Bits:
        """The predictions of one h ~ π on the points."""


class ExactWeights(ABC):
    """A class over which exponential weights can be computed exactly, with a prior of its own.

    A class inherits from this beside :class:`HypothesisClass`. Costs and temperature are in units
    of 2^-20. Where the class has several :attr:`~HypothesisClass.parts` and a flat prior, there may
    be a temperature for each of them.
    """

    prior: Prior = COARSE_TO_FINE

    @abstractmethod
    def weigh(self, costs: IntArray, temperature: float | FloatArray) -> GibbsPolicy:
        """The policy for the costs so far."""

    @property
    @abstractmethod
    def log_inverse_prior(self) -> float:
        """max_h ln(1/prior(h)), or a little more; log|H| for a flat prior."""

    @abstractmethod
    def log_inverse_priors(self, codes: IntArray) -> FloatArray:
        """ln(1/prior(h)) of some hypotheses, which is the price of learning each of them."""

    @property
    @abstractmethod
    def cut(self) -> float:
        """The most by which integer weights put a chance of approval off: what is lost of them."""

    @abstractmethod
    def checked_prior(self, prior: Any) -> Prior:
        """A prior that fits this class; anything else is refused."""

    def with_prior(self, prior: Any) -> Self:
        """The same class with another prior: ``coarse-to-fine``, ``flat``, or probabilities.

        Probabilities of single hypotheses are for classes that are listed: a list in the order of
        their codes, or a mapping from what :meth:`~HypothesisClass.describe` says.
        """
        made = copy(self)
        # Whatever was computed from the old prior goes with it.
        for kind in type(self).__mro__:
            for name, value in vars(kind).items():
                if isinstance(value, cached_property):
                    made.__dict__.pop(name, None)
        made.prior = self.checked_prior(prior)
        return made


@dataclass(frozen=True)
class Nested:
    """A class inside another one: coarser, so that its hypotheses are learnt sooner.

    ``costs`` turns the sums of costs of the large class into those of the small one, ``points``
    does so with points.
    """

    hypotheses: HypothesisClass
    costs: Callable[[IntArray], IntArray]
    points: Callable[[Points], Points]
