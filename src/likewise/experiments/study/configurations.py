"""Who takes part in a study."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from likewise.baselines import untaught
from likewise.game import parse_delay
from likewise.hypotheses import HypothesisClass
from likewise.learning import Learner, Paper, SelfTuned

__all__ = ["ALPHA", "Configuration"]

ALPHA = 0.3


@dataclass(frozen=True)
class Configuration:
    """One point of a study: a learner with its knob, and what it hears, how late.

    ``delay`` is written as on the command line: ``50``, or ``geometric:0.02``.
    """

    learner: str
    eta: float | None = None
    noise_divisor: float | None = None
    feedback: str = "full"
    delay: str = "0"
    audit_share: float = 1.0

    @property
    def ours(self) -> bool:
        """Whether it is one of our learners."""
        return self.learner in ("self-tuned", "exact")

    @property
    def title(self) -> str:
        """A name for the table."""
        if self.learner == "untaught":
            return "untaught: equal weights for ever"
        if self.ours:
            return ", ".join([self.learner, f"eta = {_fraction(self.eta or 1.0)}", *self._heard()])
        power = round(math.log10(self.noise_divisor or 1.0))
        return f"paper, noise ÷ 10^{power}" if power else "paper, noise ÷ 1"

    def _heard(self) -> Iterator[str]:
        if self.feedback != "full":
            yield f"{self.feedback} labels"
        if self.delay != "0":
            kind, _, chance = self.delay.partition(":")
            yield f"{kind} delay ({chance})" if chance else f"{kind} rounds late"
        if self.audit_share < 1:
            yield f"{_fraction(self.audit_share)} audited"

    def _schedule(self) -> SelfTuned:
        """It is told how late feedback is, where that is a number."""
        late_by = parse_delay(self.delay).longest or 0
        return SelfTuned(eta=self.eta or 1.0, late_by=late_by)

    @property
    def key(self) -> dict[str, Any]:
        """What tells its runs from others'; what was added later counts where it is used."""
        plain = {"feedback": "full", "delay": "0", "audit_share": 1.0}
        return {name: v for name, v in asdict(self).items() if plain.get(name, self) != v}

    def make(
        self, hypotheses: HypothesisClass, k: int, eps: float, seed: int, rounds: int
    ) -> Learner:
        """The learner, at alpha = 0.3."""
        if self.learner == "untaught":
            return untaught(hypotheses, k, ALPHA, eps, seed)
        if self.ours:
            player = {"self-tuned": "context-ftpl", "exact": "exponential-weights"}[self.learner]
            return Learner(
                hypotheses, k, ALPHA, eps, seed, schedule=self._schedule(),
                player=player, feedback=self.feedback, audit_share=self.audit_share,
            )  # fmt: skip
        # The paper's own would be five times the draws, with k Laplace variables a point each. The
        # grid of scales makes up for the second; the first only makes its scores more exact.
        paper = Paper(
            rounds, noise_divisor=self.noise_divisor or 1.0, draws_rule="r", noise="per-point"
        )
        return Learner(hypotheses, k, ALPHA, eps, seed, schedule=paper, player="context-ftpl")


def _fraction(value: float) -> str:
    return f"{value:g}" if value >= 1 else f"1/{round(1 / value)}"
