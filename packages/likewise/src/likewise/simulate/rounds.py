"""The game (Algorithm "Online Learning with Individual Fairness"): a learner meets a world.

The learner never sees an auditor, the auditors never see labels, lam or H: they meet here. With a
learner whose labels are one-sided, it is Algorithm "Online Learning with Individual Fairness under
Partial Information": the labels of those who were rejected exist, and count, but are not heard of.
The learner is ours or any other :class:`Algorithm`.
"""

import math
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, ClassVar, Self, cast

import numpy as np
import numpy.typing as npt

from likewise.errors import LikewiseError, ParameterError
from likewise.html import described
from likewise.hypotheses.base import HypothesisClass
from likewise.learner import fold
from likewise.learner.attention import Asking
from likewise.learner.events import Audited, Closed, Labelled, Outcome
from likewise.learner.evidence import Evidence
from likewise.learner.players import Frozen
from likewise.learner.rounds import Deployment, deploy
from likewise.learner.settings import Learner
from likewise.learner.state import OpenRound, State
from likewise.numerics.fixed_point import ONE, FloatArray, IntArray, log, to_units
from likewise.numerics.randomness import Purpose, Stream
from likewise.panel.reports import LargestGap, Selection, choose_report
from likewise.people.frames import make_frame
from likewise.people.schema import People
from likewise.simulate.world import Course, Encounter, World
from likewise.validation import assign, flag, instance, integer, require, within

# No game is so long that it sees a geometric delay beyond this.
LONGEST = 10**9


@dataclass(frozen=True)
class Delay:
    """How many rounds later an audit or a label comes: ``rounds``, or at random.

    With a ``chance`` below 1 everything that is outstanding comes with that probability in every
    round, each on its own: a geometric number of rounds, (1 − chance)/chance in the mean.
    """

    rounds: int = 0
    chance: float = 1.0

    def __post_init__(self) -> None:
        remedy = "0 means that all comes at once, geometric:0.02 49 rounds later in the mean."
        assign(
            self,
            rounds=integer("delay", self.rounds, 0, LONGEST, remedy),
            chance=within("chance of the delay", self.chance, 1 / LONGEST, 1, remedy),
        )

    @property
    def text(self) -> str:
        """The delay in words; :func:`parse_delay` reads those of the command line."""
        if self.chance == 1.0:
            return str(self.rounds)
        return f"geometric:{self.chance!r}" + f" after {self.rounds}" * bool(self.rounds)

    @property
    def longest(self) -> int | None:
        """The most rounds that anything is late by; None where there is no such number."""
        return self.rounds if self.chance == 1.0 else None

    def draw(self, stream: Stream, item: int) -> int:
        """Draw the number of rounds by which an item is late."""
        if self.chance == 1.0:
            return self.rounds
        uniform = float(stream.uniforms(item, 1, 1)[0, 0])
        waited = math.floor(log(uniform) / log(1.0 - self.chance))
        return self.rounds + min(waited, LONGEST)


AT_ONCE = Delay()


@dataclass(frozen=True)
class Delays:
    """How late audits come, and how late labels: a panel may meet long before a loan is repaid."""

    audits: Delay = AT_ONCE
    labels: Delay = AT_ONCE

    def __post_init__(self) -> None:
        for name in ("audits", "labels"):
            instance(f"delay of {name}", getattr(self, name), Delay, "Write Delay(3).")

    @property
    def text(self) -> str:
        """The delays as :func:`parse_delay` reads them; one of them where both are alike."""
        if self.audits == self.labels:
            return self.audits.text
        return f"audits:{self.audits.text},labels:{self.labels.text}"

    @property
    def longest(self) -> int | None:
        """The most rounds that an audit or a label is late by; None if there is no such number."""
        audits, labels = self.audits.longest, self.labels.longest
        return None if audits is None or labels is None else max(audits, labels)


_RULE = "must be a number of rounds, geometric:P, or audits:…,labels:…"
_REMEDY = "Write 50, geometric:0.02 for 49 rounds in the mean, or audits:0,labels:200."


