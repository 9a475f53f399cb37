"""One canonical form for every loss: signed costs on points, as integers of 2^-20.

A cost c at a person's point x means that approving them costs c. Reports charge the two people of
each pair, +lam for the one who was favoured and −lam for the other. Labels charge their own person:

| labels            | rejected, at sealing | approved, when the label y comes |
|-------------------|----------------------|----------------------------------|
| full information  | –                    | eta·(1−2y)/k, rejected or not    |
| one-sided         | −eta/k               | eta·(2·J·(1−y) − 1)/k            |

A :class:`Loss` weighs these by person: if a wrong approval costs v and a wrong rejection w, both at
most 1, the two columns are −w·eta/k and eta·(v·(1−y) − w·y)/k, one-sided
eta·((v + w)·J·(1−y) − w)/k. Constants that do not depend on the policy are left out. k is the
largest number of people in a round: the round's own number would break the regret statement.

With one-sided labels, J = ``Decision.inverse_chance`` makes up for those who were not approved:
E[J·1[approved]] is 1, or nearly. The estimate rests on 1[h≠y] = 2(1−y)·h + (1−h) − 1 + y: an
unseen label counts as 1, and a seen 0 corrects that, so the estimate is never negative. Reports
need no estimate, and are never weighted by J.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from typing import Any, ClassVar, cast

from likewise import validation as check
from likewise.errors import EventRefused
from likewise.learner.events import Decision, Person
from likewise.numerics.fixed_point import BITS, ONE, to_units
from likewise.people.schema import FeatureSchema
from likewise.registry import Specified


@lru_cache(maxsize=1024)  # a round asks for its own some ten times
def report_cost(lam: float, pairs: int) -> int:
    """The charge for a reported pair, lam/pairs: added for the favoured, subtracted for the other.

    Several pairs are averaged and rounded down, so that the loss stays within the range that the
    bounds assume.

    >>> report_cost(0.5, 1), report_cost(0.5, 3)
    (524288, 174762)
    """
    return to_units(lam) // pairs


Weights = tuple[int, int]
"""The costs of a wrong approval and of a wrong rejection of a person, in units of 2^-20."""
ALIKE: Weights = (ONE, ONE)


@dataclass(frozen=True)
class Loss:
    """The loss of a decision, by person: a weight for each kind of error.

    ``approval`` is the weight of approving somebody whose label is 0, ``rejection`` that of
    rejecting somebody whose label is 1: a number in [0, 1], or the name of a feature with a range,
    whose place in its range is the weight (the amount of a loan). With ``fractions`` a label y may
    be any number in [0, 1], and the loss of deciding h is v·(1 − y)·h + w·y·(1 − h): with equal
    weights the absolute loss |h − y|, or the squared loss (h − y)², as h² = h. (The reduction does
    not cover (π(x) − y)², a loss of the chance, which is not linear in π.) Regret and errors are
    measured in this loss.
    """

    approval: float | str = 1.0
    rejection: float | str = 1.0
    fractions: bool = False

    def __post_init__(self) -> None:
        remedy = "Errors weigh at most 1; or name a feature with a range."
        for name in ("approval", "rejection"):
            value = getattr(self, name)
            if not isinstance(value, str):
                check.assign(self, **{name: check.within(f"loss {name}", value, 0, 1, remedy)})
        check.flag("loss fractions", self.fractions, "Say whether labels may be fractions.")

    @property
    def alike(self) -> bool:
        """True if all errors weigh 1."""
        return self.approval == self.rejection == 1.0

    @property
    def noun(self) -> str:
        """The noun for sums of this loss.

        >>> Loss().noun, Loss(fractions=True).noun, Loss(rejection=0.25).noun
        ('errors', 'expected loss', 'expected cost')
        """
        if not self.alike:
            return "expected cost"
        return "expected loss" if self.fractions else "errors"

    def check(self, schema: FeatureSchema) -> None:
        """Refuse names that are no features with a range."""
        for name in (self.approval, self.rejection):
            if isinstance(name, str):
                fits = name in schema.names and math.isfinite(_range(schema, name)[1])
                rule = "must name a feature with a range"
                check.require(fits, "loss", rule, name, "Give the feature low and high.")

    def weights(self, schema: FeatureSchema, person: Person) -> Weights:
        """The weights of a person, on the grid."""
        return _weight(schema, person, self.approval), _weight(schema, person, self.rejection)

    def spec(self) -> dict[str, Any]:
        return asdict(self)


def _range(schema: FeatureSchema, name: str) -> tuple[float, float]:
    """The beginning of a feature's range, and its width."""
    low, high = schema[name].limits
    return low, high - low


