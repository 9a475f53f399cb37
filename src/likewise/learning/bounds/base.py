"""A guarantee as numbers, and whether it says anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from likewise.fixed_point import ONE
from likewise.learning.learner import Learner

# Beyond that nobody waits, and sums over rounds take seconds.
LONGEST = 1 << 62
# One unit of the grid.
UNIT = 1.0 / ONE


@dataclass(frozen=True)
class Bound:
    """A guarantee on regret and on violations after T rounds, with its source.

    The bound on violations is one on reports, which are at least as many (each counted as one over
    the share of rounds that is audited). ``holds`` says in which sense.
    """

    source: str
    holds: str
    rounds: int
    k: int
    regret: float
    violations: float

    @property
    def informative(self) -> dict[str, bool]:
        """Which of the two are below the trivial bound."""
        return {
            "regret": self.regret < self.k * self.rounds,
            "violations": self.violations < self.rounds,
        }

    def to_json(self) -> dict[str, Any]:
        """The bound with the trivial one beside it."""
        return {
            "source": self.source,
            "holds": self.holds,
            "regret": self.regret,
            "violations": self.violations,
            "trivial_regret": self.k * self.rounds,
            "trivial_violations": self.rounds,
            "informative": self.informative,
        }


def charged_eta(learner: Learner) -> float:
    """eta as the program charges it: k labels of round(2^20·eta/k) units each.

    >>> from likewise import Pool
    >>> charged_eta(Learner(Pool.from_table([[0], [1]]), k=3, alpha=0.3, eps=0.3, seed=1)) * 2**20
    43692.0
    """
    return learner.k * learner.pricing.unit * UNIT


def proven_margin(learner: Learner) -> float:
    """m = beta − r, by which a report separates π^t from every fair policy.

    Scores are published in units of 2^-20, so even of a policy that is known r is a unit. Draws are
    as many as the smaller of r and kappa asks for.
    """
    margins = learner.margins
    return asked_beta(learner) - (UNIT if learner.primal.exact else min(margins.r, margins.kappa))


def asked_beta(learner: Learner) -> float:
    """eps − kappa with alpha − kappa as the panel is asked: in whole units."""
    return learner.sensitivity * UNIT - (learner.alpha - learner.eps)
