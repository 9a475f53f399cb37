"""Evaluation: how a learner did, against the best fixed policies in hindsight."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from likewise.evaluation.columns import ColumnPolicy, best_fair_by_columns, exact_search
    from likewise.evaluation.comparator import BestFair, best_fair_policy
    from likewise.evaluation.comparator_rows import ComparatorError
    from likewise.evaluation.comparators import Comparators, compare_with_fixed, slacks_of
    from likewise.evaluation.faced import Faced, faced_rounds
    from likewise.evaluation.hindsight import PricedPolicy, priced_policies
    from likewise.evaluation.passing import best_passing_policy

# Looked up when they are first used: they need scipy, and counting does not.
_HOMES = {
    "BestFair": "comparator",
    "ColumnPolicy": "columns",
    "ComparatorError": "comparator_rows",
    "Comparators": "comparators",
    "Faced": "faced",
    "best_fair_by_columns": "columns",
    "PricedPolicy": "hindsight",
    "best_fair_policy": "comparator",
    "best_passing_policy": "passing",
    "exact_search": "columns",
    "compare_with_fixed": "comparators",
    "faced_rounds": "faced",
    "priced_policies": "hindsight",
    "slacks_of": "comparators",
}

__all__ = [
    "BestFair",
    "ColumnPolicy",
    "ComparatorError",
    "Comparators",
    "Faced",
    "PricedPolicy",
    "best_fair_by_columns",
    "best_fair_policy",
    "best_passing_policy",
    "compare_with_fixed",
    "exact_search",
    "faced_rounds",
    "priced_policies",
    "slacks_of",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"likewise.evaluation.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'likewise.evaluation' has no attribute {name!r}")
