"""The part that predecessors share: their settings, what is refused, and what is shown of them."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self

from likewise.algorithms import Algorithm
from likewise.errors import HypothesisError, ParameterError
from likewise.hypotheses import ExactWeights, HypothesisClass
from likewise.validation import integer, real

__all__ = ["Predecessor", "check_divisor", "exact_weights", "horizon_of"]


def horizon_of(rounds: int | None, name: str) -> int:
    """The horizon, which the constants of a predecessor need."""
    if rounds is None:
        raise ParameterError("rounds", f"must be given for {name}", rounds, "Its constants need T.")
    return integer("rounds", rounds, 1, 1 << 32, "It is T.")


def check_divisor(name: str, value: float, most: float) -> None:
    """Check a divisor of a predecessor's own noise or widths: above 0 and below the most."""
    divisor = real(name, value, "1 is the predecessor's own.")
    if not 0 < divisor < most:
        raise ParameterError(name, f"must be in (0, {most:,.0f})", divisor, "Try 1.")


def exact_weights(hypotheses: HypothesisClass, name: str, instead: str = "") -> ExactWeights:
    """The class, if its weights are known exactly.

    >>> from likewise.hypotheses import Pool
    >>> exact_weights(Pool.from_table([[0, 1], [1, 1]]), "exp2").size
    2
    """
    if not isinstance(hypotheses, ExactWeights):
        raise HypothesisError(
            f"{type(hypotheses).__name__} has no exact weights, which {name} needs. {instead}"
            .rstrip()
        )  # fmt: skip
    return hypotheses


@dataclass(eq=False)
class Predecessor(Algorithm):
    """An algorithm by its name and its settings; it calls no oracle unless it says so.

    What it learns in a game it keeps in attributes that ``__post_init__`` sets.
    """

    name: str
    hypotheses: HypothesisClass
    k: int
    alpha: float
    eps: float
    seed: int

    def fresh(self) -> Self:
        """The same settings, before the first round."""
        return replace(self)

    def calls_a_round(self, rounds: int) -> float:  # noqa: ARG002
        """None, whatever the horizon."""
        return 0.0

    @property
    @abstractmethod
    def constants(self) -> dict[str, Any]:
        """Its own settings and what follows from them, by name."""

    def settings(self) -> dict[str, Any]:
        """The settings that all have, and its own."""
        return {
            "algorithm": self.name, "hypotheses": self.hypotheses.spec(), "k": self.k,
            "alpha": self.alpha, "eps": self.eps, "seed": self.seed, **self.constants,
        }  # fmt: skip
