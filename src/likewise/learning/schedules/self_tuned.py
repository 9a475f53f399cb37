"""The default schedule: no horizon, and as much noise as the costs so far ask for."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Literal

import numpy as np

from likewise.errors import ParameterError
from likewise.fixed_point import FloatArray
from likewise.learning.schedules.base import Schedule, chernoff_draws, probability
from likewise.learning.schedules.margins import Margins
from likewise.portable_math import log
from likewise.validation import flag, optional_real, positive, real

# Sums of estimated costs must stay integers of 64 bits for any horizon that one can run.
LARGEST_ETA = 64
LARGEST_WEIGHT = 1024
# Less than this is no noise at all, and divisions by it would not be numbers.
SMALLEST_X = 1e-100
# kappa as a share of eps, where none is given; see docs/defaults.md.
KAPPA_SHARE = 0.325
# The weights of what is outstanding and of a round that waits for its audit; see docs/defaults.md.
OUTSTANDING, WAITING = 1.0, 0.25


@dataclass(frozen=True)
class SelfTuned(Schedule):
    """No horizon: mu_t = t^{-1/2}, sigma_t = x·sqrt(max_tau S_tau), R_t from r alone.

    S_t = (eta + 2·lam_t)² + Σ_{tau<t} B_tau², where B_tau is the sum of round tau's absolute costs.
    With one-sided labels, M_t = ceil(t^{1/3}), and (2·M_t − 1)·eta in place of eta. Where feedback
    is late, what open rounds may still cost is counted too, and the more rounds wait for their
    audit the more slowly the policy moves: it observes how late feedback is, and need not be told.

    Parameters
    ----------
    eta: weight of the error against fairness: smaller means fewer violations and reports, and
        more errors.
    x: noise (temperature) in units of sqrt(S); without one, the player's default.
    kappa: the panel is asked at alpha − kappa; 0.325·eps unless given. The knob for the auditors'
        time: smaller means fewer reports, and more violations that none announced.
    r: accuracy of an estimated gap; 0.4·eps unless given. It decides the number of draws, as long
        as it is at most kappa, and enters the bound.
    delta: probability that some estimate is worse than that, ever.
    counts_outstanding: S counts what is outstanding; without it, only what has come.
    outstanding: the weight of what is outstanding; the bounds for late feedback are for 1.
    waiting: by how much a round that waits for its audit makes the next ones more careful; the
        bounds for late feedback are for 1/4.
    """

    eta: float = 1 / 24
    x: float | None = None
    kappa: float | None = None
    r: float | None = None
    delta: float = 0.05
    counts_outstanding: bool = True
    outstanding: float = OUTSTANDING
    waiting: float = WAITING
    name = "self-tuned"
    feedback = ("full", "one-sided")

    def __post_init__(self) -> None:
        remedy = "It is the weight of the error; 1 is the paper's."
        plain: dict[str, Any] = {
            "eta": positive("eta", self.eta, remedy),
            "delta": probability("delta", self.delta),
            "counts_outstanding": flag("counts_outstanding", self.counts_outstanding, "Set it."),
            "kappa": optional_real("kappa", self.kappa, "Leave it out for 0.325·eps."),
            "r": optional_real("r", self.r, "Leave it out for 0.4·eps."),
        }
        if plain["eta"] > LARGEST_ETA:
            raise ParameterError("eta", f"must be at most {LARGEST_ETA}", self.eta, remedy)
        if self.x is not None:
            plain["x"] = positive("x", self.x, "Leave it out for the default.")
            if plain["x"] < SMALLEST_X:
                raise ParameterError(
                    "x", f"must be at least {SMALLEST_X:g}", self.x, "Leave it out for the default."
                )
        for name in ("outstanding", "waiting"):
            plain[name] = real(name, getattr(self, name), "Leave it out for the default.")
            if not 0 <= plain[name] <= LARGEST_WEIGHT:
                raise ParameterError(
                    name, f"must be in [0, {LARGEST_WEIGHT}]", getattr(self, name),
                    "It is a weight of late costs; leave it out for the default.",
                )  # fmt: skip
        for name, value in plain.items():
            object.__setattr__(self, name, value)

    @property
    def as_proved(self) -> bool:
        """True where late costs are counted with the weights that the bounds are for, or not."""
        return not self.counts_outstanding or (
            (self.outstanding, self.waiting) == (OUTSTANDING, WAITING)
        )

    @property
    def embedding(self) -> Literal["per-point", "repeated"]:
        """One Laplace variable a point."""
        return "per-point"

    def margins(self, alpha: float, eps: float, *, exact: bool) -> Margins:
        """kappa = 0.325·eps and r = 0.4·eps (0.8·beta where that is less) unless given."""
        kappa = KAPPA_SHARE * eps if self.kappa is None else self.kappa
        r = min(0.4 * eps, 0.8 * (eps - kappa)) if self.r is None else self.r
        margins = Margins(alpha, eps, kappa, r)
        if exact:
            return replace(margins, r=0.0)
        if margins.r == 0 or kappa == 0:
            raise ParameterError(
                "r" if margins.r == 0 else "kappa",
                "must be above 0 for a player that estimates its scores from draws",
                0.0,
                "No number of draws is exact; exponential weights need none.",
            )
        return margins

    def error_weight(self) -> float:
        """eta."""
        return self.eta

    def mu(self, audits: int) -> float:
        """t^{-1/2}."""
        return 1.0 / math.sqrt(audits)

    def draws(self, margins: Margins, k: int, t: int) -> int:
        """R(r) = ceil(2·ln(4k/delta_t)/r²), delta_t = 6·delta/(pi²·t²).

        >>> SelfTuned().draws(Margins(0.3, 0.3, 0.15, 0.12), k=4, t=1)
        871
        """
        log_term = log(4.0 * k * math.pi * math.pi * t * t / (6.0 * self.delta))
        return chernoff_draws(2.0, log_term, min(margins.r, margins.kappa))

    def resamples(self, k: int, t: int) -> int:  # noqa: ARG002
        """M_t = ceil(t^{1/3}).

        >>> [SelfTuned().resamples(k=4, t=t) for t in (1, 2, 8, 9, 8000, 8001)]
        [1, 2, 2, 3, 20, 21]
        """
        return next(m for m in count(1) if m * m * m >= t)

    def scale(self, peak: float, k: int, separators: int, x: float) -> float:  # noqa: ARG002
        """x·sqrt(max S)."""
        return x * math.sqrt(peak)

    def scales(self, peaks: FloatArray, k: int, separators: int, xs: FloatArray) -> FloatArray:  # noqa: ARG002
        """x·sqrt(max S), all at once."""
        return xs * np.sqrt(peaks)
