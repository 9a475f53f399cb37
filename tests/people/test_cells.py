"""Cells of text: numbers, marks of missing values, and what looks like a number and is refused."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from likewise.errors import LikewiseError, PeopleError, SchemaAdvice
from likewise.people import Feature, FeatureSchema, People
from likewise.people.cells import AMONG_NUMBERS, MARKS, parse_number
from likewise.people.proposals import column_of_cells
from likewise.people.tables import parse_people, read_table

MAKERS = [pd.DataFrame, pl.DataFrame, pa.table]


def proposed(frame: Any, **settings: Any) -> tuple[FeatureSchema, People, str]:
    """A schema proposed for a frame, its people, and everything that was said."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        schema = FeatureSchema.from_frame(frame, **settings)
        people = schema.people(frame, others="ignore")
    return schema, people, " ".join(str(warning.message) for warning in caught)


@pytest.mark.parametrize("mark", sorted(MARKS | AMONG_NUMBERS | {" NA ", "NULL", "None"}))
@pytest.mark.parametrize("make", MAKERS)
def test_a_mark_among_numbers_is_a_missing_value_and_is_said(make: Any, mark: str) -> None:
    schema, people, advice = proposed(make({"seniority": ["10", mark, "2.5", "40"]}))
    assert (schema["seniority"].kind, schema["seniority"].missing) == ("number", "not stated")
    assert np.array_equal(people.x[:, 0], [10, math.nan, 2.5, 40], equal_nan=True)
    if mark.strip():
        assert f"{mark.strip()!r} is read as a missing value" in advice


@pytest.mark.parametrize("make", MAKERS)
def test_a_mark_among_levels_is_a_missing_value_unless_it_is_a_level(make: Any) -> None:
    frame = make({"purpose": ["car", "?", "home", "car", "None", "N/A"]})
    schema, people, advice = proposed(frame)
    assert schema["purpose"].levels == ("None", "car", "home")
    assert np.isnan(people.x[:, 0]).tolist() == [False, True, False, False, False, True]
    assert "'?', 'N/A' are read as missing values" in advice
    country = FeatureSchema(
        (Feature("purpose", "category", levels=("car", "home", "None", "?", "N/A")),)
    )
    assert not np.isnan(country.people(frame).x).any()


ODD = [
    "$10",
    "10,500",
    "1.234,56",
    "10 %",
    "1 000",
    "1'000",
    "€5",
    "3+",
    "ten",
    "1_000",
    "(12)",
    "12k",
]


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("make", MAKERS)
def test_text_that_is_mostly_numbers_is_refused_and_its_cells_are_named(
    make: Any, odd: str
) -> None:
    frame = make({"pay": ["1", "2", odd, "3", "4"]})
    with pytest.raises(
        PeopleError, match=r"'pay' is mostly numbers, but for .* \(row 3\)"
    ) as error:
        FeatureSchema.from_frame(frame)
    assert repr(odd) in str(error.value)
    schema, people, _ = proposed(frame, categories=["pay"])
    assert schema["pay"].kind == "category"
    assert people.say(2) == {"Pay": odd}


def test_amounts_alone_are_refused_too_and_bands_are_levels() -> None:
    with pytest.raises(
        PeopleError,
        match=r"not written plainly: '\$10' \(row 1\).*and 1 others\. Write a plain number.*leave",
    ):
        column_of_cells("pay", ["$10", "$12", "$10", "$13", "$14"])
    for cells in (["18-24", "25-34", "18-24"], ["a1", "b2", "a1"], ["< 1 year", "2 years"]):
        assert column_of_cells("band", cells).kind == "text"
    assert column_of_cells("zip", ["1", "2", "3+"], category=True).values == ["1", "2", "3+"]


@pytest.mark.parametrize("make", MAKERS)
def test_numbers_as_text_are_numbers_and_that_is_said(make: Any) -> None:
    frame = make({"income": ["30000", "42000.5", "1e3"]})
    schema, people, advice = proposed(frame)
    assert schema["income"].kind == "number"
    assert people.x[:, 0].tolist() == [30000.0, 42000.5, 1000.0]
    assert "holds numbers as text" in advice


def test_objects_of_numbers_and_text_are_read_by_cell() -> None:
    schema, people, _ = proposed(pd.DataFrame({"n": [10, "NA", 30.5, "7"]}, dtype=object))
    assert schema["n"].kind == "number"
    assert np.array_equal(people.x[:, 0], [10, math.nan, 30.5, 7], equal_nan=True)


def test_leading_zeros_are_codes() -> None:
    with pytest.warns(SchemaAdvice, match="'zip' has leading zeros"):
        column = column_of_cells("zip", ["01234", "90210", "01234"])
    assert (column.kind, column.values) == ("text", ["01234", "90210", "01234"])


@pytest.mark.parametrize(
    "text", ["1_000", "٣", "inf", "Infinity", "nan", "0x10", "1,5", "", "+", "1e", "--1", "१२"]
)
def test_python_reads_more_numbers_than_people_write(text: str) -> None:
    assert parse_number(text) is None


def test_a_file_is_read_as_a_frame_is(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(" income , purpose\n 10 , car\nNA,?\n 2.5,home\n\n", encoding="utf-8")
    rows = read_table(path)
    assert list(rows[0]) == ["income", "purpose"]
    schema = FeatureSchema(
        (
            Feature("income", missing="none"),
            Feature("purpose", "category", levels=("car", "home"), missing="none"),
        )
    )
    with pytest.warns(SchemaAdvice) as caught:
        people = parse_people(path, rows, schema)
    expected = np.array([[10, 0], [math.nan, math.nan], [2.5, 1]])
    assert np.array_equal(people.x, expected, equal_nan=True)
    assert len(caught) == 2
    path.write_text("income,purpose\n10 %,car\n")
    with pytest.raises(LikewiseError, match=r"line 2: income must be a number; got '10 %'. W"):
        parse_people(path, read_table(path), schema)


def test_a_mark_where_nothing_may_be_missing_is_refused() -> None:
    schema = FeatureSchema((Feature("income"),))
    with pytest.warns(SchemaAdvice), pytest.raises(PeopleError, match=r"'p2'.*is missing"):
        schema.people(pd.DataFrame({"income": ["1", "NA"]}))
