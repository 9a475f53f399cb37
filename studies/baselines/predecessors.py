"""The predecessors, and how most of them turn a reported pair into labelled people: copies.

A report (l, r) becomes C copies of (x_l, 0) and C of (x_r, 1), so that a round is one of
classification alone, of k + 2C people (Bechavod, Jung, Wu 2020; Bechavod, Roth 2023).

With one-sided labels an action is (h(x), 1 − h(x)) with the losses (1 − y, ½), and what was not
chosen is estimated: the loss of approving by J·1[ŷ = 1], that of rejecting by J′·1[ŷ = 0], where J
and J′ are numbers of redraws until somebody is approved, or rejected. The copies are estimated too.

Quoted of Bechavod and Roth: this encoding, C = T^(4/45) copies, M = T^(1/3) redraws, R = T^(38/45)
draws (of the proof; its theorem says T), the panel asked at alpha, the estimated policy deployed
and a decision drawn from it. Inferred: the noise. Of its twin Exp2, exponential weights on the same
estimated losses, C = T^(1/5) is quoted.
"""

import math
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from likewise import People
from likewise.errors import HypothesisError, ParameterError
from likewise.hypotheses.base import ExactWeights, GibbsPolicy, HypothesisClass, Points, score
from likewise.learner import Deployment
from likewise.learner.events import Audited, Labelled
from likewise.learner.oracle import engine_for
from likewise.learner.players import ExponentialWeights, Perturbed
from likewise.numerics.fixed_point import ONE, IntArray, exp_of_negative, to_units
from likewise.numerics.randomness import Purpose, Stream
from likewise.simulate import baseline
from likewise.simulate.rounds import VIEW_DRAWS, Algorithm, Feedback
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
        self.costs = self.hypotheses.no_costs()
        self.number = 0
        self.points: Points = np.zeros(0)
        self.places: dict[str, int] = {}
        self.scores: IntArray = np.zeros(0, dtype=np.int64)

    def fresh(self) -> Self:
        return replace(self)

    def calls_a_round(self, rounds: int) -> float:  # noqa: ARG002
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
        heard = approved or not self.one_sided
        return self.count * (self.label(y, weight) if heard else self.rejected(weight))


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
        return scores_of(self.weigh().approval(self.hypotheses.locate(people)))


@dataclass(eq=False, kw_only=True)
class PerturbedPredecessor(EncodedPredecessor):
    """Draws of Context-FTPL with the repeated embedding: K Laplace variables a point.

    ``powers`` of T are its constants, (2, 9) for T^(2/9): C copies, R draws (``elicited``) and,
    where labels are one-sided, M redraws.
    """

    powers: ClassVar[Sequence[tuple[int, int]]]
    noise_divisor: float = 1.0

    def __post_init__(self) -> None:
        self.check_factors("noise_divisor")
        constants = (power_of(self.horizon, *power) for power in self.powers)
        self.copies, self.elicited, self.redraws = (*constants, 0)[:3]
        self.begin_with(self.copies)
        self._calls = 0

    @property
    def calls(self) -> int:
        return self._calls

    @property
    def dimension(self) -> int:
        """K, the coordinates of an encoded round: twice as many where both actions have losses."""
        return (2 if self.redraws else 1) * (self.k + 2 * self.copies)

    @property
    def scale(self) -> float:
        """1/w for the w that minimises the cited bound, over the divisor."""
        k, s, chosen = self.dimension, self.hypotheses.separators, self.k + 2 * self.copies
        gain = 10.0 * math.sqrt(s * chosen) * max(self.hypotheses.log_size, 1.0)
        if self.redraws:
            loss = 8.0 * k * k * s * self.redraws * chosen * self.horizon
        else:
            loss = 4.0 * k * s * self.horizon
        return math.sqrt(loss / gain) / self.noise_divisor

    def calls_a_round(self, rounds: int) -> float:  # noqa: ARG002
        """R + M, whatever the round; the draw that decides is one of the R."""
        return float(self.elicited + self.redraws)

    def _law(self) -> Perturbed:
        scales = np.array([self.scale])
        return Perturbed(self.hypotheses, self.costs, scales, self.dimension, "compiled")

    def play(self, people: People) -> tuple[IntArray, Decisions]:  # noqa: ARG002
        """The share of R draws that approve, one of these draws, and redraws until it repeats."""
        law = self._law()
        stream = Stream(self.seed, Purpose.ELICIT, self.number)
        approvals = law.approvals(self.points, stream, first_draw=0, draws=self.elicited)
        counts = approvals.sum(axis=0, dtype=np.int64).tolist()
        chosen = Stream(self.seed, Purpose.DECIDE, self.number).below(self.elicited)
        approved = approvals[chosen].astype(bool)
        self._calls += self.elicited + self.redraws
        self.weights = [ONE] * len(counts)
        if self.redraws:
            stream = Stream(self.seed, Purpose.MIX, self.number)
            again = law.approvals(self.points, stream, first_draw=0, draws=self.redraws)
            repeated = again.astype(bool) == approved
            repeated[-1] = True
            self.weights = [int(n) * ONE for n in (repeated.argmax(axis=0) + 1).tolist()]
        return scores_of((n, self.elicited) for n in counts), approved

    def chances(self, people: People) -> IntArray:
        """From draws that nobody else uses."""
        stream = Stream(self.seed, Purpose.VIEW, self.number + 1)
        points = self.hypotheses.locate(people)
        approvals = self._law().approvals(points, stream, first_draw=0, draws=VIEW_DRAWS)
        counts = approvals.sum(axis=0, dtype=np.int64).tolist()
        return scores_of((n, VIEW_DRAWS) for n in counts)


