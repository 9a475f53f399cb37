"""Worlds: streams of people, labels and panels, each from a reason that the paper gives."""

from likewise.registry import WORLDS
from likewise.worlds.adaptive import Adaptive
from likewise.worlds.admissions import Admissions
from likewise.worlds.adversarial import Adversarial
from likewise.worlds.base import Course, Encounter, Memoryless, Recorded, Steady, View, World
from likewise.worlds.drift import Drift
from likewise.worlds.linear import Linear
from likewise.worlds.loans import Loans
from likewise.worlds.people.compas import CompasFitted, CompasJudged
from likewise.worlds.people.credit import GermanCredit, LawSchool, TaiwanCredit
from likewise.worlds.people.phd import PhdAdmissions
from likewise.worlds.people.resampled import Resampled
from likewise.worlds.settings import Setting, setting, settings_of
from likewise.worlds.strategic import Strategic
from likewise.worlds.turnover import Turnover

__all__ = [
    "WORLDS",
    "Adaptive",
    "Admissions",
    "Adversarial",
    "CompasFitted",
    "CompasJudged",
    "Course",
    "Drift",
    "Encounter",
    "GermanCredit",
    "LawSchool",
    "Linear",
    "Loans",
    "Memoryless",
    "PhdAdmissions",
    "Recorded",
    "Resampled",
    "Setting",
    "Steady",
    "Strategic",
    "TaiwanCredit",
    "Turnover",
    "View",
    "World",
    "setting",
    "settings_of",
]
