"""Evaluation: how a learner did, against the best fixed policies in hindsight."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from likewise.evaluation.comparator import BestFair, Faced, best_fair_policy, faced_rounds
    from likewise.evaluation.comparator_rows import ComparatorError
    from likewise.evaluation.comparators import Comparators, compare_with_fixed, slacks_of
    from likewise.evaluation.hindsight import PricedPolicy, priced_policies

# Looked up when they are first used: they need scipy, and counting does not.
_HOMES = {
    "BestFair": "comparator",
    "ComparatorError": "comparator_rows",
    "Comparators": "comparators",
    "Faced": "comparator",
    "PricedPolicy": "hindsight",
    "best_fair_policy": "comparator",
    "compare_with_fixed": "comparators",
    "faced_rounds": "comparator",
    "priced_policies": "hindsight",
    "slacks_of": "comparators",
}

__all__ = [
    "BestFair",
    "ComparatorError",
    "Comparators",
    "Faced",
    "PricedPolicy",
    "best_fair_policy",
    "compare_with_fixed",
    "faced_rounds",
    "priced_policies",
    "slacks_of",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"likewise.evaluation.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'likewise.evaluation' has no attribute {name!r}")
