"""The game (Algorithm "Online Learning with Individual Fairness"): a learner meets a world.

The learner never sees an auditor, the auditors never see labels, lam or H: they meet here. With a
learner whose labels are one-sided, it is Algorithm "Online Learning with Individual Fairness under
Partial Information": the labels of those who were rejected exist, and count, but are not heard of.
The learner is ours or any other algorithm (:mod:`likewise.algorithms`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from likewise.algorithms import Algorithm, FoldedLearner, start
from likewise.auditing import LargestGap, Selection
from likewise.auditing.reporting import choose_report
from likewise.errors import ParameterError
from likewise.events import Audited, Labelled, Outcome
from likewise.fixed_point import IntArray, to_units
from likewise.game.timing import AT_ONCE, Delay, Delays, Inbox
from likewise.game.transcript import Moment, Transcript
from likewise.learning import Deployment, Learner
from likewise.schema import People
from likewise.validation import flag, instance, integer
from likewise.worlds import Course, Encounter, World

__all__ = ["PolicyView", "play"]

EVALUATION_DRAWS = 5000
# More would not fit into memory.
MOST_DRAWS = 10**9


@dataclass(frozen=True, eq=False)
class PolicyView:
    """The policy about to be deployed, as far as the world may see it (see worlds.base.View)."""

    _algorithm: Algorithm

    def chances(self, people: People) -> IntArray:
        """Everybody's chance of approval, in units of 2^-20."""
        return self._algorithm.chances(people)


def play(
    world: World,
    learner: Learner | Algorithm,
    rounds: int,
    *,
    selection: Selection | None = None,
    delay: Delay | Delays = AT_ONCE,
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
    record = flag("record", record, "Say which.")
    draws = integer(
        "evaluation_draws", evaluation_draws, 1, MOST_DRAWS, "Violations are counted on them."
    )
    if isinstance(delay, Delay):
        delay = Delays(delay, delay)
    algorithm = _check_game(world, learner, rounds, selection, delay, (keep, progress))
    chosen = algorithm.selection or selection or LargestGap()
    table = _Table(world.course(), algorithm, chosen, Inbox(learner.seed, delay), draws)
    alpha = to_units(learner.alpha)
    rows: list[tuple[float | int | bool, ...]] = []
    kept: list[Moment] = []
    encounters: list[Encounter] = []
    for t in range(1, rounds + 1):
        moment = table.round(t)
        rows.append(moment.counts(alpha))
        if keep(t):
            kept.append(moment)
        if record:
            encounters.append(moment.encounter)
        progress(moment)
    columns = (np.array(column) for column in zip(*rows, strict=True))
    counted = dict(zip(Transcript.COLUMNS, columns, strict=True))
    last_state = algorithm.state if isinstance(algorithm, FoldedLearner) else None
    return Transcript(
        world, learner, last_state=last_state, delay=delay, moments=tuple(kept),
        encounters=tuple(encounters), **counted,
    )  # fmt: skip


def _check_game(
    world: World,
    learner: Learner | Algorithm,
    rounds: int,
    selection: Selection | None,
    delay: Delays,
    called: tuple[object, ...],
) -> Algorithm:
    """Refuse what cannot be played, before anything is."""
    if not isinstance(world, World):
        raise ParameterError("world", "must be a world", world, "Make one: Loans(seed=1).")
    algorithm = start(learner)
    if selection is not None and not isinstance(selection, Selection):
        raise ParameterError("selection", "must be a selection", selection, "Such as FirstPair().")
    if selection is not None and algorithm.selection not in (None, selection):
        raise ParameterError(
            "selection", f"must be {algorithm.selection} for {type(learner).__name__}", selection,
            "Leave it out: this algorithm says which pairs it needs to be told of.",
        )  # fmt: skip
    instance("delay", delay, Delays, "Write Delay(3), or parse_delay('3').")
    for name, function in zip(("keep", "progress"), called, strict=True):
        if not callable(function):
            raise ParameterError(name, "must be a function", function, "Leave it out for none.")
    if not algorithm.late and delay != Delays():
        raise ParameterError(
            "delay", f"must be 0 for {type(learner).__name__}", delay.text,
            "It is defined for feedback that comes at once only.",
        )  # fmt: skip
    longest = max(delay.audits.rounds, delay.labels.rounds)
    if isinstance(learner, Learner) and min(longest, rounds - 1) >= learner.open_limit:
        raise ParameterError(
            "delay", f"must be below the learner's open_limit of {learner.open_limit}", longest,
            "Rounds stay open until their feedback comes; allow for more of them.",
        )  # fmt: skip
    return algorithm


@dataclass(frozen=True, eq=False)
class _Table:
    """Where they meet: who arrives, which pair is reported, and when the learner hears of it."""

    course: Course
    algorithm: Algorithm
    selection: Selection
    inbox: Inbox
    evaluation_draws: int

    def round(self, t: int) -> Moment:
        """Everything that happens in round t."""
        algorithm = self.algorithm
        lam = algorithm.lam
        encounter = self.course.meet(t, PolicyView(algorithm))
        people, pivots = encounter.people, encounter.pivots
        deployment = algorithm.deploy(people, encounter.panel.name)
        draws, exact = algorithm.draws, algorithm.policy(people, self.evaluation_draws)
        audited = algorithm.audited(deployment.round)
        found = pivots.exceeded(deployment.scores, algorithm.sensitivity)
        report = choose_report(found & audited, deployment.scores, people.ids, self.selection, t)
        self.course.hear(encounter, deployment.approved)
        outcome: Outcome = "report" if report.pairs else "quiet"
        audit = Audited(deployment.round, outcome if audited else "unaudited", report.pairs)
        self.inbox.add(t, deployment.round, audit, self._labels(deployment, encounter))
        algorithm.hear_all(self.inbox.due(t))
        return Moment(
            t, encounter, deployment, exact, pivots.distance, pivots.auditor, audited,
            report.pairs, lam, draws, algorithm.calls,
        )  # fmt: skip

    def _labels(self, deployment: Deployment, encounter: Encounter) -> list[Labelled]:
        """The labels that the learner will hear of."""
        everybody = zip(
            encounter.people.ids, encounter.labels.tolist(), deployment.approved, strict=True
        )
        return [
            Labelled(deployment.round, person, label)
            for person, label, approved in everybody
            if approved or self.algorithm.feedback == "full"
        ]
