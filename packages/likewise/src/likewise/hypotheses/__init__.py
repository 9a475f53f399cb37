"""H: what can be decided, and the points on which it can be told apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from likewise.errors import HypothesisError, LikewiseError, shown
from likewise.hypotheses.base import (
    Bits,
    ExactWeights,
    GibbsPolicy,
    HypothesisClass,
    Nested,
    Points,
)
from likewise.hypotheses.boolean import Conjunctions, DecisionLists, Disjunctions, Parities
from likewise.hypotheses.lists import Listed, greedy_separating_set, verify_separating_set
from likewise.hypotheses.pool import Cut, Pool
from likewise.hypotheses.segments import Segments
from likewise.hypotheses.staircases import Staircases
from likewise.hypotheses.trees import LinearByIntercepts, Stumps, Trees
from likewise.registry import HYPOTHESES

__all__ = [
    "HYPOTHESES",
    "Bits",
    "Conjunctions",
    "Cut",
    "DecisionLists",
    "Disjunctions",
    "ExactWeights",
    "GibbsPolicy",
    "HypothesisClass",
    "LinearByIntercepts",
    "Listed",
    "Nested",
    "Parities",
    "Points",
    "Pool",
    "Segments",
    "Staircases",
    "Stumps",
    "Trees",
    "class_from_spec",
    "class_to_spec",
    "greedy_separating_set",
    "verify_separating_set",
]


# Whatever a file that was written by hand makes the reader of a class stumble over.
_STUMBLES = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


def class_to_spec(hypotheses: HypothesisClass) -> dict[str, Any]:
    """Write any hypothesis class as JSON, if it can be read back by its name."""
    if not isinstance(hypotheses, HypothesisClass):
        raise HypothesisError(f"{shown(hypotheses)} is no hypothesis class. Make one: Pool(…), ….")
    spec = hypotheses.spec()
    HYPOTHESES.check_name(spec.get("class"), type(hypotheses))
    return spec


def class_from_spec(spec: Mapping[str, Any]) -> HypothesisClass:
    """Read any hypothesis class from its JSON, by the name that it is registered under.

    >>> class_from_spec({"class": "puddle"})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    likewise.errors.HypothesisError: A hypothesis class must be one of pool, segments, ...; got \
'puddle'. If it is one of your own, its package has to be installed here.
    """
    name = spec.get("class") if isinstance(spec, Mapping) else spec
    if name not in HYPOTHESES:
        raise HypothesisError(
            f"A hypothesis class must be one of {', '.join(HYPOTHESES)}; got {shown(name)}. If it "
            f"is one of your own, its package has to be installed here."
        )
    try:
        return HYPOTHESES[str(name)].from_spec(spec)
    except LikewiseError:
        raise
    except _STUMBLES as error:
        raise HypothesisError(
            f"This is not the JSON of a class {name!r} ({type(error).__name__}: {error}). Compare "
            f"it with what spec() writes."
        ) from error
