"""Configurations: a learner by name with its knob, and what it hears, how late."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from likewise.experiments.learners import LEARNERS, Settings

__all__ = ["Configuration", "fraction"]


def fraction(value: float) -> str:
    """A setting such as eta as people say it.

    >>> fraction(0.25), fraction(1.0)
    ('1/4', '1')
    """
    return str(Fraction(value).limit_denominator(1024))


@dataclass(frozen=True)
class Configuration:
    """One point of a comparison: a learner, its knob, and the feedback that it gets.

    ``eta`` is the knob of self-tuned learners, ``noise_divisor`` that of the paper's; baselines
    have none. ``delay`` is written as on the command line: ``50``, or ``geometric:0.02``.

    >>> Configuration("exact", eta=0.25, delay="50").title
    'exact, eta = 1/4, 50 rounds late'
    """

    learner: str
    eta: float | None = None
    noise_divisor: float | None = None
    feedback: str = "full"
    delay: str = "0"
    audit_share: float = 1.0

    @property
    def self_tuned(self) -> bool:
        """True for learners with the self-tuned schedule: ours, and players that packages add."""
        return "eta" in LEARNERS[self.learner].takes

    @property
    def title(self) -> str:
        """A name for tables."""
        return ", ".join([self.learner, *self._knobs()])

    def _knobs(self) -> Iterator[str]:
        if self.eta is not None:
            yield f"eta = {fraction(self.eta)}"
        if self.noise_divisor is not None:
            power = round(math.log10(self.noise_divisor))
            yield f"noise ÷ 10^{power}" if power else "noise ÷ 1"
        if self.feedback != "full":
            yield f"{self.feedback} labels"
        if self.delay != "0":
            kind, _, chance = self.delay.partition(":")
            yield f"{kind} delay ({chance})" if chance else f"{kind} rounds late"
        if self.audit_share < 1:
            yield f"{fraction(self.audit_share)} audited"

    @property
    def key(self) -> dict[str, Any]:
        """All that tells its runs from others'; settings that were added later if they are used."""
        plain = {"feedback": "full", "delay": "0", "audit_share": 1.0}
        return {name: v for name, v in asdict(self).items() if plain.get(name, self) != v}

    def settings(self, alpha: float, eps: float) -> Settings:
        """The learner's settings; it is told how late feedback is, where that is a number."""
        return Settings(
            alpha, eps, eta=self.eta, noise_divisor=self.noise_divisor or 1.0,
            feedback=self.feedback, audit_share=self.audit_share,
        )  # fmt: skip
