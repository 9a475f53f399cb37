"""Learners to compare with: those who ignore the panel, and those who ignore everything."""

from likewise.baselines.accuracy_only import accuracy_only
from likewise.baselines.base import Baseline, baseline
from likewise.baselines.constant import constant
from likewise.baselines.untaught import untaught
from likewise.registry import BASELINES

__all__ = ["BASELINES", "Baseline", "accuracy_only", "baseline", "constant", "untaught"]
