"""The state between two events: a value that can be saved, compared and continued exactly."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import ClassVar, TypeVar

import numpy as np

from likewise.errors import EventRefused
from likewise.html import described
from likewise.hypotheses.base import Points
from likewise.learner.attention import Asking
from likewise.learner.costs import ALIKE, Weights, report_cost
from likewise.learner.events import Decision, Outcome, Person
from likewise.learner.players import Frozen
from likewise.learner.schedules import SelfTuned
from likewise.learner.settings import Learner
from likewise.numerics.fixed_point import ONE, FloatArray, HoldsArrays, IntArray, log, read_only
from likewise.people.schema import People
from likewise.validation import instance, require

T = TypeVar("T")
_new, _put = object.__new__, object.__setattr__


def changed(value: T, **changes: object) -> T:
    """A copy of a frozen value with some fields changed, unchecked: for values that the fold made.

    ``dataclasses.replace`` runs the constructor, which costs more than the rest of an event.
    """
    copy = _new(type(value))
    _put(copy, "__dict__", value.__dict__ | changes)
    return copy


@dataclass(frozen=True, eq=False)
class Tuning(HoldsArrays):
    """For every scale of the player: S, and its largest value so far.

    ``squares`` is Σ_{tau<t} B_tau², ``pending`` the charges since the last round opened (in units),
    and ``peak`` max_{tau≤t} S_tau. Late costs enter when they are charged; until then
    ``outstanding`` bounds the remaining costs of open rounds (in units), and ``waiting`` counts the
    rounds that wait for their audit.
    """

    squares: FloatArray
    pending: IntArray
    peak: FloatArray
    outstanding: int = 0
    waiting: int = 0

    def __post_init__(self) -> None:
        for name in ("squares", "pending", "peak"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    @classmethod
    def start(cls, scales: int) -> Tuning:
        return cls(np.zeros(scales), np.zeros(scales, dtype=np.int64), np.zeros(scales))

    def charged(self, places: IntArray, amounts: IntArray) -> Tuning:
        """Add the cost of every point to the scales at its places."""
        pending = self.pending.copy()
        np.add.at(pending, places, np.abs(amounts)[:, None])
        return changed(self, pending=read_only(pending))

    def estimated(self, places: IntArray, square: float) -> Tuning:
        """Add costs of unbounded range whose squares are at most ``square``."""
        squares = self.squares.copy()
        np.add.at(squares, places, square)
        return changed(self, squares=read_only(squares))

    def awaiting(self, outstanding: int, waiting: int) -> Tuning:
        """Add to (or take from) the feedback that has not come yet."""
        if not outstanding and not waiting:
            return self
        return changed(
            self, outstanding=self.outstanding + outstanding, waiting=self.waiting + waiting
        )

    def opened(
        self, largest: float, largest_square: float, outstanding: float = 0.0, waiting: float = 0.0
    ) -> Tuning:
        """Open a round whose costs have at most the range ``largest`` = eta + 2·lam.

        S_t = (B̄_t² + Σ B_tau² + F·B̄_t·outstanding)·(1 + G·waiting); F = ``outstanding`` and
        G = ``waiting`` are the schedule's.
        """
        charged = self.pending / ONE
        squares = self.squares + charged * charged
        late = outstanding * (largest * (self.outstanding / ONE))
        s = (largest_square + squares + late) * (1.0 + waiting * self.waiting)
        peak, pending = np.maximum(self.peak, s), np.zeros(len(s), dtype=np.int64)
        for array in (squares, peak, pending):
            array.flags.writeable = False
        return changed(self, squares=squares, peak=peak, pending=pending)


@dataclass(frozen=True)
class Account:
    """The sums over a run that its certificate needs.

    ``paid`` is Σ_t f_t(π̃^t), the cost of the deployed policies, in units of 2^-40; ``reported`` the
    sum of lam_t over the reports, in units of 2^-20; ``largest_lam`` the largest lam.
    """

    paid: int = 0
    reported: int = 0
    largest_lam: float = 0.0


@dataclass(frozen=True)
class Looks:
    """Counts of the rounds and pairs that the panel saw, and of its surprises.

    ``in_part`` counts rounds of which some possible pairs were not shown. ``surprises`` counts
    reports of pairs that only chance had put before the panel, with probability p each; ``unseen``,
    the sum of (1 − p)/p over them, is an unbiased estimate of the reports that nobody saw, and
    ``log_chances``, the sum of ln p, gives their interval
    (:func:`~likewise.learner.certificate.unseen_reports`).
    """

    rounds: int = 0
    pairs: int = 0
    in_part: int = 0
    surprises: int = 0
    unseen: float = 0.0
    log_chances: float = 0.0

    def asked(self, asking: Asking) -> Looks:
        """Count one more round, looked at or not."""
        if not asking.possible and not asking.looked_at:
            return self
        looked, shown = asking.looked_at, asking.shown if asking.looked_at else 0
        return changed(
            self, rounds=self.rounds + looked, pairs=self.pairs + shown,
            in_part=self.in_part + (shown < asking.possible),
        )  # fmt: skip

    def surprised(self, chance: int) -> Looks:
        """Count a report of pairs that chance alone had shown."""
        p = chance / ONE
        return changed(
            self, surprises=self.surprises + 1, unseen=self.unseen + (1.0 - p) / p,
            log_chances=self.log_chances + log(p),
        )  # fmt: skip


@dataclass(frozen=True)
class OpenRound:
    """A round that is not closed yet.

    Its frozen policy is kept until it is sealed, since nobody is decided on after that and rounds
    may wait long for their feedback. What the panel is asked is fixed when it is sealed.
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
    labels: Mapping[str, int | float] = field(default_factory=lambda: MappingProxyType({}))
    overrides: Mapping[str, bool] = field(default_factory=lambda: MappingProxyType({}))
    asking: Asking | None = None

    @property
    def policy(self) -> Frozen:
        if self.frozen is None:
            raise EventRefused(f"Round {self.id!r} is sealed; nobody is decided on any more.")
        return self.frozen

    @property
    def undecided(self) -> tuple[Person, ...]:
        if not self.decisions:
            return self.people
        return tuple([p for p in self.people if p.id not in self.decisions])

    def awaiting_labels(self, *, one_sided: bool) -> int:
        """How many labels may still come and count."""
        if one_sided:
            return len(self.awaited(one_sided=True))
        return len(self.decisions) - len(self.labels)

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
    decisions that somebody changed. ``incurred`` is the cost of each expert of the player, in units
    of 2^-40, and ``memory`` what the attention has learnt. The panel of a round that is sealed now
    is asked at alpha − ``kappa``.
    """

    learner: Learner
    costs: IntArray
    kappa: float
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
    looks: Looks = field(default_factory=Looks)
    memory: tuple[float, ...] = ()
    open: Mapping[str, OpenRound] = field(default_factory=dict)
    closed: tuple[str, ...] = ()
    # How many ids of closed rounds are remembered, to notice a round that is opened twice. A state
    # must not grow with time; a ledger remembers all of them.
    remembered: ClassVar[int] = 1024

    def __post_init__(self) -> None:
        instance("State.learner", self.learner, Learner, "State.start(learner) makes a state.")
        costs = instance("State.costs", self.costs, np.ndarray, "State.start(learner) has them.")
        object.__setattr__(self, "costs", read_only(costs))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, State):
            return NotImplemented
        plain = [f.name for f in fields(self) if f.name not in ("learner", "costs")]
        return (
            (self.learner is other.learner or self.learner.settings() == other.learner.settings())
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
            learner.margins.kappa,
            lam=lam,
            account=Account(largest_lam=lam),
            incurred=(0,) * player.experts(hypotheses),
            tuning=Tuning.start(player.scales(hypotheses)),
            memory=learner.looking.start(hypotheses.schema),
        )

    def having(self, round_: OpenRound, **changes: object) -> State:
        """The state with an open round added or replaced; rounds stay in the order of opening."""
        return changed(self, open={**self.open, round_.id: round_}, **changes)

    @property
    def sensitivity(self) -> int:
        """alpha − kappa, the sensitivity that a panel is asked at now, in units of 2^-20."""
        return self.learner.asked_at(self.kappa)

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
            return self.tuning.opened(largest, square)
        return self.tuning.opened(largest, square, schedule.outstanding, schedule.waiting)

    def frozen(self, tuning: Tuning) -> Frozen:
        """π^t of a round that opens with a tuning: all costs so far, and the noise for them."""
        learner = self.learner
        scales = learner.schedule.scales(
            tuning.peak, learner.k, learner.hypotheses.separators, learner.scale_factors
        )
        values, remedy = scales.tolist(), "The costs are out of all proportion; take a smaller x."
        fits = all(map(math.isfinite, values))
        require(fits, "The noise scale", "must be finite", values, remedy)
        return Frozen(
            self.opened + 1, learner.seed, self.costs, scales, learner.copies, self.incurred
        )


def located_last(learner: Learner, people: tuple[Person, ...]) -> Points | None:
    """The points of people if they are those who were looked up last."""
    # One look at the note: another thread may write the next one at any time.
    noted, points = learner.__dict__.get("_located", (None, None))
    return points if noted is people else None


def located(learner: Learner, people: tuple[Person, ...]) -> Points:
    points = located_last(learner, people)
    if points is not None:
        return points
    schema = learner.hypotheses.schema
    x = np.array([p.features for p in people], dtype=np.float64).reshape(-1, len(schema))
    return located_as(learner, people, People(tuple(p.id for p in people), x, schema))


def located_as(learner: Learner, people: tuple[Person, ...], rows: People) -> Points:
    """The points of people whose features are at hand as an array, too."""
    points = learner.hypotheses.locate(rows)
    # A note on the learner, not a part of it: neither compared nor saved.
    learner.__dict__["_located"] = (people, points)
    return points


def points_of(learner: Learner, people: tuple[Person, ...], names: Sequence[str]) -> Points:
    """The points of some of a round's people, by their ids; an id may occur more than once."""
    ids = [p.id for p in people]
    if ids == names:  # everybody, in order: the labels of a round that come together
        return located(learner, people)
    index = {name: i for i, name in enumerate(ids)}
    return located(learner, people)[[index[name] for name in names]]


def error_weights(learner: Learner, round_: OpenRound, people: Sequence[str]) -> list[Weights]:
    """The weights of wrong decisions on some of a round's people, by their ids."""
    if learner.loss.alike:
        return [ALIKE] * len(people)
    by_id, schema = {person.id: person for person in round_.people}, learner.hypotheses.schema
    return [learner.loss.weights(schema, by_id[name]) for name in people]
