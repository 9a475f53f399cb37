"""Staircases, beyond the contract of all classes: the order, the walk, and extreme costs."""

from __future__ import annotations

import itertools
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.errors import HypothesisError, ParameterError
from likewise.hypotheses import Segments, Staircases
from likewise.hypotheses.staircases import costs_of_rows, walk_of
from likewise.learner import compiled, reference
from likewise.numerics.fixed_point import IntArray
from likewise.numerics.randomness import Noise, Purpose, Stream
from likewise.people import Feature, FeatureSchema

SCHEMA = FeatureSchema(
    (
        Feature("income"),
        Feature("score"),
        Feature("owner", "flag"),
        Feature("purpose", "category", levels=("car", "home")),
        Feature("debt", missing="not stated"),
    )
)


def grid(rows: int, columns: int, by: tuple[str, ...] = ()) -> Staircases:
    return Staircases(
        SCHEMA,
        first="income",
        first_cuts=range(1, rows),
        second="score",
        second_cuts=range(1, columns),
        by=by,
    )


def enumerated(hypotheses: Staircases, costs: IntArray, temperature: float) -> list[float]:
    """π of every cell, summed over all staircases with 50 digits."""
    bits = hypotheses.predict(hypotheses.codes(), hypotheses.separating_points())
    totals = [sum(int(c) for c in costs[row != 0]) for row in bits]
    with localcontext() as context:
        context.prec = 50
        scale = Decimal(temperature)
        weights = [(Decimal(min(totals) - total) / scale).exp() for total in totals]
        all_weight = sum(weights)
        return [
            float(
                sum((w for w, h in zip(weights, column, strict=True) if h), Decimal(0)) / all_weight
            )
            for column in bits.T
        ]


def ratios(hypotheses: Staircases, costs: IntArray, temperature: float) -> list[float]:
    cells = hypotheses.separating_points()
    return [a / b for a, b in hypotheses.flat(costs, temperature).approval(cells)]


def chance(walk: list[list[int]], code: list[int]) -> Fraction:
    """The probability of one staircase: the product of the chances of its steps."""
    product, m = Fraction(1), len(walk[0]) - 1
    for shares, threshold in zip(walk, code, strict=True):
        for j in range(m, threshold, -1):
            product *= 1 - Fraction(shares[j], 1 << 40)
        product *= Fraction(shares[threshold], 1 << 40)
        m = threshold
    return product


# --- what a staircase is ---


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 4), (4, 1), (2, 3), (3, 3)])
def test_staircases_are_all_decisions_that_never_fall_in_either_feature(
    rows: int, columns: int
) -> None:
    hypotheses = grid(rows, columns)
    predictions = hypotheses.predict(hypotheses.codes(), hypotheses.separating_points())
    monotone = set()
    for bits in itertools.product((0, 1), repeat=rows * columns):
        table = np.array(bits).reshape(rows, columns)
        if (np.diff(table, axis=0) >= 0).all() and (np.diff(table, axis=1) >= 0).all():
            monotone.add(bits)
    assert {tuple(row) for row in predictions.tolist()} == monotone


def test_both_constants_are_inside() -> None:
    hypotheses = grid(3, 4, by=("owner",))
    everybody, nobody = np.zeros((1, 6), dtype=np.int64), np.full((1, 6), 4)
    cells = hypotheses.separating_points()
    assert hypotheses.predict(everybody, cells).all()
    assert not hypotheses.predict(nobody, cells).any()
    codes = hypotheses.codes()
    assert (codes[0] == everybody).all()
    assert (codes[-1] == nobody).all()


def test_codes_are_listed_in_order() -> None:
    codes = [tuple(code) for code in grid(3, 3, by=("owner",)).codes().tolist()]
    assert codes == sorted(codes)


def test_for_every_cell_two_staircases_differ_on_it_alone() -> None:
    hypotheses = grid(4, 3)
    cells = hypotheses.separating_points()
    for a, b in itertools.product(range(4), range(3)):
        corner = [b if row >= a else 3 for row in range(4)]
        without = [*corner[:a], b + 1, *corner[a + 1 :]]
        pair = hypotheses.predict(np.array([corner, without]), cells)
        assert np.flatnonzero(pair[0] != pair[1]).tolist() == [3 * a + b]


