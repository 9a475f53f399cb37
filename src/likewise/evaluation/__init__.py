"""Evaluation: how a learner did, against the best fixed policies in hindsight."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from likewise.evaluation.faced import Faced, faced_rounds
    from likewise.evaluation.forms import ComparatorError
    from likewise.evaluation.hindsight import (
        BestFair,
        ColumnPolicy,
        Comparators,
        PricedPolicy,
        best_fair_by_columns,
        best_fair_policy,
        compare_with_fixed,
        exact_search,
        priced_policies,
        slacks_of,
    )
    from likewise.evaluation.passing import best_passing_policy
    from likewise.evaluation.program import Constraints

__all__ = [
    "BestFair", "ColumnPolicy", "ComparatorError", "Comparators", "Constraints", "Faced",
    "PricedPolicy", "best_fair_by_columns", "best_fair_policy", "best_passing_policy",
    "compare_with_fixed", "exact_search", "faced_rounds", "priced_policies", "slacks_of",
]  # fmt: skip

_HOMES = {
    "ComparatorError": "forms",
    "Constraints": "program",
    "Faced": "faced",
    "best_passing_policy": "passing",
    "faced_rounds": "faced",
}


def __getattr__(name: str) -> Any:
    # Looked up when they are first used: they need scipy, and counting does not.
    if name in __all__:
        home = _HOMES.get(name, "hindsight")
        return getattr(import_module(f"likewise.evaluation.{home}"), name)
    raise AttributeError(f"module 'likewise.evaluation' has no attribute {name!r}")
