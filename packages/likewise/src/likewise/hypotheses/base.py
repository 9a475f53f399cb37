"""The contract of a hypothesis class: it locates people, sums up costs and finds the least.

A round's loss is a short list of signed costs on points: a cost c at x means that predicting 1
at x costs c. A class sums up all of them in one array of integers, a cost for every hypothesis or
for every cell, whose size does not grow with time.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt

from likewise.numerics import fixed_point
from likewise.numerics.fixed_point import FloatArray, IntArray
from likewise.numerics.randomness import Stream
from likewise.people.schema import FeatureSchema, People
from likewise.registry import Specified
from likewise.validation import choice, items, require, within

COARSE_TO_FINE, FLAT = "coarse-to-fine", "flat"
PRIORS = (COARSE_TO_FINE, FLAT)

# A name, or for a class that is listed a probability for every hypothesis, by their codes.
Prior = str | tuple[float, ...]

# Probabilities that people write add up to 1 within this.
ROUNDING = 1e-9


def listed_prior(owner: str, prior: Any, names: Sequence[str]) -> Prior:
    """Check probabilities of single hypotheses, in the order of their codes or by description.

    >>> listed_prior("Pool", {"approve nobody": 0.75, "approve everybody": 0.25},
    ...              ["approve everybody", "approve nobody"])
    (0.25, 0.75)
    """
    where = f"{owner}: prior"
    rule = f"must have a probability for each of the {len(names)} hypotheses"
    remedy = "Without one, a hypothesis is never learnt. describe(code) names each of them."
    if isinstance(prior, Mapping):
        odd = sorted(set(prior) ^ set(names), key=repr)
        require(not odd, where, f"{rule}, and for no other", odd, remedy)
        values = [prior[name] for name in names]
    else:
        values = items(where, prior, remedy)
        require(len(values) == len(names), where, rule, f"{len(values)} of them", remedy)
    remedy = "Probabilities are above 0, and add up to 1."
    weights = [
        within(f"{where} of {name!r}", value, 0, 1, remedy, ends="(]")
        for name, value in zip(names, values, strict=True)
    ]
    total = math.fsum(weights)
    fits = abs(total - 1) <= ROUNDING
    require(fits, where, "must add up to 1", total, "Divide them by their sum.")
    return tuple(weights)


def graded(constant: Any, grades: IntArray) -> FloatArray:
    """ln(1/prior) from coarse to fine: half on the constants, the other half by grades.

    The constants share their half equally. The grades share the other half, and the hypotheses of a
    grade its part. If all hypotheses are constant, or none is, they share everything.

    >>> inverse = np.exp(graded(np.array([True, False, False, False]), np.array([0, 1, 2, 2])))
    >>> inverse.round(9).tolist()
    [2.0, 4.0, 8.0, 8.0]
    """
    constant = np.asarray(constant, dtype=np.bool_)
    varying = ~constant
    inverse = np.empty(len(constant))
    half = 2.0 if constant.any() and varying.any() else 1.0
    inverse[constant] = half * float(constant.sum())
    _, place, counts = np.unique(grades[varying], return_inverse=True, return_counts=True)
    inverse[varying] = half * float(len(counts)) * counts[place].astype(np.float64)
    return fixed_point.log_array(inverse)


Bits = npt.NDArray[np.uint8]
# People as a class sees them: cells (k,), or the predictions of all its members (k, N).
Points = npt.NDArray[Any]


class HypothesisClass(Specified, ABC):
    """A finite class H of binary predictors, with a constant inside and a separating set Q.

    A hypothesis is written as a short array of integers, its code. Ties are broken towards
    the smallest code, the same way every time.

    If the hypotheses can be listed, subclass :class:`~likewise.hypotheses.lists.Listed`, which
    needs only their predictions. Any other subclass implements all that is abstract here. The exact
    player needs :class:`ExactWeights` too; Context-FTPL does not. Every method must be a function
    of its arguments, computed by integers, comparisons and + − · /, so that all machines agree.

    States that use a class can be saved and loaded by another process if it is registered under its
    ``name`` (:data:`likewise.registry.HYPOTHESES`). The JSON holds the parameters of the
    constructor, the ``schema`` first, each of which is also an attribute; a class that needs more
    overrides :meth:`spec` and :meth:`from_spec`. ``likewise.testing.check_hypotheses`` checks all
    of this, by brute force if H is small.
    """

    spec_key = "class"
    schema: FeatureSchema
    # Whether every point is one of Q: then noise is needed on few of them (Theorem A for cells).
    cellular: ClassVar[bool] = False

    @property
    @abstractmethod
    def size(self) -> int:
        """|H|, exactly."""

    @property
    def log_size(self) -> float:
        return fixed_point.log(self.size)

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
        """The number of independent parts of a hypothesis: costs of one do not affect others."""
        return 1

    def part_of(self, points: Points) -> IntArray:
        return np.zeros(len(points), dtype=np.int64)

    @property
    def part_log_sizes(self) -> FloatArray:
        """A bound on ln |H_j| of every part: its points of Q tell H_j apart, and |H_j| ≤ |H|."""
        if self.parts == 1:
            return np.array([self.log_size])
        most = fixed_point.LN2 * self._part_separators.astype(np.float64)
        return np.asarray(np.minimum(most, self.log_size))

    @property
    def part_noise_gains(self) -> FloatArray:
        """The bound on A of every part by itself."""
        s = self._part_separators
        return np.asarray(np.minimum(s / 2, np.sqrt(8.0 * s * self.part_log_sizes)))

    @property
    def _part_separators(self) -> IntArray:
        return np.bincount(self.part_of(self.separating_points()), minlength=self.parts)

    def nested(self) -> tuple[Nested, ...]:
        """Coarser classes inside this one, and last the class itself."""
        return (Nested(self, lambda costs: costs, lambda points: points),)

    @abstractmethod
    def no_costs(self) -> IntArray:
        """Zeros, in the shape of all sums of costs."""

    @abstractmethod
    def charge(self, costs: IntArray, points: Points, amounts: IntArray) -> IntArray:
        """Return the costs with one more on every point, as a new array."""

    @abstractmethod
    def totals(self, costs: IntArray, codes: IntArray) -> IntArray:
        """Σ_j c_j·h(x_j) of some hypotheses, over all costs that were charged."""

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

    def spec(self) -> dict[str, Any]:
        """The class as JSON: its name, its schema and its other parameters."""
        return {**super().spec(), "schema": self.schema.spec()}

    @classmethod
    def read_parameters(cls, spec: Mapping[str, Any]) -> dict[str, Any]:
        values = super().read_parameters(spec)
        return {**values, "schema": FeatureSchema.from_spec(values["schema"])}


class GibbsPolicy(ABC):
    """π(h) ∝ prior(h)·exp(−cost(h)/temperature), as integer weights.

    Both methods must agree on the policy, up to the class's ``cut``.
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
        """ln(1/prior(h)) of some hypotheses: the price of learning each of them."""

    @property
    @abstractmethod
    def cut(self) -> float:
        """The most by which the rounding of weights changes a chance of approval."""

    def checked_prior(self, prior: Any) -> Prior:
        """Return a prior that fits this class, here by its name; refuse any other."""
        remedy = "Probabilities of single hypotheses are for classes that are listed, such as Pool."
        return choice(f"{type(self).__name__}: prior", prior, PRIORS, remedy)

    def with_prior(self, prior: Any) -> Self:
        """The same class with another prior: ``coarse-to-fine``, ``flat``, or probabilities.

        Probabilities of single hypotheses are for classes that are listed: a list in the order of
        their codes, or a mapping from what :meth:`~HypothesisClass.describe` returns.
        """
        changed = copy(self)
        # Values computed from the old prior are dropped.
        for name in list(vars(changed)):
            if isinstance(getattr(type(self), name, None), cached_property):
                delattr(changed, name)
        changed.prior = self.checked_prior(prior)
        return changed


