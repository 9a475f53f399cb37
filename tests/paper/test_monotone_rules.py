"""Definitions "Aggregation order" and "Monotone aggregation functions": every rule obeys them."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from likewise.errors import RuleError
from likewise.numerics.fixed_point import ONE
from likewise.panel import Rule, from_function, never, parse_rule, veto

MEMBERS = ("j1", "j2", "j3", "j4", "j5")
PROFILES = np.array(list(product((False, True), repeat=5))).T

RULES = [
    "any",
    "all",
    "majority",
    "never",
    "at_least(2)",
    "at_least(6)",
    "at_least(80%)",
    "more_than(2/3)",
    "veto(j3) or at_least(4/5)",
    "objects(j1) and objects(j5)",
    "at_least(2 of j1, j3, j5) and (objects(j2) or all(j3, j4))",
    "weighted(j1: 3, j2: 2, j4: 2, j5: 0; 4)",
]


@pytest.mark.parametrize("text", RULES)
def test_more_objections_never_take_a_report_back(text: str) -> None:
    fired = parse_rule(text).fires(PROFILES, MEMBERS)
    for v, v_fires in zip(PROFILES.T, fired, strict=True):
        stronger = (v <= PROFILES.T).all(axis=1)
        assert not v_fires or fired[stronger].all()


@pytest.mark.parametrize("text", RULES)
def test_nobody_objecting_is_never_reported(text: str) -> None:
    assert not parse_rule(text).fires(np.zeros(5, dtype=np.bool_), MEMBERS)


@pytest.mark.parametrize("text", RULES)
def test_a_rule_read_as_a_function_is_the_same_rule(text: str) -> None:
    rule = parse_rule(text)
    again = from_function(lambda v: bool(rule.fires(v, MEMBERS)), MEMBERS)
    assert (again.fires(PROFILES, MEMBERS) == rule.fires(PROFILES, MEMBERS)).all()


def test_exactly_one_objection_is_not_monotone_as_the_paper_says() -> None:
    with pytest.raises(RuleError) as caught:
        from_function(lambda v: sum(v) == 1, ["j1", "j2", "j3"])
    assert "reports when j3 objects, profile (0, 0, 1)" in str(caught.value)
    assert "but not when j1, j3 object, profile (1, 0, 1) ≽ (0, 0, 1)" in str(caught.value)


def test_a_truth_table_names_the_profiles_that_break_it() -> None:
    table: dict[tuple[int, ...], int] = {(0, 0): 0, (0, 1): 1, (1, 0): 1, (1, 1): 0}
    with pytest.raises(RuleError, match=r"\(1, 1\) ≽ \(0, 1\)"):
        from_function(table.__getitem__, ["a", "b"])


def test_decreasing_the_sensitivity_only_strengthens_the_profile() -> None:
    d = np.array([0, ONE // 3, ONE // 2, ONE // 2, ONE], dtype=np.int64)
    profiles = [d + alpha < ONE // 2 for alpha in range(ONE, -1, -(ONE // 8))]
    assert all((a <= b).all() for a, b in pairwise(profiles))


@pytest.mark.parametrize("rule", [never(), veto("j1") & never(), parse_rule("at_least(6)")])
def test_a_rule_that_cannot_fire_is_the_dummy_with_distance_one(rule: Rule) -> None:
    distance, place = rule.pivot(np.zeros((5, 2), dtype=np.int64), MEMBERS)
    assert (distance.tolist(), place.tolist()) == ([ONE, ONE], [-1, -1])
    assert not rule.can_fire(MEMBERS)
