"""Learners to compare with: those who ignore the panel, and those who ignore everything."""

from collections.abc import Callable

from likewise.baselines.accuracy_only import accuracy_only
from likewise.baselines.constant import constant
from likewise.baselines.untaught import untaught
from likewise.learning import Learner

__all__ = ["Baseline", "accuracy_only", "constant", "untaught"]

Baseline = Callable[..., Learner]
