"""Reports as copies: how the predecessors turn a reported pair into labelled people.

Before this line of work had a multiplier, a report (l, r) became C copies of (x_l, 0) and C of
(x_r, 1): people who should have been rejected, and approved. In a quiet round the copies cancel. So
a round is one of classification alone, of k + 2C people, and C is the fixed price of a report
(Bechavod, Jung, Wu 2020; Bechavod, Roth 2023).

With one-sided labels an action is (h(x), 1 − h(x)) with the losses (1 − y, ½), and what was not
chosen is estimated: the loss of approving by J·1[ŷ = 1], that of rejecting by J′·1[ŷ = 0], where J
and J′ are numbers of redraws until somebody is approved, or rejected. The copies are estimated too.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from likewise.errors import HypothesisError, LikewiseError, ParameterError
from likewise.hypotheses.base import ExactWeights, GibbsPolicy, HypothesisClass, Points, score
from likewise.learner.events import Audited, Labelled
from likewise.learner.rounds import Deployment
from likewise.numerics.fixed_point import ONE, IntArray
from likewise.numerics.randomness import Purpose, Stream
from likewise.people.schema import People
from likewise.simulate.rounds import Algorithm, Feedback
from likewise.validation import integer

OWN = "1 is the predecessor's own."
"""What to do about a divisor of its noise or widths that makes no sense."""


def horizon_of(rounds: int | None, name: str) -> int:
    """The horizon, which the constants of a predecessor need."""
    if rounds is None:
        raise ParameterError("rounds", f"must be given for {name}", rounds, "Its constants need T.")
    return integer("rounds", rounds, 1, 1 << 32, "It is T.")


def exact_weights(hypotheses: HypothesisClass, name: str, instead: str = "") -> ExactWeights:
    """The class, if its weights are known exactly.

    >>> from likewise.hypotheses import Pool
    >>> exact_weights(Pool.from_table([[0, 1], [1, 1]]), "exp2").size
    2
    """
    if not isinstance(hypotheses, ExactWeights):
        raise HypothesisError(
            f"{type(hypotheses).__name__} has no exact weights, which {name} needs. {instead}"
            .rstrip()
        )  # fmt: skip
    return hypotheses


@dataclass(eq=False)
class Predecessor(Algorithm):
    """An algorithm by its name and its settings; it calls no oracle unless it says so.

    What it learns in a game it keeps in attributes that ``__post_init__`` sets.
    """

    name: str
    hypotheses: HypothesisClass
    k: int
    alpha: float
    eps: float
    seed: int

    def fresh(self) -> Self:
        """The same settings, before the first round."""
        return replace(self)

    def calls_a_round(self, rounds: int) -> float:  # noqa: ARG002
        """None, whatever the horizon."""
        return 0.0

    def settings(self) -> dict[str, Any]:
        """The settings that all have, and its own."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**values, "hypotheses": self.hypotheses.spec()}


def scores_of(weights: Iterable[tuple[int, int]]) -> IntArray:
    """Scores in units from the weight of those that approve, and that of all."""
    return np.array([score(*pair) for pair in weights], dtype=np.int64)


def power_of(rounds: int, numerator: int, denominator: int) -> int:
    """The least integer that is at least T^(numerator/denominator), by integers alone.

    >>> power_of(1000, 1, 3), power_of(1000, 2, 9), power_of(512, 2, 9)
    (10, 5, 4)
    """
    target, root = rounds**numerator, 1
    while root**denominator < target:
        root += 1
    return root


