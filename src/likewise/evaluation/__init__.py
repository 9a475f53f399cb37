"""Evaluation: how a learner did, against the best fair policy in hindsight."""

from likewise.evaluation.comparator import BestFair, Faced, best_fair_policy, faced_rounds
from likewise.evaluation.comparator_rows import ComparatorError

__all__ = ["BestFair", "ComparatorError", "Faced", "best_fair_policy", "faced_rounds"]
