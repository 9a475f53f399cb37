"""Certificates from the rounds of a run, where its state alone says too little.

The state's own :func:`~likewise.learner.certificate.certificate` is about the whole run, against
one fixed policy, before a panel that does not err. With the rounds themselves there are three more
(``docs/research/theory.md`` has their theorems):

    intervals     regret on any interval, to policies that are fair there alone, and the sum over a
                  partition: regret to a policy that changes from part to part
    wrong reports at most z reports of pairs that the panel accepts in truth
    one-sided     labels of the approved alone, with high probability and at all times, for a player
                  that knows its policy, or estimates it from draws
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, cast

import numpy as np

from likewise.hypotheses.base import ExactWeights
from likewise.learner import bounds
from likewise.learner.certificate import (
    TUNED_TO,
    Certificate,
    deviation,
    labels_in_order,
    score_deviation,
    score_draws,
)
from likewise.learner.costs import ALIKE, report_cost
from likewise.learner.settings import Learner
from likewise.learner.state import OpenRound, points_of
from likewise.numerics.fixed_point import BITS, ONE, IntArray, to_units
from likewise.validation import instance, integer, require, within

# Intervals begin and end at so many times at most, where sums of costs are kept.
MOST_BLOCKS, MOST_SUMS = 40, 1 << 22
# The implicit exploration is the best of these; each has its share of the failures.
GAMMAS = tuple(2.0**-j for j in range(1, 9))


class Charge(NamedTuple):
    """The costs of a round by person, in units; what its scores paid, in units of 2^-40; and of its
    report the price, in units, and what it would cost if it were wrong.
    """

    people: list[str]
    amounts: list[int]
    paid: int
    reported: int
    wrong: float


class Sums(NamedTuple):
    """Sums over the first rounds: of costs, of what was paid and of the prices of reports."""

    costs: IntArray
    paid: int
    reported: int


@dataclass(frozen=True)
class Partition:
    """The best policy that changes between parts, on the intervals where it gains most.

    ``ends`` are the last rounds of the parts. ``regret`` bounds the regret to any policies, one a
    part and each fair at alpha − eps on its own part; no other partition at these times has more.
    """

    ends: tuple[int, ...]
    regret: float
    holds: str

    def to_json(self) -> dict[str, Any]:
        """The partition by name."""
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

    @property
    def _in_errors(self) -> float:
        """k/eta, which turns costs into errors."""
        return self.learner.k / bounds.charged_eta(self.learner)

    @cached_property
    def _charges(self) -> list[Charge]:
        return [_charge(self.learner, round_, None) for round_ in self.rounds]

    def _sums(self, ends: Sequence[int]) -> list[Sums]:
        """The sums over the first ``end`` rounds, for each of some ends."""
        sums = [Sums(self.learner.hypotheses.no_costs(), 0, 0)]
        for first, last in pairwise((0, *ends)):
            total = sums[-1]
            for round_, charge in zip(
                self.rounds[first:last], self._charges[first:last], strict=True
            ):
                total = self._plus(total, round_, charge)
            sums.append(total)
        return sums

    def _plus(self, sums: Sums, round_: OpenRound, charge: Charge) -> Sums:
        """Sums with a round more."""
        costs = sums.costs
        if charge.people:
            points = points_of(self.learner, round_.people, charge.people)
            amounts = np.array(charge.amounts, dtype=np.int64)
            costs = self.learner.hypotheses.charge(costs, points, amounts)
        return Sums(costs, sums.paid + charge.paid, sums.reported + charge.reported)

    def _least(self, costs: IntArray) -> int:
        """min_h F(h)."""
        hypotheses = self.learner.hypotheses
        silence = np.zeros((1, hypotheses.separators), dtype=np.int64)
        return int(hypotheses.totals(costs, hypotheses.minimise(costs, silence))[0])

    def _bracket(self, first: Sums, last: Sums, least: int) -> float:
        """(k/eta)·[Σ f_t(π̃^t) − min_h F(h) − beta·Σ lam_t] over the rounds between two sums."""
        paid = (last.paid - first.paid - (least << BITS)) / float(ONE * ONE)
        beta = bounds.asked_beta(self.learner)
        return self._in_errors * (paid - beta * (last.reported - first.reported) / ONE)

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
        regret = self._bracket(before, after, self._least(after.costs - before.costs))
        late, holds = self._deviation(last, confidence)
        early = self._deviation(first - 1, confidence)[0] if first > 1 else 0.0
        slack = late if self.learner.primal.exact else late + early
        reports = _reports(self.rounds[first - 1 : last])
        rounds = last - first + 1
        return Certificate(rounds, self.learner.k, regret + slack, holds, None, reports)

    def partitions(self, most: int = 8, *, confidence: float = 0.95) -> list[Partition]:
        """For every number of parts up to ``most``, the partition with the most regret.

        Parts end at whole blocks of rounds, of which there are 40 (fewer where sums of costs are
        long): so no policy that changes that often, at any of these times, has done better.
        """
        self._require_full()
        most = integer("most", most, 1, None, "It counts parts.")
        confidence = within("confidence", confidence, 0, 1, "Try 0.95.", ends="()")
        total, size = len(self.rounds), self.learner.hypotheses.no_costs().size
        blocks = min(total, MOST_BLOCKS, max(2, MOST_SUMS // size))
        ends = [total * (block + 1) // blocks for block in range(blocks)] if total else []
        sums = self._sums(ends)
        least = {
            (i, j): self._least(sums[j].costs - sums[i].costs)
            for j in range(1, len(sums)) for i in range(j)
        }  # fmt: skip
        slack, holds = self._deviation(total, confidence)
        # best[j]: the least cost of policies that change up to the end of block j, and their ends.
        best: dict[int, tuple[int, tuple[int, ...]]] = {0: (0, ())}
        found = []
        for _ in range(min(most, blocks)):
            best = {
                j: min(
                    (cost + least[i, j], (*cuts, ends[j - 1]))
                    for i, (cost, cuts) in best.items() if i < j
                )
                for j in range(1, len(sums)) if any(i < j for i in best)
            }  # fmt: skip
            cost, cuts = best[len(sums) - 1]
            found.append(Partition(cuts, self._bracket(sums[0], sums[-1], cost) + slack, holds))
        return found

    def wrong_reports(self, count: int) -> float:
        """The most that so many wrong reports add to a certificate: (k/eta)·Σ lam·(1 − g + beta).

        A wrong report is one of a pair that the panel accepts in truth; g is its published gap. The
        sum is over the reports that would cost most.
        """
        count = integer("count", count, 0, None, "It counts reports.")
        prices = sorted((charge.wrong for charge in self._charges), reverse=True)
        return self._in_errors * sum(prices[:count])

    def one_sided(self, *, confidence: float = 0.95) -> Certificate | None:
        """The certificate with one-sided labels, with high probability at all times at once.

        None where some labels of approved people have not come, or decisions were overridden, and
        for players of whom nothing is proved.
        """
        learner, hypotheses = self.learner, self.learner.hypotheses
        confidence = within("confidence", confidence, 0, 1, "Try 0.95.", ends="()")
        proved = learner.primal.exact or "one-sided" in bounds.proved(learner.primal)
        if not (proved and learner.pricing.one_sided) or any(map(_incomplete, self.rounds)):
            return None
        failing, drawn = 1.0 - confidence, 0.0
        if not learner.primal.exact:  # a quarter each for scores by person, and for their sum
            failing /= 4.0
            drawn = score_deviation(learner, len(self.rounds), failing)[0]
        offs = [_off(learner, round_.number, failing) for round_ in self.rounds]
        sums = {gamma: Sums(hypotheses.no_costs(), 0, 0) for gamma in GAMMAS}
        for round_, off in zip(self.rounds, offs, strict=True):  # its people are looked up once
            for gamma in GAMMAS:
                charge = _charge(learner, round_, gamma + off)
                sums[gamma] = self._plus(sums[gamma], round_, charge)
        share = failing / len(GAMMAS) / (2.0 if learner.primal.exact else 1.0)
        regret = min(self._with_gamma(g, total, offs, share) for g, total in sums.items())
        holds = f"with probability {confidence:g} at all times at once, {bounds.UNSEEN}"
        rounds = len(self.rounds)
        return Certificate(rounds, learner.k, regret + drawn, holds, None, _reports(self.rounds))

    def _with_gamma(self, gamma: float, sums: Sums, offs: list[float], failing: float) -> float:
        """The bracket with J = 1/(q + off + gamma), its bias, and both deviations."""
        rounds, k, exact = len(self.rounds), self.learner.k, self.learner.primal.exact
        before = Sums(self.learner.hypotheses.no_costs(), 0, 0)
        bracket = self._bracket(before, sums, self._least(sums.costs))
        bias = sum(
            _bias(decision.score / ONE, off, gamma, exact=exact)
            for round_, off in zip(self.rounds, offs, strict=True)
            for decision in round_.decisions.values()
        )
        estimates = k / gamma * (self._log_inverse_prior + math.log(1.0 / failing))
        decisions = deviation(float(k * k * rounds), float(k * k * TUNED_TO), failing)
        rounding = self._in_errors * 2.0 * k * bounds.UNIT * rounds
        return bracket + bias + estimates + decisions + rounding

    @property
    def _log_inverse_prior(self) -> float:
        """Of a prior that is settled in advance: the player's own, or the same for everybody."""
        hypotheses = self.learner.hypotheses
        if self.learner.primal.exact:
            return cast(ExactWeights, hypotheses).log_inverse_prior
        return hypotheses.log_size


