"""When to step how far, how much noise, how many draws: the schedules.

:class:`SelfTuned` needs no horizon and is the default. :class:`Paper` has the constants of the
paper's main theorem.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from likewise.checks import real, whole
from likewise.errors import ParameterError
from likewise.learning.audit import Audit
from likewise.portable import exp_negative, log

__all__ = ["Paper", "Schedule", "SelfTuned", "chernoff_draws", "schedule_from_spec"]


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


def _positive(name: str, value: float, why: str) -> None:
    if not (math.isfinite(real(name, value, why)) and value > 0):
        raise ParameterError(name, "must be a positive number", value, why)


def _probability(name: str, value: float) -> None:
    if not 0 < real(name, value, "0.05 is the default.") < 1:
        raise ParameterError(
            name, "must be in (0, 1)", value, "It is the probability that a guarantee may fail."
        )


class Schedule(ABC):
    """What the two players do in round t; all of it known when the round opens."""

    @property
    @abstractmethod
    def embedding(self) -> Literal["per-point", "repeated"]:
        """How Context-FTPL puts noise on the separating set."""

    @abstractmethod
    def audit(self, alpha: float, eps: float, *, exact: bool) -> Audit:
        """How violations are asked for; a player that knows π exactly has r = 0."""

    @abstractmethod
    def error_weight(self) -> float:
        """eta, the weight of the error term."""

    @abstractmethod
    def mu(self, audits: int) -> float:
        """The dual player's step at the given audit, counted from 1."""

    @abstractmethod
    def draws(self, audit: Audit, k: int, t: int) -> int:
        """R, the number of draws of h that estimate the scores in round t."""

    @abstractmethod
    def scale(self, peak: float, k: int, separators: int, default_x: float) -> float:
        """The noise scale sigma_t (or the temperature); ``peak`` is max_tau S_tau."""

    @abstractmethod
    def spec(self) -> dict[str, Any]:
        """The schedule as JSON."""


@dataclass(frozen=True)
class SelfTuned(Schedule):
    """No horizon: mu_t = t^{-1/2}, sigma_t = x·sqrt(max_tau S_tau), R_t from r alone.

    S_t = (eta + 2·lam_t)² + Σ_{tau<t} B_tau², where B_tau is the sum of round tau's absolute costs.

    Parameters
    ----------
    eta: weight of the error against fairness. *The* knob: smaller means fewer violations and
        reports, and more errors.
    x: noise (temperature) in units of sqrt(S); without one, the player's default, which is a
        share of the value that makes its regret bound smallest.
    kappa: the panel is asked at alpha − kappa; eps/2 unless given.
    r: accuracy of an estimated gap; 0.4·eps unless given. It decides the number of draws, as long
        as it is at most kappa, and enters the bound.
    delta: probability that some estimate is worse than that, ever.
    """

    eta: float = 0.25
    x: float | None = None
    kappa: float | None = None
    r: float | None = None
    delta: float = 0.05

    def __post_init__(self) -> None:
        _positive("eta", self.eta, "It is the weight of the error; 1 is the paper's.")
        if self.x is not None:
            _positive("x", self.x, "Leave it out for the default.")
        _probability("delta", self.delta)

    @property
    def embedding(self) -> Literal["per-point", "repeated"]:
        """One Laplace variable a point."""
        return "per-point"

    def audit(self, alpha: float, eps: float, *, exact: bool) -> Audit:
        """kappa = eps/2 and r = 0.4·eps (0.8·beta where that is less) unless given."""
        kappa = eps / 2 if self.kappa is None else self.kappa
        asked = min(0.4 * eps, 0.8 * (eps - kappa)) if self.r is None else self.r
        audit = Audit(alpha, eps, kappa, asked)
        if exact:
            return replace(audit, r=0.0)
        if audit.r == 0 or kappa == 0:
            raise ParameterError(
                "r" if audit.r == 0 else "kappa",
                "must be above 0 for a player that estimates its scores from draws",
                0.0,
                "No number of draws is exact; exponential weights need none.",
            )
        return audit

    def error_weight(self) -> float:
        """eta."""
        return self.eta

    def mu(self, audits: int) -> float:
        """t^{-1/2}."""
        return 1.0 / math.sqrt(audits)

    def draws(self, audit: Audit, k: int, t: int) -> int:
        """R(r) = ceil(2·ln(4k/delta_t)/r²), delta_t = 6·delta/(pi²·t²).

        >>> SelfTuned().draws(Audit(0.3, 0.3, 0.15, 0.12), k=4, t=1)
        871
        """
        log_term = log(4.0 * k * math.pi * math.pi * t * t / (6.0 * self.delta))
        return chernoff_draws(2.0, log_term, min(audit.r, audit.kappa))

    def scale(self, peak: float, k: int, separators: int, default_x: float) -> float:  # noqa: ARG002
        """x·sqrt(max S)."""
        return (default_x if self.x is None else self.x) * math.sqrt(peak)

    def spec(self) -> dict[str, Any]:
        """The parameters, by name."""
        return {"schedule": "self-tuned", **asdict(self)}


