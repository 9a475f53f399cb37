"""The contract of a schedule, and how its parameters are checked."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields
from typing import Any, ClassVar, Literal, Self

import numpy as np

from likewise.errors import ParameterError
from likewise.fixed_point import FloatArray
from likewise.learning.schedules.margins import Margins
from likewise.validation import members, real

# A round of this many draws takes minutes; more is surely a mistake.
MOST_DRAWS = 10**9


def chernoff_draws(constant: float, log_term: float, accuracy: float) -> int:
    """ceil(constant·log_term/accuracy²), refused where nobody could wait for them."""
    square = accuracy * accuracy
    if constant * log_term > square * MOST_DRAWS:
        raise ParameterError(
            "eps",
            f"must allow for at most {MOST_DRAWS:,} draws a round",
            f"an accuracy of {accuracy:g}",
            "Take a larger eps (or r), or a player that needs no draws.",
        )
    return math.ceil(constant * log_term / square)


def probability(name: str, value: float) -> float:
    """A probability of failing, as a plain float; anything else is refused."""
    number = real(name, value, "0.05 is the default.")
    if not 0 < number < 1:
        raise ParameterError(
            name, "must be in (0, 1)", value, "It is the probability that a guarantee may fail."
        )
    return number


class Schedule(ABC):
    """The constants of both players in round t, all of them known when the round opens.

    A subclass is a frozen dataclass of its parameters, which it checks and turns into plain numbers
    when it is made, and is registered under its ``name`` (:data:`likewise.registry.SCHEDULES`).
    ``feedback`` names the settings that it was made for, of
    ``full`` and ``one-sided``. Every method is a function of its parameters and of its arguments
    alone, computed by + − · / and square roots (:mod:`likewise.portable_math` has the logarithm),
    so that all machines agree. ``likewise.testing.check_schedule`` checks all of that.
    """

    name: ClassVar[str]
    feedback: ClassVar[tuple[str, ...]]

    @property
    @abstractmethod
    def embedding(self) -> Literal["per-point", "repeated"]:
        """How Context-FTPL puts noise on the separating set."""

    @abstractmethod
    def margins(self, alpha: float, eps: float, *, exact: bool) -> Margins:
        """How violations are asked for; a player that knows π exactly has r = 0."""

    @abstractmethod
    def error_weight(self) -> float:
        """eta, the weight of the error term."""

    @abstractmethod
    def mu(self, audits: int) -> float:
        """The dual player's step at the given audit, counted from 1."""

    @abstractmethod
    def draws(self, margins: Margins, k: int, t: int) -> int:
        """R, the number of draws of h that estimate the scores in round t."""

    @abstractmethod
    def resamples(self, k: int, t: int) -> int:
        """M, the most draws by which a chance of approval is estimated in round t."""

    @abstractmethod
    def scale(self, peak: float, k: int, separators: int, x: float) -> float:
        """The noise scale sigma_t (or the temperature); ``peak`` is max_tau S_tau."""

    def scales(self, peaks: FloatArray, k: int, separators: int, xs: FloatArray) -> FloatArray:
        """The scales of a player with several."""
        pairs = zip(peaks.tolist(), xs.tolist(), strict=True)
        return np.array([self.scale(peak, k, separators, x) for peak, x in pairs])

    def spec(self) -> dict[str, Any]:
        """The schedule as JSON: ``{"schedule": its name, …}`` and the parameters by name."""
        return {"schedule": self.name, **asdict(self)}  # type: ignore[call-overload] # a dataclass

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Self:
        """Read the schedule from its JSON; what is left out has its default."""
        parameters = [f for f in fields(cls) if f.init]  # type: ignore[arg-type] # a dataclass
        required = [f.name for f in parameters if f.default is MISSING is f.default_factory]
        optional = [f.name for f in parameters if f.name not in required]
        values = {key: value for key, value in spec.items() if key != "schedule"}
        return cls(**members(f"schedule {spec['schedule']!r}", values, required, optional))