def _reports(rounds: Sequence[OpenRound]) -> int:
    return sum(round_.outcome == "report" for round_ in rounds)


def _off(learner: Learner, t: int, failing: float) -> float:
    """By how much a published score may differ from the chance of approval.

    Surely for a player that knows its policy; else in all rounds at once, for everybody in them,
    with probability 1 − failing: sqrt(ln(2·k·t·(t + 1)/failing)/(2·R_t)), by Hoeffding.
    """
    if learner.primal.exact:
        hypotheses = learner.hypotheses
        return bounds.UNIT + (hypotheses.cut if isinstance(hypotheses, ExactWeights) else 0.0)
    log = math.log(2.0 * learner.k * t * (t + 1) / failing)
    return math.sqrt(log / (2.0 * score_draws(learner, t))) + bounds.UNIT


def _bias(score: float, off: float, gamma: float, *, exact: bool) -> float:
    """How far J = 1/(q~ + off + gamma) may be off in the mean, at a published score q~.

    Of published scores it is at most 2·q~·(gamma + 2·off)/(q~ + off + gamma), and 2·q~. For a
    player that knows its policy it is taken of that, which adds 2·off.
    """
    if not exact:
        return 2.0 * score * min(1.0, (gamma + 2.0 * off) / (score + off + gamma))
    return 2.0 * (score + off) * (gamma + off) / (score + off + gamma) + 2.0 * off