def _weight(schema: FeatureSchema, person: Person, weight: float | str) -> int:
    if not isinstance(weight, str):
        return to_units(weight)
    low, width = _range(schema, weight)
    value = person.features[schema.place(weight)]
    if math.isnan(value):
        raise EventRefused(
            f"Person {person.id!r} has no {weight}, which says what an error costs. Give it."
        )
    return to_units((value - low) / width)


def loss_from_spec(spec: Mapping[str, Any]) -> Loss:
    return Loss(**check.members("loss", spec, (), [f.name for f in fields(Loss)]))


@dataclass(frozen=True)
class Pricing(ABC):
    """Costs of approving a person, in units of 2^-20; ``unit`` is eta/k."""

    unit: int
    one_sided: ClassVar[bool] = True

    def sealed(self, decision: Decision, weights: Weights = ALIKE) -> int:  # noqa: ARG002
        """The charge at sealing, without a label."""
        return 0

    @abstractmethod
    def labelled(self, decision: Decision, label: int, weights: Weights = ALIKE) -> int:
        """The charge when the label, in units, comes."""

    @abstractmethod
    def largest(self, cap: int) -> int:
        """The largest absolute cost of a person where J is at most ``cap``."""


class FullInformation(Pricing):
    """Every label becomes known.

    >>> FullInformation(unit=100).labelled(Decision("ann", False, 0), ONE)
    -100
    """

    one_sided = False

    def labelled(self, decision: Decision, label: int, weights: Weights = ALIKE) -> int:  # noqa: ARG002
        """eta·(v·(1−y) − w·y)/k."""
        approval, rejection = weights
        return self.unit * (approval * (ONE - label) - rejection * label) >> 2 * BITS

    def largest(self, cap: int) -> int:  # noqa: ARG002
        return self.unit


