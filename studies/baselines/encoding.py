"""Reports as copies: how the predecessors turn a reported pair into labelled people.

A report (l, r) becomes C copies of (x_l, 0) and C of (x_r, 1), so that a round is one of
classification alone, of k + 2C people (Bechavod, Jung, Wu 2020; Bechavod, Roth 2023).

With one-sided labels an action is (h(x), 1 − h(x)) with the losses (1 − y, ½), and what was not
chosen is estimated: the loss of approving by J·1[ŷ = 1], that of rejecting by J′·1[ŷ = 0], where J
and J′ are numbers of redraws until somebody is approved, or rejected. The copies are estimated too.
"""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from likewise.errors import HypothesisError, ParameterError
from likewise.hypotheses.base import ExactWeights, GibbsPolicy, HypothesisClass, Points, score
from likewise.learner.events import Audited, Labelled
from likewise.learner.rounds import Deployment
from likewise.numerics.fixed_point import ONE, IntArray
from likewise.numerics.randomness import Purpose, Stream
from likewise.people.schema import People
from likewise.simulate.rounds import Algorithm, Feedback
from likewise.validation import integer, within

Decisions = npt.NDArray[np.bool_]


def exact_weights(hypotheses: HypothesisClass, name: str, instead: str = "") -> ExactWeights:
    """The class, if its weights are known exactly."""
    if not isinstance(hypotheses, ExactWeights):
        raise HypothesisError(
            f"{type(hypotheses).__name__} has no exact weights, which {name} needs. {instead}"
            .rstrip()
        )  # fmt: skip
    return hypotheses


