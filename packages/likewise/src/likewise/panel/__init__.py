"""Auditing: who objects to what, which objections make a report, and the pivot of every pair."""

from likewise.panel.agreement import (
    Agreement, Consistency, MemberAgreement, consistency, krippendorff_alpha,
)  # fmt: skip
from likewise.panel.metrics import (
    Distance, FromColumns, FromFunction, Mahalanobis, Masked, Metric, Ratings, Sides, WeightedL1,
)  # fmt: skip
from likewise.panel.objections import MemberObjections, Objections, Pair
from likewise.panel.panels import MetricAuditor, Panel, panel_name
from likewise.panel.reports import (
    AllPairs, FirstPair, LargestGap, Pivots, RandomPair, Report, Selection, decisive,
    exceeding_pairs, exceeds, report,
)  # fmt: skip
from likewise.panel.rule_language import as_rule, from_function, parse_rule
from likewise.panel.rules import (
    And, AtLeast, Never, Objects, Or, Rule, Share, Weighted, all_of, any_of, at_least, majority,
    more_than, never, objects, veto,
)  # fmt: skip
from likewise.panel.turns import Turns, ask_in_turn

__all__ = [
    "Agreement", "AllPairs", "And", "AtLeast", "Consistency", "Distance", "FirstPair",
    "FromColumns", "FromFunction", "LargestGap", "Mahalanobis", "Masked", "MemberAgreement",
    "MemberObjections", "Metric", "MetricAuditor", "Never", "Objections", "Objects", "Or", "Pair",
    "Panel", "Pivots", "RandomPair", "Ratings", "Report", "Rule", "Selection", "Share", "Sides",
    "Turns", "Weighted", "WeightedL1", "all_of", "any_of", "as_rule", "ask_in_turn", "at_least",
    "consistency", "decisive", "exceeding_pairs", "exceeds", "from_function", "krippendorff_alpha",
    "majority", "more_than", "never", "objects", "panel_name", "parse_rule", "report", "veto",
]  # fmt: skip
