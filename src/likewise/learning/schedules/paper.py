"""The constants of the paper: of its main theorem, and of its theorem on one-sided labels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from likewise.errors import ParameterError
from likewise.learning.schedules.base import Schedule, chernoff_draws, probability
from likewise.learning.schedules.margins import Margins
from likewise.portable_math import exp_negative, log
from likewise.validation import choice, integer, positive, real

# Below that products of horizons stay within the floats.
LONGEST = 1 << 300


def power(base: int, exponent: float) -> float:
    """base^exponent for exponents of at most 0: the same on every machine, unlike ``**``."""
    return float(exp_negative(np.array([-exponent * log(float(base))]))[0])


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
    name = "paper"
    feedback = ("full",)
    most_b = 0.25

    def __post_init__(self) -> None:
        remedy = "The proof needs a step mu below 1/sqrt(2)."
        plain = {
            "horizon": integer("horizon", self.horizon, 2, None, remedy),
            "b": real("b", self.b, "0 is the default."),
            "noise_divisor": positive("noise_divisor", self.noise_divisor, "1 is the paper's."),
            "delta": probability("delta", self.delta),
        }
        for name, value in plain.items():
            object.__setattr__(self, name, value)
        if self.horizon > LONGEST:
            raise ParameterError("horizon", "must be at most 2^300", self.horizon, "Count rounds.")
        if not 0 <= self.b <= self.most_b:
            raise ParameterError(
                "b", f"must be in [0, 1/{round(1 / self.most_b)}]", self.b,
                "It moves regret against violations.",
            )  # fmt: skip
        choice("draws_rule", self.draws_rule, ("paper", "tight", "r"), "tight saves half.")
        choice("noise", self.noise, ("per-point", "repeated"), "repeated is the paper's.")

    @property
    def embedding(self) -> Literal["per-point", "repeated"]:
        """``repeated`` gives the paper's constants: k Laplace variables a point."""
        return self.noise

    def margins(self, alpha: float, eps: float, *, exact: bool) -> Margins:  # noqa: ARG002
        """kappa = beta = eps/2, r = eps/4 (0.4·eps for the rule ``r``)."""
        return Margins(alpha, eps, eps / 2, (0.4 if self.draws_rule == "r" else 0.25) * eps)

    def error_weight(self) -> float:
        """T^{-2b}."""
        return power(self.horizon, -2.0 * self.b)

    def mu(self, audits: int) -> float:  # noqa: ARG002
        """T^{-1/2}."""
        return 1.0 / math.sqrt(self.horizon)

    def draws(self, margins: Margins, k: int, t: int) -> int:  # noqa: ARG002
        """R for all of the horizon.

        >>> Paper(horizon=8000).draws(Margins(0.3, 0.3, 0.15, 0.075), k=4, t=1)
        10000
        """
        if self.draws_rule == "r":
            return chernoff_draws(2.0, log(4.0 * k * self.horizon / self.delta), margins.r)
        constant = 64.0 if self.draws_rule == "paper" else 32.0
        return chernoff_draws(constant, log(2.0 * k * self.horizon / self.delta), margins.eps)

    def resamples(self, k: int, t: int) -> int:  # noqa: ARG002
        """Nothing has to be estimated."""
        return 1

    def scale(self, peak: float, k: int, separators: int, x: float) -> float:  # noqa: ARG002
        """1/omega = 32·k·s/mu."""
        return 32.0 * k * separators / self.mu(1) / self.noise_divisor


@dataclass(frozen=True)
class PaperOneSided(Paper):
    """The constants for one-sided labels: mu = T^{-1/3}, M = 16k/(mu·e), omega = mu²e/(512sk⁴).

    **The paper's proof does not cover them**: the theorem that it rests on has 8·omega·s·k³·M where
    the paper writes 4, so that the terms in lam² do not cancel. ``omega_constant`` is 512 as
    stated; 1024 repairs the proof for the paper's own (unobservable) dual step, and 2048 leaves
    only terms of lower order for the plug-in step that we take. Whichever it is, the noise drowns
    the data at any horizon that one can run.

    >>> round(PaperOneSided(horizon=8000).mu(1), 6), PaperOneSided(8000).resamples(k=4, t=1)
    (0.05, 471)
    """

    omega_constant: int = 512
    name = "paper-one-sided"
    feedback = ("one-sided",)
    most_b = 1 / 6

    def __post_init__(self) -> None:
        super().__post_init__()
        remedy = "512 is the paper's."
        constant = integer("omega_constant", self.omega_constant, 1, 1 << 62, remedy)
        object.__setattr__(self, "omega_constant", constant)

    def mu(self, audits: int) -> float:  # noqa: ARG002
        """T^{-1/3}."""
        return power(self.horizon, -1 / 3)

    def resamples(self, k: int, t: int) -> int:  # noqa: ARG002
        """M = ceil(16k/(mu·e))."""
        return math.ceil(16.0 * k / (self.mu(1) * math.e))

    def scale(self, peak: float, k: int, separators: int, x: float) -> float:  # noqa: ARG002
        """1/omega = 512·s·k⁴/(mu²·e)."""
        mu = self.mu(1)
        constants = float(self.omega_constant * separators * k * k * k * k)
        return constants / (mu * mu * math.e) / self.noise_divisor