class BechavodRoth(PerturbedPredecessor):
    """Context-FTPL on reports as copies, which are resampled, tuned to the horizon."""

    name = "bechavod-roth"
    feedback = "one-sided"
    powers = ((4, 45), (38, 45), (1, 3))


class BechavodJungWu(PerturbedPredecessor):
    """Context-FTPL on reports as copies, tuned to the horizon."""

    name = "bechavod-jung-wu"
    powers = ((2, 9), (1, 1))


@dataclass(eq=False, kw_only=True)
class Exp2(WeightedPredecessor):
    """Exponential weights with a flat prior, at a temperature that the horizon fixes."""

    name = "exp2"
    noise_divisor: float = 1.0
    feedback = "one-sided"

    def __post_init__(self) -> None:
        self.check_factors("noise_divisor")
        remedy = "bechavod-roth needs an oracle alone."
        self._flat = exact_weights(self.hypotheses, self.name, remedy).with_prior("flat")
        self.copies = power_of(self.horizon, 1, 5)
        self.begin_with(self.copies)

    @property
    def temperature(self) -> float:
        """1/w for the w that minimises log|H|/w + w·K·T/2, over the divisor."""
        dimension = 2 * (self.k + 2 * self.copies)
        log_size = max(self.hypotheses.log_size, 1.0)
        return math.sqrt(dimension * self.horizon / (2.0 * log_size)) / self.noise_divisor

    def weigh(self) -> GibbsPolicy:
        return self._flat.weigh(self.costs, self.temperature * ONE)

    def weights_of(self, weights: Sequence[tuple[int, int]], approved: Decisions) -> list[int]:
        """One over the chance of what was chosen."""
        return [
            (total * ONE) // (weight if yes else total - weight)
            for (weight, total), yes in zip(weights, approved.tolist(), strict=True)
        ]


@dataclass(eq=False, kw_only=True)
class FixedTradeOff(WeightedPredecessor):
    """Exponential weights on Σ error/k + lam·Σ reports: ``lam`` is the price of a report."""

    name = "fixed-trade-off"
    needs_horizon = False
    lam: float = 1.0

    def __post_init__(self) -> None:
        within("lam", self.lam, 0, 1000, "It is the price of a report.")
        self._exact = exact_weights(self.hypotheses, self.name)
        self._x = ExponentialWeights().default_x(self.hypotheses)
        self._squares = 0.0
        self.begin_with(copies=1)

    def weigh(self) -> GibbsPolicy:
        largest = 1.0 + 2.0 * self.lam
        scale = self._x * math.sqrt(largest * largest + self._squares) * ONE
        return self._exact.weigh(self.costs, scale)

    def hear(self, event: Feedback) -> None:
        """Charge lam for a report, and 1/k for an error."""
        if isinstance(event, Labelled):
            self.charge_label(event)
            self._squares += 1.0 / self.k
        elif isinstance(event, Audited) and event.pairs:
            self.charge_pairs(self.pairs_of(event), to_units(self.lam))
            self._squares += (2.0 * self.lam) * (2.0 * self.lam + 2.0)


