"""The theorems of ``docs/theory.md`` for full information and for one-sided labels, as numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from likewise.learning.bounds.base import UNIT, Bound, charged_eta, proven_margin
from likewise.learning.bounds.multipliers import Side, concluded
from likewise.learning.bounds.players import Lateness, Price
from likewise.learning.dual import GradientAscent
from likewise.learning.learner import Learner
from likewise.learning.schedules import SelfTuned

IN_EXPECTATION = "in expectation, against an oblivious adversary"
UNSEEN = "against any adversary whose labels do not depend on the round's own draws"


@dataclass(frozen=True)
class Theorems:
    """The inequalities of Theorems B, C, C′ and E, with late feedback and audits of a share.

    They all end in regret ≤ (k/eta)·W and a number of reports, each counted as one over the share.
    """

    learner: Learner
    schedule: SelfTuned
    rounds: int
    late: Lateness

    @cached_property
    def eta(self) -> float:
        """As it is charged."""
        return charged_eta(self.learner)

    @cached_property
    def price(self) -> Price:
        """The primal player's C and burst."""
        return Price(self.learner, self.late, self.rounds)

    def full(self) -> tuple[Bound, ...]:
        """Full information."""
        exact = self.learner.primal.exact
        if self.learner.audit_share < 1:
            holds = "in expectation, over the lottery of audits and the draws"
            return self._bound(holds, self.labels(), 0.0 if exact else self.schedule.delta)
        return self._bound(self.holds, self.labels(), 0.0)

    @property
    def holds(self) -> str:
        """With full information and all rounds audited."""
        probable = f"with probability {1 - self.schedule.delta:g}"
        return "surely" if self.learner.primal.exact else probable

    def labels(self) -> float:
        """L = C·eta·sqrt(T) + burst·eta, and how far the estimates of a mixture may be off."""
        price = self.price
        labels = (price.constant * math.sqrt(self.rounds) + price.burst) * self.eta
        if self.learner.primal.experts(self.learner.hypotheses):
            labels += self.eta * math.sqrt(2.0 * self.rounds * self._log(5) / self._draws)
        return labels

    def one_sided(self) -> tuple[Bound, ...]:
        """One-sided labels: in expectation, and for draws with high probability too."""
        eta, rounds, price = self.eta, self.rounds, self.price
        if self.learner.primal.exact:
            # The second term is for J, which is cut off at 2^20, and for rounding.
            rounding = (2.0 * eta + self.learner.k) * UNIT * rounds
            labels = (price.constant * math.sqrt(20.0 * rounds) + 5.0 * price.burst) * eta
            return self._bound(IN_EXPECTATION, labels + rounding, 0.0)
        total, inverse, last = label_terms(rounds)
        bias = 2.0 * eta / math.e * inverse
        squares = rounds + 2.4 * total + (2.0 * last - 1.0) ** 2
        burst = price.burst * eta * (2.0 * last - 1.0)
        average = price.constant * eta * math.sqrt(squares) + bias + burst
        expected = self._bound(IN_EXPECTATION, average, self.schedule.delta)
        if self.learner.audit_share < 1 or self.late.delay:
            return expected
        # Two events may fail, four for a mixture, each with delta/9; estimates with about delta/2.
        log = self._log(9)
        every = log + self.learner.hypotheses.log_size
        squares = (math.e - 1.0) * (rounds + 2.4 * total) + (2.0 * last - 1.0) ** 2 * (1.0 + log)
        spread = 2.0 * eta * math.sqrt(2.0 * (rounds + 0.6 * total) * every)
        spread += 4.0 / 3.0 * eta * (last + 1.0) * every
        if self.learner.primal.experts(self.learner.hypotheses):
            spread += eta * (2.0 * last - 1.0) * math.sqrt(2.0 * rounds * log / self._draws)
        surely = price.constant * eta * math.sqrt(squares) + bias + burst + spread
        holds = f"with probability {1 - self.schedule.delta:g}, {UNSEEN}"
        return expected + self._bound(holds, surely, 0.0, name=f"{self._name}, high probability")

    def _log(self, parts: float) -> float:
        return math.log(parts / self.schedule.delta)

    @property
    def _draws(self) -> int:
        """The fewest draws that estimate scores."""
        learner = self.learner
        experts = max(1, learner.primal.experts(learner.hypotheses))
        return self.schedule.draws(learner.margins, learner.k * experts, 1)

    def _bound(
        self, holds: str, labels: float, failing: float, name: str | None = None
    ) -> tuple[Bound, ...]:
        learner, price = self.learner, self.price
        if proven_margin(learner) <= 0:
            return ()
        delay = self.late.delay
        side = Side(
            learner, self.rounds, delay, labels + price.prices, price.constant, price.burst, failing
        )
        conclusion = concluded(side)
        if conclusion is None:
            return ()
        w, reports = conclusion
        source = f"Theorem {name or self._name}, {learner.primal.name}, C = {price.constant:.3g}"
        if delay:
            source += f", at most {delay} rounds late"
        regret = learner.k / self.eta * w
        return (Bound(source, holds, self.rounds, learner.k, regret, reports + failing),)

    @property
    def _name(self) -> str:
        learner = self.learner
        name = "B"
        if learner.pricing.one_sided:
            name = "C'" if learner.primal.exact else "C"
        if not isinstance(learner.multiplier, GradientAscent):
            name = "E" if name == "B" else f"{name} and E"
        return name if learner.audit_share == 1 else f"{name} and D"


def label_terms(rounds: int) -> tuple[float, float, int]:
    """Σ M_t, Σ 1/M_t and M_T for M_t = ceil(t^{1/3}), which is m where (m−1)³ < t ≤ m³.

    >>> label_terms(9)
    (18.0, 4.833333333333333, 3)
    """
    total, inverse, m, counted = 0.0, 0.0, 0, 0
    while counted < rounds:
        m += 1
        count = min(m**3, rounds) - counted
        total, inverse, counted = total + count * m, inverse + count / m, counted + count
    return total, inverse, m
