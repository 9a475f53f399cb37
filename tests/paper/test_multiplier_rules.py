"""Multipliers that never decrease as rules: their values, their JSON, and what is refused."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import ParameterError
from likewise.learner.costs import (
    DUALS,
    LARGEST_LAM,
    Additive,
    Bounded,
    Dual,
    Geometric,
    GradientAscent,
    dual_from_spec,
)

RULES: list[Dual] = [Additive(0.05), Geometric(0.05, 0.2)]


@pytest.mark.parametrize("dual", RULES, ids=lambda d: d.name)
@given(reported=st.lists(st.booleans(), max_size=60))
def test_a_multiplier_is_a_function_of_the_reports_so_far(dual: Dual, reported: list[bool]) -> None:
    lam = dual.initial
    for t, report in enumerate(reported, start=1):
        lam = dual.step(lam, reported=report, beta=0.2, mu=1 / math.sqrt(t))
    n = sum(reported)
    phi = 0.05 * n if dual.name == "additive" else 0.05 * 1.2**n
    assert lam == pytest.approx(phi, rel=1e-9)


def test_a_multiplier_stops_where_sums_of_costs_would_overflow() -> None:
    """It still never decreases, and 2^20 a report leaves room for millions of them in 63 bits."""
    lam = 1.0
    for _ in range(100):
        lam = Geometric(1.0, 3.0).step(lam, reported=True, beta=0.1, mu=1.0)
    assert lam == LARGEST_LAM == 2.0**20
    assert Additive(2.0**19).step(2.0**20, reported=True, beta=0.1, mu=1.0) == LARGEST_LAM


@pytest.mark.parametrize("dual", [*RULES, GradientAscent(), Bounded(0.5)], ids=lambda d: d.name)
def test_a_dual_player_is_read_back_from_its_json(dual: Dual) -> None:
    assert dual_from_spec(dual.spec()) == dual
    assert DUALS[dual.name] is type(dual)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"dual": "cubic"}, "dual must be one of gradient, additive, geometric, bounded"),
        ({}, "dual must be one of"),
        ("gradient", "must be an object"),
        ({"dual": "gradient", "gamma": 1}, "gamma is unknown"),
        ({"dual": "additive", "gamma": 0}, "gamma must be a positive number"),
        ({"dual": "additive", "gamma": -0.1}, "gamma must be a positive number"),
        ({"dual": "geometric", "theta": math.nan}, "theta must be a positive number"),
        ({"dual": "geometric", "theta": math.inf}, "theta must be a positive number"),
        ({"dual": "geometric", "theta": "fast"}, "theta must be a number"),
    ],
)
def test_a_dual_player_that_makes_no_sense_is_refused(spec: object, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        dual_from_spec(spec)  # type: ignore[arg-type]


def test_a_multiplier_beyond_what_a_report_may_cost_is_refused() -> None:
    """Its first step would take it down to what sums can hold: it would decrease."""
    for instance in (Additive, Geometric):
        with pytest.raises(ParameterError, match="gamma must be at most"):
            instance(gamma=2.0**21)


def test_a_multiplier_in_an_interval_by_hand() -> None:
    """lam + largest·mu for a report, at most largest; a quiet audit changes nothing."""
    dual = Bounded(0.5)
    steps = {lam: dual.step(lam, reported=True, beta=0.1, mu=0.5) for lam in (0.0, 0.2, 0.4, 0.5)}
    assert steps == {0.0: 0.25, 0.2: 0.45, 0.4: 0.5, 0.5: 0.5}
    assert dual.step(0.4, reported=False, beta=0.1, mu=0.5) == 0.4


def test_gradient_ascent_by_hand() -> None:
    """max(0, lam + mu·(u − mu·lam)), u = beta for a report."""
    step = GradientAscent().step
    assert step(0.2, reported=True, beta=0.1, mu=0.5) == pytest.approx(0.2 + 0.5 * (0.1 - 0.1))
    assert step(0.2, reported=False, beta=0.1, mu=0.5) == pytest.approx(0.15)
    assert step(0.2, reported=False, beta=0.1, mu=3.0) == 0.0