def test_a_person_on_a_cut_is_in_the_band_above() -> None:
    hypotheses = grid(3, 3, by=("owner", "purpose"))
    rows = [
        {"income": 0.99, "score": 2, "owner": 0, "purpose": "car", "debt": 1},
        {"income": 1, "score": 1.99, "owner": 1, "purpose": "home", "debt": 1},
    ]
    assert hypotheses.locate(SCHEMA.people(rows)).tolist() == [2, 27 + 3 + 1]


# --- the oracle ---


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    shape=st.tuples(st.integers(1, 5), st.integers(1, 4)),
    largest=st.sampled_from([0, 1, 3, 10**12]),
)
def test_the_least_and_the_smallest_code_are_those_of_all_staircases(
    seed: int, shape: tuple[int, int], largest: int
) -> None:
    hypotheses = grid(*shape)
    noise = np.random.default_rng(seed).integers(-largest, largest + 1, (5, shape[0] * shape[1]))
    codes = hypotheses.codes()
    bits = hypotheses.predict(codes, hypotheses.separating_points()).astype(np.int64)
    totals = noise @ bits.T
    assert (hypotheses.minimise(hypotheses.no_costs(), noise) == codes[totals.argmin(1)]).all()
    least = costs_of_rows(noise.reshape(5, *shape))[1][:, 0, -1]
    assert (least == totals.min(axis=1)).all()


@pytest.mark.parametrize("shape", [(20, 20), (3, 300), (300, 3), (1, 1), (13, 7)])
def test_engines_agree_on_grids_of_every_shape(shape: tuple[int, int]) -> None:
    hypotheses = grid(*shape, by=("owner",))
    rng = np.random.default_rng(5)
    costs = rng.integers(-(10**6), 10**6, hypotheses.separators)
    points = rng.integers(0, hypotheses.separators, 20)
    noise = Noise(Stream(3, Purpose.ELICIT, 2), 2.0)
    args = (hypotheses, costs, noise, points, range(7, 307))
    approved = compiled.approvals(*args)
    assert (approved == reference.approvals(*args)).all()
    assert approved.shape == (300, 20)


@pytest.mark.parametrize("subset", [[0], [11, 3], [23], []])
def test_what_is_decided_in_one_cell_does_not_depend_on_who_else_is_asked(
    subset: list[int],
) -> None:
    hypotheses = grid(3, 4, by=("owner",))
    noise, costs = Noise(Stream(3, Purpose.ELICIT, 2), 2.0), hypotheses.no_costs()
    everywhere = compiled.approvals(hypotheses, costs, noise, np.arange(24), range(40))
    points = np.array(subset, dtype=np.int64)
    approved = compiled.approvals(hypotheses, costs, noise, points, range(40))
    assert (approved == everywhere[:, points]).all()


def test_one_row_is_a_segment() -> None:
    stairs = grid(1, 5, by=("owner", "purpose"))
    lender = Segments(SCHEMA, score="score", cuts=[1, 2, 3, 4], by=["owner", "purpose"])
    rng = np.random.default_rng(1)
    costs, noise = rng.integers(-9, 9, 20), rng.integers(-2, 3, (50, 20))
    cells = np.arange(20)
    assert (stairs.minimise(costs, noise) == lender.minimise(costs, noise)).all()
    expected = [a / b for a, b in lender.flat(costs, 3.0).approval(cells)]
    assert ratios(stairs, costs, 3.0) == pytest.approx(expected, abs=1e-11)


# --- exact weights ---


@settings(max_examples=80)
@given(
    seed=st.integers(0, 10**6),
    shape=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    largest=st.sampled_from([1, 50, 10**6, 10**12]),
    relative=st.sampled_from([1e-9, 1e-3, 0.1, 1.0, 30.0, 1e6, 1e300]),
)
def test_approval_is_that_of_all_staircases_at_any_cost_and_temperature(
    seed: int, shape: tuple[int, int], largest: int, relative: float
) -> None:
    hypotheses = grid(*shape)
    costs = np.random.default_rng(seed).integers(-largest, largest + 1, shape[0] * shape[1])
    temperature = largest * relative
    expected = enumerated(hypotheses, costs, temperature)
    # The stated accuracy: (A + B)·2^-40, which is 7e-12 here.
    assert np.allclose(ratios(hypotheses, costs, temperature), expected, rtol=0, atol=8 * 2**-40)


