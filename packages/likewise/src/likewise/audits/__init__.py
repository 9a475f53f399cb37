"""Audits of what exists: the scores of a model in use before a panel, and the price of passing."""

from likewise.audits.price import Price
from likewise.audits.basis import Basis
from likewise.audits.comparison import Change, Comparison
from likewise.audits.groups import GroupPairs, GroupRate, GroupRates
from likewise.audits.result import Audit, Finding, Person, Reported
from likewise.audits.run import audit
from likewise.audits.survey import Survey
from likewise.numerics.intervals import Interval

__all__ = [
    "Audit",
    "Basis",
    "Change",
    "Comparison",
    "Finding",
    "GroupPairs",
    "GroupRate",
    "GroupRates",
    "Interval",
    "Person",
    "Price",
    "Reported",
    "Survey",
    "audit",
]