@dataclass(frozen=True)
class Copies:
    """Costs of approving, in units, for a report that stands for ``count`` copies of each side."""

    count: int
    one_sided: bool

    def label(self, y: int, weight: int) -> int:
        """The cost of a label; with one-sided labels, of somebody who was approved.

        With full information 1 − 2y. One-sided: J·(1 − y).

        >>> full, one_sided = Copies(2, one_sided=False), Copies(2, one_sided=True)
        >>> full.label(0, ONE) // ONE, one_sided.label(0, 3 * ONE) // ONE
        (1, 3)
        """
        return (1 - y) * weight if self.one_sided else (1 - 2 * y) * ONE

    @staticmethod
    def rejected(weight: int) -> int:
        """One-sided: the loss ½ of rejecting, estimated by J′, which approving would save."""
        return -(weight // 2)

    def over(self, approved: bool, weight: int) -> int:
        """The cost of the person whom a report says was favoured: copies of label 0."""
        if not self.one_sided:
            return self.count * ONE
        return self.count * (self.label(0, weight) if approved else self.rejected(weight))

    def under(self, approved: bool, weight: int) -> int:
        """The cost of the other person: copies of label 1."""
        if not self.one_sided:
            return -self.count * ONE
        return self.count * (self.label(1, weight) if approved else self.rejected(weight))


@dataclass(frozen=True, eq=False)
class Round:
    """A round as it was played: scores, decisions, and J of the decided, in units."""

    scores: IntArray
    approved: npt.NDArray[np.bool_]
    weights: list[int]


@dataclass(eq=False)
class EncodedPredecessor(Predecessor):
    """A predecessor that charges copies: its costs so far, and the policy that they make."""

    def begin(self, copies: int) -> None:
        """Nothing has been charged yet; a report stands for ``copies`` copies of each side."""
        self.charges = Copies(copies, one_sided=self.feedback == "one-sided")
        self.costs = self.hypotheses.no_costs()
        self.number = 0
        self._calls = 0
        self._points: Points | None = None
        self._places: dict[str, int] = {}
        self._round: Round | None = None

    @property
    def calls(self) -> int:
        """Hypotheses that were asked for."""
        return self._calls

    @abstractmethod
    def play(self, points: Points) -> Round:
        """Scores and decisions of the round ``number``, from the costs so far."""

    def deploy(self, people: People, panel: str) -> Deployment:  # noqa: ARG002
        """Decide; the rejected are charged at once where labels are one-sided."""
        self.number += 1
        self._points = self.hypotheses.locate(people)
        self._places = {name: place for place, name in enumerate(people.ids)}
        self._round = round_ = self.play(self._points)
        if self.charges.one_sided:
            for place in np.flatnonzero(~round_.approved).tolist():
                self._charge(place, self.charges.rejected(round_.weights[place]))
        return Deployment(f"r{self.number}", people.ids, round_.scores, round_.approved)

    def policy(self, people: People, draws: int) -> IntArray:  # noqa: ARG002
        """The scores themselves: what is deployed is the policy that was estimated."""
        return self._now()[1].scores

    def hear(self, event: Feedback) -> None:
        """Charge a report as its copies, and a label."""
        _, round_ = self._now()
        if isinstance(event, Audited):
            for over, under in event.pairs:
                high, low = self._places[over], self._places[under]
                cost = self.charges.over(bool(round_.approved[high]), round_.weights[high])
                self._charge(high, cost // len(event.pairs))
                cost = self.charges.under(bool(round_.approved[low]), round_.weights[low])
                self._charge(low, cost // len(event.pairs))
        elif isinstance(event, Labelled):
            place = self._places[event.person]
            self._charge(place, self.charges.label(int(event.label), round_.weights[place]))

    def _charge(self, place: int, cost: int) -> None:
        points = self._now()[0]
        amount = np.array([cost], dtype=np.int64)
        self.costs = self.hypotheses.charge(self.costs, points[place : place + 1], amount)

    def _now(self) -> tuple[Points, Round]:
        if self._points is None or self._round is None:
            raise LikewiseError("There is no round before somebody has been deployed to.")
        return self._points, self._round


@dataclass(eq=False)
class WeightedPredecessor(EncodedPredecessor):
    """Exponential weights on the costs: it needs no oracle, and its scores are exact."""

    @abstractmethod
    def weigh(self) -> GibbsPolicy:
        """The policy that the costs so far make."""

    def weights_of(
        self, weights: Sequence[tuple[int, int]], approved: npt.NDArray[np.bool_]  # noqa: ARG002
    ) -> list[int]:  # fmt: skip
        """J of the decided, in units: 1 with full information."""
        return [ONE] * len(weights)

    def play(self, points: Points) -> Round:
        """The weights themselves, and one draw of them."""
        policy = self.weigh()
        weights = policy.approval(points)
        stream = Stream(self.seed, Purpose.DECIDE, self.number)
        approved = policy.draw(points, stream, 0).astype(bool)
        return Round(scores_of(weights), approved, self.weights_of(weights, approved))

    def chances(self, people: People) -> IntArray:
        """Exactly."""
        return scores_of(self.weigh().approval(self.hypotheses.locate(people)))
