"""Three comparators beside every count: the best fixed policies at three levels of strictness.

A learner competes with policies that are fair at alpha − eps. Its panel is asked at alpha − kappa,
so that is what it is driven to; and it violates nothing up to alpha. Each is the best fixed policy
in hindsight at that level, by the same linear program. The first flatters: most of a lead over it
is slack that the learner may use and the comparator may not. The last is the fair one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields

from likewise.algorithms import Algorithm
from likewise.errors import ParameterError
from likewise.evaluation.comparator import best_fair_policy
from likewise.evaluation.faced import Faced
from likewise.fixed_point import ONE
from likewise.hypotheses import HypothesisClass
from likewise.learning import Learner
from likewise.validation import real

__all__ = ["Comparators", "compare_with_fixed", "kappa_of", "slacks_of"]


@dataclass(frozen=True)
class Comparators:
    """The errors of the best fixed policies at alpha − eps, at alpha − kappa and at alpha."""

    at_alpha_less_eps: float
    at_alpha_less_kappa: float
    at_alpha: float

    def __post_init__(self) -> None:
        for one in fields(self):
            value = real(one.name, getattr(self, one.name), "It is a number of errors.")
            object.__setattr__(self, one.name, value)

    def rates(self, people: int) -> Comparators:
        """The same for one of so many people."""
        return Comparators(**{name: value / people for name, value in asdict(self).items()})


def kappa_of(learner: Learner | Algorithm) -> float:
    """How much below alpha the panel is asked.

    >>> from likewise.hypotheses import Pool
    >>> pool = Pool.from_table([[0, 0], [0, 1], [1, 1]])
    >>> round(kappa_of(Learner(pool, k=2, alpha=0.3, eps=0.3, seed=1)), 6)
    0.0975
    """
    if isinstance(learner, Learner):
        return float(learner.margins.kappa)
    return learner.alpha - learner.sensitivity / ONE


def slacks_of(learner: Learner | Algorithm) -> tuple[float, float, float]:
    """alpha − eps, alpha − kappa and alpha, to nine digits: beyond them they mean nothing."""
    if not isinstance(learner, Learner | Algorithm):
        raise ParameterError(
            "learner", "must be a Learner or an Algorithm", learner, "Make one: Learner(…)."
        )
    alpha = learner.alpha
    below = (learner.eps, kappa_of(learner), 0.0)
    first, second, third = (max(0.0, round(alpha - less, 9)) for less in below)
    return first, second, third


def compare_with_fixed(
    learner: Learner | Algorithm,
    hypotheses: HypothesisClass,
    rounds: Sequence[Faced],
) -> Comparators:
    """The three comparators of a learner for the rounds that were faced, in numbers of errors.

    >>> import numpy as np
    >>> from likewise.hypotheses import Pool
    >>> pool = Pool.from_table([[0, 0], [0, 1], [1, 1]])
    >>> alike = np.zeros((2, 2), dtype=np.int64)
    >>> faced = Faced(np.array([[0, 0, 1], [0, 1, 1]]), np.array([0, 1]), alike)
    >>> compare_with_fixed(Learner(pool, k=2, alpha=0.5, eps=0.5, seed=1), pool, [faced])
    Comparators(at_alpha_less_eps=1.0, at_alpha_less_kappa=0.6625, at_alpha=0.5)
    """
    errors = [best_fair_policy(hypotheses, rounds, slack).error for slack in slacks_of(learner)]
    return Comparators(*(round(error, 9) for error in errors))
