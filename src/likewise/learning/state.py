"""The state between two events: a value that can be saved, compared and continued exactly."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType

import numpy as np

from likewise.errors import EventRefused, ParameterError
from likewise.events import Decision, Person
from likewise.fixed_point import IntArray, from_units, read_only
from likewise.learning.costs import report_cost
from likewise.learning.learner import Learner
from likewise.learning.primal import Frozen
from likewise.validation import instance

__all__ = ["OpenRound", "State", "Tuning"]

# Ids of closed rounds that are remembered, so that a round opened twice by mistake is noticed. The
# number is fixed, since a state must not grow with time; a ledger remembers all of them.
REMEMBERED = 1024


@dataclass(frozen=True)
class Tuning:
    """The memory of the self-tuned schedule: the squared ranges of the losses so far.

    ``squares`` is Σ_{tau<t} B_tau², ``pending`` what was charged since the last round opened (in
    units), and ``peak`` is max_{tau≤t} S_tau. Late costs enter when they are charged.
    """

    squares: float = 0.0
    pending: int = 0
    peak: float = 0.0

    def charged(self, amount: int) -> Tuning:
        """One more cost, of that absolute size in units."""
        return replace(self, pending=self.pending + amount)

    def estimated(self, square: float) -> Tuning:
        """One more cost whose range has no bound, but whose square has."""
        return replace(self, squares=self.squares + square)

    def opened(self, largest_square: float) -> Tuning:
        """A round opens; ``largest_square`` = (eta + 2·lam)² bounds its squared range."""
        charged = from_units(self.pending)
        squares = self.squares + charged * charged
        return Tuning(squares, 0, max(self.peak, largest_square + squares))


@dataclass(frozen=True)
class OpenRound:
    """A round that is not closed yet.

    The policy that it was opened under is kept until it is sealed: nobody is decided on after that,
    and rounds may wait long for their feedback.
    """

    id: str
    number: int
    frozen: Frozen | None
    lam: float
    draws: int
    people: tuple[Person, ...] = ()
    batches: int = 0
    decisions: Mapping[str, Decision] = field(default_factory=lambda: MappingProxyType({}))
    panel: str | None = None
    outcome: str | None = None
    pairs: tuple[tuple[str, str], ...] = ()
    labels: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    overrides: Mapping[str, bool] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def policy(self) -> Frozen:
        """The policy that it was opened under."""
        if self.frozen is None:
            raise EventRefused(f"Round {self.id!r} is sealed; nobody is decided on any more.")
        return self.frozen

    @property
    def undecided(self) -> tuple[Person, ...]:
        """People who have arrived and have no decision yet."""
        return tuple(p for p in self.people if p.id not in self.decisions)

    def awaited(self, *, one_sided: bool) -> tuple[str, ...]:
        """People whose labels may still come and count; if labels are one-sided, the approved."""
        return tuple(
            d.person
            for d in self.decisions.values()
            if d.person not in self.labels
            and not (one_sided and (not d.approved or d.person in self.overrides))
        )


@dataclass(frozen=True, eq=False)
class State:
    """The learner between two events. Make one with :meth:`State.start`, change it with ``apply``.

    States share their arrays, which are read-only. ``lam`` is the multiplier; ``opened`` counts
    rounds, ``audits`` those that were audited, ``reports`` those in which a pair was reported,
    ``calls`` the calls of the oracle, ``missing`` the labels that never came, ``overridden`` the
    decisions that somebody changed.
    """

    learner: Learner
    costs: IntArray
    lam: float = 0.0
    opened: int = 0
    audits: int = 0
    reports: int = 0
    calls: int = 0
    missing: int = 0
    overridden: int = 0
    tuning: Tuning = field(default_factory=Tuning)
    open: Mapping[str, OpenRound] = field(default_factory=lambda: MappingProxyType({}))
    closed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        instance("State.learner", self.learner, Learner, "State.start(learner) makes a state.")
        costs = instance("State.costs", self.costs, np.ndarray, "State.start(learner) has them.")
        object.__setattr__(self, "costs", read_only(costs))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, State):
            return NotImplemented
        plain = [f.name for f in fields(self) if f.name not in ("learner", "costs")]
        return (
            self.learner.settings() == other.learner.settings()
            and np.array_equal(self.costs, other.costs)
            and all(getattr(self, name) == getattr(other, name) for name in plain)
        )

    __hash__ = None  # type: ignore[assignment] # it holds an array

    @classmethod
    def start(cls, learner: Learner) -> State:
        """The state before the first event."""
        instance("learner", learner, Learner, "Make one: Learner(…).")
        return cls(learner, learner.hypotheses.no_costs())

    @property
    def largest_square(self) -> float:
        """B̄² = (eta + 2·lam)², on the grid, which bounds the cost of a round that opens now.

        With one-sided labels (eta·(2M−1) + 2·lam)², or 20·eta² + 4·lam² where J is exact.
        """
        learner = self.learner
        reports, labels = 2 * report_cost(self.lam / learner.audit_share, 1), 0
        if learner.label_square is None:
            labels = learner.k * learner.pricing.largest(learner.resamples(self.opened + 1))
        largest = from_units(labels + reports)
        return learner.k * (learner.label_square or 0.0) + largest * largest

    def scale(self, tuning: Tuning) -> float:
        """The noise scale (temperature) of a round that opens now."""
        learner = self.learner
        separators = learner.hypotheses.separators
        scale = learner.schedule.scale(tuning.peak, learner.k, separators, learner.default_x)
        if not math.isfinite(scale):
            raise ParameterError(
                "The noise scale", "must be finite", scale,
                "The costs are out of all proportion; take a smaller x.",
            )  # fmt: skip
        return scale