def test_rows_at_war_with_one_another_do_not_underflow() -> None:
    # Row 0 alone would approve everybody e^2000 times as soon as nobody, the rows below the
    # reverse. They settle on one threshold for all, each of the three with the same weight.
    costs = np.array([-1000, -1000, 500, 500, 500, 500])
    assert ratios(grid(3, 2), costs, 1.0) == pytest.approx([1 / 3, 2 / 3] * 3, abs=1e-11)


def test_when_all_costs_are_the_same_the_chance_is_a_share_of_paths() -> None:
    # Of the 20 staircases of a 3 by 3 grid one approves the first cell, and 19 the last.
    chances = [
        Fraction(a, b)
        for a, b in grid(3, 3).flat(np.zeros(9, np.int64), 5.0).approval(np.arange(9))
    ]
    shares = [round(float(f) * 20, 8) for f in chances]
    assert shares == [1, 4, 10, 4, 10, 16, 10, 16, 19]


def test_when_it_is_cold_the_best_staircases_share_alike() -> None:
    # Two are best: the last cell alone, and with the one to its left.
    costs = np.array([5, 5, 0, -1])
    assert ratios(grid(2, 2), costs, 1e-3) == pytest.approx([0, 0, 0.5, 1], abs=1e-11)


def test_on_a_large_grid_nothing_overflows() -> None:
    hypotheses = grid(500, 500)
    costs = np.random.default_rng(0).integers(-(10**12), 10**12, 250000)
    walk = walk_of(costs.reshape(500, 500), 1e30)
    assert all(0 <= share <= 1 << 40 for shares in walk for share in shares)
    cells = np.array([0, 499, 20_000])
    for weight, total in hypotheses.flat(costs, 1e11).approval(cells):
        assert 0 <= weight <= total


@given(seed=st.integers(0, 10**6), temperature=st.sampled_from([0.1, 3.0, 100.0]))
def test_scores_never_fall_in_either_feature(seed: int, temperature: float) -> None:
    hypotheses = grid(4, 5)
    costs = np.random.default_rng(seed).integers(-9, 10, 20)
    approval = hypotheses.flat(costs, temperature).approval(np.arange(20))
    table = np.array([Fraction(a, b) for a, b in approval], dtype=object).reshape(4, 5)
    assert (np.diff(table, axis=0) >= 0).all()
    assert (np.diff(table, axis=1) >= 0).all()


@pytest.mark.parametrize("seed", range(3))
def test_approval_is_the_walks_to_the_last_bit(seed: int) -> None:
    hypotheses = grid(3, 4)
    costs = np.random.default_rng(seed).integers(-9, 10, 12)
    codes = hypotheses.codes()
    walk = walk_of(costs.reshape(3, 4), 4.0)
    chances = [chance(walk, code) for code in codes.tolist()]
    assert sum(chances) == 1
    bits = hypotheses.predict(codes, np.arange(12))
    for column, (weight, total) in zip(
        bits.T, hypotheses.flat(costs, 4.0).approval(np.arange(12)), strict=True
    ):
        approving = (c for c, h in zip(chances, column, strict=True) if h)
        assert sum(approving, Fraction(0)) == Fraction(weight, total)


def test_the_walk_gives_every_staircase_its_weight() -> None:
    hypotheses = grid(3, 3)
    costs = np.random.default_rng(8).integers(-9, 10, 9)
    codes = hypotheses.codes()
    totals = hypotheses.predict(codes, np.arange(9)).astype(np.int64) @ costs
    weights = np.exp(-(totals - totals.min()) / 5.0)
    walk = walk_of(costs.reshape(3, 3), 5.0)
    chances = [float(chance(walk, code)) for code in codes.tolist()]
    assert chances == pytest.approx(weights / weights.sum(), rel=1e-9)


def test_draws_come_as_often_as_their_weights_say() -> None:
    """20 staircases, 4000 draws, a chi-squared of 19 degrees: above 60 once in 10^5."""
    hypotheses = grid(3, 3)
    costs, cells = np.random.default_rng(8).integers(-5, 6, 9), np.arange(9)
    stream, draws = Stream(11, Purpose.DECIDE, 1), 4000
    codes = hypotheses.codes().tolist()
    walk = walk_of(costs.reshape(3, 3), 8.0)
    expected = np.array([float(chance(walk, code)) for code in codes]) * draws
    named = {tuple(b): i for i, b in enumerate(hypotheses.predict(np.array(codes), cells).tolist())}
    counts = np.zeros(20)
    for d in range(draws):
        counts[named[tuple(hypotheses.flat(costs, 8.0).draw(cells, stream, d).tolist())]] += 1
    assert expected.min() > 5
    assert ((counts - expected) ** 2 / expected).sum() < 60


