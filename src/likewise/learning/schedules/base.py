"""The contract of a schedule, and how its parameters are checked."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal

from likewise.errors import ParameterError
from likewise.learning.margins import Margins
from likewise.validation import real

__all__ = ["Schedule", "check_positive", "check_probability", "chernoff_draws"]

# A round of this many draws takes minutes; more is surely a mistake.
MOST_DRAWS = 10**9


def chernoff_draws(constant: float, log_term: float, accuracy: float) -> int:
    """ceil(constant·log_term/accuracy²), refused where nobody could wait for so many."""
    draws = math.ceil(constant * log_term / (accuracy * accuracy))
    if draws > MOST_DRAWS:
        raise ParameterError(
            "eps",
            f"must allow for at most {MOST_DRAWS:,} draws a round",
            f"{draws:,}",
            "Take a larger eps (or r), or a player that needs no draws.",
        )
    return draws


def check_positive(name: str, value: float, why: str) -> None:
    """Refuse what is not a positive number."""
    if not (math.isfinite(real(name, value, why)) and value > 0):
        raise ParameterError(name, "must be a positive number", value, why)


def check_probability(name: str, value: float) -> None:
    """Refuse what is no probability of failing."""
    if not 0 < real(name, value, "0.05 is the default.") < 1:
        raise ParameterError(
            name, "must be in (0, 1)", value, "It is the probability that a guarantee may fail."
        )


class Schedule(ABC):
    """The constants of both players in round t, all of them known when the round opens.

    ``feedback`` names the settings that it was made for.
    """

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
    def scale(self, peak: float, k: int, separators: int, default_x: float) -> float:
        """The noise scale sigma_t (or the temperature); ``peak`` is max_tau S_tau."""

    @abstractmethod
    def spec(self) -> dict[str, Any]:
        """The schedule as JSON."""
