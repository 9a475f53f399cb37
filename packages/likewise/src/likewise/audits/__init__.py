"""Audits of what exists: the scores of a model in use before a panel, and the price of passing."""

from likewise.audits.elicitation import (
    Elicited, Judgement, elicit, judging_page, questions, read_judgements,
)  # fmt: skip
from likewise.audits.monitor import Batch, Monitor
from likewise.audits.basis import Basis
from likewise.audits.comparison import Change, Comparison
from likewise.audits.groups import GroupPairs, GroupRate, GroupRates
from likewise.audits.result import Audit, Finding, Person, Price, Reported
from likewise.audits.run import audit
from likewise.audits.survey import Survey
from likewise.numerics.intervals import Interval

__all__ = [
    "Audit", "Basis", "Batch", "Change", "Comparison", "Elicited", "Finding", "GroupPairs",
    "GroupRate", "GroupRates", "Interval", "Judgement", "Monitor", "Person", "Price", "Reported",
    "Survey", "audit", "elicit", "judging_page", "questions", "read_judgements",
]  # fmt: skip
