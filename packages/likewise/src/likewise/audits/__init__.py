"""Audits of what exists: the scores of a model in use before a panel, and the price of passing."""

from likewise.audits.price import Price
from likewise.audits.result import Audit, Finding, GroupRate, GroupRates, Reported
from likewise.audits.run import audit
from likewise.audits.survey import Survey
from likewise.numerics.intervals import Interval

__all__ = [
    "Audit",
    "Finding",
    "GroupRate",
    "GroupRates",
    "Interval",
    "Price",
    "Reported",
    "Survey",
    "audit",
]
