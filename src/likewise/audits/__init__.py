"""Audits of what exists: the scores of a model in use before a panel, and the price of passing."""

from likewise.audits.groups import GroupRate, GroupRates
from likewise.audits.price import Price
from likewise.audits.result import AtAlpha, Audit, Finding, UnderRule
from likewise.audits.run import audit
from likewise.audits.sampling import Interval
from likewise.audits.survey import Survey

__all__ = [
    "AtAlpha",
    "Audit",
    "Finding",
    "GroupRate",
    "GroupRates",
    "Interval",
    "Price",
    "Survey",
    "UnderRule",
    "audit",
]
