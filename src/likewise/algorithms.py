"""The protocol of the game for somebody who decides, which our learner and others meet.

:class:`~likewise.learning.Learner` plays by its fold over events (:class:`FoldedLearner`). An
algorithm with other mechanics, such as a predecessor, derives from :class:`Algorithm`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from itertools import groupby
from typing import Any, Self, cast

from likewise.auditing import Selection
from likewise.errors import LikewiseError, ParameterError
from likewise.events import Audited, Closed, Labelled
from likewise.fixed_point import IntArray, to_units
from likewise.hypotheses import HypothesisClass
from likewise.learning import Deployment, Learner, State, apply, deploy, drawn_for_audit
from likewise.learning.decisions import current_scores, scores_under, upcoming
from likewise.learning.fold import label
from likewise.learning.primal import Frozen
from likewise.randomness import Purpose
from likewise.schema import People

Feedback = Audited | Labelled | Closed
# Draws from which a world sees the policy, where it is not known exactly.
VIEW_DRAWS = 1000


class Algorithm(ABC):
    """An algorithm with its settings, and with what it has learnt in the game that it plays.

    In every round the game asks for :meth:`chances` (only in worlds that react), then calls
    :meth:`deploy`, :meth:`policy` and :meth:`audited`, and :meth:`hear_all` with everything that
    has become known. It plays a :meth:`fresh` copy, so that one object can play many games.

    ``hypotheses`` is the class that it chooses from, ``k`` the most people in a round, ``alpha``
    the size of a violation; it competes with policies that are fair at alpha − ``eps``.
    ``feedback`` is ``one-sided`` where labels become known of the approved alone; ``late`` says
    that feedback may come in any order, any number of rounds later; ``selection`` which pairs it
    must hear of, where that is not for the game to choose.
    """

    hypotheses: HypothesisClass
    k: int
    alpha: float
    eps: float
    seed: int
    feedback: str = "full"
    late: bool = False
    selection: Selection | None = None

    @property
    def sensitivity(self) -> int:
        """The sensitivity that the panel is asked at, in units of 2^-20: alpha."""
        return to_units(self.alpha)

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """The settings as JSON, to be compared and shown."""

    @abstractmethod
    def calls_a_round(self, rounds: int) -> float:
        """Oracle calls a round in a game of ``rounds`` rounds, from the method's formula."""

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

    def audited(self, round_id: str) -> bool:  # noqa: ARG002
        """Tell if the panel looks at the round: here, at every one."""
        return True

    @property
    def lam(self) -> float:
        """The price of a report; 0 for an algorithm that has none."""
        return 0.0

    @property
    def draws(self) -> int:
        """How many draws the scores of the last deployment came from; 0 where they are exact."""
        return 0

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
        self.state = State.start(learner)
        self._frozen: Frozen | None = None
        self._deployment: Deployment | None = None

    @property
    def sensitivity(self) -> int:
        """alpha − kappa."""
        return self.learner.sensitivity

    def settings(self) -> dict[str, Any]:
        """Those of the learner."""
        return self.learner.settings()

    def calls_a_round(self, rounds: int) -> float:
        """As the learner computes them."""
        return self.learner.calls_a_round(rounds)

    def fresh(self) -> FoldedLearner:
        """The learner in its first state."""
        return FoldedLearner(self.learner)

    @property
    def lam(self) -> float:
        """The dual player's multiplier."""
        return self.state.lam

    @property
    def draws(self) -> int:
        """As many as the schedule asked for when the round opened."""
        return self.state.open[self._deployment.round].draws if self._deployment else 0

    @property
    def calls(self) -> int:
        """Those of the fold."""
        return self.state.calls

    def chances(self, people: People) -> IntArray:
        """π^t exactly where the player knows it, otherwise from draws that nobody else uses."""
        return current_scores(self.state, people, VIEW_DRAWS)

    def deploy(self, people: People, panel: str) -> Deployment:
        """Arrived, Decided, Sealed."""
        if not self.learner.primal.exact:
            self._frozen = upcoming(self.state)
        self.state, self._deployment = deploy(self.state, people, panel=panel)
        return self._deployment

    def policy(self, people: People, draws: int) -> IntArray:
        """Published scores where they are exact, otherwise from draws of their own purpose."""
        if self._deployment is None:
            raise LikewiseError("There is no policy before somebody has been deployed to.")
        if self._frozen is None:
            return self._deployment.scores
        return scores_under(self.learner, self._frozen, people, draws, Purpose.EVALUATE)

    def audited(self, round_id: str) -> bool:
        """As the learner's lottery drew."""
        return drawn_for_audit(self.state, round_id)

    def hear(self, event: Feedback) -> None:
        """Fold the event."""
        self.state = apply(self.state, event)

    def hear_all(self, events: Iterable[Feedback]) -> None:
        """Fold the events; labels of a round that follow each other are charged in one sum."""
        for (kind, round_id), group in groupby(events, lambda event: (type(event), event.round)):
            if kind is Labelled:
                labels = {event.person: event.label for event in cast(Iterable[Labelled], group)}
                self.state = label(self.state, round_id, labels)
            else:
                super().hear_all(group)


def start(learner: Learner | Algorithm) -> Algorithm:
    """A learner or an algorithm before the first round of a game.

    >>> from likewise.hypotheses import Pool
    >>> pool = Pool.from_table([[0, 0], [0, 1], [1, 1]])
    >>> start(Learner(pool, k=2, alpha=0.3, eps=0.3, seed=1)).calls
    0
    """
    if isinstance(learner, Learner):
        return FoldedLearner(learner)
    if not isinstance(learner, Algorithm):
        raise ParameterError(
            "learner", "must be a Learner or an Algorithm", learner, "Make one: Learner(…)."
        )
    return learner.fresh()
