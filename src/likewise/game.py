"""The game (Algorithm "Online Learning with Individual Fairness"): a learner meets a world.

The learner never sees an auditor, the auditors never see labels, lam or H: they meet here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from likewise.auditing import LargestGap, Policy
from likewise.auditing.reporting import choose_report
from likewise.errors import ParameterError
from likewise.learning import Deployment, Learner, State, deploy, learn
from likewise.learning.deciding import located, upcoming
from likewise.randomness import Purpose
from likewise.schema import People
from likewise.units import ONE, FloatArray, IntArray, to_units
from likewise.worlds import Course, Encounter, World

__all__ = ["Moment", "PolicyView", "Transcript", "play"]

EVALUATION_DRAWS = 5000


VIEW_DRAWS = 1000


@dataclass(frozen=True, eq=False)
class PolicyView:
    """What the world sees of the policy that is about to be deployed (see worlds.base.View)."""

    state: State

    def chances(self, people: People) -> IntArray:
        """π^t exactly where the player knows it, otherwise from draws that nobody else uses."""
        learner = self.state.learner
        points = learner.hypotheses.locate(people)
        scores = learner.primal.scores(
            learner.hypotheses, upcoming(self.state), points, VIEW_DRAWS, 0, Purpose.VIEW
        )
        return np.array(scores, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Moment:
    """One round as it was played, with what only the game knows: π^t, distances and labels."""

    t: int
    encounter: Encounter
    deployment: Deployment
    policy: IntArray
    pivots: IntArray
    pivot_auditors: IntArray
    report: tuple[tuple[str, str], ...]
    lam: float
    draws: int
    calls: int

    @property
    def error(self) -> float:
        """Error^t(π^t): the expected number of wrong decisions."""
        return float(np.abs(self.policy / ONE - self.encounter.labels).sum())

    def counts(self, alpha: int) -> tuple[float, int, int, bool, bool, float, int]:
        """The round in numbers, in the order of a transcript's columns."""
        labels = self.encounter.labels
        wrong = int((self.deployment.approved != labels).sum())
        unfair, reported = self.violated(alpha), bool(self.report)
        return self.error, wrong, len(labels), unfair, reported, self.lam, self.calls

    def violated(self, alpha: int) -> bool:
        """Unfair^t_alpha(π^t): whether some gap under π^t exceeds d_pivot + alpha."""
        gaps = self.policy[:, None] - self.policy[None, :]
        return bool((gaps > self.pivots + alpha).any())


@dataclass(frozen=True, eq=False)
class Transcript:
    """A whole game: what happened in every round, and the state at the end."""

    COLUMNS: ClassVar = ("error", "wrong", "people", "violation", "reported", "lam", "calls")

    world: World
    learner: Learner
    error: FloatArray
    wrong: IntArray
    people: IntArray
    violation: npt.NDArray[np.bool_]
    reported: npt.NDArray[np.bool_]
    lam: FloatArray
    calls: IntArray
    state: State
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
            self.world, self.learner, state=self.state, moments=moments,
            encounters=self.encounters[:rounds], **cut,
        )  # fmt: skip


def play(
    world: World,
    learner: Learner,
    rounds: int,
    *,
    policy: Policy | None = None,
    evaluation_draws: int = EVALUATION_DRAWS,
    record: bool = False,
    keep: Callable[[int], bool] = lambda t: False,  # noqa: ARG005
    progress: Callable[[Moment], None] = lambda moment: None,  # noqa: ARG005
) -> Transcript:
    """Play some rounds. ``keep`` says which moments to keep whole; ``progress`` sees each of them;
    ``record`` keeps what the world did, for those who look for the best fair policy in hindsight.

    Where the player knows π^t, violations are counted on it exactly; otherwise from
    ``evaluation_draws`` draws a round, which have a random purpose of their own and are not oracle
    calls of the learner.
    """
    if rounds < 1:
        raise ParameterError("rounds", "must be at least 1", rounds, "Play at least one round.")
    state, alpha = State.start(learner), to_units(learner.alpha)
    course = world.course()
    rows: list[tuple[float, int, int, bool, bool, float, int]] = []
    kept: list[Moment] = []
    encounters: list[Encounter] = []
    for t in range(1, rounds + 1):
        state, moment = _round(state, course, t, policy or LargestGap(), evaluation_draws)
        rows.append(moment.counts(alpha))
        if keep(t):
            kept.append(moment)
        if record:
            encounters.append(moment.encounter)
        progress(moment)
    columns = (np.array(column) for column in zip(*rows, strict=True))
    counted = dict(zip(Transcript.COLUMNS, columns, strict=True))
    return Transcript(
        world, learner, state=state, moments=tuple(kept), encounters=tuple(encounters), **counted
    )


def _round(
    state: State, course: Course, t: int, policy: Policy, evaluation_draws: int
) -> tuple[State, Moment]:
    """Everything that happens in round t."""
    learner, lam = state.learner, state.lam
    encounter = course.meet(t, PolicyView(state))
    people, panel = encounter.people, encounter.panel
    state, deployment = deploy(state, people, panel=panel.name)
    pivots = encounter.pivots
    scores = deployment.scores
    found = scores[:, None] - scores[None, :] > pivots.distance + learner.sensitivity
    report = choose_report(found, scores, people.ids, policy, t)
    round_ = state.open[deployment.round]
    exact = scores
    if not learner.primal.exact:
        points = located(state, round_.people)
        exact = np.array(
            learner.primal.scores(
                learner.hypotheses, round_.frozen, points, evaluation_draws, 0, Purpose.EVALUATE
            )
        )
    course.hear(encounter, deployment.approved)
    state = learn(state, deployment, labels=encounter.labels.tolist(), report=report.pairs)
    moment = Moment(
        t, encounter, deployment, exact, pivots.distance, pivots.auditor, report.pairs, lam,
        round_.draws, state.calls,
    )  # fmt: skip
    return state, moment
