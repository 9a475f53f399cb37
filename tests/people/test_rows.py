"""Rows that can be read in two ways are refused; so is everything that is not a row at all."""

from __future__ import annotations

import math
import sqlite3
from collections import UserDict
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest

from likewise.errors import PeopleError
from likewise.people import Feature, FeatureSchema, People

NUMBERS = FeatureSchema((Feature("income", low=0, high=500), Feature("age", "integer", 18, 99)))
MIXED = FeatureSchema(
    (
        Feature("income", low=0, high=500),
        Feature("rooms", "category", levels=("1", "2", "3")),
        Feature("rent", low=0, missing="no rent"),
    )
)


class Frame:
    """As polars: iterating gives columns."""

    columns, dtypes = ("income", "age"), (float, int)

    def __iter__(self) -> Iterator[Any]:
        return iter([[1.0, 2.0], [20, 30]])


class Exchanged(Frame):
    def __dataframe__(self) -> None: ...


class Series(list[Any]):
    """As pandas: a row with an index of its own, here in another order than the schema."""

    iloc = property(lambda self: self)


class ArrowColumn:
    def __arrow_c_array__(self) -> None: ...


class Shuffled(NamedTuple):
    age: int
    income: float


class Ordered(NamedTuple):
    income: float
    age: int


def database_row() -> sqlite3.Row:
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    try:
        row: sqlite3.Row = connection.execute("select 30 as age, 52.0 as income").fetchone()
    finally:
        connection.close()
    return row


STRUCTURED = np.array([(30, 52.0)], dtype=[("age", "i8"), ("income", "f8")])


@pytest.mark.parametrize(
    "rows",
    [Frame(), Exchanged(), ArrowColumn(), Series([52.0, 30]), STRUCTURED,
     np.ma.masked_array([[52.0, 30.0]], mask=[[True, False]])],
    ids=["columns and dtypes", "interchange", "arrow", "series", "structured", "masked"],
)  # fmt: skip
@pytest.mark.parametrize("entrance", ["people", "encoded"])
def test_tables_are_refused_with_the_remedy(rows: Any, entrance: str) -> None:
    with pytest.raises(PeopleError, match=r"two ways|by row or by column.*to_dict"):
        getattr(NUMBERS, entrance)(rows)


@pytest.mark.parametrize(
    "row", [Series([52.0, 30]), Shuffled(30, 52.0), database_row(), STRUCTURED[0]]
)
@pytest.mark.parametrize("entrance", ["people", "encoded"])
def test_rows_with_names_of_their_own_are_not_read_by_place(row: Any, entrance: str) -> None:
    with pytest.raises(PeopleError):
        getattr(NUMBERS, entrance)([row])


def test_rows_whose_names_are_the_schemas_in_order_and_mappings_of_any_kind_are_read() -> None:
    plain = NUMBERS.people([{"age": 30, "income": 52.0}])
    named: tuple[Any, ...] = (Ordered(52.0, 30), UserDict(age=30, income=52.0))
    for row in (*named, (52.0, 30), np.array([52.0, 30])):
        assert (NUMBERS.people([row]).x == plain.x).all()


@pytest.mark.parametrize(
    "rows",
    [None, 3, "ab", b"ab", {"income": 52.0, "age": 30}, np.array(3.0), [None], ["ab"], [{1, 2}],
     [iter([52.0, 30])], [52.0, 30], object()],
)  # fmt: skip
@pytest.mark.parametrize("entrance", ["people", "encoded"])
def test_what_is_no_list_of_rows_is_refused(rows: Any, entrance: str) -> None:
    with pytest.raises(PeopleError):
        getattr(NUMBERS, entrance)(rows)


@pytest.mark.parametrize("ids", ["ab", b"ab", 3, {"a": 1, "b": 2}, ["a"], [1.0, 2.0], np.ones(2)])
def test_ids_are_a_list_of_text(ids: Any) -> None:
    with pytest.raises(PeopleError):
        NUMBERS.people([[1, 20], [2, 30]], ids=ids)


@pytest.mark.parametrize("value", [1, np.int64(1), np.uint8(1), "1"])
def test_an_integer_is_the_level_that_reads_so_and_never_a_place(value: Any) -> None:
    people = MIXED.people([{"income": 1, "rooms": value, "rent": None}])
    assert people.say(0)["Rooms"] == "1"


