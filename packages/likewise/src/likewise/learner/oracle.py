"""The oracle of Context-FTPL, and the choice of the engine that computes draws and weights.

Every engine returns the same integers, so the choice affects only the time. numba takes seconds to
compile the kernels, and about one to load compiled ones. So a process starts with the reference
engine, adds up how long numpy should take, and changes to the compiled engine when that exceeds
the cost of the change.
"""

from __future__ import annotations

import math
import os
import warnings
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

import numpy as np

from likewise.errors import MissingGpuError, MissingLibraryError, SlowEngine
from likewise.hypotheses.base import FLAT, Bits, ExactWeights, GibbsPolicy, HypothesisClass, Points
from likewise.hypotheses.lists import Listed
from likewise.hypotheses.segments import Segments
from likewise.hypotheses.staircases import Staircases
from likewise.numerics.fixed_point import FloatArray, IntArray
from likewise.numerics.randomness import Noise
from likewise.validation import as_array, choice, instance, integer, require

ENGINES = ("compiled", "gpu", "reference")
# The engine that takes over where a library or a GPU is missing.
INSTEAD = {"gpu": "compiled", "compiled": "reference"}
# Kernels are faster than calls of numpy for lists of at least this length.
LONG_LIST = 256

# Estimated seconds of the reference engine after which a process loads kernels from disk, and after
# which it compiles them.
LOADS_AFTER, COMPILES_AFTER = 0.2, 2.0
# The reference engine's seconds for a call, a random number, a product of a matrix, the weight of a
# hypothesis, and the weights of segments.
_CALL, _NUMBER, _PRODUCT, _WEIGHT, _TREE = 1e-4, 4e-8, 1e-9, 3e-8, 3e-4


class Engine(Protocol):
    """A module that computes draws and, unless it is the GPU's, weights and charges."""

    def approvals(
        self, hypotheses: HypothesisClass, costs: IntArray, noise: Noise, points: Points,
        draws: range,
    ) -> Bits:  # fmt: skip
        """The predictions on each point of the draws of h with these numbers."""

    def weigh(
        self, hypotheses: ExactWeights, costs: IntArray, temperature: float | FloatArray
    ) -> GibbsPolicy:
        """Exponential weights for the costs so far, those of ``hypotheses.weigh``."""

    def charge(
        self, hypotheses: HypothesisClass, costs: IntArray, points: Points, amounts: IntArray
    ) -> IntArray:
        """The costs with one more on every point, those of ``hypotheses.charge``."""


def load_engine(name: str) -> Engine:
    """Return the engine of that name or, with a warning, the next one that works here.

    Without numba the reference engine replaces the compiled one; without PyTorch, Triton or a GPU
    the compiled engine replaces the GPU's.
    """
    return _load_engine(choice("engine", name, ENGINES, "They all agree."))


@cache
def _load_engine(name: str) -> Engine:
    try:
        return cast(Engine, import_module(f"likewise.learner.{name}"))
    except (MissingLibraryError, MissingGpuError) as error:
        substitute = INSTEAD[name]
        warnings.warn(
            f"{error}. Until then the {substitute} engine makes the draws: the same ones, slower.",
            SlowEngine,
            stacklevel=3,
        )
        return _load_engine(substitute)


@dataclass
class _Workload:
    """The estimated seconds of the reference engine in this process, where kernels exist.

    Threads may add at the same time and lose an addition, which only delays the change.
    """

    seconds: float = 0.0

    def pays_for_kernels(self, more: float) -> bool:
        """Add an estimate; test whether kernels are the better choice by now."""
        self.seconds += more
        if self.seconds < LOADS_AFTER:
            return False
        return self.seconds >= COMPILES_AFTER or _kernels_are_on_disk()


WORKLOAD = _Workload()


def compile_at_once() -> None:
    """Use kernels from now on, for measurements and tests."""
    WORKLOAD.seconds = math.inf


@cache
def _kernels_are_on_disk() -> bool:
    """Look for numba's index files, without importing numba."""
    folder = os.environ.get("NUMBA_CACHE_DIR") or Path(__file__).parent / "compiled"
    return next(Path(folder).rglob("*.nbi"), None) is not None


def _engine(name: str, seconds: float) -> Engine:
    """The engine for a task that takes the reference that long."""
    if name == "compiled" and not WORKLOAD.pays_for_kernels(seconds):
        return _load_engine("reference")
    return _load_engine(name)


def engine_for(name: str, hypotheses: HypothesisClass | ExactWeights) -> Engine:
    """Return the engine for weights and charges: the one of that name where it has kernels.

    Long lists have kernels, and segments with the prior from coarse to fine. Other classes use the
    reference engine, which calls the class itself. The GPU is not used: copying costs and people to
    it would take longer than the weights.
    """
    name = "compiled" if name == "gpu" else name
    if isinstance(hypotheses, Listed) and hypotheses.size >= LONG_LIST:
        return _engine(name, _CALL + _WEIGHT * hypotheses.size)
    if isinstance(hypotheses, Segments) and hypotheses.prior != FLAT:
        return _engine(name, _TREE)
    return _load_engine("reference")


def _seconds_of_draws(hypotheses: HypothesisClass, copies: int, draws: int) -> float:
    """Estimate the reference engine's time; 0 if no engine has kernels."""
    if not isinstance(hypotheses, Listed | Segments | Staircases):
        return 0.0
    draw = _NUMBER * copies * hypotheses.separators
    if isinstance(hypotheses, Listed):
        draw += _PRODUCT * hypotheses.separators * hypotheses.size
    return _CALL + draw * draws


@dataclass(frozen=True)
class Oracle:
    """argmin_h Σ_j c_j·h(x_j): the only way in which Context-FTPL searches its class.

    >>> from likewise.hypotheses import Pool
    >>> from likewise.numerics.randomness import Purpose, Stream
    >>> pool = Pool.from_table([[0, 0], [0, 1], [1, 1]])
    >>> little_noise = Noise(Stream(1, Purpose.ELICIT, 1), 1e-3)
    >>> costs = pool.no_costs() + [0, -3 << 20, 2 << 20]
    >>> Oracle(pool).approvals(costs, little_noise, np.eye(3, dtype=np.uint8), draws=2).tolist()
    [[0, 1, 0], [0, 1, 0]]
    """

    hypotheses: HypothesisClass
    engine: str = "compiled"

    def __post_init__(self) -> None:
        instance("hypotheses", self.hypotheses, HypothesisClass, "Make one: Pool(…).")
        choice("engine", self.engine, ENGINES, "They all agree.")

    def approvals(
        self, costs: IntArray, noise: Noise, points: Points, *, draws: int, first_draw: int = 0
    ) -> Bits:
        costs = as_array(costs)
        fits, rule = costs.dtype == np.int64, "must be the class's integers of 2^-20"
        require(fits and costs.ndim == 1, "costs", rule, costs.dtype, "charge(…) adds up.")
        draws = integer("draws", draws, 0, 1 << 32, "It is a number of hypotheses.")
        first_draw = integer("first_draw", first_draw, 0, 1 << 32, "Draws are numbered from 0.")
        fits = isinstance(points, np.ndarray) and points.ndim > 0 and points.dtype.kind in "iu"
        remedy = "See hypotheses.locate(people)."
        require(fits, "points", "must be points of the class", points, remedy)
        instance("noise", noise, Noise, "Make it: Noise(stream, scale).")
        engine = _engine(self.engine, _seconds_of_draws(self.hypotheses, noise.copies, draws))
        numbers = range(first_draw, first_draw + draws)
        return engine.approvals(self.hypotheses, costs, noise, points, numbers)
