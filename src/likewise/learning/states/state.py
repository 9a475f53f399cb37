"""The state between two events: a value that can be saved, compared and continued exactly."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType

import numpy as np

from likewise.errors import EventRefused, ParameterError
from likewise.events import Decision, Outcome, Person
from likewise.fixed_point import ONE, IntArray, read_only
from likewise.html import described
from likewise.learning.costs import report_cost
from likewise.learning.learner import Learner
from likewise.learning.primal import Frozen
from likewise.learning.schedules import SelfTuned
from likewise.learning.states.open_rounds import OpenRounds
from likewise.learning.states.tuning import Tuning
from likewise.validation import instance

# Ids of closed rounds that are remembered, so that a round opened twice by mistake is noticed. The
# number is fixed, since a state must not grow with time; a ledger remembers all of them.
REMEMBERED = 1024


@dataclass(frozen=True)
class Account:
    """The run so far, in the numbers that its certificate needs.

    ``paid`` is Σ_t f_t(π̃^t), what the deployed policies have cost, in units of 2^-40; ``reported``
    the sum of lam_t over the reports, in units of 2^-20; ``largest_lam`` the largest lam.
    """

    paid: int = 0
    reported: int = 0
    largest_lam: float = 0.0


@dataclass(frozen=True)
class OpenRound:
    """A round that is not closed yet.

    The policy that it was opened under is kept until it is sealed: nobody is decided on after that,
    and rounds may wait long for their feedback. ``drawn`` is what the audit lottery said.
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
    outcome: Outcome | None = None
    pairs: tuple[tuple[str, str], ...] = ()
    labels: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    overrides: Mapping[str, bool] = field(default_factory=lambda: MappingProxyType({}))
    drawn: bool = True

    @property
    def policy(self) -> Frozen:
        """The policy that it was opened under."""
        if self.frozen is None:
            raise EventRefused(f"Round {self.id!r} is sealed; nobody is decided on any more.")
        return self.frozen

    @property
    def undecided(self) -> tuple[Person, ...]:
        """People who have arrived and have no decision yet."""
        if not self.decisions:
            return self.people
        return tuple([p for p in self.people if p.id not in self.decisions])

    def awaiting_labels(self, *, one_sided: bool) -> int:
        """How many labels may still come and count."""
        if not one_sided:
            return len(self.decisions) - len(self.labels)
        return len(self.awaited(one_sided=True))

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

    ``account`` is what the certificate of the run rests on, and ``incurred`` what each expert of
    the player has cost, in units of 2^-40.
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
    account: Account = field(default_factory=Account)
    incurred: tuple[int, ...] = ()
    tuning: Tuning = field(default_factory=lambda: Tuning.start(1))
    open: OpenRounds = field(default_factory=OpenRounds)
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

    def _repr_html_(self) -> str:
        names = ("opened", "audits", "reports", "lam", "missing")
        facts = [(name, getattr(self, name)) for name in names]
        return described("State", [*facts, ("open rounds", len(self.open))])

    @classmethod
    def start(cls, learner: Learner) -> State:
        """The state before the first event."""
        instance("learner", learner, Learner, "Make one: Learner(…).")
        hypotheses, player, lam = learner.hypotheses, learner.primal, learner.multiplier.initial
        return cls(
            learner,
            hypotheses.no_costs(),
            lam=lam,
            account=Account(largest_lam=lam),
            incurred=(0,) * player.experts(hypotheses),
            tuning=Tuning.start(player.scales(hypotheses)),
        )

    def opening(self) -> Tuning:
        """The tuning of a round that opens now.

        B̄ = eta + 2·lam, on the grid, bounds the range of its costs. With one-sided labels it is
        eta·(2M−1) + 2·lam; where J is exact, B̄² is 20·eta² + 4·lam².
        """
        learner = self.learner
        reports = 2 * report_cost(self.lam / learner.audit_share, 1)
        bound = learner.label_bound(self.opened + 1)
        if learner.label_square is None:
            largest = (learner.k * bound + reports) / ONE
            square = largest * largest
        else:
            largest = learner.k * (bound / ONE) + reports / ONE
            square = learner.k * learner.label_square + (reports / ONE) * (reports / ONE)
        schedule = learner.schedule
        if not isinstance(schedule, SelfTuned):
            return self.tuning.opened(largest, square, counts_outstanding=False)
        return self.tuning.opened(
            largest, square, counts_outstanding=schedule.counts_outstanding,
            outstanding=schedule.outstanding, waiting=schedule.waiting,
        )  # fmt: skip

    def frozen(self, tuning: Tuning) -> Frozen:
        """π^t of a round that opens with a tuning: all costs so far, and the noise for them."""
        learner = self.learner
        scales = learner.schedule.scales(
            tuning.peak, learner.k, learner.hypotheses.separators, learner.scale_factors
        )
        if not all(map(math.isfinite, scales.tolist())):
            raise ParameterError(
                "The noise scale", "must be finite", float(scales.max()),
                "The costs are out of all proportion; take a smaller x.",
            )  # fmt: skip
        return Frozen(
            self.opened + 1, learner.seed, self.costs, scales, learner.copies, self.incurred
        )