@dataclass(eq=False)
class Predecessor(Algorithm):
    """An algorithm by its settings, which are its fields; it calls no oracle unless it says so.

    What it learns in a game it keeps in attributes that ``__post_init__`` sets.
    """

    name: ClassVar[str]
    needs_horizon: ClassVar[bool] = True
    hypotheses: HypothesisClass
    k: int
    alpha: float
    eps: float
    seed: int
    _: KW_ONLY
    rounds: int | None = None

    @property
    def horizon(self) -> int:
        """T, which its constants need."""
        if self.rounds is None:
            rule = f"must be given for {self.name}"
            raise ParameterError("rounds", rule, None, "Its constants need T.")
        return integer("rounds", self.rounds, 1, 1 << 32, "It is T.")

    def check_factors(self, *names: str) -> None:
        """Refuse a divisor of its noise or widths, and the like, that makes no sense."""
        for name in names:
            within(name, getattr(self, name), 0, 1e12, "1 is the predecessor's own.", ends="()")

    def check_shares(self, *names: str) -> None:
        for name in names:
            within(name, getattr(self, name), 0, 1, "It is a share.")

    def begin(self) -> None:
        """Nothing has been charged yet."""
        self.costs = self.hypotheses.no_costs()
        self.number = 0
        self.points: Points = np.zeros(0)
        self.places: dict[str, int] = {}
        self.scores: IntArray = np.zeros(0, dtype=np.int64)

    def fresh(self) -> Self:
        """The same settings, before the first round."""
        return replace(self)

    def calls_a_round(self, rounds: int) -> float:  # noqa: ARG002
        """None, whatever the horizon."""
        return 0.0

    def settings(self) -> dict[str, Any]:
        """The settings that all have, and its own; the horizon, if anything depends on it."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        values |= {"name": self.name, "hypotheses": self.hypotheses.spec()}
        return values if self.needs_horizon else values | {"rounds": None}

    @abstractmethod
    def play(self, people: People) -> tuple[IntArray, Decisions]:
        """Scores and decisions of the round ``number``, from what was heard so far."""

    def deploy(self, people: People, panel: str) -> Deployment:  # noqa: ARG002
        """Decide, and remember who came."""
        self.number += 1
        self.points = self.hypotheses.locate(people)
        self.places = {name: place for place, name in enumerate(people.ids)}
        self.scores, approved = self.play(people)
        return Deployment(f"r{self.number}", people.ids, self.scores, approved)

    def policy(self, people: People, draws: int) -> IntArray:  # noqa: ARG002
        """The scores themselves: what is deployed is the policy that was estimated."""
        return self.scores

    def charge(self, place: int, cost: int) -> None:
        """Charge a cost in units to the approval of somebody in the round."""
        point, amount = self.points[place : place + 1], np.array([cost], dtype=np.int64)
        self.costs = self.hypotheses.charge(self.costs, point, amount)

    def charge_label(self, event: Labelled) -> None:
        """Charge 1/k for an error."""
        self.charge(self.places[event.person], (1 - 2 * int(event.label)) * ONE // self.k)

    def pairs_of(self, event: Audited) -> list[tuple[int, int]]:
        """The places of those who were reported."""
        return [(self.places[over], self.places[under]) for over, under in event.pairs]

    def charge_pairs(self, pairs: Sequence[tuple[int, int]], price: int) -> None:
        """Charge a report's price in units, shared by its pairs."""
        for over, under in pairs:
            self.charge(over, price // len(pairs))
            self.charge(under, -(price // len(pairs)))


def scores_of(weights: Iterable[tuple[int, int]]) -> IntArray:
    """Scores in units from the weight of those that approve, and that of all."""
    return np.array([score(*pair) for pair in weights], dtype=np.int64)


def power_of(rounds: int, numerator: int, denominator: int) -> int:
    """The least integer that is at least T^(numerator/denominator), by integers alone."""
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
        """
        return (1 - y) * weight if self.one_sided else (1 - 2 * y) * ONE

    @staticmethod
    def rejected(weight: int) -> int:
        """One-sided: the loss ½ of rejecting, estimated by J′, which approving would save."""
        return -(weight // 2)

    def report(self, y: int, approved: bool, weight: int) -> int:
        """The cost of one of a reported pair: copies of label 0 of the favoured, else of 1."""
        known = approved or not self.one_sided
        return self.count * (self.label(y, weight) if known else self.rejected(weight))


@dataclass(eq=False)
class EncodedPredecessor(Predecessor):
    """A predecessor that charges copies; ``weights`` are J of the decided, in units."""

    def begin_with(self, copies: int) -> None:
        """Nothing has been charged yet; a report stands for ``copies`` copies of each side."""
        self.begin()
        self.charges = Copies(copies, one_sided=self.feedback == "one-sided")
        self.approved: Decisions = np.zeros(0, dtype=np.bool_)
        self.weights: list[int] = []

    def deploy(self, people: People, panel: str) -> Deployment:
        """Decide; the rejected are charged at once where labels are one-sided."""
        deployment = super().deploy(people, panel)
        self.approved = deployment.approved
        if self.charges.one_sided:
            for place in np.flatnonzero(~self.approved).tolist():
                self.charge(place, self.charges.rejected(self.weights[place]))
        return deployment

    def hear(self, event: Feedback) -> None:
        """Charge a report as its copies, and a label."""
        if isinstance(event, Audited):
            for pair in event.pairs:
                for y, place in enumerate(self.places[person] for person in pair):
                    approved, weight = bool(self.approved[place]), self.weights[place]
                    cost = self.charges.report(y, approved, weight)
                    self.charge(place, cost // len(event.pairs))
        elif isinstance(event, Labelled):
            place = self.places[event.person]
            self.charge(place, self.charges.label(int(event.label), self.weights[place]))


@dataclass(eq=False)
class WeightedPredecessor(EncodedPredecessor):
    """Exponential weights on the costs: it needs no oracle, and its scores are exact."""

    @abstractmethod
    def weigh(self) -> GibbsPolicy:
        """The policy that the costs so far make."""

    def weights_of(self, weights: Sequence[tuple[int, int]], approved: Decisions) -> list[int]:  # noqa: ARG002
        """J of the decided, in units: 1 with full information."""
        return [ONE] * len(weights)

    def play(self, people: People) -> tuple[IntArray, Decisions]:  # noqa: ARG002
        """The weights themselves, and one draw of them."""
        policy = self.weigh()
        weights = policy.approval(self.points)
        stream = Stream(self.seed, Purpose.DECIDE, self.number)
        approved = policy.draw(self.points, stream, 0).astype(bool)
        self.weights = self.weights_of(weights, approved)
        return scores_of(weights), approved

    def chances(self, people: People) -> IntArray:
        """Exactly."""
        return scores_of(self.weigh().approval(self.hypotheses.locate(people)))