def parse_delay(text: str) -> Delays:
    """Parse ``50``, ``geometric:0.02``, or a pair of these: ``audits:0,labels:200``.

    >>> parse_delay("50").labels, parse_delay("geometric:0.02").audits
    (Delay(rounds=50, chance=1.0), Delay(rounds=0, chance=0.02))
    """
    if not isinstance(text, str):
        raise ParameterError("delay", _RULE, text, _REMEDY)
    parts = {"audits": text, "labels": text}
    if "," in text:
        parts = dict(part.strip().partition(":")[::2] for part in text.split(","))
    if set(parts) != {"audits", "labels"} or text.count(",") > 1:
        raise ParameterError("delay", _RULE, text, _REMEDY)
    try:
        return Delays(**{name: _parse_part(part) for name, part in parts.items()})
    except ParameterError:
        raise
    except ValueError:
        raise ParameterError("delay", _RULE, text, _REMEDY) from None


def _parse_part(text: str) -> Delay:
    kind, _, value = text.partition(":")
    return Delay(chance=float(value)) if kind == "geometric" else Delay(rounds=int(text))


class Inbox:
    """Feedback on its way to the learner. A round closes when all of its feedback has come."""

    def __init__(self, seed: int, delays: Delays) -> None:
        self._seed, self._delays = seed, delays
        self._due: dict[int, list[Audited | Labelled]] = defaultdict(list)
        self._outstanding: dict[str, int] = {}

    def add(self, t: int, round_id: str, audit: Audited, labels: Sequence[Labelled]) -> None:
        """Schedule the feedback of round t; each event has a delay of its own."""
        stream = Stream(self._seed, Purpose.DELAY, t)
        events: list[Audited | Labelled] = [audit, *labels]
        self._outstanding[round_id] = len(events)
        for item, event in enumerate(events):
            delay = self._delays.labels if item else self._delays.audits
            self._due[t + delay.draw(stream, item)].append(event)

    def due(self, t: int) -> Iterator[Audited | Labelled | Closed]:
        """Yield the events that arrive at the end of round t, in the order of their rounds."""
        for event in self._due.pop(t, []):
            yield event
            self._outstanding[event.round] -= 1
            if not self._outstanding[event.round]:
                del self._outstanding[event.round]
                yield Closed(event.round)


Feedback = Audited | Labelled | Closed
# Draws from which a world sees the policy, where it is not known exactly.
VIEW_DRAWS = 1000


class Algorithm(ABC):
    """An algorithm with its settings, and with what it has learnt in the game that it plays.

    In every round the game asks for :meth:`chances` (only in worlds that react), calls
    :meth:`deploy`, :meth:`policy` and :meth:`asking`, and tells :meth:`hear_all` what has become
    known. It plays a :meth:`fresh` copy, so that one object can play many games.

    ``hypotheses`` is the class that it chooses from, ``k`` the most people in a round, ``alpha``
    the size of a violation; it competes with policies that are fair at alpha − ``eps``.
    ``feedback`` is ``one-sided`` where labels become known of the approved alone; ``late`` says
    that feedback may come in any order, any number of rounds later; ``selection`` which pairs it
    must hear of, where that is not for the game to choose; ``graded`` that the panel is asked how
    far apart the two of a reported pair may be.
    """

    hypotheses: HypothesisClass
    k: int
    alpha: float
    eps: float
    seed: int
    feedback: str = "full"
    late: bool = False
    selection: Selection | None = None
    graded: bool = False

    @property
    def sensitivity(self) -> int:
        """The sensitivity that the panel is asked at, in units of 2^-20: alpha."""
        return to_units(self.alpha)

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """The settings as JSON, to be compared and shown."""

    @abstractmethod
    def fresh(self) -> Self:
        """The same algorithm before its first round."""

    @abstractmethod
    def chances(self, people: People) -> IntArray:
        """The policy about to be deployed, in units, as far as the world may see it."""

    @abstractmethod
    def deploy(self, people: People, panel: str) -> Deployment:
        """Decide on the people of the next round."""

    @abstractmethod
    def policy(self, people: People, draws: int) -> IntArray:
        """π^t on the people just deployed to, in units: exactly, or from that many new draws."""

    @abstractmethod
    def hear(self, event: Feedback) -> None:
        """Learn from an audit or a label, or that nothing more will be heard of a round."""

    def hear_all(self, events: Iterable[Feedback]) -> None:
        """Learn from all that has become known, in order."""
        for event in events:
            self.hear(event)

    def asking(self, round_id: str) -> Asking:  # noqa: ARG002
        """The pairs that the panel is asked about in the round: here, everything."""
        return Asking(sensitivity=self.sensitivity)

    @property
    def lam(self) -> float:
        """The price of a report; 0 for an algorithm that has none."""
        return 0.0

    @property
    def calls(self) -> int:
        """How often the oracle was called so far."""
        return 0


