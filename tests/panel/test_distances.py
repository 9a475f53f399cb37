from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise import audit
from likewise.errors import AuditError, LikewiseError, ParameterError
from likewise.numerics.fixed_point import ONE, FloatArray
from likewise.panel import (
    Distance,
    FromFunction,
    Mahalanobis,
    Masked,
    MetricAuditor,
    Panel,
    Ratings,
    Sides,
    WeightedL1,
)
from likewise.people import Feature, FeatureSchema, People

SCHEMA = FeatureSchema(
    (
        Feature("income", low=0, high=100, missing="not stated"),
        Feature("debt", missing="not stated"),
        Feature("owns", "flag", missing="not stated"),
        Feature("purpose", "category", levels=("car", "home", "study"), missing="not stated"),
        Feature("years", "integer", low=0, high=40, missing="not stated"),
    )
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "income": st.none() | st.floats(0, 100),
            "debt": st.none() | st.floats(allow_nan=False, allow_infinity=False),
            "owns": st.none() | st.booleans(),
            "purpose": st.none() | st.sampled_from(["car", "home", "study"]),
            "years": st.none() | st.integers(0, 40),
        }
    ),
    min_size=1,
    max_size=4,
)
L1 = WeightedL1({"income": 0.7, "debt": 0.3, "owns": 0.2, "purpose": 0.4}, scales={"debt": 5.0})
METRICS: list[Distance] = [
    L1,
    Mahalanobis(["income", "debt"], [[2.0, 1.0], [1.0, 2.0]], scale=100.0),
    Masked(L1, ["income", "purpose"]),
    Ratings("years", 0, 40),
    FromFunction(lambda a, b: float(a["purpose"] != b["purpose"])),
    Masked(FromFunction(lambda a, b: float(a["purpose"] != b["purpose"])), ["income"]),
]

reproducible = settings(derandomize=True, deadline=None)


def two(**different: tuple[Any, Any]) -> People:
    plain = {"income": 50, "debt": 0, "owns": 0, "purpose": "car", "years": 3}
    rows = [{**plain, **{f: values[i] for f, values in different.items()}} for i in (0, 1)]
    return SCHEMA.people(rows, ids=["ann", "bo"])


def test_people_may_be_given_by_name_to_a_function() -> None:
    people = two(income=(20, 70))
    metric = FromFunction(lambda one, other: abs(one["income"] - other["income"]) / 100)
    assert metric(people=people).tolist() == metric(people).tolist()


@reproducible
@given(rows=ROWS)
def test_a_panel_measures_what_its_auditors_measure_alone(rows: list[Mapping[str, Any]]) -> None:
    """What auditors share is compared once, and hidden features are left out: the same bits."""
    people = SCHEMA.people(rows)
    auditors = [MetricAuditor(f"j{place}", metric) for place, metric in enumerate(METRICS)]
    together = Panel(auditors, "any").distances(people)
    for auditor, d in zip(auditors, together, strict=True):
        assert d.tolist() == auditor.distances(people).tolist()
        assert d.tolist() == np.rint(auditor.distance(people) * float(ONE)).tolist()


