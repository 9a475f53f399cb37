"""People are checked against the schema, and errors name person, feature, rule and value."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from likewise.errors import ParameterError, PeopleError
from likewise.people import Feature, FeatureSchema

SCHEMA = FeatureSchema(
    (
        Feature("income", low=0, high=500, unit="k€"),
        Feature("children", "integer", 0, 20),
        Feature("purpose", "category", levels=("car", "home")),
        Feature("owner", "flag"),
        Feature("rent", low=0, missing="no rent"),
    )
)
ANN = {"income": 30.5, "children": 2, "purpose": "home", "owner": True, "rent": 1.0}


def test_mappings_and_rows_say_the_same() -> None:
    by_name = SCHEMA.people([ANN])
    by_row = SCHEMA.encoded(np.array([[30.5, 2, 1, 1, 1.0]]))
    assert (by_name.x == by_row.x).all()


def test_a_missing_value_is_said_where_the_schema_allows_it() -> None:
    people = SCHEMA.people([{**ANN, "rent": None}])
    assert people.say(0)["Rent"] == "no rent"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"income": math.nan}, "'income' is missing"),
        ({"income": None}, "'income' is missing"),
        ({"income": -1}, "must be a finite number in \\[0, 500\\]; got -1"),
        ({"income": math.inf}, "must be a finite number"),
        ({"income": "much"}, "must be of the kind 'number'; got 'much'"),
        ({"children": 1.5}, "must be an integer in \\[0, 20\\]; got 1.5"),
        ({"purpose": "boat"}, "must be one of car, home; got 'boat'"),
        ({"owner": 2}, "must be an integer in \\[0, 1\\]; got 2"),
        ({"shoe": 42}, "unknown features shoe"),
    ],
)
def test_a_bad_value_is_refused_by_name(change: dict[str, Any], message: str) -> None:
    with pytest.raises(PeopleError, match=message):
        SCHEMA.people([{**ANN, **change}], ids=["ann"])


@pytest.mark.parametrize(
    "rows", [np.zeros((2, 4)), np.zeros(5), np.full((1, 5), np.nan), np.zeros((1, 5, 1))]
)
def test_wrong_shapes_and_nan_in_an_array_are_refused(rows: Any) -> None:
    with pytest.raises(PeopleError, match="Person 'p1'"):
        SCHEMA.encoded(rows)


def test_two_people_cannot_have_one_id() -> None:
    with pytest.raises(PeopleError, match="called 'ann'"):
        SCHEMA.people([ANN, ANN], ids=["ann", "ann"])


def test_the_hash_changes_with_the_meaning() -> None:
    second = FeatureSchema((*SCHEMA.features[:-1], Feature("rent", low=0, missing="none")))
    assert FeatureSchema.from_spec(SCHEMA.spec()).digest == SCHEMA.digest != second.digest


@pytest.mark.parametrize(
    "make",
    [
        lambda: Feature(""),
        lambda: Feature("a", "colour"),  # type: ignore[arg-type]
        lambda: Feature("a", low=1, high=1),
        lambda: Feature("a", "category"),
        lambda: Feature("a", levels=("x",)),
        lambda: Feature("a", "category", levels=("x", "x")),
        lambda: FeatureSchema(()),
        lambda: FeatureSchema((Feature("a"), Feature("a"))),
    ],
)
def test_a_schema_that_makes_no_sense_is_refused(make: Any) -> None:
    with pytest.raises(ParameterError):
        make()


@pytest.mark.parametrize("missing", [None, "not stated"])
@pytest.mark.parametrize(
    "kind",
    [
        Feature("a", low=-1, high=2),
        Feature("a"),
        Feature("a", "integer", -1, 2),
        Feature("a", "flag"),
        Feature("a", "category", levels=("x", "y")),
    ],
    ids=["bounded", "any", "integer", "flag", "category"],
)
def test_a_few_values_are_admitted_as_many_are(kind: Feature, missing: str | None) -> None:
    schema = FeatureSchema((replace(kind, missing=missing),))
    for value in (0.0, -0.0, 1.0, 0.5, 2.0, 2.5, -1.0, 1e308, math.inf, -math.inf, math.nan):
        few, large = np.full((2, 1), value), np.full((2000, 1), value)
        assert schema.admits(few) == schema.admits(large), value
