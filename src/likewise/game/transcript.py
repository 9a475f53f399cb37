"""The transcript of a game: every round in numbers, and some of them in full."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from likewise.auditing import exceeding_pairs
from likewise.fixed_point import ONE, FloatArray, IntArray
from likewise.game.timing import AT_ONCE, Delay
from likewise.learning import Deployment, Learner, State
from likewise.worlds import Encounter, World

__all__ = ["Moment", "Transcript"]


@dataclass(frozen=True, eq=False)
class Moment:
    """One round as it was played, with what only the game knows: π^t, distances and labels.

    ``audited`` says whether the panel looked at it, ``report`` what it said, be it that the learner
    hears of it later; ``lam`` and ``calls`` are the learner's when the round was decided.
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
        """The round in numbers, in the order of a transcript's columns."""
        labels, approved = self.encounter.labels, self.deployment.approved
        wrong, unfair = int((approved != labels).sum()), self.violated(alpha)
        reported = bool(self.report)
        return (
            self.error, wrong, len(labels), unfair, self.audited, reported, self.lam, self.calls
        )  # fmt: skip

    def violated(self, alpha: int) -> bool:
        """Unfair^t_alpha(π^t): whether some gap under π^t exceeds d_pivot + alpha."""
        return bool(exceeding_pairs(self.policy, self.pivots, alpha).any())


@dataclass(frozen=True, eq=False)
class Transcript:
    """A complete game: what happened in every round, and the state at the end."""

    COLUMNS: ClassVar = (
        "error", "wrong", "people", "violation", "audited", "reported", "lam", "calls",
    )  # fmt: skip

    world: World
    learner: Learner
    error: FloatArray
    wrong: IntArray
    people: IntArray
    violation: npt.NDArray[np.bool_]
    audited: npt.NDArray[np.bool_]
    reported: npt.NDArray[np.bool_]
    lam: FloatArray
    calls: IntArray
    state: State
    delay: Delay = AT_ONCE
    moments: tuple[Moment, ...] = ()
    encounters: tuple[Encounter, ...] = ()

    @property
    def rounds(self) -> int:
        """T."""
        return len(self.error)

    def first(self, rounds: int) -> Transcript:
        """The game's first rounds, for learners that do not know how long it will last."""
        cut = {name: getattr(self, name)[:rounds] for name in self.COLUMNS}
        moments = tuple(moment for moment in self.moments if moment.t <= rounds)
        return Transcript(
            self.world, self.learner, state=self.state, delay=self.delay, moments=moments,
            encounters=self.encounters[:rounds], **cut,
        )  # fmt: skip