bechavod_roth = baseline(
    BechavodRoth.name, "2023, one-sided: reports as copies, which are resampled too"
)(BechavodRoth)
exp2 = baseline(Exp2.name, "2023, one-sided: exponential weights on the same copies; no oracle")(
    Exp2
)
bechavod_jung_wu = baseline(
    BechavodJungWu.name, "2020: reports as T^(2/9) copies; T oracle calls a round"
)(BechavodJungWu)
fixed_trade_off = baseline(
    FixedTradeOff.name, "errors plus a fixed price of reports, which has to be guessed"
)(FixedTradeOff)


# exp(16) times any horizon fits into integers of 64 bits; so dear a report forbids its gap.
LARGEST_EXPONENT = 16.0


@dataclass(eq=False, kw_only=True)
class SinhaVaze(WeightedPredecessor):
    """Sinha and Vaze (2025, arXiv 2505.06709): experts whose constraints may be broken a while.

    Quoted: a potential Φ of the violations so far, Q_t = Σ g_t(π^t)⁺; Hedge on the surrogate losses
    f_t + Φ′(Q_t)·g_t, whose rate follows its own surrogate loss (a bound for small losses); regret
    O(sqrt(T·ln N) + T^beta) and violations Õ(T^(1 − beta)·ln N). Inferred from these two bounds:
    Φ(q) = exp(lam·q) with lam = T^(beta − 1)/ln N, and the temperature sqrt(G² + G·L/ln N), with
    G = 1 + Φ′(Q) the largest surrogate loss and L the sum of its own. ln N is max ln(1/prior), so
    that it may have our prior.

    Here experts are hypotheses, f_t is the error rate of the round, and g_t(h) = h(x_l) − h(x_r) −
    alpha for the reported pair; 0 in a quiet round. It is not cut off at 0 for every hypothesis,
    and the bounds, which need losses of at least 0, do not cover it here.

    ``steepness`` multiplies lam and ``noise_divisor`` divides the temperature; 1 is its own. The
    panel is asked at alpha − kappa_share·eps, and gaps above that are its violations.
    """

    name = "sinha-vaze"
    beta: float = 0.5
    steepness: float = 1.0
    noise_divisor: float = 1.0
    kappa_share: float = 0.0
    prior: str = "flat"

    def __post_init__(self) -> None:
        self.check_factors("steepness", "noise_divisor")
        self.check_shares("beta", "kappa_share")
        self._exact = exact_weights(self.hypotheses, self.name).with_prior(self.prior)
        self._log_size = max(self._exact.log_inverse_prior, 1.0)
        # T^(1 − beta) to six digits, the same on every machine.
        root = power_of(self.horizon, round((1 - self.beta) * 64), 64) if self.beta < 1 else 1
        self.growth = self.steepness / (root * self._log_size)
        self.excess = 0.0  # Q
        self._incurred = 0.0
        self.begin_with(copies=1)

    @property
    def sensitivity(self) -> int:
        return to_units(self.alpha - self.kappa_share * self.eps)

    @property
    def lam(self) -> float:
        """Φ′(Q) = lam·exp(lam·Q), the price of a report."""
        exponent = min(self.growth * self.excess, LARGEST_EXPONENT)
        return self.growth / exp_of_negative(exponent)

    def weigh(self) -> GibbsPolicy:
        largest = 1.0 + self.lam
        scale = math.sqrt(largest * largest + largest * self._incurred / self._log_size)
        engine = engine_for("compiled", self.hypotheses)
        return engine.weigh(self._exact, self.costs, scale / self.noise_divisor * ONE)

    def hear(self, event: Feedback) -> None:
        """Charge 1/k for an error; for a report, first add its violation to Q, then charge Φ′."""
        if isinstance(event, Labelled):
            self.charge_label(event)
            score = int(self.scores[self.places[event.person]])
            self._incurred += abs(score - event.label * ONE) / (ONE * self.k)
        elif isinstance(event, Audited) and event.pairs:
            pairs = self.pairs_of(event)
            gaps = [int(self.scores[a] - self.scores[b]) - self.sensitivity for a, b in pairs]
            violation = sum(gaps) / (ONE * len(gaps))
            self.excess += violation
            self._incurred += self.lam * violation
            self.charge_pairs(pairs, to_units(self.lam))


sinha_vaze = baseline(
    SinhaVaze.name, "2025: experts with long-term constraints, a potential of the violations"
)(SinhaVaze)
