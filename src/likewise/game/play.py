"""The game (Algorithm "Online Learning with Individual Fairness"): a learner meets a world.

The learner never sees an auditor, the auditors never see labels, lam or H: they meet here. With a
learner whose labels are one-sided, it is Algorithm "Online Learning with Individual Fairness under
Partial Information": the labels of those who were rejected exist, and count, but are not heard of.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from likewise.auditing import LargestGap, Selection
from likewise.auditing.reporting import choose_report
from likewise.errors import ParameterError
from likewise.events import Audited, Event, Labelled, Outcome
from likewise.fixed_point import IntArray, to_units
from likewise.game.timing import AT_ONCE, Delay, Inbox
from likewise.game.transcript import Moment, Transcript
from likewise.learning import Deployment, Learner, State, apply, deploy, drawn_for_audit
from likewise.learning.decisions import upcoming
from likewise.learning.primal import Frozen
from likewise.randomness import Purpose
from likewise.schema import People
from likewise.validation import flag, instance, integer
from likewise.worlds import Course, Encounter, World

__all__ = ["PolicyView", "play"]

EVALUATION_DRAWS = 5000
VIEW_DRAWS = 1000
# More would not fit into memory.
MOST_DRAWS = 10**9


@dataclass(frozen=True, eq=False)
class PolicyView:
    """The policy about to be deployed, as far as the world may see it (see worlds.base.View)."""

    state: State

    def chances(self, people: People) -> IntArray:
        """π^t exactly where the player knows it, otherwise from draws that nobody else uses."""
        learner = self.state.learner
        points = learner.hypotheses.locate(people)
        scores = learner.primal.scores(
            learner.hypotheses, upcoming(self.state), points, VIEW_DRAWS, 0, Purpose.VIEW
        )
        return np.array(scores, dtype=np.int64)


def play(
    world: World,
    learner: Learner,
    rounds: int,
    *,
    selection: Selection | None = None,
    delay: Delay = AT_ONCE,
    evaluation_draws: int = EVALUATION_DRAWS,
    record: bool = False,
    keep: Callable[[int], bool] = lambda t: False,  # noqa: ARG005
    progress: Callable[[Moment], None] = lambda moment: None,  # noqa: ARG005
) -> Transcript:
    """Play some rounds. ``delay`` says how late audits and labels come; ``keep`` which moments to
    keep in full; ``progress`` sees each of them; ``record`` keeps what the world did, for those who
    look for the best fair policy in hindsight.

    Where the player knows π^t, violations are counted on it exactly; otherwise from
    ``evaluation_draws`` draws a round, which have a random purpose of their own and are not oracle
    calls of the learner. They are counted in every round, audited or not.
    """
    rounds = integer("rounds", rounds, 1, 1 << 32, "Play at least one round.")
    chosen = LargestGap() if selection is None else selection
    _check_game(world, learner, rounds, chosen, delay, (keep, progress))
    record = flag("record", record, "Say which.")
    draws = integer(
        "evaluation_draws", evaluation_draws, 1, MOST_DRAWS, "Violations are counted on them."
    )
    state, alpha = State.start(learner), to_units(learner.alpha)
    table = _Table(world.course(), chosen, Inbox(delay), draws)
    rows: list[tuple[float | int | bool, ...]] = []
    kept: list[Moment] = []
    encounters: list[Encounter] = []
    for t in range(1, rounds + 1):
        state, moment = table.round(state, t)
        rows.append(moment.counts(alpha))
        if keep(t):
            kept.append(moment)
        if record:
            encounters.append(moment.encounter)
        progress(moment)
    columns = (np.array(column) for column in zip(*rows, strict=True))
    counted = dict(zip(Transcript.COLUMNS, columns, strict=True))
    return Transcript(
        world, learner, state=state, delay=delay, moments=tuple(kept),
        encounters=tuple(encounters), **counted,
    )  # fmt: skip


def _check_game(
    world: World,
    learner: Learner,
    rounds: int,
    selection: Selection,
    delay: Delay,
    called: tuple[object, ...],
) -> None:
    """Refuse what cannot be played, before anything is."""
    if not isinstance(selection, Selection):
        raise ParameterError("selection", "must be a selection", selection, "Such as FirstPair().")
    if not isinstance(world, World):
        raise ParameterError("world", "must be a world", world, "Make one: Loans(seed=1).")
    instance("learner", learner, Learner, "Make one: Learner(…).")
    instance("delay", delay, Delay, "Write Delay(3), or parse_delay('3').")
    for name, function in zip(("keep", "progress"), called, strict=True):
        if not callable(function):
            raise ParameterError(name, "must be a function", function, "Leave it out for none.")
    if min(delay.rounds, rounds - 1) >= learner.open_limit:
        raise ParameterError(
            "delay", f"must be below the learner's open_limit of {learner.open_limit}",
            delay.rounds, "Rounds stay open until their feedback comes; allow for more of them.",
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Table:
    """Where they meet: who arrives, which pair is reported, and when the learner hears of it."""

    course: Course
    selection: Selection
    inbox: Inbox
    evaluation_draws: int

    def round(self, state: State, t: int) -> tuple[State, Moment]:
        """Everything that happens in round t."""
        learner, lam, frozen = state.learner, state.lam, upcoming(state)
        encounter = self.course.meet(t, PolicyView(state))
        people, pivots = encounter.people, encounter.pivots
        state, deployment = deploy(state, people, panel=encounter.panel.name)
        scores = deployment.scores
        audited = drawn_for_audit(state, deployment.round)
        found = pivots.exceeded(scores, learner.sensitivity)
        report = choose_report(found & audited, scores, people.ids, self.selection, t)
        draws, exact = (
            state.open[deployment.round].draws,
            self._policy(state, frozen, deployment, people),
        )
        self.course.hear(encounter, deployment.approved)
        outcome: Outcome = "report" if report.pairs else "quiet"
        self.inbox.add(
            learner.seed, t, deployment.round,
            Audited(deployment.round, outcome if audited else "unaudited", report.pairs),
            _labels(learner, deployment, encounter),
        )  # fmt: skip
        for event in self.inbox.due(t):
            state = apply(state, event)
        moment = Moment(
            t, encounter, deployment, exact, pivots.distance, pivots.auditor, audited,
            report.pairs, lam, draws, state.calls,
        )  # fmt: skip
        return state, moment

    def _policy(
        self, state: State, frozen: Frozen, deployment: Deployment, people: People
    ) -> IntArray:
        """π^t on the people: what was published where that is exact, otherwise from other draws."""
        learner = state.learner
        if learner.primal.exact:
            return deployment.scores
        points = learner.hypotheses.locate(people)
        scores = learner.primal.scores(
            learner.hypotheses, frozen, points, self.evaluation_draws, 0, Purpose.EVALUATE
        )
        return np.array(scores, dtype=np.int64)


def _labels(learner: Learner, deployment: Deployment, encounter: Encounter) -> list[Event]:
    """The labels that the learner will hear of."""
    everybody = zip(
        encounter.people.ids, encounter.labels.tolist(), deployment.approved, strict=True
    )
    return [
        Labelled(deployment.round, person, label)
        for person, label, approved in everybody
        if approved or not learner.pricing.one_sided
    ]
