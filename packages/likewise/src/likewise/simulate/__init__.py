"""Simulation: worlds, the game that a learner plays in one, and the best policies in hindsight."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from likewise.registry import WORLDS

if TYPE_CHECKING:
    from likewise.simulate.hindsight import (
        BestFair, ColumnPolicy, Comparators, Faced, best_fair_by_columns, best_fair_policy,
        best_passing_policy, compare_with_fixed, exact_search, faced_rounds, slacks_of,
    )  # fmt: skip
    from likewise.simulate.learners import Baseline, accuracy_only, baseline, constant, untaught
    from likewise.simulate.loans import Adaptive, Adversarial, Drift, Loans, Strategic, Turnover
    from likewise.simulate.programs import ComparatorError, Constraints
    from likewise.simulate.rounds import (
        AT_ONCE, EVALUATION_DRAWS, Delay, Delays, Moment, Transcript, parse_delay, play,
    )  # fmt: skip
    from likewise.simulate.world import (
        Course, Encounter, Memoryless, MissingDataError, Recorded, Resampled, Setting, Steady, View,
        World, setting, settings_of,
    )  # fmt: skip

__all__ = [
    "AT_ONCE", "EVALUATION_DRAWS", "WORLDS", "Adaptive", "Adversarial", "Baseline", "BestFair",
    "ColumnPolicy", "ComparatorError", "Comparators", "Constraints", "Course", "Delay", "Delays",
    "Drift", "Encounter", "Faced", "Loans", "Memoryless", "MissingDataError", "Moment",
    "Recorded", "Resampled", "Setting", "Steady", "Strategic", "Transcript",
    "Turnover", "View", "World", "accuracy_only", "baseline", "best_fair_by_columns",
    "best_fair_policy", "best_passing_policy", "compare_with_fixed", "constant", "exact_search",
    "faced_rounds", "parse_delay", "play", "setting", "settings_of", "slacks_of", "untaught",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    # Looked up when they are first used, so that help is instant; the last module needs scipy.
    for module in ("world", "rounds", "loans", "learners", "hindsight"):
        if name in __all__ and hasattr(home := import_module(f"{__name__}.{module}"), name):
            return getattr(home, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
