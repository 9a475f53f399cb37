"""Audits of what exists: the scores of a model in use before a panel, and the price of passing."""

from likewise.audits.elicitation import Elicited, Judgement, elicit, read_judgements
from likewise.audits.judging import judging_page, questions
from likewise.audits.monitor import Batch, Monitor
from likewise.audits.price import Price
from likewise.audits.result import Audit, Finding, GroupRate, GroupRates, Reported
from likewise.audits.run import audit
from likewise.audits.survey import Survey
from likewise.numerics.intervals import Interval

__all__ = [
    "Audit",
    "Batch",
    "Elicited",
    "Finding",
    "GroupRate",
    "GroupRates",
    "Interval",
    "Judgement",
    "Monitor",
    "Price",
    "Reported",
    "Survey",
    "audit",
    "elicit",
    "judging_page",
    "questions",
    "read_judgements",
]