class Lifted(Pricing):
    """One-sided labels: an unseen label counts as 1; a seen 0 corrects that, J times over.

    >>> lifted, ann = Lifted(unit=100), Decision("ann", True, ONE // 2, 2 * ONE)
    >>> lifted.labelled(ann, ONE), lifted.labelled(ann, 0), lifted.sealed(Decision("bo", False, 0))
    (-100, 300, -100)
    """

    def sealed(self, decision: Decision, weights: Weights = ALIKE) -> int:
        """−w·eta/k for a person who was rejected, whose label will never be known."""
        return 0 if decision.approved else -(self.unit * weights[1] // ONE)

    def labelled(self, decision: Decision, label: int, weights: Weights = ALIKE) -> int:
        """eta·((v + w)·J·(1−y) − w)/k."""
        seen = self.unit * sum(weights) * (ONE - label)
        unseen = self.unit * weights[1] >> BITS
        # Whoever was approved has an inverse chance: the fold takes no other decision.
        inverse = cast(int, decision.inverse_chance) if seen else 0
        return (seen * inverse >> 3 * BITS) - unseen

    def largest(self, cap: int) -> int:
        """eta·(2·M − 1)/k."""
        return self.unit * (2 * cap - 1)


PRICINGS: dict[str, type[Pricing]] = {"full": FullInformation, "one-sided": Lifted}


@dataclass(frozen=True)
class Dual(Specified, ABC):
    """A rule that moves the multiplier after an audit."""

    spec_key = "dual"
    # Theorem E, and bounds with late feedback, need multipliers that never decrease.
    never_decreases: ClassVar[bool] = False

    @property
    def initial(self) -> float:
        """lam before the first audit."""
        return 0.0

    @abstractmethod
    def step(self, lam: float, *, reported: bool, beta: float, mu: float) -> float:
        """lam after an audit; ``beta`` is eps − kappa, over the share of rounds that is audited."""


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
class Growing(Dual):
    """A multiplier that never decreases; its parameters are positive numbers."""

    never_decreases = True

    def __post_init__(self) -> None:
        remedy = "Leave it out for the default."
        for name in (f.name for f in fields(self)):
            value = check.positive(f"dual {name}", getattr(self, name), remedy)
            rule = f"must be at most {LARGEST_LAM:g}, which is the most that a report may cost"
            check.require(value <= LARGEST_LAM, f"dual {name}", rule, value, remedy)
            check.assign(self, **{name: value})


@dataclass(frozen=True)
class Additive(Growing):
    """A multiplier that never decreases, lam = gamma·n after n reports.

    Reports are at most of the order sqrt(eta·T/(gamma·m)), m = beta − r (Theorem E).

    >>> Additive(gamma=0.5).step(1.0, reported=True, beta=0.1, mu=0.5)
    1.5
    """

    gamma: float = 0.01
    name = "additive"

    def step(self, lam: float, *, reported: bool, beta: float, mu: float) -> float:  # noqa: ARG002
        return min(lam + self.gamma, LARGEST_LAM) if reported else lam


@dataclass(frozen=True)
class Geometric(Growing):
    """A multiplier that never decreases, lam = gamma·(1 + theta)^n after n reports.

    With theta = m²/(8·C²) reports are at most of the order (C²/m²)·log T, where the paper has
    T^{3/4} (Theorem E).

    >>> Geometric(gamma=0.5, theta=1.0).step(2.0, reported=True, beta=0.1, mu=0.5)
    4.0
    """

    gamma: float = 0.01
    theta: float = 0.05
    name = "geometric"

    @property
    def initial(self) -> float:
        """gamma, so that the first report counts."""
        return self.gamma

    def step(self, lam: float, *, reported: bool, beta: float, mu: float) -> float:  # noqa: ARG002
        return min(lam * (1.0 + self.theta), LARGEST_LAM) if reported else lam


@dataclass(frozen=True)
class Bounded(Growing):
    """Gradient ascent that is projected onto [0, ``largest``], where the paper regularises.

        lam ← min(largest, lam + (largest/beta)·mu·u),   u = beta for a report and 0 otherwise

    *Footnote: "It is possible to alternatively project the action space of the dual player … into a
    bounded interval."* As u is never negative, it never decreases (Theorem E). For T rounds,
    eta·sqrt(T)·m/C is a largest price with which regret and reports are both of the order sqrt(T).

    >>> [Bounded(0.5).step(lam, reported=True, beta=0.1, mu=0.5) for lam in (0.0, 0.25, 0.5)]
    [0.25, 0.5, 0.5]
    """

    largest: float = 1.0
    name = "bounded"

    def step(self, lam: float, *, reported: bool, beta: float, mu: float) -> float:  # noqa: ARG002
        return min(self.largest, lam + self.largest * mu) if reported else lam


# lam·2^20 must stay an integer that sums of costs can hold.
LARGEST_LAM = 2.0**20

DUALS: dict[str, type[Dual]] = {
    kind.name: kind for kind in (GradientAscent, Additive, Geometric, Bounded)
}


def dual_from_spec(spec: Mapping[str, Any]) -> Dual:
    rule = "must be an object that names a rule"
    check.require(isinstance(spec, Mapping), "dual", rule, spec, '{"dual": …}.')
    name = check.choice("dual", spec.get("dual"), DUALS, "gradient is the paper's.")
    return DUALS[name].from_spec(spec)