@dataclass(frozen=True)
class Nested:
    """A coarser class inside another one, which is learnt sooner.

    ``costs`` and ``points`` map sums of costs and points of the large class to the small one.
    """

    hypotheses: HypothesisClass
    costs: Callable[[IntArray], IntArray]
    points: Callable[[Points], Points]


WEIGHT_BITS = 40


def gibbs_weights(
    costs: IntArray, temperature: float | FloatArray, log_inverse_prior: FloatArray | None = None
) -> IntArray:
    """Exponential weights along the last axis: round(2^40·exp(−(c − min c)/temperature)).

    With a prior, of p(h)·exp(−c/temperature); the largest is 2^40. There may be a temperature for
    every row. Weights are integers, so their sums are the same in any order; rounding moves no
    probability by more than |H|·2^-41.

    >>> (gibbs_weights(np.array([0, 10]), 10 / np.log(4)) / 2**40).round(9).tolist()
    [1.0, 0.25]
    """
    excess = (costs - costs.min(axis=-1, keepdims=True)).astype(np.float64)
    far: FloatArray = excess / temperature
    if log_inverse_prior is not None:
        far = far + log_inverse_prior
        far = far - far.min(axis=-1, keepdims=True)
    return np.rint(np.ldexp(fixed_point.exp_negative(far), WEIGHT_BITS)).astype(np.int64)


def integer_weights(terms: FloatArray) -> tuple[IntArray, FloatArray]:
    """Logarithms along the first axis as weights round(2^40·exp(term − max)), and ln Σ exp(term).

    >>> weights, total = integer_weights(np.log([[1.0], [3.0]]))
    >>> (weights / 2**40).round(6).tolist(), total.round(6).tolist()
    ([[0.333333], [1.0]], [1.386294])
    """
    top = terms.max(axis=0)
    weights = np.rint(np.ldexp(fixed_point.exp_negative(top - terms), WEIGHT_BITS)).astype(np.int64)
    total = fixed_point.log_array(weights.sum(axis=0).astype(np.float64))
    return weights, top + (total - WEIGHT_BITS * fixed_point.LN2)


def weight_of(far: float) -> int:
    """One weight, round(2^40·exp(−far)) for far ≥ 0."""
    return round(math.ldexp(fixed_point.exp_of_negative(far), WEIGHT_BITS))


def pick(weights: IntArray, number: int) -> int:
    """The index that an integer below the total weight falls on.

    >>> [pick(np.array([2, 0, 1]), n) for n in (0, 1, 2)]
    [0, 0, 2]
    """
    return int(np.searchsorted(np.cumsum(weights), number, side="right"))


Weight = TypeVar("Weight", int, IntArray)


def score(weight: Weight, total: int) -> Weight:
    """A probability, or an array of them, as integers of 2^-20, halves up.

    >>> score(1, 2), score(1, 3)
    (524288, 349525)
    """
    return ((weight << (fixed_point.BITS + 1)) // total + 1) >> 1
