"""Predecessors: earlier algorithms to compare with, and a fixed trade-off."""

from likewise.baselines.bechavod_jung_wu import bechavod_jung_wu
from likewise.baselines.bechavod_roth import bechavod_roth, exp2
from likewise.baselines.fixed_trade_off import fixed_trade_off
from likewise.baselines.gillen import gillen

__all__ = ["bechavod_jung_wu", "bechavod_roth", "exp2", "fixed_trade_off", "gillen"]