def _incomplete(round_: OpenRound) -> bool:
    """Test whether labels of approved people are missing, or a decision was not ours."""
    return bool(round_.overrides) or round_.awaiting_labels(one_sided=True) > 0


def _charge(learner: Learner, round_: OpenRound, gamma: float | None) -> Charge:
    """The charges of a round; of its labels with J = 1/(q + gamma) where gamma is given."""
    people, amounts = _labels(learner, round_, gamma)
    reported, wrong, beta = 0, 0.0, bounds.asked_beta(learner)
    if round_.outcome == "report" and not learner.ignores_reports:
        amount = report_cost(round_.lam / learner.audit_share, len(round_.pairs))
        reported = amount * len(round_.pairs)
        for over, under in round_.pairs:
            gap = (round_.decisions[over].score - round_.decisions[under].score) / ONE
            wrong += amount / ONE * (1.0 - gap + beta)
            people, amounts = [*people, over, under], [*amounts, amount, -amount]
    paid = sum(a * round_.decisions[p].score for p, a in zip(people, amounts, strict=True))
    return Charge(people, amounts, paid, reported, wrong)


def _labels(
    learner: Learner, round_: OpenRound, gamma: float | None
) -> tuple[list[str], list[int]]:
    """The charges of a round's labels."""
    by_id, schema = {p.id: p for p in round_.people}, learner.hypotheses.schema
    alike, pricing = learner.loss.alike, learner.pricing
    people, amounts = [], []
    for person, decision in round_.decisions.items():
        if pricing.one_sided and person in round_.overrides:
            continue
        weights = ALIKE if alike else learner.loss.weights(schema, by_id[person])
        label = round_.labels.get(person)
        if gamma is not None:
            seen = 0.0
            if label is not None:
                chance = decision.score / ONE + gamma
                seen = sum(weights) / ONE * (1.0 - float(label)) / chance
            amounts.append(math.floor(pricing.unit * (seen - weights[1] / ONE)))
        elif label is not None:
            amounts.append(pricing.labelled(decision, to_units(label), weights))
        else:
            amounts.append(pricing.sealed(decision, weights))  # 0 with full information
        people.append(person)
    return people, amounts
