"""Algorithms that can play the game: the protocol between them and it, which our learner meets.

The game knows a *driver*: it deploys people, tells its scores π̃ and, where it can, the policy π,
and hears of audits and labels. :class:`~likewise.learning.Learner` is driven by its fold over
events; an algorithm with other mechanics, such as a predecessor, brings a driver of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from itertools import groupby
from typing import Any, cast

import numpy as np

from likewise.auditing import Selection
from likewise.errors import LikewiseError, ParameterError
from likewise.events import Audited, Closed, Labelled
from likewise.fixed_point import IntArray, to_units
from likewise.hypotheses import HypothesisClass
from likewise.learning import Deployment, Learner, State, apply, deploy, drawn_for_audit
from likewise.learning.decisions import upcoming
from likewise.learning.fold import label
from likewise.learning.primal import Draws, Frozen
from likewise.randomness import Purpose
from likewise.schema import FeatureSchema, People

__all__ = ["Algorithm", "Driver", "Feedback", "FoldDriver", "calls_a_round", "start"]

Feedback = Audited | Labelled | Closed
# Draws from which a world sees the policy, where it is not known exactly.
VIEW_DRAWS = 1000


class Driver(ABC):
    """One algorithm in the middle of one game.

    In every round the game asks for :meth:`chances` (only in worlds that react), then calls
    :meth:`deploy`, :meth:`policy` and :meth:`audited`, and :meth:`hear` for everything that has
    become known. ``sensitivity`` is what the panel is asked at, in units of 2^-20; ``one_sided``
    says that labels become known of the approved alone; ``late`` that feedback may come in any
    order, any number of rounds later; ``selection`` which pairs it must be told of, if that is not
    for the game to say.
    """

    sensitivity: int
    one_sided: bool = False
    late: bool = False
    selection: Selection | None = None

    @abstractmethod
    def chances(self, people: People) -> IntArray:
        """The policy about to be deployed, in units, as far as the world may see it."""

    @abstractmethod
    def deploy(self, people: People, panel: str) -> Deployment:
        """Decide on the people of the next round."""

    @abstractmethod
    def policy(self, people: People, draws: int) -> IntArray:
        """π^t on the people just deployed to, in units: exactly, or from so many other draws."""

    def audited(self, round_id: str) -> bool:  # noqa: ARG002
        """Say if the panel looks at the round; here, at every one."""
        return True

    @abstractmethod
    def hear(self, event: Feedback) -> None:
        """An audit, a label, or that nothing more will be heard of a round."""

    def hear_all(self, events: Iterable[Feedback]) -> None:
        """All that has become known, in order."""
        for event in events:
            self.hear(event)

    @property
    def lam(self) -> float:
        """The price of a report; 0 for an algorithm that has none."""
        return 0.0

    @property
    def draws(self) -> int:
        """How many draws the scores of the last deployment came from; 0 where they are exact."""
        return 0

    @property
    @abstractmethod
    def calls(self) -> int:
        """How often the oracle was called so far."""


class Algorithm(ABC):
    """An algorithm by its settings, other than our learner; :meth:`start` begins a game.

    ``hypotheses`` is the class that it chooses from, ``k`` the most people in a round, ``alpha``
    the size of a violation, and it competes with policies that are fair at alpha − ``eps``.
    """

    hypotheses: HypothesisClass
    k: int
    alpha: float
    eps: float
    seed: int

    @property
    def feedback(self) -> str:
        """The labels that it is defined for: ``full``, or ``one-sided``."""
        return "full"

    @property
    def selection(self) -> Selection | None:
        """The pairs that it must be told of, where that is not for the game to say."""
        return None

    @abstractmethod
    def start(self) -> Driver:
        """A driver before the first round."""

    @abstractmethod
    def calls_a_round(self, rounds: int) -> float:
        """Oracle calls a round in a game of so many, from the method's formula."""

    def check_schema(self, schema: FeatureSchema) -> None:  # noqa: B027
        """Refuse a world of other people than it is defined for; here, none."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """The settings as JSON, to be compared and shown."""

    @property
    def sensitivity(self) -> int:
        """The sensitivity that the panel is asked at, in units of 2^-20; alpha unless changed."""
        return to_units(self.alpha)


def start(algorithm: Learner | Algorithm) -> Driver:
    """A driver of a learner, or of any algorithm.

    >>> from likewise.hypotheses import Pool
    >>> pool = Pool.from_table([[0, 0], [0, 1], [1, 1]])
    >>> start(Learner(pool, k=2, alpha=0.3, eps=0.3, seed=1)).calls
    0
    """
    if isinstance(algorithm, Learner):
        return FoldDriver(algorithm)
    if not isinstance(algorithm, Algorithm):
        raise ParameterError(
            "learner", "must be a Learner or an Algorithm", algorithm, "Make one: Learner(…)."
        )
    driver = algorithm.start()
    if not isinstance(driver, Driver):
        raise LikewiseError(
            f"{type(algorithm).__name__}.start must return a Driver; got {driver!r}."
        )
    return driver


def calls_a_round(algorithm: Learner | Algorithm, rounds: int) -> float:
    """Oracle calls a round in a game of so many rounds, computed rather than counted.

    >>> from likewise.hypotheses import Pool
    >>> pool = Pool.from_table([[0, 0], [0, 1], [1, 1]])
    >>> calls_a_round(Learner(pool, 2, 0.3, 0.3, 1, player="exponential-weights"), 100)
    0.0
    """
    if isinstance(algorithm, Algorithm):
        return algorithm.calls_a_round(rounds)
    player, hypotheses = algorithm.primal, algorithm.hypotheses
    # The number of draws moves slowly with t: a hundred rounds stand for all.
    some = np.unique(np.linspace(1, rounds, min(rounds, 100)).astype(np.int64)).tolist()
    return float(np.mean([player.calls(hypotheses, algorithm.draws(t)) for t in some]))


class FoldDriver(Driver):
    """The driver of our learner: every call is an event of its fold."""

    late = True

    def __init__(self, learner: Learner) -> None:
        self.state = State.start(learner)
        self.sensitivity = learner.sensitivity
        self.one_sided = learner.pricing.one_sided
        self._frozen: Frozen | None = None
        self._deployed: Deployment | None = None

    @property
    def lam(self) -> float:
        """The dual player's multiplier."""
        return self.state.lam

    @property
    def draws(self) -> int:
        """As many as the schedule asked for when the round opened."""
        if self._deployed is None:
            return 0
        return self.state.open[self._deployed.round].draws

    @property
    def calls(self) -> int:
        """Those of the fold."""
        return self.state.calls

    def chances(self, people: People) -> IntArray:
        """π^t exactly where the player knows it, otherwise from draws that nobody else uses."""
        return self._scores(upcoming(self.state), people, VIEW_DRAWS, Purpose.VIEW)

    def deploy(self, people: People, panel: str) -> Deployment:
        """Arrived, Decided, Sealed."""
        if not self.state.learner.primal.exact:
            self._frozen = upcoming(self.state)
        self.state, self._deployed = deploy(self.state, people, panel=panel)
        return self._deployed

    def policy(self, people: People, draws: int) -> IntArray:
        """Published scores where they are exact, otherwise from draws of their own purpose."""
        if self._deployed is None:
            raise LikewiseError("There is no policy before somebody has been deployed to.")
        if self._frozen is None:
            return self._deployed.scores
        return self._scores(self._frozen, people, draws, Purpose.EVALUATE)

    def _scores(self, frozen: Frozen, people: People, draws: int, purpose: Purpose) -> IntArray:
        learner = self.state.learner
        points = learner.hypotheses.locate(people)
        asked = Draws(draws, purpose=purpose)
        found = learner.primal.estimates(learner.hypotheses, frozen, points, asked)
        return np.array(found.scores, dtype=np.int64)

    def audited(self, round_id: str) -> bool:
        """As the learner's lottery drew."""
        return drawn_for_audit(self.state, round_id)

    def hear(self, event: Feedback) -> None:
        """Fold the event."""
        self.state = apply(self.state, event)

    def hear_all(self, events: Iterable[Feedback]) -> None:
        """Fold the events; labels of a round that follow each other are charged in one sum."""
        for (kind, round_id), some in groupby(events, lambda event: (type(event), event.round)):
            if kind is Labelled:
                labels = {event.person: event.label for event in cast(Iterable[Labelled], some)}
                self.state = label(self.state, round_id, labels)
            else:
                super().hear_all(some)
