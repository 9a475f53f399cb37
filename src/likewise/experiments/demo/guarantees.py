"""Guarantees on regret in plain words: certified after a run, promised before it, or for anybody.

The numbers are those that ``likewise simulate`` prints; here they stand beside what they mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from likewise.evaluation.counts import bounds_of, certificate_of
from likewise.experiments.demo.run import Demo, Shown


@dataclass(frozen=True)
class Guarantee:
    """The regret of a learner beside its limits; ``why_none`` where it has none."""

    name: str
    had: float | None
    certified: Limit | None
    promised: Limit | None
    trivial: int
    why_none: str = ""


@dataclass(frozen=True)
class Limit:
    """The most that regret can be, and in which sense; ``trivial`` is what holds for anybody."""

    regret: float
    holds: str
    trivial: int

    @property
    def says(self) -> str:
        """The sense in which it holds, and a warning where it is no news."""
        if self.regret < self.trivial:
            return self.holds
        return f"{self.holds}; no news, since it is above the limit for any learner"


def guarantees(demo: Demo) -> tuple[Guarantee, ...]:
    """One for every learner that is shown, in order."""
    return tuple(_guarantee(shown) for shown in demo.shown)


def _guarantee(shown: Shown) -> Guarantee:
    summary, trivial = shown.summary, shown.summary.k * shown.summary.rounds
    certificate = certificate_of(shown.transcript)
    if certificate is None:
        return Guarantee(
            shown.name, summary.regret, None, None, trivial,
            "none: it ignores the panel, and no theorem is about such a learner",
        )  # fmt: skip
    before = min(_promised(shown, trivial), key=lambda limit: limit.regret, default=None)
    after = Limit(certificate.regret, certificate.holds, trivial)
    return Guarantee(shown.name, summary.regret, after, before, trivial)


def _promised(shown: Shown, trivial: int) -> Iterator[Limit]:
    for bound in bounds_of(shown.transcript):
        yield Limit(bound.regret, bound.holds, trivial)
