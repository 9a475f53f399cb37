"""H: what can be decided, and the points on which it can be told apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from likewise.errors import HypothesisError
from likewise.hypotheses.base import Bits, ExactWeights, HypothesisClass, Points
from likewise.hypotheses.boolean import Conjunctions, Disjunctions, Parities
from likewise.hypotheses.decision_lists import DecisionLists
from likewise.hypotheses.linear import LinearByIntercepts
from likewise.hypotheses.listed import Listed
from likewise.hypotheses.pool import Cut, Pool
from likewise.hypotheses.segments import Segments
from likewise.hypotheses.separating import greedy_separating_set, verify_separating_set
from likewise.hypotheses.staircases import Staircases
from likewise.hypotheses.stumps import Stumps

__all__ = [
    "CLASSES",
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

CLASSES: dict[str, type[HypothesisClass]] = {
    "pool": Pool,
    "segments": Segments,
    "staircases": Staircases,
    "conjunctions": Conjunctions,
    "disjunctions": Disjunctions,
    "parities": Parities,
    "decision-lists": DecisionLists,
    "stumps": Stumps,
    "linear-by-intercepts": LinearByIntercepts,
}


def class_from_spec(spec: Mapping[str, Any]) -> HypothesisClass:
    """Read any hypothesis class from its JSON."""
    name = spec.get("class")
    if name not in CLASSES:
        raise HypothesisError(
            f"A hypothesis class must be one of {', '.join(CLASSES)}; got {name!r}."
        )
    return CLASSES[name].from_spec(spec)
