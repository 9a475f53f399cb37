"""The protocol of a baseline: a name, a sentence about it, and one signature.

A package adds one with an entry point of the group ``likewise.baselines``; the command line and
studies then know it by name, beside ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from likewise.hypotheses import HypothesisClass
from likewise.learning import Learner

__all__ = ["Baseline", "NamedBaseline", "baseline"]


class MakesLearner(Protocol):
    """The one signature.

    ``rounds`` is the horizon, for those whose constants depend on it; None where there is none.
    """

    def __call__(
        self, hypotheses: HypothesisClass, k: int, alpha: float, eps: float, seed: int, *,
        rounds: int | None = None,
    ) -> Learner:  # fmt: skip
        """Make the learner for a class, rounds of at most k people, alpha, eps and a seed."""


class Baseline(MakesLearner, Protocol):
    """A learner to compare with, as the registry knows it: :func:`baseline` makes one."""

    @property
    def name(self) -> str:
        """The name under which it is registered."""

    @property
    def summary(self) -> str:
        """One line for ``likewise list`` and the reports."""


@dataclass(frozen=True)
class NamedBaseline:
    """A function with a name and a summary; calling it makes the learner."""

    name: str
    summary: str
    make: MakesLearner

    def __call__(
        self, hypotheses: HypothesisClass, k: int, alpha: float, eps: float, seed: int, *,
        rounds: int | None = None,
    ) -> Learner:  # fmt: skip
        """Make the learner."""
        return self.make(hypotheses, k, alpha, eps, seed, rounds=rounds)


def baseline(name: str, summary: str) -> Callable[[MakesLearner], NamedBaseline]:
    """Turn a function of the one signature into a baseline.

    >>> from likewise.learning import SelfTuned
    >>> @baseline("slow", "self-tuned, with much noise")
    ... def slow(hypotheses, k, alpha, eps, seed, *, rounds=None):
    ...     return Learner(hypotheses, k, alpha, eps, seed, schedule=SelfTuned(x=100.0))
    >>> slow.name, slow.summary
    ('slow', 'self-tuned, with much noise')
    """

    def named(make: MakesLearner) -> NamedBaseline:
        made = NamedBaseline(name, summary, make)
        # The function's own sentence is what help(…) shows, not that of the class.
        object.__setattr__(made, "__doc__", make.__doc__)
        return made

    return named
