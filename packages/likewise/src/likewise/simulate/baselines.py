"""Baselines: learners to compare with. The protocol, and the three plainest of them.

A package adds one with an entry point of the group ``likewise.baselines``; the command line and
sweeps then know it by name. A baseline builds a learner, or any algorithm that can play the game
(:mod:`likewise.simulate.rounds`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from likewise.errors import HypothesisError
from likewise.hypotheses.base import ExactWeights, HypothesisClass
from likewise.hypotheses.pool import Cut, Pool
from likewise.learner.schedules import SelfTuned
from likewise.learner.settings import Learner, player_named
from likewise.people.features import Feature
from likewise.simulate.rounds import Algorithm

# So warm that no cost of any horizon moves the weights.
HOT = 1e9


class Baseline(Protocol):
    """A learner to compare with; :func:`baseline` turns a function into one.

    All baselines have one signature; settings of its own may follow ``rounds``, by name and with
    defaults. ``rounds`` is the horizon, for those whose constants depend on it.
    """

    @property
    def name(self) -> str:
        """The name under which it is registered."""

    @property
    def summary(self) -> str:
        """One line for ``likewise list`` and the reports."""

    def __call__(
        self, hypotheses: HypothesisClass, k: int, alpha: float, eps: float, seed: int, *,
        rounds: int | None = None, **settings: Any,
    ) -> Learner | Algorithm:  # fmt: skip
        """Build the learner for a class, rounds of at most k people, alpha, eps and a seed."""


@dataclass(frozen=True)
class NamedBaseline:
    """A function with a name and a summary; calling it builds the learner."""

    name: str
    summary: str
    make: Callable[..., Learner | Algorithm]

    def __call__(
        self, hypotheses: HypothesisClass, k: int, alpha: float, eps: float, seed: int, *,
        rounds: int | None = None, **settings: Any,
    ) -> Learner | Algorithm:  # fmt: skip
        """Build the learner."""
        return self.make(hypotheses, k, alpha, eps, seed, rounds=rounds, **settings)


def baseline(
    name: str, summary: str
) -> Callable[[Callable[..., Learner | Algorithm]], NamedBaseline]:
    """Turn a function of the one signature into a baseline.

    >>> @baseline("slow", "self-tuned, with much noise")
    ... def slow(hypotheses, k, alpha, eps, seed, *, rounds=None, x: float = 100.0):
    ...     return Learner(hypotheses, k, alpha, eps, seed, schedule=SelfTuned(x=x))
    >>> slow.name, slow.summary
    ('slow', 'self-tuned, with much noise')
    """

    def decorate(make: Callable[..., Learner | Algorithm]) -> NamedBaseline:
        named = NamedBaseline(name, summary, make)
        # help(…) shows the function's own docstring, not that of the class.
        object.__setattr__(named, "__doc__", make.__doc__)
        return named

    return decorate


@baseline("accuracy-only", "ignores the panel: accurate, unfair in almost every round")
def accuracy_only(
    hypotheses: HypothesisClass, k: int, alpha: float, eps: float, seed: int, *,
    rounds: int | None = None,  # noqa: ARG001
) -> Learner:  # fmt: skip
    """A no-regret learner on the misclassification loss alone (section "On Achieving Simultaneous
    No-Regret Guarantees"): accurate, and unfair in almost every round.
    """
    # A third of the bound's best temperature: nothing but accuracy is at stake, so learn fast.
    player = player_named("auto", hypotheses, "compiled")
    schedule = SelfTuned(eta=1.0, x=player.best_x(hypotheses) / 3)
    return Learner(hypotheses, k, alpha, eps, seed, schedule=schedule, ignores_reports=True)


@baseline("untaught", "equal weights in every round, whatever happens")
def untaught(
    hypotheses: HypothesisClass, k: int, alpha: float, eps: float, seed: int, *,
    rounds: int | None = None,  # noqa: ARG001
) -> Learner:  # fmt: skip
    """Give all hypotheses equal weights forever: learning must do better than that."""
    schedule = SelfTuned(eta=1.0, x=HOT)
    if isinstance(hypotheses, ExactWeights):
        hypotheses = hypotheses.with_prior("flat")
    return Learner(
        hypotheses, k, alpha, eps, seed, schedule=schedule, player="exponential-weights",
        ignores_reports=True,
    )  # fmt: skip


@baseline("constant", "approves everybody: never unfair, learns nothing")
def constant(
    hypotheses: HypothesisClass, k: int, alpha: float, eps: float, seed: int, *,
    rounds: int | None = None,  # noqa: ARG001
) -> Learner:  # fmt: skip
    """Approve everybody (section "On Achieving Simultaneous No-Regret Guarantees"): a class of one
    hypothesis, over the features of the class that others choose from.
    """
    schema = hypotheses.schema
    column = next((f.name for f in schema.features if f.missing is None), None)
    if column is None:
        raise HypothesisError(
            "A constant is a cut on a feature that everybody has; here each of them may be missing "
            "in somebody. Fill one of them in."
        )
    anybody = np.array([[_plain(feature) for feature in schema.features]])
    alone = Pool(schema, [Cut(column, -np.inf)], anybody)
    return Learner(alone, k, alpha, eps, seed, ignores_reports=True)


def _plain(feature: Feature) -> float:
    """The value nearest to 0 that the feature may have."""
    low, high = feature.limits
    value = min(max(0.0, low), high)
    return value if feature.kind == "number" else float(math.ceil(value))
