"""Primal players: who sets the policy."""

from likewise.learning.primal.base import Draws, Estimates, Frozen, Player, Term
from likewise.learning.primal.context_ftpl import ContextFTPL
from likewise.learning.primal.exponential_weights import ExponentialWeights
from likewise.learning.primal.nested_ftpl import NestedFTPL

__all__ = [
    "ContextFTPL",
    "Draws",
    "Estimates",
    "ExponentialWeights",
    "Frozen",
    "NestedFTPL",
    "Player",
    "Term",
]
