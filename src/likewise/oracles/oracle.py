"""The oracle that the learner may call: signed costs in, hypotheses out, every call counted."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Protocol, cast

import numpy as np

from likewise.errors import ParameterError, SlowEngine
from likewise.extras import MissingGpuError, MissingLibraryError
from likewise.fixed_point import FloatArray, IntArray
from likewise.hypotheses import (
    Bits,
    ExactWeights,
    GibbsPolicy,
    HypothesisClass,
    Listed,
    Points,
    Segments,
)
from likewise.hypotheses.priors import FLAT
from likewise.randomness import Noise
from likewise.validation import as_array, choice, instance, integer

__all__ = ["ENGINES", "Engine", "Oracle", "engine_for", "load_engine"]

ENGINES = ("compiled", "gpu", "reference")
# The engine that takes over from one whose library, or whose GPU, is not there.
INSTEAD = {"gpu": "compiled", "compiled": "reference"}
# From so many hypotheses on, an engine's own weights are faster than calls of numpy.
LONG_LIST = 256


class Engine(Protocol):
    """A module that makes draws and weights; see :mod:`likewise.oracles.engines.reference`."""

    def approvals(
        self, hypotheses: HypothesisClass, costs: IntArray, noise: Noise, points: Points,
        draws: range,
    ) -> Bits:  # fmt: skip
        """Predictions of the draws of h with these numbers on each point."""

    def weigh(
        self, hypotheses: ExactWeights, costs: IntArray, temperature: float | FloatArray
    ) -> GibbsPolicy:
        """Exponential weights for the costs so far, as ``hypotheses.weigh`` makes them."""

    def charge(
        self, hypotheses: HypothesisClass, costs: IntArray, points: Points, amounts: IntArray
    ) -> IntArray:
        """The costs with one more on every point, as ``hypotheses.charge`` makes them."""


def load_engine(name: str) -> Engine:
    """The engine of that name; where it cannot work here, the next one, and a warning once.

    Without numba the compiled engine gives way to the reference; without PyTorch, Triton or a GPU
    the GPU engine gives way to the compiled one. Every engine makes the same draws, so a learner
    that was saved with one continues with another.
    """
    return _load_engine(choice("engine", name, ENGINES, "They all agree."))


@cache
def _load_engine(name: str) -> Engine:
    try:
        return cast(Engine, import_module(f"likewise.oracles.engines.{name}"))
    except (MissingLibraryError, MissingGpuError) as error:
        other = INSTEAD[name]
        warnings.warn(
            f"{error}. Until then the {other} engine makes the draws: the same ones, slower.",
            SlowEngine,
            stacklevel=3,
        )
        return _load_engine(other)


def engine_for(name: str, hypotheses: HypothesisClass | ExactWeights) -> Engine:
    """The engine for weights and charges of a class: the one of that name where it has kernels.

    That is for long lists, and for segments with the prior from coarse to fine. For everything else
    it is the reference, which asks the class itself; no library is loaded. The name is one of
    ``ENGINES``, as that of every learner is.
    """
    if isinstance(hypotheses, Listed):
        faster = hypotheses.size >= LONG_LIST
    else:
        faster = isinstance(hypotheses, Segments) and hypotheses.prior != FLAT
    return _load_engine(name if faster else "reference")


@dataclass
class Oracle:
    """argmin_h Σ_j c_j·h(x_j): the only way in which Context-FTPL may search its class.

    ``calls`` counts one for every hypothesis found.

    >>> from likewise.hypotheses import Pool
    >>> oracle = Oracle(Pool.from_table([[0, 0], [0, 1], [1, 1]]))
    >>> costs = oracle.hypotheses.no_costs() + [0, -3, 2]
    >>> oracle.minimise(costs).tolist(), oracle.calls
    ([1], 1)
    """

    hypotheses: HypothesisClass
    engine: str = "compiled"
    calls: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.hypotheses, HypothesisClass):
            raise ParameterError(
                "hypotheses", "must be a hypothesis class", self.hypotheses, "Make one: Pool(…)."
            )
        choice("engine", self.engine, ENGINES, "They all agree.")

    def _checked(self, costs: IntArray) -> IntArray:
        given = as_array(costs)
        if given.dtype != np.int64 or given.ndim != 1:
            raise ParameterError(
                "costs", "must be the class's integers of 2^-20", given.dtype, "charge(…) adds up."
            )
        return given

    def minimise(self, costs: IntArray) -> IntArray:
        """The code of the best hypothesis, without any noise."""
        costs = self._checked(costs)
        self.calls += 1
        no_noise = np.zeros((1, self.hypotheses.separators), dtype=np.int64)
        return cast(IntArray, self.hypotheses.minimise(costs, no_noise)[0])

    def approvals(
        self, costs: IntArray, noise: Noise, points: Points, *, draws: int, first_draw: int = 0
    ) -> Bits:
        """Predictions of some draws of h on each point, shape (draws, points)."""
        costs = self._checked(costs)
        draws = integer("draws", draws, 0, 1 << 32, "It is a number of hypotheses.")
        first_draw = integer("first_draw", first_draw, 0, 1 << 32, "Draws are numbered from 0.")
        if not isinstance(points, np.ndarray) or points.ndim == 0 or points.dtype.kind not in "iu":
            raise ParameterError(
                "points", "must be points of the class", points, "See hypotheses.locate(people)."
            )
        instance("noise", noise, Noise, "Make it: Noise(stream, scale).")
        self.calls += draws
        engine = load_engine(self.engine)
        numbers = range(first_draw, first_draw + draws)
        return engine.approvals(self.hypotheses, costs, noise, points, numbers)
