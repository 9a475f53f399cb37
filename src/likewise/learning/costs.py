"""One canonical form for every loss: signed costs on points, as integers of 2^-20.

A cost c at a person's point x means that approving them costs c. Reports charge the two people of
each pair, +lam for the one who was favoured and −lam for the other. Labels charge their own person:

| labels            | rejected, at sealing | approved, when the label y comes |
|-------------------|----------------------|----------------------------------|
| full information  | –                    | eta·(1−2y)/k, whoever it is      |
| one-sided, lifted | −eta/k               | eta·(2·J·(1−y) − 1)/k            |
| one-sided, direct | –                    | eta·J·(1−2y)/k                   |

Constants that do not depend on the policy are left out. k is the largest number of people in a
round, the same for all rounds, since dividing by the round's own number would break the regret
statement.

With one-sided labels, J = ``Decision.inverse_chance`` makes up for those who were not approved:
E[J·1[approved]] is 1, or nearly. *Lifted* rests on 1[h≠y] = 2(1−y)·h + (1−h) − 1 + y: an unseen
label counts as 1, and a seen 0 corrects that, so that what is estimated is never negative. Reports
need no estimate, and are never weighted by J.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from likewise.errors import EventRefused
from likewise.events import Decision
from likewise.fixed_point import ONE, to_units
from likewise.validation import choice


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
        """eta·(1−2y)/k."""
        return self.unit * (1 - 2 * label)

    def largest(self, cap: int) -> int:  # noqa: ARG002
        """eta/k."""
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


class Direct(Pricing):
    """One-sided: an unseen label counts for nothing, a seen one J times over.

    >>> direct, ann = Direct(unit=100), Decision("ann", True, ONE // 2, 2 * ONE)
    >>> direct.labelled(ann, 1), direct.labelled(ann, 0)
    (-200, 200)
    """

    def labelled(self, decision: Decision, label: int) -> int:
        """eta·J·(1−2y)/k."""
        return (self.unit * _inverse(decision) // ONE) * (1 - 2 * label)

    def largest(self, cap: int) -> int:
        """eta·M/k."""
        return self.unit * cap


def _inverse(decision: Decision) -> int:
    if decision.inverse_chance is None:
        raise EventRefused(f"{decision} has no inverse chance; was it made with full information?")
    return decision.inverse_chance


FEEDBACK = ("full", "one-sided")
ESTIMATES: dict[str, type[Pricing]] = {"lifted": Lifted, "direct": Direct}


def pricing_named(feedback: str, estimate: str, eta: float, k: int) -> Pricing:
    """How labels are priced with ``full`` or ``one-sided`` feedback."""
    remedy = "one-sided means that labels are known of those who were approved."
    choice("feedback", feedback, FEEDBACK, remedy)
    choice("estimate", estimate, ESTIMATES, "lifted is the default.")
    kind = FullInformation if feedback == "full" else ESTIMATES[estimate]
    return kind(to_units(eta / k))
