"""One canonical form for every loss: signed costs on points, as integers of 2^-20.

A cost c at a person's point x means that approving them costs c. Reports charge the two people of
each pair, +lam for the one who was favoured and −lam for the other. Labels charge their own person:

| labels            | rejected, at sealing | approved, when the label y comes |
|-------------------|----------------------|----------------------------------|
| full information  | –                    | eta·(1−2y)/k, whoever it is      |
| one-sided         | −eta/k               | eta·(2·J·(1−y) − 1)/k            |

Constants that do not depend on the policy are left out. k is the largest number of people in a
round: dividing by the round's own number would break the regret statement.

With one-sided labels, J = ``Decision.inverse_chance`` makes up for those who were not approved:
E[J·1[approved]] is 1, or nearly. The estimate rests on 1[h≠y] = 2(1−y)·h + (1−h) − 1 + y: an
unseen label counts as 1, and a seen 0 corrects that, so that what is estimated is never negative.
Reports need no estimate, and are never weighted by J.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from typing import Any, ClassVar

from likewise import validation as check
from likewise.errors import EventRefused
from likewise.learner.events import Decision
from likewise.numerics.fixed_point import ONE, to_units


@lru_cache(maxsize=1024)  # a round asks for its own some ten times
def report_cost(lam: float, pairs: int) -> int:
    """Charge for one reported pair, lam/pairs: added for the favoured person, taken off the other.

    Several pairs are averaged, not summed, and rounded down: the range of the loss stays within
    the one that the bounds assume.

    >>> report_cost(0.5, 1), report_cost(0.5, 3)
    (524288, 174762)
    """
    return to_units(lam) // pairs


@dataclass(frozen=True)
class Pricing(ABC):
    """Costs of approving a person, in units of 2^-20; ``unit`` is eta/k."""

    unit: int
    one_sided: ClassVar[bool] = True

    def sealed(self, decision: Decision) -> int:  # noqa: ARG002
        """The charge that does not wait for a label."""
        return 0

    @abstractmethod
    def labelled(self, decision: Decision, label: int) -> int:
        """The charge when the label comes."""

    @abstractmethod
    def largest(self, cap: int) -> int:
        """The most that one person costs, in absolute terms, where J is at most ``cap``."""


class FullInformation(Pricing):
    """Every label becomes known.

    >>> FullInformation(unit=100).labelled(Decision("ann", False, 0), 1)
    -100
    """

    one_sided = False

    def labelled(self, decision: Decision, label: int) -> int:  # noqa: ARG002
        return self.unit * (1 - 2 * label)

    def largest(self, cap: int) -> int:  # noqa: ARG002
        return self.unit


class Lifted(Pricing):
    """One-sided: an unseen label counts as 1; a seen 0 corrects that, J times over.

    >>> lifted, ann = Lifted(unit=100), Decision("ann", True, ONE // 2, 2 * ONE)
    >>> lifted.labelled(ann, 1), lifted.labelled(ann, 0), lifted.sealed(Decision("bo", False, 0))
    (-100, 300, -100)
    """

    def sealed(self, decision: Decision) -> int:
        """−eta/k for somebody who was rejected, whose label will never be known."""
        return 0 if decision.approved else -self.unit

    def labelled(self, decision: Decision, label: int) -> int:
        """eta·(2·J·(1−y) − 1)/k."""
        return (0 if label else 2 * self.unit * _inverse(decision) // ONE) - self.unit

    def largest(self, cap: int) -> int:
        """eta·(2·M − 1)/k."""
        return self.unit * (2 * cap - 1)


def _inverse(decision: Decision) -> int:
    if decision.inverse_chance is None:
        raise EventRefused(f"{decision} has no inverse chance; was it made with full information?")
    return decision.inverse_chance


FEEDBACK = ("full", "one-sided")


def pricing_named(feedback: str, eta: float, k: int) -> Pricing:
    remedy = "one-sided means that labels are known of those who were approved."
    check.choice("feedback", feedback, FEEDBACK, remedy)
    kind = FullInformation if feedback == "full" else Lifted
    return kind(to_units(eta / k))


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
        return {"dual": self.name, **asdict(self)}


@dataclass(frozen=True)
class GradientAscent(Dual):
    """Online gradient ascent on the regularised Lagrangian (Zinkevich 2003), the paper's.

        lam ← max(0, lam + mu·(u − mu·lam)),   u = beta if a pair was reported and 0 otherwise

    *Algorithm "Reduction to Context-FTPL + Online Gradient Descent", last line*, with the
    unobservable proxy of π^t replaced by its plug-in value beta (the proxy of π̃^t itself). Where
    only a share of the rounds is audited, u = beta/share.

    >>> GradientAscent().step(0.05, reported=False, beta=0.1, mu=0.5)
    0.037500000000000006
    """

    name = "gradient"

    def step(self, lam: float, *, reported: bool, beta: float, mu: float) -> float:
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
        return min(lam + self.gamma, LARGEST_LAM) if reported else lam


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
        return min(lam * (1.0 + self.theta), LARGEST_LAM) if reported else lam


# lam·2^20 must stay an integer that sums of costs can hold; a multiplier that stays there still
# never falls.
LARGEST_LAM = 2.0**20


def _positive(dual: Dual, name: str) -> None:
    remedy = "Leave it out for the default."
    value = check.positive(f"dual {name}", getattr(dual, name), remedy)
    rule = f"must be at most {LARGEST_LAM:g}, which is the most that a report may cost"
    check.require(value <= LARGEST_LAM, f"dual {name}", rule, value, remedy)
    check.assign(dual, **{name: value})


DUALS: dict[str, type[Dual]] = {kind.name: kind for kind in (GradientAscent, Additive, Geometric)}


def dual_from_spec(spec: Mapping[str, Any]) -> Dual:
    """Read a dual player from its JSON.

    >>> dual_from_spec({"dual": "additive", "gamma": 0.5})
    Additive(gamma=0.5)
    """
    rule = "must be an object that names a rule"
    check.require(isinstance(spec, Mapping), "dual", rule, spec, '{"dual": …}.')
    kind = DUALS[check.choice("dual", spec.get("dual"), DUALS, "gradient is the paper's.")]
    names = [f.name for f in fields(kind)]
    values = check.members(f"dual {kind.name!r}", spec, ("dual",), names)
    return kind(**{name: value for name, value in values.items() if name != "dual"})
