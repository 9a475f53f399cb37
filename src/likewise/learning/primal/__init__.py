"""Primal players: who sets the policy."""

from likewise.learning.primal.base import Frozen, Outlook, Player
from likewise.learning.primal.context_ftpl import ContextFTPL
from likewise.learning.primal.exponential_weights import ExponentialWeights

__all__ = ["ContextFTPL", "ExponentialWeights", "Frozen", "Outlook", "Player"]
