"""Certificates from the rounds of a run.

A state has a :func:`~likewise.learner.certificate.certificate` of the whole run, against one fixed
policy, before a panel that does not err. With the rounds themselves there are three more
(``docs/research/theory.md`` has their theorems):

    intervals     regret on any interval to policies that are fair there, and over a partition to
                  a policy that changes from part to part
    wrong reports at most z reports of pairs that the panel accepts in truth
    one-sided     labels of the approved alone, with high probability and at all times
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from likewise.hypotheses.base import ExactWeights
from likewise.learner import bounds
from likewise.learner.certificate import (
    Certificate,
    bracket,
    labels_in_order,
    least_cost,
    score_deviation,
    score_draws,
)
from likewise.learner.costs import Weights, report_cost
from likewise.learner.events import Decision
from likewise.learner.settings import Learner
from likewise.learner.state import OpenRound, error_weights, points_of
from likewise.numerics.fixed_point import ONE, IntArray, log, to_units
from likewise.validation import instance, integer, require, within

# The most times at which intervals begin and end, and the most costs that are kept for them.
MOST_BLOCKS, MOST_SUMS = 40, 1 << 22
# The most rounds that wait for one before them.
MOST_EARLY = 10_000
# The best of these decides how much is left out of J; each has its share of the failures.
GAMMAS = tuple(2.0**-j for j in range(1, 9))
LATER = ", and neither its people nor its labels on later ones"


class Charge(NamedTuple):
    """The costs of a round by person, in units, and what its scores ``paid``, in units of 2^-40.

    A report has a price, ``reported``, in units, and adds ``wrong`` if it was wrong.
    """

    people: list[str]
    amounts: list[int]
    paid: int
    reported: int
    wrong: float


class Sums(NamedTuple):
    """Sums over the first rounds: of costs, of what scores paid, of the prices of reports."""

    costs: IntArray
    paid: int
    reported: int


@dataclass(frozen=True)
class Partition:
    """The partition of a run into parts on which changing policies gain most.

    ``ends`` are the last rounds of the parts. ``regret`` bounds the regret to any policies, one a
    part and each fair at alpha − eps on its own part; no other partition at these times has more.
    """

    ends: tuple[int, ...]
    regret: float
    holds: str

    def to_json(self) -> dict[str, Any]:
        parts = {"parts": len(self.ends), "ends": list(self.ends)}
        return parts | {"regret": self.regret, "holds": self.holds}


@dataclass(frozen=True, eq=False)
class Evidence:
    """The rounds of a run in order, with the feedback that came on them."""

    learner: Learner
    rounds: tuple[OpenRound, ...]

    def __post_init__(self) -> None:
        instance("learner", self.learner, Learner, "Make one: Learner(…).")
        numbers = [round_.number for round_ in self.rounds]
        fits = numbers == list(range(1, len(numbers) + 1))
        rule = "must be all rounds of a run, from the first, in order"
        require(fits, "Evidence.rounds", rule, numbers[:9], "Sort them by their numbers.")

    @classmethod
    def of(cls, learner: Learner, rounds: Iterable[OpenRound]) -> Evidence:
        """The evidence of rounds that closed in any order."""
        return cls(learner, tuple(sorted(rounds, key=lambda round_: round_.number)))

    @cached_property
    def _charges(self) -> list[Charge]:
        return [_charge(self.learner, round_) for round_ in self.rounds]

    def _sums(self, ends: Sequence[int]) -> list[Sums]:
        """The sums over the first ``end`` rounds, for each of some ends."""
        sums = [Sums(self.learner.hypotheses.no_costs(), 0, 0)]
        for first, last in pairwise((0, *ends)):
            total = sums[-1]
            for i in range(first, last):
                total = _plus(self.learner, total, self.rounds[i], self._charges[i])
            sums.append(total)
        return sums

    def _deviation(self, rounds: int, confidence: float) -> tuple[float, str]:
        in_order = labels_in_order(self.rounds, len(self.rounds))
        return score_deviation(self.learner, rounds, 1.0 - confidence, in_order=in_order)

    def _require_full(self) -> None:
        fits = not self.learner.pricing.one_sided
        remedy = "Of one-sided labels an interval's costs are estimates; see Evidence.one_sided."
        require(fits, "Evidence", "must have full information", self.learner.feedback, remedy)

    def interval(self, first: int, last: int, *, confidence: float = 0.95) -> Certificate:
        """The certificate of the rounds from ``first`` to ``last``, both included.

        It holds for all intervals at once, and so for one that is chosen afterwards: surely where
        the player knows its policy.
        """
        self._require_full()
        first = integer("first", first, 1, last + 1, "Rounds are counted from 1.")
        last = integer("last", last, 1, len(self.rounds) + 1, "There are no more rounds.")
        confidence = within("confidence", confidence, 0, 1, "Try 0.95.", ends="()")
        before, after = self._sums((first - 1, last))[1:]
        least = least_cost(self.learner.hypotheses, after.costs - before.costs)
        paid, reported = after.paid - before.paid, after.reported - before.reported
        regret = bracket(self.learner, paid, reported, least)
        late, holds = self._deviation(last, confidence)
        early = self._deviation(first - 1, confidence)[0] if first > 1 else 0.0
        slack = late if self.learner.primal.exact else late + early
        reports = sum(round_.outcome == "report" for round_ in self.rounds[first - 1 : last])
        rounds = last - first + 1
        return Certificate(rounds, self.learner.k, regret + slack, holds, None, reports)

    def partitions(self, most: int = 8, *, confidence: float = 0.95) -> list[Partition]:
        """For every number of parts up to ``most``, the partition with the most regret.

        Parts end at whole blocks of rounds, of which there are 40 (fewer where sums of costs are
        long), so no policy that changes that often at these times has done better.
        """
        self._require_full()
        most = integer("most", most, 1, None, "It counts parts.")
        confidence = within("confidence", confidence, 0, 1, "Try 0.95.", ends="()")
        total, size = len(self.rounds), self.learner.hypotheses.no_costs().size
        blocks = min(total, MOST_BLOCKS, max(2, MOST_SUMS // size))
        ends = [total * (block + 1) // blocks for block in range(blocks)] if total else []
        sums = self._sums(ends)
        least = {
            (i, j): least_cost(self.learner.hypotheses, sums[j].costs - sums[i].costs)
            for j in range(1, len(sums)) for i in range(j)
        }  # fmt: skip
        slack, holds = self._deviation(total, confidence)
        # best[j]: the least cost of policies that change up to the end of block j, and their ends.
        best: dict[int, tuple[int, tuple[int, ...]]] = {0: (0, ())}
        partitions = []
        for _ in range(min(most, blocks)):
            best = {
                j: min(
                    (cost + least[i, j], (*cuts, ends[j - 1]))
                    for i, (cost, cuts) in best.items() if i < j
                )
                for j in range(1, len(sums)) if any(i < j for i in best)
            }  # fmt: skip
            cost, cuts = best[len(sums) - 1]
            regret = bracket(self.learner, sums[-1].paid, sums[-1].reported, cost)
            partitions.append(Partition(cuts, regret + slack, holds))
        return partitions

    def wrong_reports(self, count: int) -> float:
        """The most that ``count`` wrong reports add to a certificate: (k/eta)·Σ lam·(1 − g + beta).

        A wrong report is one of a pair that the panel accepts in truth; g is its published gap. The
        sum is over the reports that would cost most.
        """
        count = integer("count", count, 0, None, "It counts reports.")
        prices = sorted((charge.wrong for charge in self._charges), reverse=True)
        return bounds.in_errors(self.learner) * sum(prices[:count])

    def one_sided(self, *, confidence: float = 0.95) -> Certificate | None:
        """The certificate with one-sided labels, with high probability at all times at once.

        None if some labels of approved people have not come, decisions were overridden, or nothing
        is proved of the player.
        """
        sums = OneSided(self.learner, confidence=confidence)
        complete = [sums.take(round_) for round_ in self.rounds]
        return sums.certificate() if all(complete) else None


class OneSided:
    """The certificate with one-sided labels of the first rounds of a run, round by round.

    Rounds come as they close, in any order; those that come early wait. ``rounds`` of them count:
    all before the first that has not come or is ``incomplete`` (labels of approved people did not
    come, or not before thousands of later rounds had closed, or decisions were overridden). The
    certificate holds at all times at once, so for as many rounds as count whenever one looks.

    >>> from likewise import Learner, Pool
    >>> pool = Pool.from_table([[0, 0], [0, 1], [1, 1]])
    >>> sums = OneSided(Learner(pool, k=2, alpha=0.3, eps=0.3, seed=1, feedback="one-sided"))
    >>> sums.rounds, sums.certificate()
    (0, None)
    """

    def __init__(self, learner: Learner, *, confidence: float = 0.95) -> None:
        self.learner = learner
        self.confidence = within("confidence", confidence, 0, 1, "Try 0.95.", ends="()")
        # For a player that draws two more bounds may fail: on scores by person, and on their sum.
        self._failing = (1.0 - self.confidence) / (2.0 if learner.primal.exact else 4.0)
        self.rounds, self.reports = 0, 0
        self.incomplete: int | None = None
        self._sums = {gamma: Sums(learner.hypotheses.no_costs(), 0, 0) for gamma in GAMMAS}
        # The cost of the approved, and the sum of its squared differences from the mean.
        self._lost, self._squares = 0.0, 0.0
        self._early: dict[int, OpenRound] = {}

    @property
    def proved(self) -> bool:
        """Test whether labels are one-sided, and the player's own class claims what is needed.

        Without "full" nothing limits how far the scores' own errors are from the policy's.
        """
        claims = bounds.proved(self.learner.primal)
        return {"full", "one-sided"} <= claims and self.learner.pricing.one_sided

    def take(self, round_: OpenRound) -> bool:
        """Take a round that has closed; return whether later rounds can still count."""
        if not self.proved or self.incomplete is not None:
            return False
        self._early[round_.number] = round_
        while (following := self._early.pop(self.rounds + 1, None)) is not None:
            if following.overrides or following.awaiting_labels(one_sided=True):
                self.incomplete = following.number
                self._early.clear()
            else:
                self._count(following)
        if len(self._early) > MOST_EARLY:
            self.incomplete = self.rounds + 1
            self._early.clear()
        return self.incomplete is None

    def _count(self, round_: OpenRound) -> None:
        learner = self.learner
        off = _off(learner, round_.number, self._failing)
        for gamma in GAMMAS:
            charge = _charge(learner, round_, partial(_inverse, gamma, off))
            self._sums[gamma] = _plus(learner, self._sums[gamma], round_, charge)
        lost = _lost(learner, round_)
        self._squares += (lost - self._lost / max(1, self.rounds)) ** 2
        self._lost += lost
        self.rounds += 1
        self.reports += round_.outcome == "report"

    def certificate(self) -> Certificate | None:
        """The certificate of the rounds that count; None where there are none."""
        learner, rounds, k, failing = self.learner, self.rounds, self.learner.k, self._failing
        if not rounds:
            return None
        estimates = learner.hypotheses.log_size + math.log(len(GAMMAS) / failing)
        regret = min(self._bracket(gamma) + k / gamma * estimates for gamma in GAMMAS)
        regret += _shortfall(self._squares, 2.0 * k, failing)
        regret += score_deviation(learner, rounds, failing)[0]
        # Costs are rounded to units.
        regret += bounds.in_errors(learner) * 2.0 * k * bounds.UNIT * rounds
        chance = f"with probability {self.confidence:g} at all times at once"
        holds = f"{chance}, {bounds.UNSEEN}{LATER}"
        return Certificate(rounds, k, regret, holds, None, self.reports)

    def _bracket(self, gamma: float) -> float:
        costs, paid, reported = self._sums[gamma]
        return bracket(self.learner, paid, reported, least_cost(self.learner.hypotheses, costs))

    def to_json(self) -> dict[str, Any]:
        """The certificate by name, with the rounds that count and what ends them."""
        counted = {"rounds": self.rounds, "incomplete": self.incomplete}
        certificate = self.certificate()
        return counted | ({} if certificate is None else certificate.to_json())


def _plus(learner: Learner, sums: Sums, round_: OpenRound, charge: Charge) -> Sums:
    """The sums with one more round."""
    costs = sums.costs
    if charge.people:
        points = points_of(learner, round_.people, charge.people)
        amounts = np.array(charge.amounts, dtype=np.int64)
        costs = learner.hypotheses.charge(costs, points, amounts)
    return Sums(costs, sums.paid + charge.paid, sums.reported + charge.reported)


def _off(learner: Learner, t: int, failing: float) -> float:
    """The most by which a chance of approval exceeds its published score.

    It holds surely for a player that knows its policy; else, in all rounds at once and for
    everybody, with probability 1 − failing: sqrt(ln(k·t·(t + 1)/failing)/(2·R_t)), by Hoeffding.
    """
    if learner.primal.exact:
        hypotheses = learner.hypotheses
        return bounds.UNIT + (hypotheses.cut if isinstance(hypotheses, ExactWeights) else 0.0)
    log = math.log(learner.k * t * (t + 1) / failing)
    return math.sqrt(log / (2.0 * score_draws(learner, t))) + bounds.UNIT


def _inverse(gamma: float, off: float, score: float) -> float:
    """The largest J with E exp(2·gamma·l·1[approved]·J) ≤ exp(2·gamma·l) for all l in [0, 1].

    It is ln(1 + (e^{2·gamma} − 1)/q)/(2·gamma) for the chance q, which is score + off at most, and
    between 1/(q + gamma) and 1/q.

    >>> _inverse(0.1, 0.0, 1.0), round(_inverse(0.1, 0.0, 0.5), 3)
    (1.0, 1.833)
    """
    chance = min(1.0, score + off)
    if chance == 1.0:
        return 1.0
    return log(1.0 + _exp_less_one(2.0 * gamma) / chance) / (2.0 * gamma)


def _exp_less_one(x: float) -> float:
    """e^x − 1 for x in [0, 1], with the same bits everywhere."""
    term = total = x
    for n in range(2, 20):
        term *= x / n
        total += term
    return total


def _shortfall(squares: float, largest: float, failing: float) -> float:
    """The most by which a sum of losses in [0, largest] is below its mean at any time.

    This fails with probability ``failing`` at most. ``squares`` is Σ (X_t − X̂_t)² with X̂_t the
    mean of earlier losses, an empirical variance: the limit is the least over z of
    (largest/z)·[φ(z)·squares/largest² + ln(1/failing_z)], φ(z) = −ln(1 − z) − z.
    """
    variance, log = squares / largest**2, math.log(len(GAMMAS) / failing)
    return min(largest / z * ((-math.log1p(-z) - z) * variance + log) for z in GAMMAS)


def _lost(learner: Learner, round_: OpenRound) -> float:
    """The cost of the approved in a round, beyond w: the sum of (v + w)·(1 − y)."""
    people = _labelled(learner, round_)
    return sum(sum(weights) / ONE * (1.0 - y) for _, y, weights in people if y is not None)


def _charge(
    learner: Learner, round_: OpenRound, inverse: Callable[[float], float] | None = None
) -> Charge:
    """The charges of a round.

    With ``inverse``, the J of a published score, labels are charged by it, and ``paid`` is the true
    cost of the approved.
    """
    people, amounts, paid = _labels(learner, round_, inverse)
    reported, wrong, beta = 0, 0.0, bounds.asked_beta(learner)
    if round_.outcome == "report" and not learner.ignores_reports:
        amount = report_cost(round_.lam / learner.audit_share, len(round_.pairs))
        reported = amount * len(round_.pairs)
        for over, under in round_.pairs:
            gap = round_.decisions[over].score - round_.decisions[under].score
            paid += amount * gap
            wrong += amount / ONE * (1.0 - gap / ONE + beta)
            people, amounts = [*people, over, under], [*amounts, amount, -amount]
    return Charge(people, amounts, paid, reported, wrong)


def _labels(
    learner: Learner, round_: OpenRound, inverse: Callable[[float], float] | None
) -> tuple[list[str], list[int], int]:
    """The charges of a round's labels, and what its scores paid."""
    pricing, people, amounts, paid = learner.pricing, [], [], 0
    for decision, label, weights in _labelled(learner, round_):
        if inverse is not None:
            seen = 0.0 if label is None else pricing.unit * sum(weights) / ONE * (1.0 - label)
            rejection = pricing.unit * weights[1] / ONE
            estimated = seen * inverse(decision.score / ONE) if seen else 0.0
            amount = math.floor(estimated - rejection)
            paid += math.ceil(seen * ONE - rejection * decision.score)
        else:
            amount = (
                pricing.sealed(decision, weights) if label is None  # 0 with full information
                else pricing.labelled(decision, to_units(label), weights)
            )  # fmt: skip
            paid += amount * decision.score
        people.append(decision.person)
        amounts.append(amount)
    return people, amounts, paid


def _labelled(
    learner: Learner, round_: OpenRound
) -> Iterator[tuple[Decision, float | None, Weights]]:
    """Everybody in a round with their label, if it came, and the weights of either error.

    With one-sided labels, those whose decisions were overridden do not count.
    """
    excluded = round_.overrides if learner.pricing.one_sided else ()
    people = [person for person in round_.decisions if person not in excluded]
    for person, weights in zip(people, error_weights(learner, round_, people), strict=True):
        yield round_.decisions[person], round_.labels.get(person), weights
