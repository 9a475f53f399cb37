"""The dual player: how the multiplier lam, the price of a report, moves from audit to audit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

from likewise.errors import ParameterError
from likewise.validation import choice, members, positive

# lam·2^20 must stay an integer that sums of costs can hold.
LARGEST_LAM = 2.0**20


@dataclass(frozen=True)
class Dual(ABC):
    """A rule for the multiplier; what it is told is what an audit found."""

    name: ClassVar[str]
    # Theorem E, and bounds with late feedback, are for multipliers that stay where they have been.
    never_decreases: ClassVar[bool] = False

    @property
    def initial(self) -> float:
        """lam before the first audit."""
        return 0.0

    @abstractmethod
    def step(self, lam: float, *, reported: bool, beta: float, mu: float) -> float:
        """lam after an audit; ``beta`` is eps − kappa, over the share of rounds that is audited."""

    def spec(self) -> dict[str, Any]:
        """The rule as JSON."""
        return {"dual": self.name, **asdict(self)}


@dataclass(frozen=True)
class GradientAscent(Dual):
    """Online gradient ascent on the regularised Lagrangian (Zinkevich 2003), the paper's.

        lam ← max(0, lam + mu·(u − mu·lam)),   u = beta if a pair was reported and 0 otherwise

    *Algorithm "Reduction to Context-FTPL + Online Gradient Descent", last line*, with the
    unobservable proxy of π^t replaced by its plug-in value beta (the proxy of π̃^t itself). Where
    only a share of the rounds is audited, u = beta/share.

    >>> GradientAscent().step(0.0, reported=True, beta=0.1, mu=0.5)
    0.05
    >>> GradientAscent().step(0.05, reported=False, beta=0.1, mu=0.5)
    0.037500000000000006
    """

    name = "gradient"

    def step(self, lam: float, *, reported: bool, beta: float, mu: float) -> float:
        """The step, which becomes smaller with every audit."""
        return max(0.0, lam + mu * ((beta if reported else 0.0) - mu * lam))


@dataclass(frozen=True)
class Additive(Dual):
    """A multiplier that never decreases, lam = gamma·n after n reports.

    Reports are at most of the order sqrt(eta·T/(gamma·m)), m = beta − r (Theorem E).

    >>> Additive(gamma=0.5).step(1.0, reported=True, beta=0.1, mu=0.5)
    1.5
    """

    gamma: float = 0.01
    name = "additive"
    never_decreases = True

    def __post_init__(self) -> None:
        _positive(self, "gamma")

    def step(self, lam: float, *, reported: bool, beta: float, mu: float) -> float:  # noqa: ARG002
        """One gamma more with every report."""
        return _bounded(lam + self.gamma) if reported else lam


@dataclass(frozen=True)
class Geometric(Dual):
    """A multiplier that never decreases, lam = gamma·(1 + theta)^n after n reports.

    With theta = m²/(8·C²) reports are at most of the order (C²/m²)·log T, where the paper has
    T^{3/4} (Theorem E).

    >>> Geometric(gamma=0.5, theta=1.0).step(2.0, reported=True, beta=0.1, mu=0.5)
    4.0
    """

    gamma: float = 0.01
    theta: float = 0.05
    name = "geometric"
    never_decreases = True

    def __post_init__(self) -> None:
        _positive(self, "gamma")
        _positive(self, "theta")

    @property
    def initial(self) -> float:
        """gamma: the first report counts already."""
        return self.gamma

    def step(self, lam: float, *, reported: bool, beta: float, mu: float) -> float:  # noqa: ARG002
        """1 + theta times as much with every report."""
        return _bounded(lam * (1.0 + self.theta)) if reported else lam


def _positive(dual: Dual, name: str) -> None:
    remedy = "Leave it out for the default."
    value = positive(f"dual {name}", getattr(dual, name), remedy)
    if value > LARGEST_LAM:
        rule = f"must be at most {LARGEST_LAM:g}, which is the most that a report may cost"
        raise ParameterError(f"dual {name}", rule, value, remedy)
    object.__setattr__(dual, name, value)


def _bounded(lam: float) -> float:
    """At most what sums of costs can hold; a multiplier that stays there still never falls."""
    return min(lam, LARGEST_LAM)


DUALS: dict[str, type[Dual]] = {kind.name: kind for kind in (GradientAscent, Additive, Geometric)}


def dual_from_spec(spec: Mapping[str, Any]) -> Dual:
    """Read a dual player from its JSON.

    >>> dual_from_spec({"dual": "additive", "gamma": 0.5})
    Additive(gamma=0.5)
    """
    if not isinstance(spec, Mapping):
        raise ParameterError("dual", "must be an object that names a rule", spec, '{"dual": …}.')
    kind = DUALS[choice("dual", spec.get("dual"), DUALS, "gradient is the paper's.")]
    names = [f.name for f in fields(kind)]
    values = members(f"dual {kind.name!r}", spec, ("dual",), names)
    return kind(**{name: value for name, value in values.items() if name != "dual"})