@pytest.mark.parametrize("value", [0, 4, 1.0, True, np.float32(1), math.inf, 1j, [1], b"1"])
def test_other_numbers_for_a_category_are_refused(value: Any) -> None:
    with pytest.raises(PeopleError, match="'rooms' must be one of 1, 2, 3"):
        MIXED.people([{"income": 1, "rooms": value, "rent": None}])


def test_an_integer_that_two_levels_read_as_is_refused() -> None:
    twice = FeatureSchema((Feature("grade", "category", levels=("1", "01", "2")),))
    assert twice.people([[2]]).say(0) == {"Grade": "2"}
    with pytest.raises(PeopleError, match="own text"):
        twice.people([[1]])


def test_a_truth_value_is_the_level_that_reads_so() -> None:
    for levels in (("false", "true"), ("True", "False", "unknown")):
        schema = FeatureSchema((Feature("owns", "category", levels=levels),))
        people = schema.people([[True], [np.False_]])
        assert [people.say(i)["Owns"].lower() for i in (0, 1)] == ["true", "false"]
    with pytest.raises(PeopleError, match="own text"):
        FeatureSchema((Feature("owns", "category", levels=("True", "true")),)).people([[True]])


def test_an_array_of_numbers_does_not_say_which_level_is_meant() -> None:
    with pytest.raises(PeopleError, match=r"schema\.encoded\(array"):
        MIXED.people(np.array([[1.0, 1.0, 1.0]]))


def test_an_array_that_is_encoded_already_has_an_entrance_of_its_own() -> None:
    people = MIXED.encoded(np.array([[1.0, 1.0, math.nan]], dtype=np.float32), ids=["ann"])
    assert people.say(0) == {"Income": "1", "Rooms": "2", "Rent": "no rent"}
    assert (MIXED.encoded([[1.0, 1, None]]).x[:, :2] == people.x[:, :2]).all()
    for row in ([1.0, 3, None], [1.0, 1.5, None], [-1.0, 1, None], [math.nan, 1, None]):
        with pytest.raises(PeopleError, match="Person 'ann'"):
            MIXED.encoded([row], ids=["ann"])
        with pytest.raises(PeopleError, match="Person 'ann'"):
            MIXED.encoded(np.array([row], dtype=float), ids=["ann"])


@pytest.mark.parametrize("row", [["1", "1", None], np.array(["1", "1", "1"]), [1, "2", None]])
def test_text_is_not_encoded(row: Any) -> None:
    with pytest.raises(PeopleError, match="must be of the kind"):
        MIXED.encoded([row])


@pytest.mark.parametrize(
    "nothing",
    [None, math.nan, np.float16("nan"), np.float32("nan"), np.float64("nan"), np.longdouble("nan"),
     Decimal("NaN")],
)  # fmt: skip
def test_a_missing_value_is_none_or_nan_of_any_kind(nothing: Any) -> None:
    row = {"income": 1, "rooms": "2", "rent": nothing}
    assert MIXED.people([row]).say(0)["Rent"] == "no rent"
    with pytest.raises(PeopleError, match="'income' is missing"):
        MIXED.people([{**row, "income": nothing}])


def test_a_key_that_a_mapping_lacks_is_missing_only_where_the_schema_allows_it() -> None:
    assert math.isnan(MIXED.people([{"income": 1, "rooms": "2"}]).x[0, 2])
    with pytest.raises(PeopleError, match="'rooms' is missing"):
        MIXED.people([{"income": 1, "rent": 2}])


@pytest.mark.parametrize(
    "value",
    [10**400, -(10**400), "30", "1_000", 1j, np.complex64(1 + 2j), np.timedelta64(3, "D"),
     np.datetime64("2026-01-01"), [3], object()],
)  # fmt: skip
@pytest.mark.parametrize("read", [NUMBERS.people, NUMBERS.encoded])
def test_what_is_no_number_or_beyond_all_numbers_is_refused(
    value: Any, read: Callable[[Any], People]
) -> None:
    with pytest.raises(PeopleError, match="'income' must be"):
        read([[value, 20]])


@pytest.mark.parametrize(
    "value", [30, 30.0, np.int8(30), np.float32(30), Decimal(30), Fraction(60, 2)]
)
def test_numbers_of_every_kind_are_read(value: Any) -> None:
    assert NUMBERS.people([[value, 20]]).x.tolist() == [[30.0, 20.0]]


def test_people_are_people() -> None:
    people = NUMBERS.people([[1, 20]], ids=["ann"])
    assert NUMBERS.people(people) is people
    assert NUMBERS.encoded(people, ids=["bo"]).ids == ("bo",)
    with pytest.raises(PeopleError, match="another schema"):
        MIXED.people(people)
