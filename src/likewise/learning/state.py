"""The state between two events: a value that can be saved, compared and continued exactly."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType

import numpy as np

from likewise.events import Decision, Person
from likewise.learning.costs import report_cost
from likewise.learning.learner import Learner
from likewise.learning.primal import Frozen
from likewise.units import IntArray, from_units

__all__ = ["OpenRound", "State", "Tuning"]

# Ids of closed rounds that are remembered, so that a round opened twice by mistake is noticed. The
# number is fixed, since a state must not grow with time; a ledger remembers all of them.
REMEMBERED = 1024


@dataclass(frozen=True)
class Tuning:
    """What the self-tuned schedule knows: the squared ranges of the losses so far.

    ``squares`` is Σ_{tau<t} B_tau², ``pending`` what was charged since the last round opened (in
    units), and ``peak`` is max_{tau≤t} S_tau.
    """

    squares: float = 0.0
    pending: int = 0
    peak: float = 0.0

    def charged(self, amount: int) -> Tuning:
        """One more cost, of that absolute size in units."""
        return replace(self, pending=self.pending + amount)

    def opened(self, largest: float) -> Tuning:
        """A round opens; ``largest`` = eta + 2·lam bounds its cost."""
        charged = from_units(self.pending)
        squares = self.squares + charged * charged
        return Tuning(squares, 0, max(self.peak, largest * largest + squares))


@dataclass(frozen=True)
class OpenRound:
    """A round that is not closed yet, with the policy it was opened under."""

    id: str
    frozen: Frozen
    lam: float
    draws: int
    people: tuple[Person, ...] = ()
    batches: int = 0
    decisions: Mapping[str, Decision] = field(default_factory=lambda: MappingProxyType({}))
    panel: str | None = None
    outcome: str | None = None
    pairs: tuple[tuple[str, str], ...] = ()
    labels: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def undecided(self) -> tuple[Person, ...]:
        """Who has arrived and has no decision yet."""
        return tuple(p for p in self.people if p.id not in self.decisions)


@dataclass(frozen=True, eq=False)
class State:
    """The learner between two events. Make one with :meth:`State.start`, change it with ``apply``.

    ``lam`` is the multiplier; ``opened`` counts rounds, ``audits`` those that were audited,
    ``reports`` those in which a pair was reported, ``calls`` the calls of the oracle, ``missing``
    the labels that never came.
    """

    learner: Learner
    costs: IntArray
    lam: float = 0.0
    opened: int = 0
    audits: int = 0
    reports: int = 0
    calls: int = 0
    missing: int = 0
    tuning: Tuning = field(default_factory=Tuning)
    open: Mapping[str, OpenRound] = field(default_factory=lambda: MappingProxyType({}))
    closed: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, State):
            return NotImplemented
        plain = [f.name for f in fields(self) if f.name not in ("learner", "costs")]
        return (
            self.learner.spec() == other.learner.spec()
            and np.array_equal(self.costs, other.costs)
            and all(getattr(self, name) == getattr(other, name) for name in plain)
        )

    __hash__ = None  # type: ignore[assignment] # it holds an array

    @classmethod
    def start(cls, learner: Learner) -> State:
        """The state before the first event."""
        return cls(learner, learner.hypotheses.no_costs())

    @property
    def largest_cost(self) -> float:
        """B̄ = eta + 2·lam, on the grid, which bounds the cost of a round that opens now."""
        labels = self.learner.k * abs(self.learner.label_cost(1))
        return from_units(labels + 2 * report_cost(self.lam, 1))

    def scale(self, tuning: Tuning) -> float:
        """The noise scale (temperature) of a round that opens now."""
        learner = self.learner
        separators = learner.hypotheses.separators
        scale = learner.schedule.scale(tuning.peak, learner.k, separators, learner.default_x)
        if not math.isfinite(scale):
            raise OverflowError(f"The noise scale is {scale}; the costs are out of all proportion.")
        return scale
