"""Learners to compare with: predecessors, and those who ignore the panel or everything."""

from likewise.baselines.base import Baseline, Rates, baseline
from likewise.baselines.bechavod_jung_wu import bechavod_jung_wu
from likewise.baselines.bechavod_roth import bechavod_roth, exp2
from likewise.baselines.fixed_trade_off import fixed_trade_off
from likewise.baselines.gillen import gillen
from likewise.baselines.plain import accuracy_only, constant, untaught
from likewise.registry import BASELINES

__all__ = [
    "BASELINES",
    "Baseline",
    "Rates",
    "accuracy_only",
    "baseline",
    "bechavod_jung_wu",
    "bechavod_roth",
    "constant",
    "exp2",
    "fixed_trade_off",
    "gillen",
    "untaught",
]
