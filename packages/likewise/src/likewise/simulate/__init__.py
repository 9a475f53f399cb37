"""Simulation: worlds, the game that a learner plays in one, and the best policies in hindsight."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from likewise.registry import WORLDS

if TYPE_CHECKING:
    from likewise.simulate.baselines import (
        Baseline,
        Rates,
        accuracy_only,
        baseline,
        constant,
        untaught,
    )
    from likewise.simulate.hindsight import (
        BestFair,
        ColumnPolicy,
        Comparators,
        Faced,
        PricedPolicy,
        best_fair_by_columns,
        best_fair_policy,
        best_passing_policy,
        compare_with_fixed,
        exact_search,
        faced_rounds,
        priced_policies,
        slacks_of,
    )
    from likewise.simulate.loans import Adaptive, Adversarial, Drift, Loans, Strategic, Turnover
    from likewise.simulate.play import (
        AT_ONCE,
        EVALUATION_DRAWS,
        Delay,
        Delays,
        Moment,
        PolicyView,
        Transcript,
        parse_delay,
    )
    from likewise.simulate.programs import ComparatorError, Constraints
    from likewise.simulate.settings import Setting, setting, settings_of
    from likewise.simulate.world import (
        Admissions,
        Course,
        Encounter,
        Memoryless,
        MissingDataError,
        Recorded,
        Resampled,
        Steady,
        View,
        World,
    )

__all__ = [
    "AT_ONCE",
    "EVALUATION_DRAWS",
    "WORLDS",
    "Adaptive",
    "Admissions",
    "Adversarial",
    "Baseline",
    "BestFair",
    "ColumnPolicy",
    "ComparatorError",
    "Comparators",
    "Constraints",
    "Course",
    "Delay",
    "Delays",
    "Drift",
    "Encounter",
    "Faced",
    "Loans",
    "Memoryless",
    "MissingDataError",
    "Moment",
    "PolicyView",
    "PricedPolicy",
    "Rates",
    "Recorded",
    "Resampled",
    "Setting",
    "Steady",
    "Strategic",
    "Transcript",
    "Turnover",
    "View",
    "World",
    "accuracy_only",
    "baseline",
    "best_fair_by_columns",
    "best_fair_policy",
    "best_passing_policy",
    "compare_with_fixed",
    "constant",
    "exact_search",
    "faced_rounds",
    "parse_delay",
    "priced_policies",
    "setting",
    "settings_of",
    "slacks_of",
    "untaught",
]

# Names are looked up when they are first used: worlds need numpy and comparators scipy, and the
# command line, which reads its options off a Game, must start at once.
_HOMES = {
    "baselines": ("Baseline", "Rates", "accuracy_only", "baseline", "constant", "untaught"),
    "hindsight": (
        "BestFair", "ColumnPolicy", "Comparators", "Faced", "PricedPolicy", "best_fair_by_columns",
        "best_fair_policy", "best_passing_policy", "compare_with_fixed", "exact_search",
        "faced_rounds", "priced_policies", "slacks_of",
    ),
    "loans": ("Adaptive", "Adversarial", "Drift", "Loans", "Strategic", "Turnover"),
    "play": (
        "AT_ONCE", "EVALUATION_DRAWS", "Delay", "Delays", "Moment", "PolicyView", "Transcript",
        "parse_delay",
    ),
    "programs": ("ComparatorError", "Constraints"),
    "settings": ("Setting", "setting", "settings_of"),
    "world": (
        "Admissions", "Course", "Encounter", "Memoryless", "MissingDataError", "Recorded",
        "Resampled", "Steady", "View", "World",
    ),
}  # fmt: skip


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"likewise.simulate.{home}"), name)
    raise AttributeError(f"module 'likewise.simulate' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
