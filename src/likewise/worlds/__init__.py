"""Worlds: streams of people, labels and panels, each for a reason that the paper gives."""

from likewise.registry import WORLDS
from likewise.worlds.adaptive import Adaptive
from likewise.worlds.admissions import Admissions
from likewise.worlds.adversarial import Adversarial
from likewise.worlds.base import (
    Course,
    Encounter,
    Memoryless,
    MissingDataError,
    Recorded,
    Steady,
    View,
    World,
)
from likewise.worlds.drift import Drift
from likewise.worlds.loans import Loans
from likewise.worlds.resampled import Resampled
from likewise.worlds.settings import Setting, setting, settings_of
from likewise.worlds.strategic import Strategic
from likewise.worlds.turnover import Turnover

__all__ = [
    "WORLDS", "Adaptive", "Admissions", "Adversarial", "Course", "Drift", "Encounter",
    "Loans", "Memoryless", "MissingDataError", "Recorded", "Resampled", "Setting", "Steady",
    "Strategic", "Turnover", "View", "World", "setting", "settings_of",
]  # fmt: skip
