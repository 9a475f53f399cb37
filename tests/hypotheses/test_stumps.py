"""Stumps: cuts, quantiles, and a separating set that serves all columns at once."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import HypothesisError, ParameterError
from likewise.hypotheses import Stumps, class_from_spec, verify_separating_set
from likewise.hypotheses.pool import quantiles
from likewise.people import Feature, FeatureSchema

INCOME = FeatureSchema(
    (
        Feature("income", low=0, high=100),
        Feature("children", "integer", low=0, high=9),
        Feature("owner", "flag"),
        Feature("purpose", "category", levels=("car", "home")),
        Feature("rent", missing="not stated"),
    )
)


def of_sizes(sizes: list[int]) -> Stumps:
    schema = FeatureSchema(tuple(Feature(f"x{i}") for i in range(len(sizes))))
    return Stumps(schema, {f"x{i}": range(1, m + 1) for i, m in enumerate(sizes)})


def smallest(sizes: list[int]) -> int:
    """The size of the smallest separating set, by trying all sets of cells."""
    stumps = of_sizes(sizes)
    cells = np.array(list(product(*(range(m + 1) for m in sizes))), dtype=float)
    table = stumps.locate(stumps.schema.people(cells)).T
    for count in range(1, len(cells) + 1):
        for points in combinations(range(len(cells)), count):
            if len(np.unique(table[:, points], axis=0)) == stumps.size:
                return count
    raise AssertionError("the cells do not separate")


def bound(sizes: list[int]) -> int:
    return max(max(sizes) + 1, 1 + sum(sizes).bit_length())


def test_two_columns_by_hand() -> None:
    stumps = Stumps(INCOME, {"income": [20, 50], "owner": [1]})
    people = INCOME.people(
        [
            {"income": 19.9, "children": 0, "owner": 0, "purpose": "car"},
            {"income": 20, "children": 0, "owner": 1, "purpose": "car"},
            {"income": 70, "children": 0, "owner": 0, "purpose": "car"},
        ]
    )
    says = dict(
        zip(
            [stumps.describe(c) for c in stumps.codes()],
            stumps.locate(people).T.tolist(),
            strict=True,
        )
    )
    assert says == {
        "approve nobody": [0, 0, 0],
        "approve if income ≥ 20": [0, 1, 1],
        "approve if income ≥ 50": [0, 0, 1],
        "approve if owner ≥ 1": [0, 1, 0],
        "approve everybody": [1, 1, 1],
        "approve if income < 20": [1, 0, 0],
        "approve if income < 50": [1, 1, 0],
        "approve if owner < 1": [1, 0, 1],
    }


@given(sizes=st.lists(st.integers(1, 8), min_size=1, max_size=9))
def test_the_separating_set_separates_and_is_not_far_from_the_bound(sizes: list[int]) -> None:
    stumps = of_sizes(sizes)
    assert stumps.size == 2 * sum(sizes) + 2
    assert verify_separating_set(stumps)
    assert bound(sizes) <= stumps.separators <= bound(sizes) + 2


@pytest.mark.parametrize("sizes", [[1], [4], [1, 1], [2, 1], [2, 2], [3, 2], [1, 1, 1], [1] * 4])
def test_no_smaller_set_exists_for_these(sizes: list[int]) -> None:
    assert smallest(sizes) == of_sizes(sizes).separators == bound(sizes)


def test_two_columns_of_three_cuts_could_do_with_one_point_less() -> None:
    assert (smallest([3, 3]), of_sizes([3, 3]).separators) == (4, 5)


@pytest.mark.parametrize(
    ("sizes", "points"),
    [([9], 10), ([9] * 10, 11), ([9] * 20, 13), ([1] * 1000, 11), ([50] * 51, 52)],
)
def test_many_columns_need_few_more_points_than_one(sizes: list[int], points: int) -> None:
    assert of_sizes(sizes).separators == points


def test_points_of_the_separating_set_are_people_that_the_schema_allows() -> None:
    schema = FeatureSchema(INCOME.features[:3])
    stumps = Stumps(schema, {"children": [1, 3], "owner": [1], "income": [1e-300, 5, 100]})
    rows = stumps.separating_set[:, [2, 0, 1]]
    assert (stumps.locate(schema.people(rows)) == stumps.separating_points()).all()


def test_cuts_that_look_the_same_are_told_apart_in_words() -> None:
    stumps = Stumps(INCOME, {"income": [0.1, 0.1 + 1e-12]})
    assert len({stumps.describe(code) for code in stumps.codes()}) == stumps.size


def test_the_order_of_columns_survives_json_with_sorted_keys() -> None:
    stumps = Stumps(INCOME, {"owner": [1], "income": [5, 50], "children": [2]})
    again = class_from_spec(stumps.spec())
    assert isinstance(again, Stumps)
    assert again.columns == ("owner", "income", "children")
    assert (again.separating_set == stumps.separating_set).all()


def test_quantiles_are_values_of_the_reference_data_and_cut_off_equal_shares() -> None:
    values = np.random.default_rng(0).permutation(np.arange(1000) * 0.1)
    cuts = quantiles(values, 10)
    assert [int((values >= cut).sum()) for cut in cuts] == list(range(900, 0, -100))


def test_quantiles_that_repeat_or_divide_nothing_are_left_out() -> None:
    assert quantiles(np.array([0.0, 0, 0, 0, 1, 1, 1, 2]), 4) == [1.0]
    assert quantiles(np.ones(5), 4) == quantiles(np.zeros(0), 4) == []


@pytest.mark.parametrize(
    ("cuts", "says"),
    [
        ({}, "one or more different names"),
        ({"purpose": [1]}, r"of the kinds number, integer, flag; got 'purpose \(category\)'"),
        ({"rent": [1]}, "must never be missing"),
        ({"income": []}, r"Stumps\.cuts\['income'\] must be at least one"),
        ({"income": [5, 5]}, "increase"),
        ({"income": [5, float("nan")]}, "finite"),
        ({"children": [1.5]}, r"must be integers as 'children' is; got \(1\.5,\)"),
        ({"income": [0, 5]}, r"must be above 0 and at most 100, .* both constants are inside"),
        ({"owner": [2]}, "must be above 0 and at most 1"),
    ],
)
def test_cuts_that_do_not_fit_are_refused(cuts: Any, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        Stumps(INCOME, cuts)


@pytest.mark.parametrize(
    ("cuts", "says"),
    [(70_000, "has 140002. Use fewer cuts"), (5_000, "10002 hypotheses on 5001 points")],
)
def test_too_many_cuts_are_refused_with_the_number_of_hypotheses(cuts: int, says: str) -> None:
    with pytest.raises(HypothesisError, match=says):
        of_sizes([cuts])