class FoldedLearner(Algorithm):
    """Our learner in a game: every call is an event of its fold."""

    late = True

    def __init__(self, learner: Learner) -> None:
        self.learner = learner
        self.hypotheses, self.k, self.seed = learner.hypotheses, learner.k, learner.seed
        self.alpha, self.eps, self.feedback = learner.alpha, learner.eps, learner.feedback
        self.graded = learner.looking.graded
        self.state = State.start(learner)
        self.closed: list[OpenRound] = []
        self.records = False
        self._frozen: Frozen | None = None
        self._deployment: Deployment | None = None

    @property
    def sensitivity(self) -> int:
        return self.state.sensitivity

    def settings(self) -> dict[str, Any]:
        return self.learner.settings()

    def fresh(self) -> "FoldedLearner":
        return FoldedLearner(self.learner)

    @property
    def lam(self) -> float:
        return self.state.lam

    @property
    def calls(self) -> int:
        return self.state.calls

    def chances(self, people: People) -> IntArray:
        """π^t exactly where the player knows it, otherwise from draws that nobody else uses."""
        return fold.current_scores(self.state, people, VIEW_DRAWS)

    def deploy(self, people: People, panel: str) -> Deployment:
        """Arrived, Decided, Sealed."""
        if not self.learner.primal.exact:
            self._frozen = fold.upcoming(self.state)
        self.state, self._deployment = deploy(self.state, people, panel=panel)
        return self._deployment

    def policy(self, people: People, draws: int) -> IntArray:
        """Published scores where they are exact, otherwise from draws of their own purpose."""
        if self._deployment is None:
            raise LikewiseError("There is no policy before somebody has been deployed to.")
        if self._frozen is None:
            return self._deployment.units
        return fold.scores_under(self.learner, self._frozen, people, draws, Purpose.EVALUATE)

    def asking(self, round_id: str) -> Asking:
        return fold.asking(self.state, round_id)

    def hear(self, event: Feedback) -> None:
        if self.records and isinstance(event, Closed):
            self.closed.append(self.state.open[event.round])
        self.state = fold.apply(self.state, event)

    @property
    def evidence(self) -> Evidence:
        """All rounds of the game, with the feedback that has come."""
        return Evidence.of(self.learner, [*self.closed, *self.state.open.values()])

    def hear_all(self, events: Iterable[Feedback]) -> None:
        """Fold the events; labels of a round that follow each other are charged in one sum."""
        for (kind, round_id), group in groupby(events, lambda event: (type(event), event.round)):
            if kind is Labelled:
                labels = {event.person: event.label for event in cast(Iterable[Labelled], group)}
                self.state = fold.label(self.state, round_id, labels)
            else:
                super().hear_all(group)


def start(learner: Learner | Algorithm) -> Algorithm:
    """A learner or an algorithm before the first round of a game."""
    if isinstance(learner, Learner):
        return FoldedLearner(learner)
    return instance("learner", learner, Algorithm, "Make one, or a Learner(…).").fresh()


@dataclass(frozen=True, eq=False)
class Moment:
    """One round as it was played, with what only the game knows: π^t, and the whole encounter.

    ``asking`` says what the panel was asked about, ``report`` which pairs it reported, whenever
    the learner hears of them; ``lam`` and ``calls`` are the learner's when the round was decided.
    """

    t: int
    encounter: Encounter
    deployment: Deployment
    policy: IntArray
    asking: Asking
    report: tuple[tuple[str, str], ...]
    lam: float
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
            self.asking.looked_at, bool(self.report), self.lam, self.calls,
            int(np.ptp(self.policy)), self.pairs_shown,
        )  # fmt: skip

    @property
    def pairs_shown(self) -> int:
        """How many pairs were put before the panel; all where its attention is not spared."""
        people = len(self.encounter.labels)
        if not self.asking.looked_at:
            return 0
        return people * (people - 1) // 2 if self.asking.everything else self.asking.shown

    def violated(self, alpha: int) -> bool:
        """Unfair^t_alpha(π^t): whether some gap under π^t exceeds d_pivot + alpha."""
        return bool(self.encounter.pivots.exceeded(self.policy, alpha).any())