@dataclass(frozen=True)
class Paper(Schedule):
    """The constants of the paper's main theorem: mu = T^{-1/2}, omega = mu/(32ks), eta = T^{-2b}.

    The footnote on the frontier has T^{+2b}; with that sign violations become worse, not better.
    With these constants the noise drowns the data at any horizon that one can run, and the bound
    exceeds the trivial one: :mod:`likewise.learning.bounds` says by how much. ``noise_divisor``
    divides the noise, which no theorem of the paper covers.

    ``draws_rule`` is ``paper`` (64·ln(2kT/delta)/eps²), ``tight`` (32, all that its proof needs),
    or ``r`` (as the self-tuned schedule, r = 0.4·eps, over the horizon).
    """

    horizon: int
    b: float = 0.0
    draws_rule: Literal["paper", "tight", "r"] = "paper"
    delta: float = 0.05
    noise_divisor: float = 1.0
    noise: Literal["per-point", "repeated"] = "repeated"

    def __post_init__(self) -> None:
        why = "The proof needs mu = T^(-1/2) ≤ 1/sqrt(2)."
        object.__setattr__(self, "horizon", whole("horizon", self.horizon, 2, None, why))
        if not 0 <= real("b", self.b, "0 is the default.") <= 0.25:
            raise ParameterError(
                "b", "must be in [0, 1/4]", self.b, "It moves regret against violations."
            )
        if self.draws_rule not in ("paper", "tight", "r"):
            raise ParameterError(
                "draws_rule", "must be paper, tight or r", self.draws_rule, "tight saves half."
            )
        if self.noise not in ("per-point", "repeated"):
            raise ParameterError(
                "noise", "must be per-point or repeated", self.noise, "repeated is the paper's."
            )
        _positive("noise_divisor", self.noise_divisor, "1 is the paper's noise.")
        _probability("delta", self.delta)

    @property
    def embedding(self) -> Literal["per-point", "repeated"]:
        """``repeated`` gives the paper's constants: k Laplace variables a point."""
        return self.noise

    def audit(self, alpha: float, eps: float, *, exact: bool) -> Audit:  # noqa: ARG002
        """kappa = beta = eps/2, r = eps/4 (0.4·eps for the rule ``r``)."""
        return Audit(alpha, eps, eps / 2, (0.4 if self.draws_rule == "r" else 0.25) * eps)

    def error_weight(self) -> float:
        """T^{-2b}."""
        exponent = 2.0 * self.b * log(float(self.horizon))
        return float(exp_negative(np.array([exponent]))[0])

    def mu(self, audits: int) -> float:  # noqa: ARG002
        """T^{-1/2}."""
        return 1.0 / math.sqrt(self.horizon)

    def draws(self, audit: Audit, k: int, t: int) -> int:  # noqa: ARG002
        """R for the whole horizon.

        >>> Paper(horizon=8000).draws(Audit(0.3, 0.3, 0.15, 0.075), k=4, t=1)
        10000
        """
        if self.draws_rule == "r":
            return chernoff_draws(2.0, log(4.0 * k * self.horizon / self.delta), audit.r)
        constant = 64.0 if self.draws_rule == "paper" else 32.0
        return chernoff_draws(constant, log(2.0 * k * self.horizon / self.delta), audit.eps)

    def scale(self, peak: float, k: int, separators: int, default_x: float) -> float:  # noqa: ARG002
        """1/omega = 32·k·s/mu."""
        return 32.0 * k * separators / self.mu(1) / self.noise_divisor

    def spec(self) -> dict[str, Any]:
        """The parameters, by name."""
        return {"schedule": "paper", **asdict(self)}


def schedule_from_spec(spec: Mapping[str, Any]) -> Schedule:
    """Read a schedule from its JSON."""
    kinds: dict[str, type[SelfTuned] | type[Paper]] = {"self-tuned": SelfTuned, "paper": Paper}
    fields = dict(spec)
    name = fields.pop("schedule", None)
    if name not in kinds:
        raise ParameterError(
            "schedule", f"must be one of {', '.join(kinds)}", name, "The file is not one of ours."
        )
    return kinds[name](**fields)
