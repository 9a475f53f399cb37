"""The transcript of a game: every round in numbers, and some of them in full."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from likewise.algorithms import Algorithm
from likewise.auditing import exceeding_pairs
from likewise.errors import LikewiseError, ParameterError
from likewise.fixed_point import ONE, FloatArray, IntArray
from likewise.frames import make_frame
from likewise.game.timing import Delays
from likewise.html import described
from likewise.learning import Deployment, Learner, State
from likewise.worlds import Encounter, World


@dataclass(frozen=True, eq=False)
class Moment:
    """One round as it was played, with what only the game knows: π^t, distances and labels.

    ``audited`` says whether the panel looked at it, ``report`` which pairs it reported, whenever
    the learner hears of them; ``lam`` and ``calls`` are the learner's when the round was decided.
    """

    t: int
    encounter: Encounter
    deployment: Deployment
    policy: IntArray
    pivots: IntArray
    pivot_auditors: IntArray
    audited: bool
    report: tuple[tuple[str, str], ...]
    lam: float
    draws: int
    calls: int

    @property
    def error(self) -> float:
        """Error^t(π^t): the expected number of wrong decisions."""
        return float(np.abs(self.policy / ONE - self.encounter.labels).sum())

    def counts(self, alpha: int) -> tuple[float | int | bool, ...]:
        """Return the round in numbers, in the order of a transcript's columns."""
        labels, approved = self.encounter.labels, self.deployment.approved
        return (
            self.error, int((approved != labels).sum()), len(labels), self.violated(alpha),
            self.audited, bool(self.report), self.lam, self.calls, int(np.ptp(self.policy)),
        )  # fmt: skip

    def violated(self, alpha: int) -> bool:
        """Unfair^t_alpha(π^t): whether some gap under π^t exceeds d_pivot + alpha."""
        return bool(exceeding_pairs(self.policy, self.pivots, alpha).any())


@dataclass(frozen=True, eq=False)
class Transcript:
    """A complete game: what happened in every round, and the state at the end."""

    COLUMNS: ClassVar = (
        "error", "wrong", "people", "violation", "audited", "reported", "lam", "calls",
        "largest_gap",
    )  # fmt: skip

    world: World
    learner: Learner | Algorithm
    error: FloatArray
    wrong: IntArray
    people: IntArray
    violation: npt.NDArray[np.bool_]
    audited: npt.NDArray[np.bool_]
    reported: npt.NDArray[np.bool_]
    lam: FloatArray
    calls: IntArray
    largest_gap: IntArray
    last_state: State | None
    delay: Delays = field(default_factory=Delays)
    moments: tuple[Moment, ...] = ()
    encounters: tuple[Encounter, ...] = ()

    @property
    def state(self) -> State:
        """The learner's state after the last round; other algorithms than ours have none."""
        if self.last_state is None:
            raise LikewiseError(
                f"{type(self.learner).__name__} is no fold over events, so it has no state to keep."
            )
        return self.last_state

    @property
    def rounds(self) -> int:
        """T."""
        return len(self.error)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return every round in numbers as a frame, of the named library or of an installed one."""
        rounds = {"round": range(1, self.rounds + 1)}
        return make_frame(rounds | {name: getattr(self, name) for name in self.COLUMNS}, backend)

    def _repr_html_(self) -> str:
        people = int(self.people.sum())
        return described(
            f"{self.rounds:,} rounds of {self.world.name}",
            [
                ("error of a person", f"{self.error.sum() / people:.3f}"),
                ("rounds in violation", f"{int(self.violation.sum()):,}"),
                ("rounds with a report", f"{int(self.reported.sum()):,}"),
                ("oracle calls", f"{int(self.calls[-1]):,}"),
            ],
        )

    def plot(self, ax: Any) -> Any:
        """Plot the cumulative rounds in violation and with a report on matplotlib axes."""
        if not hasattr(ax, "plot"):
            raise ParameterError("ax", "must be axes", ax, "Write: figure, ax = plt.subplots().")
        rounds = np.arange(1, self.rounds + 1)
        ax.plot(rounds, self.violation.cumsum(), label="in violation")
        ax.plot(rounds, self.reported.cumsum(), label="with a report")
        ax.set(xlabel="round", ylabel="rounds so far")
        ax.legend()
        return ax

    def first(self, rounds: int) -> Transcript:
        """Return the first rounds of the game, for learners that do not know the horizon."""
        cut = {name: getattr(self, name)[:rounds] for name in self.COLUMNS}
        moments = tuple(moment for moment in self.moments if moment.t <= rounds)
        return Transcript(
            self.world, self.learner, last_state=self.last_state, delay=self.delay, moments=moments,
            encounters=self.encounters[:rounds], **cut,
        )  # fmt: skip
