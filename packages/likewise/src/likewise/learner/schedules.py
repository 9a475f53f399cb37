"""Schedules: the constants of both players, round by round."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, ClassVar, Literal

import numpy as np

from likewise import validation as check
from likewise.errors import ParameterError
from likewise.numerics.fixed_point import FloatArray, exp_of_negative, log
from likewise.registry import Specified


@dataclass(frozen=True)
class Margins:
    """alpha, eps, and the split of eps into kappa and beta.

    The panel is asked at alpha − kappa; a report proves beta = eps − kappa; the estimate of a gap
    from draws may be off by r < beta. *The paper has kappa = beta = eps/2, r = eps/4.*

    >>> Margins(alpha=0.3, eps=0.3, kappa=0.15, r=0.12).beta
    0.15
    """

    alpha: float
    eps: float
    kappa: float
    r: float

    def __post_init__(self) -> None:
        for name in ("alpha", "eps", "kappa", "r"):
            number = check.real(name, getattr(self, name), "Give a number such as 0.3.")
            check.assign(self, **{name: number})
        alpha, eps, kappa, beta = self.alpha, self.eps, self.kappa, self.beta
        for name, fits, interval, remedy in (
            ("alpha", 0 < alpha <= 1, "(0, 1]", "It is the size of a violation."),
            ("eps", 0 < eps <= alpha, f"(0, alpha] = (0, {alpha!r}]",
             "The learner competes with policies that are fair at alpha − eps."),
            ("kappa", 0 <= kappa < eps, f"[0, eps) = [0, {eps!r})",
             "The panel is asked at alpha − kappa; 0.325·eps is the default."),
            ("r", 0 <= self.r < beta, f"[0, eps − kappa) = [0, {beta!r})",
             "A gap estimated worse than that would make reports prove nothing; 0.4·eps is the "
             "default."),
        ):  # fmt: skip
            check.require(fits, name, f"must be in {interval}", getattr(self, name), remedy)

    @property
    def beta(self) -> float:
        """eps − kappa, by which a reported gap exceeds that of any policy fair at alpha − eps."""
        return self.eps - self.kappa


# A round of this many draws takes minutes; more must be a mistake.
MOST_DRAWS = 10**9


def chernoff_draws(constant: float, log_term: float, accuracy: float) -> int:
    """ceil(constant·log_term/accuracy²); more than ``MOST_DRAWS`` are refused."""
    square = accuracy * accuracy
    if constant * log_term > square * MOST_DRAWS:
        rule = f"must allow for at most {MOST_DRAWS:,} draws a round"
        remedy = "Take a larger eps (or r), or a player that needs no draws."
        raise ParameterError("eps", rule, f"an accuracy of {accuracy:g}", remedy)
    return math.ceil(constant * log_term / square)


def probability(name: str, value: float) -> float:
    """A probability of failing, checked, as a plain float."""
    remedy = "It is the probability that a guarantee may fail; 0.05 is the default."
    return check.within(name, value, 0, 1, remedy, ends="()")


class Schedule(Specified, ABC):
    """The constants of both players in round t, all of them known when the round opens.

    A subclass is a frozen dataclass of its parameters, which it checks and turns into plain numbers
    when it is made, and is registered under its ``name`` (:data:`likewise.registry.SCHEDULES`).
    ``feedback`` names the settings that it was made for, of ``full`` and ``one-sided``. Every
    method is a function of its parameters and arguments alone, computed by + − · / and square roots
    (:mod:`likewise.numerics.fixed_point` has the logarithm), so that all machines agree. ``proved``
    names the settings that have theorems, of ``full``, ``one-sided`` and ``late``; a subclass
    inherits none. ``likewise.testing.check_schedule`` checks all of that.
    """

    spec_key = "schedule"
    feedback: ClassVar[tuple[str, ...]]
    proved: ClassVar[frozenset[str]] = frozenset()

    @property
    @abstractmethod
    def embedding(self) -> Literal["per-point", "repeated"]:
        """How Context-FTPL puts noise on the separating set."""

    @abstractmethod
    def margins(self, alpha: float, eps: float, *, exact: bool) -> Margins:
        """The split of eps; a player that knows π exactly has r = 0."""

    def next_kappa(self, kappa: float, largest: float, *, certain: bool) -> float:  # noqa: ARG002
        """kappa after a report, at most ``largest``, that of the margins; here it stays.

        ``certain`` says that every reported gap is at most alpha, so that none is a violation.
        """
        return kappa

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
        pairs = zip(peaks.tolist(), xs.tolist(), strict=True)
        return np.array([self.scale(peak, k, separators, x) for peak, x in pairs])


# Products of horizons below this are finite floats.
LONGEST = 1 << 300


def power(base: int, exponent: float) -> float:
    """base^exponent for exponents of at most 0: the same on every machine, unlike ``**``."""
    return exp_of_negative(-exponent * log(float(base)))


@dataclass(frozen=True)
class Paper(Schedule):
    """The constants of the paper's main theorem: mu = T^{-1/2}, omega = mu/(32ks), eta = T^{-2b}.

    The footnote on the frontier has T^{+2b}; with that sign violations become worse, not better.
    With these constants the noise drowns the data at any horizon that one can run, and the bound
    exceeds the trivial one: :mod:`likewise.learner.bounds` says by how much. ``noise_divisor``
    divides the noise, which no theorem of the paper covers.

    ``draws_rule`` is ``paper`` (64·ln(2kT/delta)/eps²), ``tight`` (32, all that its proof needs),
    or ``r`` (as the self-tuned schedule, r = 0.4·eps, over the horizon).
    """

    horizon: int
    b: float = 0.0
    draws_rule: Literal["paper", "tight", "r"] = "paper"
    delta: float = 0.05
    noise_divisor: float = 1.0
    name = "paper"
    feedback = ("full",)
    proved = frozenset(("full",))
    most_b = 0.25

    def __post_init__(self) -> None:
        remedy = "The proof needs a step mu below 1/sqrt(2)."
        check.assign(
            self,
            horizon=check.integer("horizon", self.horizon, 2, None, remedy),
            b=check.real("b", self.b, "0 is the default."),
            noise_divisor=check.within(
                "noise_divisor", self.noise_divisor, 1e-50, 1e50, "1 is the paper's."
            ),
            delta=probability("delta", self.delta),
        )
        fits = self.horizon <= LONGEST
        check.require(fits, "horizon", "must be at most 2^300", self.horizon, "Count rounds.")
        fits, rule = 0 <= self.b <= self.most_b, f"must be in [0, 1/{round(1 / self.most_b)}]"
        check.require(fits, "b", rule, self.b, "It moves regret against violations.")
        check.choice("draws_rule", self.draws_rule, ("paper", "tight", "r"), "tight saves half.")

    @property
    def embedding(self) -> Literal["per-point", "repeated"]:
        """k Laplace variables a point, as the paper has them."""
        return "repeated"

    def margins(self, alpha: float, eps: float, *, exact: bool) -> Margins:  # noqa: ARG002
        """kappa = beta = eps/2, r = eps/4 (0.4·eps for the rule ``r``)."""
        return Margins(alpha, eps, eps / 2, (0.4 if self.draws_rule == "r" else 0.25) * eps)

    def error_weight(self) -> float:
        return power(self.horizon, -2.0 * self.b)

    def mu(self, audits: int) -> float:  # noqa: ARG002
        return 1.0 / math.sqrt(self.horizon)

    def draws(self, margins: Margins, k: int, t: int) -> int:  # noqa: ARG002
        """R, the same in every round."""
        if self.draws_rule == "r":
            return chernoff_draws(2.0, log(4.0 * k * self.horizon / self.delta), margins.r)
        constant = 64.0 if self.draws_rule == "paper" else 32.0
        return chernoff_draws(constant, log(2.0 * k * self.horizon / self.delta), margins.eps)

    def resamples(self, k: int, t: int) -> int:  # noqa: ARG002
        return 1

    def scale(self, peak: float, k: int, separators: int, x: float) -> float:  # noqa: ARG002
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
    proved = frozenset(("one-sided",))
    most_b = 1 / 6

    def __post_init__(self) -> None:
        super().__post_init__()
        remedy, constant = "512 is the paper's.", self.omega_constant
        check.assign(
            self, omega_constant=check.integer("omega_constant", constant, 1, 1 << 62, remedy)
        )

    def mu(self, audits: int) -> float:  # noqa: ARG002
        return power(self.horizon, -1 / 3)

    def resamples(self, k: int, t: int) -> int:  # noqa: ARG002
        return math.ceil(16.0 * k / (self.mu(1) * math.e))

    def scale(self, peak: float, k: int, separators: int, x: float) -> float:  # noqa: ARG002
        mu = self.mu(1)
        constants = float(self.omega_constant * separators * k * k * k * k)
        return constants / (mu * mu * math.e) / self.noise_divisor


# Sums of estimated costs must stay integers of 64 bits for any horizon that one can run.
LARGEST_ETA = 64
LARGEST_WEIGHT = 1024
# With less noise than 1/LARGEST_X, or more than this, bounds are beyond any float.
LARGEST_X = 1e9
# The default of kappa as a share of eps; see docs/research/defaults.md.
KAPPA_SHARE = 0.325
# A report that may be a violation undoes so many of the steps by which kappa shrinks.
REGROWTH = 3
# kappa never shrinks below this share of its start.
SMALLEST_KAPPA = 1 / 32
# The weights of what is outstanding and of a round that waits for its audit.
OUTSTANDING, WAITING = 1.0, 0.25


@dataclass(frozen=True)
class SelfTuned(Schedule):
    """No horizon: mu_t = t^{-1/2}, sigma_t = x·sqrt(max_tau S_tau), R_t from r alone.

    S_t = (eta + 2·lam_t)² + Σ_{tau<t} B_tau², where B_tau is the sum of round tau's absolute costs.
    With one-sided labels, M_t = ceil(t^{1/3}), and (2·M_t − 1)·eta in place of eta. S also counts
    the remaining costs of open rounds, and the more rounds wait for their audit, the more slowly
    the policy moves, so nobody has to say how late feedback is.

    Args:
        eta: weight of the error against fairness: smaller means fewer violations and reports, and
            more errors.
        x: noise (temperature) in units of sqrt(S); without one, the player's default.
        kappa: the panel is asked at alpha − kappa; 0.325·eps unless given. The knob for the
            auditors' time: smaller means fewer reports, and more violations that none announced.
        shrink: kappa falls by this share of itself after a report of a gap of at most alpha, which
            was no violation; after any other report it grows by three such steps, up to where it
            began. 0 keeps it as it is; it must be 0 for a player that draws.
        r: accuracy of an estimated gap; 0.4·eps unless given. It decides the number of draws, as
            long as it is at most kappa, and enters the bound.
        delta: probability that any estimate is ever worse than r.
        outstanding: the weight of outstanding costs in S; the bounds for late feedback need 1.
        waiting: how much more careful a round that waits for its audit makes the next ones; the
            bounds for late feedback need 1/4. With both 0, S counts what was charged alone.
    """

    eta: float = 1 / 24
    x: float | None = None
    kappa: float | None = None
    r: float | None = None
    delta: float = 0.05
    outstanding: float = OUTSTANDING
    waiting: float = WAITING
    shrink: float = 0.0
    name = "self-tuned"
    feedback = ("full", "one-sided")
    proved = frozenset(("full", "one-sided", "late"))

    def __post_init__(self) -> None:
        remedy = "It is the weight of the error; 1 is the paper's."
        eta, delta = check.positive("eta", self.eta, remedy), probability("delta", self.delta)
        plain: dict[str, Any] = {"eta": eta, "delta": delta}
        for name, default in (("kappa", "0.325·eps"), ("r", "0.4·eps")):
            if getattr(self, name) is not None:
                plain[name] = check.real(name, getattr(self, name), f"Leave it out for {default}.")
        fits, rule = plain["eta"] <= LARGEST_ETA, f"must be at most {LARGEST_ETA}"
        check.require(fits, "eta", rule, self.eta, remedy)
        remedy = "Leave it out for the default."
        if self.x is not None:
            plain["x"] = check.within("x", self.x, 1.0 / LARGEST_X, LARGEST_X, remedy)
        share = "0 keeps kappa as it is; 0.1 is a share to try."
        plain["shrink"] = check.within("shrink", self.shrink, 0, 1, share, ends="[)")
        for name in ("outstanding", "waiting"):
            plain[name] = check.within(name, getattr(self, name), 0, LARGEST_WEIGHT, remedy)
        check.assign(self, **plain)

    @property
    def as_proved(self) -> bool:
        """True if late costs count with the weights that the bounds are for, or not at all."""
        return (self.outstanding, self.waiting) in ((0.0, 0.0), (OUTSTANDING, WAITING))

    @property
    def embedding(self) -> Literal["per-point", "repeated"]:
        return "per-point"

    def margins(self, alpha: float, eps: float, *, exact: bool) -> Margins:
        """kappa = 0.325·eps and r = 0.4·eps (or 0.8·beta if that is less) unless given."""
        kappa = KAPPA_SHARE * eps if self.kappa is None else self.kappa
        r = min(0.4 * eps, 0.8 * (eps - kappa)) if self.r is None else self.r
        margins = Margins(alpha, eps, kappa, r)
        if exact:
            return replace(margins, r=0.0)
        if self.shrink:
            raise ParameterError(
                "shrink", "must be 0 for a player that estimates its scores from draws",
                self.shrink, "A smaller kappa takes more draws; exponential weights need none.",
            )  # fmt: skip
        if margins.r == 0 or kappa == 0:
            raise ParameterError(
                "r" if margins.r == 0 else "kappa",
                "must be above 0 for a player that estimates its scores from draws", 0.0,
                "No number of draws is exact; exponential weights need none.",
            )  # fmt: skip
        return margins

    def next_kappa(self, kappa: float, largest: float, *, certain: bool) -> float:
        """A share smaller if certain, else larger by three such steps, within its limits.

        >>> shrinking = SelfTuned(shrink=0.5)
        >>> [shrinking.next_kappa(0.01, 0.1, certain=certain) for certain in (True, False)]
        [0.005, 0.08]
        """
        left = 1.0 - self.shrink
        if certain:
            return max(kappa * left, largest * SMALLEST_KAPPA)
        for _ in range(REGROWTH):
            kappa /= left
        return min(kappa, largest)

    def error_weight(self) -> float:
        return self.eta

    def mu(self, audits: int) -> float:
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
        return x * math.sqrt(peak)

    def scales(self, peaks: FloatArray, k: int, separators: int, xs: FloatArray) -> FloatArray:  # noqa: ARG002
        return xs * np.sqrt(peaks)