@pytest.mark.parametrize("subset", [[0], [11, 3], [23, 12], []])
def test_a_draw_does_not_depend_on_who_else_is_asked(subset: list[int]) -> None:
    hypotheses = grid(3, 4, by=("owner",))
    stream, costs = Stream(3, Purpose.DECIDE, 2), hypotheses.no_costs()
    points = np.array(subset, dtype=np.int64)
    for draw in range(20):
        everywhere = hypotheses.flat(costs, 1.0).draw(np.arange(24), stream, draw)
        approved = hypotheses.flat(costs, 1.0).draw(points, stream, draw)
        assert (approved == everywhere[points]).all()


def test_grids_are_drawn_independently() -> None:
    """Two grids of one cell, 1000 draws: all agree, or none, with probability 2^-999."""
    hypotheses, cells = grid(1, 1, by=("owner",)), np.arange(2)
    stream = Stream(3, Purpose.DECIDE, 2)
    draws = [
        hypotheses.flat(np.zeros(2, np.int64), 1.0).draw(cells, stream, d) for d in range(1000)
    ]
    assert 0 < sum(int(a != b) for a, b in draws) < 1000


def test_the_walk_has_the_same_bits_as_ever() -> None:
    # Made once and for all: another machine must find these numbers too.
    costs = np.array([[3, -7, 2], [4, -1, 1], [0, 5, -9]])
    assert walk_of(costs, 3.5) == [
        [1099511627776, 1038880798692, 304874188084, 535409371787],
        [1099511627776, 948301797072, 733052855702, 530710040159],
        [1099511627776, 549755813888, 743263764670, 54014308270],
    ]


# --- words and refusals ---


def test_bands_with_one_threshold_are_said_together() -> None:
    lender = grid(4, 3, by=("purpose",))
    text = lender.describe(np.array([3, 1, 1, 0, 2, 2, 2, 2]))
    assert text == (
        "car: nobody where income < 1, score ≥ 1 where 1 ≤ income < 3, everybody where income ≥ 3; "
        "home: score ≥ 2"
    )


def test_a_class_too_large_to_list_says_so() -> None:
    with pytest.raises(HypothesisError, match=r"C\(40, 20\)\^2"):
        grid(20, 20, by=("owner",)).codes()


def test_the_size_of_a_large_class_is_exact() -> None:
    assert grid(20, 20).size == 137846528820
    assert grid(20, 20, by=("owner",)).log_size == pytest.approx(2 * np.log(137846528820))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"first": "debt"},
            r"Staircases\.first must be a number that is never missing; got 'debt'",
        ),
        ({"second": "purpose"}, r"Staircases\.second must be a number .*'purpose'.*into by"),
        ({"second": "income"}, r"must be different features; got \('income', 'income'\)"),
        ({"by": ["owner", "owner"]}, "must not name a feature twice"),
        ({"by": ["debt"]}, r"Staircases\.by must name categories .*'debt'"),
        ({"first_cuts": [2, 1]}, r"first_cuts must increase .*\(2\.0, 1\.0\)\. Sort"),
        ({"first_cuts": [1, 1]}, "first_cuts must increase"),
        ({"second_cuts": [1, float("inf")]}, "second_cuts must increase and be finite"),
        ({"second_cuts": [float("nan")]}, "second_cuts must increase and be finite"),
        ({"second_cuts": range(1000)}, "at most 1000 bands together; got 1003. Take fewer"),
        ({"first": "wealth"}, "must be one of income"),
    ],
)
def test_what_makes_no_grid_is_refused(changes: dict[str, Any], says: str) -> None:
    parameters: dict[str, Any] = {
        "first": "income", "first_cuts": [1.0], "second": "score", "second_cuts": [1.0, 2.0],
    }  # fmt: skip
    with pytest.raises(ParameterError, match=says):
        Staircases(SCHEMA, **(parameters | changes))