def test_a_metric_that_derives_from_ours_has_its_own_call() -> None:
    class Halved(WeightedL1):
        def __call__(self, people: People) -> FloatArray:
            return np.asarray(super().__call__(people) / 2)

    people = two(income=(0, 100))
    for distance in (Halved({"income": 1.0}), Masked(Halved({"income": 1.0}), ["income"])):
        auditor = MetricAuditor("j1", distance)
        assert Panel([auditor], "any").distances(people)[0, 0, 1] == ONE // 2
        assert auditor.between(Sides(people, people))[0, 1] == ONE // 2
        assert auditor.between(Sides.at(people, [0], [1])).tolist() == [ONE // 2]
    panel = Panel([MetricAuditor("j1", Halved({"income": 1.0}))], "any")
    assert audit(people, [0.0, 1.0], panel, alpha=0.25).worst[0].distance == 0.5


def test_a_function_of_two_people_that_depends_on_their_order_is_refused_pair_by_pair() -> None:
    people = two(income=(10, 40))
    auditor = MetricAuditor("j1", FromFunction(lambda a, b: float(a["income"] < b["income"])))
    pair = rf"\('{people.ids[0]}', '{people.ids[1]}'\)"
    with pytest.raises(AuditError, match=rf"the function says 1.0 for {pair} and 0.0 the other"):
        auditor.between(Sides.at(people, [0], [1]))


def test_of_a_panel_the_auditor_is_named_whose_distance_is_wrong() -> None:
    uneven = MetricAuditor("j2", lambda people: np.triu(np.ones((len(people),) * 2)))
    panel = Panel([MetricAuditor("j1", L1), uneven], "any")
    with pytest.raises(AuditError, match=r"Auditor 'j2': a distance must be symmetric"):
        panel.distances(two())
    flat = MetricAuditor("j3", lambda people: np.ones(len(people)))
    with pytest.raises(
        AuditError, match=r"Auditor 'j3': .* must be an array of numbers of shape \(2, 2\)"
    ):
        Panel([MetricAuditor("j1", L1), flat], "any").distances(two())


def test_the_pair_is_named_whose_distance_is_wrong_not_one_that_is_full() -> None:
    people = FeatureSchema((Feature("income"),)).people([[0], [1], [2]], ids=["ann", "bo", "cy"])
    d = np.array([[0.0, 1.0, 0.5], [1.0, 0.0, 1.5], [0.5, 1.5, 0.0]])
    with pytest.raises(AuditError, match=r"got 1\.5 for \('bo', 'cy'\)"):
        MetricAuditor("j1", lambda _: d).distances(people)

    class Blocks:
        def __call__(self, people: People) -> FloatArray:
            return d

        def between(self, sides: Sides) -> FloatArray:
            return d

    with pytest.raises(AuditError, match=r"within \[0, 1\]; got 1\.5"):
        MetricAuditor("j1", Blocks()).between(Sides(people, people))


@pytest.mark.parametrize("metric", METRICS)
@reproducible
@given(rows=ROWS)
def test_distances_are_symmetric_and_within_0_and_1(
    metric: Distance, rows: list[Mapping[str, Any]]
) -> None:
    d = metric(SCHEMA.people(rows))
    assert (d == d.T).all()
    assert ((d >= 0) & (d <= 1)).all()
    assert (np.diag(d) == 0).all()


@pytest.mark.parametrize(
    ("people", "apart"),
    [
        (two(income=(20, 70)), 0.7 * 0.5),
        (two(debt=(0, 1)), 0.3 * 0.2),
        (two(debt=(0, 1000)), 0.3),
        (two(owns=(0, 1)), 0.2),
        (two(purpose=("car", "study")), 0.4),
        (two(purpose=("car", None)), 0.4),
        (two(debt=(None, 3)), 0.3),
        (two(debt=(None, None)), 0.0),
        (two(income=(0, 100), purpose=("car", "home"), owns=(0, 1)), 1.0),
        (two(years=(3, 40)), 0.0),
    ],
)
def test_weighted_l1_by_hand(people: People, apart: float) -> None:
    assert float(L1(people)[0, 1]) == pytest.approx(apart, abs=1e-15)


def test_a_feature_without_bounds_needs_a_scale() -> None:
    with pytest.raises(ParameterError, match=r"debt.*without bounds"):
        WeightedL1({"debt": 1})(two())
    wide = FeatureSchema((Feature("debt", low=-(10**308), high=10**308),)).people([[0], [1]])
    with pytest.raises(ParameterError, match=r"debt.*without bounds"):  # none that a float holds
        WeightedL1({"debt": 1.0})(wide)
    assert wide.differences(0, 1) == {"Debt": "1 apart"}


@pytest.mark.parametrize(
    ("weights", "scales"),
    [
        ({}, None),
        ({"income": -1}, None),
        ({"income": math.nan}, None),
        ({"income": 1}, {"income": 0}),
        ({"income": 1}, {"debt": 1}),
    ],
)
def test_bad_weights_and_scales_are_refused(
    weights: dict[str, float], scales: dict[str, float] | None
) -> None:
    with pytest.raises(ParameterError, match="WeightedL1"):
        WeightedL1(weights, scales)


def test_a_category_has_no_scale() -> None:
    with pytest.raises(ParameterError, match="category"):
        WeightedL1({"purpose": 1}, {"purpose": 2})(two())


def test_an_unknown_feature_is_refused() -> None:
    with pytest.raises(ParameterError, match="must be one of income"):
        WeightedL1({"incme": 1})(two())


def test_mahalanobis_counts_what_features_share() -> None:
    metric = Mahalanobis(["income", "debt"], [[1.0, -1.0], [-1.0, 1.0]], scale=10.0)
    assert float(metric(two(income=(50, 53), debt=(0, 3)))[0, 1]) == 0.0
    assert float(metric(two(income=(50, 53), debt=(0, -3)))[0, 1]) == 0.6


def test_mahalanobis_with_one_value_missing_is_a_full_distance() -> None:
    metric = Mahalanobis(["income", "debt"], [[1.0, 0.0], [0.0, 1.0]], scale=10.0)
    assert float(metric(two(debt=(None, 0)))[0, 1]) == 1.0
    assert float(metric(two(debt=(None, None)))[0, 1]) == 0.0


@pytest.mark.parametrize(
    ("matrix", "rule"),
    [
        ([[1.0, 2.0], [2.0, 1.0]], "positive semidefinite"),
        ([[0.0, 1.0], [1.0, 0.0]], "positive semidefinite"),
        ([[-1.0, 0.0], [0.0, 1.0]], "positive semidefinite"),
        ([[1.0, 0.5], [0.4, 1.0]], "equal to"),
        ([[1.0, math.nan], [math.nan, 1.0]], "finite"),
        ([[1.0]], "2 by 2"),
    ],
)
def test_a_matrix_that_gives_no_distance_is_refused(matrix: list[list[float]], rule: str) -> None:
    with pytest.raises(ParameterError, match=rule):
        Mahalanobis(["income", "debt"], matrix, scale=1.0)


def test_a_singular_matrix_is_allowed() -> None:
    Mahalanobis(["income", "debt"], [[0.01, 0.1], [0.1, 1.0]], scale=1.0)
    Mahalanobis(["income", "debt"], [[0.0, 0.0], [0.0, 0.0]], scale=1.0)


def test_a_mask_makes_people_alike_in_what_it_hides() -> None:
    people = two(income=(20, 70), purpose=("car", "home"))
    assert float(Masked(L1, ["income"])(people)[0, 1]) == 0.35
    assert float(Masked(L1, ["debt"])(people)[0, 1]) == 0.0


def test_ratings_by_person() -> None:
    assert float(Ratings({"bo": 1, "ann": 4}, 0, 4)(two())[0, 1]) == 0.75


def test_an_unrated_person_is_named() -> None:
    with pytest.raises(AuditError, match="'bo' has none"):
        Ratings({"ann": 0.5})(two())


def test_a_rating_out_of_range_is_named() -> None:
    with pytest.raises(ParameterError, match=r"Ratings of 'ann'.*got 7"):
        Ratings({"ann": 7}, 0, 5)
    with pytest.raises(ParameterError, match="Ratings of 'ann'"):
        Ratings("income", 0, 5)(two())


def test_what_goes_wrong_inside_a_distance_names_the_auditor() -> None:
    with pytest.raises(AuditError, match=r"Auditor 'j1': Ratings of 'ann'.*got 50\.0"):
        MetricAuditor("j1", Ratings("income", 0, 5)).distances(two())


@pytest.mark.parametrize("features", [[], ["income", "income"], "income"])
def test_features_must_be_a_list_of_different_ones(features: list[str]) -> None:
    with pytest.raises(ParameterError, match=r"Masked\.features"):
        Masked(L1, features)


def test_a_function_sees_values_as_people_say_them() -> None:
    seen: list[Mapping[str, Any]] = []

    def look(one: Mapping[str, Any], other: Mapping[str, Any]) -> float:
        seen.append(one)
        return 0.0

    FromFunction(look)(two(owns=(1, 0), income=(None, 1), debt=(0.5, 0)))
    expected = {"income": None, "debt": 0.5, "owns": True, "purpose": "car", "years": 3}
    assert seen[0] == expected
    assert list(map(type, seen[0].values())) == list(map(type, expected.values()))


def test_an_asymmetric_function_is_refused_with_pair_and_values() -> None:
    with pytest.raises(AuditError, match=r"symmetric.*0\.25.*'ann', 'bo'.*0\.75"):
        FromFunction(lambda a, b: 0.25 if a["years"] < b["years"] else 0.75)(two(years=(1, 2)))


@pytest.mark.parametrize("answer", [-0.1, 1.1, math.nan, "0.5", None])
def test_a_function_out_of_range_is_refused_with_pair_and_value(answer: Any) -> None:
    with pytest.raises(AuditError, match=r"within \[0, 1\].*'ann', 'bo'"):
        FromFunction(lambda _, __: answer)(two())


def constant(d: list[list[float]]) -> Distance:
    def distance(people: People, /) -> FloatArray:
        return np.array(d)

    return distance


@pytest.mark.parametrize(
    ("d", "message"),
    [
        ([[0, 1.5], [1.5, 0]], r"Auditor 'j1'.*within \[0, 1\]; got 1\.5 for \('ann', 'bo'\)"),
        ([[0, math.nan], [0, 0]], r"Auditor 'j1'.*got nan"),
        ([[0, 0.25], [0.5, 0]], r"Auditor 'j1'.*symmetric; got 0\.25 .* and 0\.5 the other way"),
        ([[0.0]], r"Auditor 'j1'.*shape \(2, 2\); got float64 of shape \(1, 1\)"),
    ],
)
def test_distances_of_an_auditor_are_checked(d: list[list[float]], message: str) -> None:
    with pytest.raises(AuditError, match=message):
        MetricAuditor("j1", constant(d)).distances(two())


def test_the_distance_to_oneself_plays_no_part() -> None:
    d = MetricAuditor("j1", constant([[math.nan, 0.5], [0.5, 9.0]])).distances(two())
    assert d.tolist() == [[0, ONE // 2], [ONE // 2, 0]]


def test_an_auditor_needs_a_name() -> None:
    with pytest.raises(LikewiseError, match=r"MetricAuditor\.name"):
        MetricAuditor("", L1)


def test_an_auditor_needs_a_distance() -> None:
    with pytest.raises(ParameterError, match="must be callable"):
        MetricAuditor("j1", 0.5)  # type: ignore[arg-type]


def apart(d: float) -> MetricAuditor:
    return MetricAuditor("j1", FromFunction(lambda _, __: d))


def test_units_round_halves_to_even() -> None:
    half, people = 0.5 / ONE, two()
    for d, units in ((half, 0), (3 * half, 2), (1.0, ONE)):
        assert apart(d).distances(people)[0, 1] == units


# Computed by hand in plain Python floats, term by term in the order of the features.
GOLDEN_L1 = ["0x0.0p+0", "0x1.b780346dc5d64p-1", "0x1.0000000000000p+0"]
GOLDEN_MAHALANOBIS = ["0x0.0p+0", "0x1.f17dbf0b07caep-3", "0x1.e37ac709b2476p-1"]


def test_distances_are_the_same_bits_as_ever() -> None:
    people = SCHEMA.encoded([[10.1, 2.3, 1, 2, 7], [33.3, 0.7, 0, 1, 30], [99.9, 1.1, 1, 1, 2]])
    metric = Mahalanobis(["income", "debt"], [[0.1, 0.02], [0.02, 0.3]], scale=30.0)
    assert [d.hex() for d in L1(people)[0].tolist()] == GOLDEN_L1
    assert [d.hex() for d in metric(people)[0].tolist()] == GOLDEN_MAHALANOBIS
