"""Learners to compare with: those who ignore the panel, and those who ignore everything."""

from likewise.baselines.accuracy_only import accuracy_only
from likewise.baselines.constant import constant
from likewise.baselines.untaught import untaught

__all__ = ["accuracy_only", "constant", "untaught"]
