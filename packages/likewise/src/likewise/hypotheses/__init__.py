"""H: what can be decided, and the points on which it can be told apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
    "greedy_separating_set",
    "verify_separating_set",
]


def class_from_spec(spec: Mapping[str, Any]) -> HypothesisClass:
    """Read any hypothesis class from its JSON, by the name that it is registered under."""
    hypotheses: HypothesisClass = HYPOTHESES.read(spec)
    return hypotheses
