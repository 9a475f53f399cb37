"""The protocol of a baseline: a name, a sentence about it, and one signature.

A package adds one with an entry point of the group ``likewise.baselines``; the command line and
sweeps then know it by name, beside ours. What it makes is a learner, or any algorithm that can play
the game (:mod:`likewise.algorithms`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from likewise.algorithms import Algorithm
from likewise.hypotheses import HypothesisClass
from likewise.learning import Learner

__all__ = ["Baseline", "NamedBaseline", "Rates", "baseline"]


@dataclass(frozen=True)
class Rates:
    """Growth that was proved, as powers of T, and where; empty where nothing was."""

    regret: str
    violations: str
    reports: str
    source: str


class MakesLearner(Protocol):
    """The one signature; settings of its own may follow ``rounds``, by name and with defaults.

    ``rounds`` is the horizon, for those whose constants depend on it; None where there is none.
    """

    def __call__(
        self, hypotheses: HypothesisClass, k: int, alpha: float, eps: float, seed: int, *,
        rounds: int | None = None, **settings: Any,
    ) -> Learner | Algorithm:  # fmt: skip
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
    make: Callable[..., Learner | Algorithm]
    proved: Mapping[str, Rates] = field(default_factory=dict)

    def __call__(
        self, hypotheses: HypothesisClass, k: int, alpha: float, eps: float, seed: int, *,
        rounds: int | None = None, **settings: Any,
    ) -> Learner | Algorithm:  # fmt: skip
        """Make the learner."""
        return self.make(hypotheses, k, alpha, eps, seed, rounds=rounds, **settings)

    def rates(self, _given: Mapping[str, Any], feedback: str) -> Rates | None:
        """The rates that were proved for such feedback, if any were."""
        return self.proved.get(feedback)


def baseline(
    name: str, summary: str, **proved: Rates
) -> Callable[[Callable[..., Learner | Algorithm]], NamedBaseline]:
    """Turn a function of the one signature into a baseline.

    ``proved`` are the rates for ``full`` and for ``one_sided`` feedback.

    >>> from likewise.learning import SelfTuned
    >>> @baseline("slow", "self-tuned, with much noise")
    ... def slow(hypotheses, k, alpha, eps, seed, *, rounds=None, x: float = 100.0):
    ...     return Learner(hypotheses, k, alpha, eps, seed, schedule=SelfTuned(x=x))
    >>> slow.name, slow.summary
    ('slow', 'self-tuned, with much noise')
    """

    def named(make: Callable[..., Learner | Algorithm]) -> NamedBaseline:
        rates = {feedback.replace("_", "-"): one for feedback, one in proved.items()}
        made = NamedBaseline(name, summary, make, rates)
        # The function's own sentence is what help(…) shows, not that of the class.
        object.__setattr__(made, "__doc__", make.__doc__)
        return made

    return named
