"""Evaluation: how a learner did, against the best fair policy in hindsight."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from likewise.evaluation.comparator import BestFair, Faced, best_fair_policy, faced_rounds
    from likewise.evaluation.comparator_rows import ComparatorError

# Looked up when they are first used: they need scipy, and counting does not.
_HOMES = {
    "BestFair": "comparator",
    "ComparatorError": "comparator_rows",
    "Faced": "comparator",
    "best_fair_policy": "comparator",
    "faced_rounds": "comparator",
}

__all__ = ["BestFair", "ComparatorError", "Faced", "best_fair_policy", "faced_rounds"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"likewise.evaluation.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'likewise.evaluation' has no attribute {name!r}")
