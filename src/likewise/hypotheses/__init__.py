"""H: what can be decided, and the points on which it can be told apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from likewise.errors import HypothesisError
from likewise.hypotheses.base import Bits, ExactWeights, HypothesisClass, Points
from likewise.hypotheses.cells.segments import Segments
from likewise.hypotheses.cells.staircases import Staircases
from likewise.hypotheses.listed.base import Listed
from likewise.hypotheses.listed.boolean import Conjunctions, Disjunctions, Parities
from likewise.hypotheses.listed.decision_lists import DecisionLists
from likewise.hypotheses.listed.linear import LinearByIntercepts
from likewise.hypotheses.listed.pool import Cut, Pool
from likewise.hypotheses.listed.stumps import Stumps
from likewise.hypotheses.separating import greedy_separating_set, verify_separating_set
from likewise.registry import HYPOTHESES

__all__ = [
    "HYPOTHESES",
    "Bits",
    "Conjunctions",
    "Cut",
    "DecisionLists",
    "Disjunctions",
    "ExactWeights",
    "HypothesisClass",
    "LinearByIntercepts",
    "Listed",
    "Parities",
    "Points",
    "Pool",
    "Segments",
    "Staircases",
    "Stumps",
    "class_from_spec",
    "greedy_separating_set",
    "verify_separating_set",
]


def class_from_spec(spec: Mapping[str, Any]) -> HypothesisClass:
    """Read any hypothesis class from its JSON, by the name that it is registered under."""
    name = str(spec.get("class"))
    if name not in HYPOTHESES:
        raise HypothesisError(
            f"A hypothesis class must be one of {', '.join(HYPOTHESES)}; got {name!r}. If it is "
            f"one of your own, its package has to be installed here."
        )
    return HYPOTHESES[name].from_spec(spec)