@dataclass(frozen=True, eq=False)
class Transcript:
    """A complete game: what happened in every round, and the state at the end."""

    COLUMNS: ClassVar = (
        "error", "wrong", "people", "violation", "audited", "reported", "lam", "calls",
        "largest_gap", "pairs_shown",
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
    pairs_shown: IntArray
    last_state: State | None
    delay: Delays = field(default_factory=Delays)
    moments: tuple[Moment, ...] = ()
    encounters: tuple[Encounter, ...] = ()
    evidence: Evidence | None = None

    @property
    def state(self) -> State:
        """The learner's state after the last round; other algorithms than ours have none."""
        if self.last_state is None:
            raise LikewiseError(
                f"{type(self.learner).__name__} is no fold over events and keeps no state, or "
                f"these are the first rounds of a longer game, whose state is that of its end."
            )
        return self.last_state

    @property
    def rounds(self) -> int:
        return len(self.error)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return every round in numbers as a frame, of the named library or of an installed one."""
        rounds = {"round": range(1, self.rounds + 1)}
        return make_frame(rounds | {name: getattr(self, name) for name in self.COLUMNS}, backend)

    def _repr_html_(self) -> str:
        people = int(self.people.sum())
        facts = [
            ("error of a person", f"{self.error.sum() / people:.3f}"),
            ("rounds in violation", f"{int(self.violation.sum()):,}"),
            ("rounds with a report", f"{int(self.reported.sum()):,}"),
            ("oracle calls", f"{int(self.calls[-1]):,}"),
        ]
        return described(f"{self.rounds:,} rounds of {self.world.name}", facts)

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


EVALUATION_DRAWS = 5000
# More would not fit into memory.
MOST_DRAWS = 10**9


@dataclass(frozen=True, eq=False)
class PolicyView:
    """The policy about to be deployed, as far as the world may see it."""

    _algorithm: Algorithm

    def chances(self, people: People) -> IntArray:
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
    """Play some rounds. ``delay`` says how late audits and labels come, ``keep`` which moments to
    keep in full; ``progress`` sees each of them; ``record`` keeps what the world did, to find the
    best fair policy in hindsight, and the evidence for certificates of intervals.

    Violations are counted in every round, audited or not: on π^t where the player knows it, and
    otherwise on an estimate from ``evaluation_draws`` draws a round, which have a random purpose of
    their own and are not oracle calls of the learner.
    """
    rounds = integer("rounds", rounds, 1, 1 << 32, "Play at least one round.")
    record = flag("record", record, "Say which.")
    draws = integer("evaluation_draws", evaluation_draws, 1, MOST_DRAWS, "Try 1000.")
    delay = Delays(delay, delay) if isinstance(delay, Delay) else delay
    algorithm = _check_game(world, learner, rounds, selection, delay, keep, progress)
    folded = algorithm if isinstance(algorithm, FoldedLearner) else None
    if folded is not None:
        folded.records = record
    chosen = algorithm.selection or selection or LargestGap()
    table = _Table(world.course(), algorithm, chosen, Inbox(learner.seed, delay), draws)
    rows: list[tuple[float | int | bool, ...]] = []
    kept: list[Moment] = []
    encounters: list[Encounter] = []
    for t in range(1, rounds + 1):
        moment = table.round(t)
        rows.append(moment.counts(to_units(learner.alpha)))
        if keep(t):
            kept.append(moment)
        if record:
            encounters.append(moment.encounter)
        progress(moment)
    columns = (np.array(column) for column in zip(*rows, strict=True))
    counted = dict(zip(Transcript.COLUMNS, columns, strict=True))
    return Transcript(
        world, learner, last_state=None if folded is None else folded.state, delay=delay,
        moments=tuple(kept), encounters=tuple(encounters),
        evidence=folded.evidence if folded is not None and record else None, **counted,
    )  # fmt: skip


def _check_game(
    world: World,
    learner: Learner | Algorithm,
    rounds: int,
    selection: Selection | None,
    delay: Delays,
    keep: object,
    progress: object,
) -> Algorithm:
    """Refuse a game that cannot be played, before its first round."""
    instance("world", world, World, "Make one: Loans(seed=1).")
    algorithm, name = start(learner), type(learner).__name__
    if selection is not None:
        instance("selection", selection, Selection, "Such as FirstPair().")
        fits, rule = algorithm.selection in (None, selection), f"must be left out for {name}"
        remedy = "This algorithm says which pairs it needs to be told of."
        require(fits, "selection", rule, selection, remedy)
    instance("delay", delay, Delays, "Write Delay(3), or parse_delay('3').")
    for parameter, function in (("keep", keep), ("progress", progress)):
        rule, remedy = "must be a function", "Leave it out for none."
        require(callable(function), parameter, rule, function, remedy)
    fits, remedy = algorithm.late or delay == Delays(), "It is defined for feedback at once only."
    require(fits, "delay", f"must be 0 for {name}", delay.text, remedy)
    longest = max(delay.audits.rounds, delay.labels.rounds)
    if isinstance(learner, Learner):
        fits = min(longest, rounds - 1) < learner.open_limit
        rule = f"must be below the learner's open_limit of {learner.open_limit}"
        remedy = "Rounds stay open until their feedback comes; allow for more of them."
        require(fits, "delay", rule, longest, remedy)
    return algorithm


def shown_pairs(asking: Asking, ids: tuple[str, ...]) -> npt.NDArray[np.bool_]:
    """The ordered pairs that the panel is asked about."""
    shown = np.full((len(ids), len(ids)), asking.whole and asking.looked_at)
    if not asking.whole and asking.pairs:
        place = {name: i for i, name in enumerate(ids)}
        for over, under in asking.pairs:
            shown[place[over], place[under]] = True
    return shown


@dataclass(frozen=True, eq=False)
class _Table:
    """Where they meet: who arrives, which pair is reported, and when the learner hears of it."""

    course: Course
    algorithm: Algorithm
    selection: Selection
    inbox: Inbox
    evaluation_draws: int

    def round(self, t: int) -> Moment:
        algorithm = self.algorithm
        lam = algorithm.lam
        encounter = self.course.meet(t, PolicyView(algorithm))
        people = encounter.people
        deployment = algorithm.deploy(people, encounter.panel.name)
        policy = algorithm.policy(people, self.evaluation_draws)
        asked = algorithm.asking(deployment.round)
        exceeded = encounter.pivots.exceeded(deployment.units, asked.sensitivity)
        exceeded &= shown_pairs(asked, people.ids)
        report = choose_report(exceeded, deployment.units, people.ids, self.selection, t)
        self.course.hear(encounter, deployment.approved)
        outcome: Outcome = "report" if report.pairs else "quiet"
        heard = asked.looked_at or asked.quiet
        limits = self._limits(encounter, asked, report.pairs) if algorithm.graded else ()
        audit = Audited(deployment.round, outcome if heard else "unaudited", report.pairs, limits)
        everybody = zip(people.ids, encounter.labels.tolist(), deployment.approved, strict=True)
        labels = [
            Labelled(deployment.round, person, label)
            for person, label, approved in everybody
            if approved or algorithm.feedback == "full"
        ]
        self.inbox.add(t, deployment.round, audit, labels)
        algorithm.hear_all(self.inbox.due(t))
        return Moment(t, encounter, deployment, policy, asked, report.pairs, lam, algorithm.calls)

    def _limits(
        self, encounter: Encounter, asked: Asking, pairs: Sequence[tuple[str, str]]
    ) -> tuple[int, ...]:
        """The largest gaps that the panel would not have reported: its pivot's."""
        ids, distances = encounter.people.ids, encounter.pivots.distance
        places = [(ids.index(over), ids.index(under)) for over, under in pairs]
        return tuple(int(distances[place]) + asked.sensitivity for place in places)
