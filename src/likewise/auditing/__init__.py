"""Auditing: who objects to what, which objections make a report, and the pivot of every pair."""

from likewise.auditing.agreement import (
    Agreement,
    Consistency,
    MemberAgreement,
    consistency,
    krippendorff_alpha,
)
from likewise.auditing.metric_auditor import MetricAuditor, distance_units
from likewise.auditing.metrics.base import Distance, Metric, metric_from_spec, metric_to_spec
from likewise.auditing.metrics.by_feature import Mahalanobis, Masked, WeightedL1
from likewise.auditing.metrics.opinions import FromColumns, FromFunction, Ratings
from likewise.auditing.metrics.sides import Sides
from likewise.auditing.objections import MemberObjections, Objections, Pair
from likewise.auditing.panel import Panel, panel_name
from likewise.auditing.pivots import Pivots, exceeding_pairs, exceeds
from likewise.auditing.reporting import Report, decisive, report
from likewise.auditing.rules.base import And, Or, Rule
from likewise.auditing.rules.members import Never, Objects, never, objects, veto
from likewise.auditing.rules.parsing import as_rule, parse_rule
from likewise.auditing.rules.shares import Share
from likewise.auditing.rules.thresholds import (
    AtLeast,
    Weighted,
    all_of,
    any_of,
    at_least,
    majority,
    more_than,
)
from likewise.auditing.rules.truth import from_function, from_truth_table
from likewise.auditing.selection import (
    AllPairs,
    FirstPair,
    LargestGap,
    RandomPair,
    Selection,
    selection_from_spec,
    selection_to_spec,
)

__all__ = [
    "Agreement",
    "AllPairs",
    "And",
    "AtLeast",
    "Consistency",
    "Distance",
    "FirstPair",
    "FromColumns",
    "FromFunction",
    "LargestGap",
    "Mahalanobis",
    "Masked",
    "MemberAgreement",
    "MemberObjections",
    "Metric",
    "MetricAuditor",
    "Never",
    "Objections",
    "Objects",
    "Or",
    "Pair",
    "Panel",
    "Pivots",
    "RandomPair",
    "Ratings",
    "Report",
    "Rule",
    "Selection",
    "Share",
    "Sides",
    "Weighted",
    "WeightedL1",
    "all_of",
    "any_of",
    "as_rule",
    "at_least",
    "consistency",
    "decisive",
    "distance_units",
    "exceeding_pairs",
    "exceeds",
    "from_function",
    "from_truth_table",
    "krippendorff_alpha",
    "majority",
    "metric_from_spec",
    "metric_to_spec",
    "more_than",
    "never",
    "objects",
    "panel_name",
    "parse_rule",
    "report",
    "selection_from_spec",
    "selection_to_spec",
    "veto",
]
