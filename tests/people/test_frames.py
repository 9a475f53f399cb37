"""Data frames: read by column as single rows would be, and refused with a remedy."""

from __future__ import annotations

import datetime
import math
import warnings
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.errors import LikewiseError, PeopleError, SchemaAdvice
from likewise.people import Feature, FeatureSchema
from likewise.people.frames import make_frame

SCHEMA = FeatureSchema(
    (
        Feature("income", low=0, high=500),
        Feature("rooms", "category", levels=("1", "2", "3")),
        Feature("purpose", "category", levels=("car", "home"), missing="no purpose"),
        Feature("children", "integer", 0, 20, missing="not stated"),
        Feature("owner", "flag"),
    )
)
COLUMNS: dict[str, list[Any]] = {
    "owner": [True, False, True],
    "purpose": ["home", None, "car"],
    "income": [30.5, 0.0, 500.0],
    "children": [2, None, 0],
    "rooms": ["1", "3", "2"],
    "person": ["ann", "bo", "cy"],
}
MAKERS: dict[str, Callable[[Any], Any]] = {
    "pandas": pd.DataFrame,
    "nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "categorical": lambda c: pd.DataFrame(c).astype({"purpose": "category", "rooms": "category"}),
    "object": lambda columns: pd.DataFrame(columns, dtype=object),
    "polars": pl.DataFrame,
    "enum": lambda c: pl.DataFrame(c).with_columns(pl.col("rooms").cast(pl.Enum(["3", "2", "1"]))),
    "arrow": pa.table,
}


def rows_of(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    names = [name for name in columns if name != "person"]
    return [
        {name: columns[name][i] for name in names} for i in range(len(next(iter(columns.values()))))
    ]


@pytest.mark.parametrize("kind", MAKERS)
def test_a_frame_says_what_its_rows_say(kind: str) -> None:
    people = SCHEMA.people(MAKERS[kind](COLUMNS), ids="person")
    plain = SCHEMA.people(rows_of(COLUMNS), ids=["ann", "bo", "cy"])
    assert people.ids == plain.ids
    assert np.array_equal(people.x, plain.x, equal_nan=True)
    assert people.origin is not None
    assert people.origin.backend in ("pandas", "polars", "pyarrow")


VALUES: dict[str, list[Any]] = {
    "income": [0.0, 12.5, 500.0, -1.0, math.inf, None, math.nan],
    "rooms": ["1", "2", "3", "4", "", None],
    "purpose": ["car", "home", "boat", None],
    "children": [0, 3, 20, 21, None],
    "owner": [True, False, None],
}


@given(
    st.lists(st.fixed_dictionaries({k: st.sampled_from(v) for k, v in VALUES.items()}), min_size=1)
)
@settings(max_examples=60, deadline=None)
def test_frames_and_rows_agree_or_are_refused_alike(rows: list[dict[str, Any]]) -> None:
    columns = {name: [row[name] for row in rows] for name in VALUES}
    try:
        plain = SCHEMA.people(rows).x
    except PeopleError as error:
        refused = error
        for make in (pl.DataFrame, lambda c: pd.DataFrame(c, dtype=object)):
            with pytest.raises(PeopleError):
                SCHEMA.people(make(columns))
        assert "Person 'p" in str(refused)
        return
    for make in (pl.DataFrame, lambda c: pd.DataFrame(c, dtype=object)):
        assert np.array_equal(SCHEMA.people(make(columns)).x, plain, equal_nan=True)


def test_an_error_names_the_person_the_feature_and_the_value() -> None:
    frame = pd.DataFrame({**COLUMNS, "income": [1.0, -2.0, 3.0]})
    with pytest.raises(PeopleError, match=r"'bo': feature 'income' must be .*got -2\.0"):
        SCHEMA.people(frame, ids="person")


def changed(**columns: Any) -> Any:
    return pd.DataFrame({**COLUMNS, **columns})


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (changed(rooms=["1", "9", "2"]), r"must be one of 1, 2, 3; got '9'"),
        (changed(rooms=[1.0, 2.0, None]), "own text"),
        (changed(rooms=[True, False, True]), "own text"),
        (
            changed(income=["1", "2 €", "3"]),
            r"In row 2: income must be a number; got '2 €'. Write a",
        ),
        (changed(income=pd.to_datetime(["2026-01-01"] * 3)), "days or years since"),
        (changed(rooms=pd.to_datetime(["2026-01-01"] * 3)), "days or years since"),
        (changed(income=pd.to_timedelta([1, 2, 3], unit="D")), "days or years since"),
        (changed(income=[datetime.date(2026, 1, 1)] * 3), "must be of the kind 'number'"),
        (changed(income=[1.0, None, 2.0]), "'income' is missing"),
        (changed(owner=pd.array([True, None, False], dtype="boolean")), "'owner' is missing"),
        (changed(children=pd.array([1, 2, 99], dtype="Int64")), r"integer in \[0, 20\]"),
        (changed(person=["ann", "bo", "ann"]), r"called 'ann' \(rows 1 and 3\)\. Keep one"),
        (changed(person=["ann", "", "cy"]), "not empty; that of row 2 is. Give it one"),
        (changed(person=[1.0, 2.0, 3.0]), "text or integers; got 1.0"),
        (changed(person=["ann", None, "cy"]), "row 2 has none"),
        (changed().drop(columns="income"), "lacks 'income'"),
        (changed(shoe=[1, 2, 3]), "others='ignore'"),
        (changed().iloc[:0], "no rows"),
        (changed().set_index("person"), "index is called 'person'"),
        (changed().set_index(["person", "rooms"]), "MultiIndex"),
        (pd.concat([changed()], axis=1, keys=["a"]), "MultiIndex"),
        (
            pd.concat([changed(), changed()[["income"]]], axis=1),
            "cannot be read as a frame.*income",
        ),
        (changed().rename(columns={"income": 3}), "named by text"),
        (changed()["income"], "by row or by column"),
        (pl.DataFrame(COLUMNS).lazy(), r"frame\.collect"),
        (pl.DataFrame(COLUMNS)["income"], "by row or by column"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_remedy(frame: Any, says: str) -> None:
    with pytest.raises(LikewiseError, match=says):
        SCHEMA.people(frame, ids="person")


def test_integers_are_the_levels_that_read_so() -> None:
    numbers = changed(rooms=[3, 1, 2])
    assert SCHEMA.people(numbers, ids="person").column("rooms").tolist() == [2.0, 0.0, 1.0]
    with pytest.raises(PeopleError, match="own text"):
        SCHEMA.people(changed(rooms=[0, 1, 2]), ids="person")


def test_other_columns_are_left_out_when_asked_and_one_person_is_read() -> None:
    first = changed(shoe=[1, 2, 3]).iloc[:1]
    assert SCHEMA.people(first, ids="person", others="ignore").ids == ("ann",)
    with pytest.raises(LikewiseError, match="others"):
        SCHEMA.people(first, others="keep")
    with pytest.raises(PeopleError, match="no column 'nobody'"):
        SCHEMA.people(first, ids="nobody", others="ignore")
    assert SCHEMA.people(changed().drop(columns="person")).ids == ("p1", "p2", "p3")


def test_decimals_and_categories_that_nobody_has_are_read() -> None:
    frame = pl.DataFrame({**COLUMNS, "income": [Decimal("1.5"), Decimal(2), Decimal(3)]})
    assert SCHEMA.people(frame, ids="person").column("income").tolist() == [1.5, 2.0, 3.0]


def test_a_proposal_reads_the_frame_it_was_made_from_and_is_code() -> None:
    frame = pl.DataFrame(
        {
            "applicantId": ["a1", "a2", "a3", "a4"],
            "Age": [20, 30, 40, 61],
            "score": [0.1, 0.9, None, 0.5],
            "purpose": ["car", "home", "car", None],
            "owner": [True, False, True, True],
            "member": [0, 1, 1, 0],
            "since": [datetime.date(2026, 1, 1)] * 4,
        }
    )
    with pytest.warns(SchemaAdvice) as advice:
        schema = FeatureSchema.from_frame(frame)
    message = " ".join(str(warning.message) for warning in advice)
    assert "'applicantId' looks like an identity" in message
    assert "'Age' looks like a protected trait" in message
    assert "'since' holds dates" in message
    kinds = {feature.name: feature.kind for feature in schema.features}
    assert kinds == {
        "Age": "integer", "score": "number", "purpose": "category", "owner": "flag",
        "member": "flag",
    }  # fmt: skip
    read = eval(str(schema), {"Feature": Feature, "FeatureSchema": FeatureSchema})
    assert read == schema
    assert len(schema.people(frame, ids="applicantId", others="ignore")) == 4
    assert "<table" in schema._repr_html_()


def test_a_proposal_names_what_is_wrong() -> None:
    for junk in (None, 3, [1], "frame", changed()["income"]):
        with pytest.raises(PeopleError):
            FeatureSchema.from_frame(junk)
    with pytest.raises(PeopleError, match="no column 'shoe'"):
        FeatureSchema.from_frame(changed(), ids="shoe")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SchemaAdvice)
        with pytest.raises(PeopleError, match="No column"):
            FeatureSchema.from_frame(changed()[["person"]])


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_results_are_frames_of_the_kind_that_came_in(backend: str) -> None:
    frame_ = make_frame({"person": ("ann", "bo"), "score": np.array([0.5, 1.0])}, backend)
    assert type(frame_).__module__.startswith(backend)
    with pytest.raises(LikewiseError, match="backend"):
        make_frame({}, "excel")


def test_what_a_notebook_shows_is_a_table() -> None:
    from matplotlib.figure import Figure

    from likewise import Learner, MetricAuditor, Panel, State, deploy
    from likewise.panel import Ratings
    from likewise.simulate import Loans
    from likewise.simulate.rounds import play

    world = Loans(seed=1)
    learner = Learner(world.hypotheses(), k=8, alpha=0.3, eps=0.3, seed=1)
    played = play(world, learner, 3)
    panel = Panel([MetricAuditor("<j1>", Ratings("r"))], "any")
    state, round_ = deploy(State.start(learner), world.encounter(1).people)
    for value in (world.schema, panel, panel.rule, learner, state, round_, played):
        page = value._repr_html_()
        assert page.startswith("<table")
        assert "<j1>" not in page
    assert list(played.to_frame("pandas")["round"]) == [1, 2, 3]
    assert played.to_frame("polars").shape == (3, 1 + len(played.COLUMNS))
    assert list(round_.to_frame("pandas")["person"]) == list(round_.ids)
    axes = Figure().add_subplot()
    assert played.plot(axes) is axes
    with pytest.raises(LikewiseError, match="axes"):
        played.plot(None)


def test_scores_go_back_as_the_frame_that_came_in() -> None:
    from likewise import Learner, Segments, State, deploy

    lender = Segments(SCHEMA, score="income", cuts=[100, 200], by=["owner"])
    people = SCHEMA.people(pl.DataFrame(COLUMNS), ids="person")
    _, round_ = deploy(State.start(Learner(lender, k=3, alpha=0.3, eps=0.3, seed=1)), people)
    assert isinstance(round_.to_frame(), pl.DataFrame)
    assert round_.scores.tolist() == round_.to_frame()["score"].to_list()
    assert (round_.scores * 2**20).tolist() == round_.units.tolist()


def advice_for(frame: Any, **settings: Any) -> tuple[FeatureSchema, list[warnings.WarningMessage]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return FeatureSchema.from_frame(frame, **settings), caught


@pytest.mark.parametrize("values", [[0, 1, 1], [True, False, True], ["no", "yes", "no"], [1, 2, 1]])
def test_an_outcome_is_left_out_by_name_and_named_where_it_is_not(values: list[Any]) -> None:
    for make in (pd.DataFrame, pl.DataFrame, pa.table):
        frame = make({"income": [1.0, 2.0, 3.0], "wasHired": values})
        schema, advice = advice_for(frame)
        assert schema.names == ("income", "wasHired")
        assert [
            "leave it out with label='wasHired'" in str(warning.message) for warning in advice
        ] == [True]
        schema, advice = advice_for(frame, label="wasHired")
        assert (schema.names, advice) == (("income",), [])


def test_a_column_of_more_values_is_no_outcome_and_a_label_must_be_a_column() -> None:
    assert advice_for(pd.DataFrame({"target": [1, 2, 3, 3]}))[1] == []
    with pytest.raises(PeopleError, match="no column 'hired'"):
        FeatureSchema.from_frame(changed(), label="hired")
    with pytest.raises(PeopleError, match="label must be the name"):
        FeatureSchema.from_frame(changed(), label=[0, 1])  # type: ignore[arg-type]


def levels_of(frame: Any) -> list[str]:
    schema, advice = advice_for(frame)
    assert not advice
    return list(schema["size"].levels)


def test_levels_have_the_order_of_their_type_else_of_the_alphabet() -> None:
    values, order = ["mid", "low", "mid"], ["low", "mid", "high"]
    for ordered in (True, False):
        column = pd.Categorical(values, categories=order, ordered=ordered)
        assert levels_of(pd.DataFrame({"size": column})) == order
    polars = pl.DataFrame({"size": values})
    assert levels_of(polars.cast({"size": pl.Enum(order)})) == order
    assert levels_of(polars.cast({"size": pl.Categorical()})) == ["low", "mid"]
    arrow = pa.table({"size": pa.array(values).dictionary_encode()})
    assert levels_of(arrow) == ["low", "mid"]


DATES = ["2026-01-31", None, "2026-02-01T10:00:00"]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_dates_as_text_are_dates(make: Callable[[Any], Any]) -> None:
    schema, advice = advice_for(make({"income": [1.5, 2.5, 3.5], "since": DATES}))
    assert schema.names == ("income",)
    assert "'since' holds dates" in str(advice[0].message)
    with pytest.raises(PeopleError, match="days or years since"):
        SCHEMA.people(make({**COLUMNS, "income": DATES}), ids="person")
    code = make({"income": [1.5, 2.5, 3.5], "code": ["2026-13-01", "2026-13-01", "1"]})
    assert advice_for(code)[0].names == ("income", "code")


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([True, False, None], dtype=object),
        pd.Series([True, False, math.nan], dtype=object),
        pd.array([True, False, None], dtype="boolean"),
        pl.Series([True, False, None]),
        pa.array([True, False, None]),
    ],
    ids=["object", "nan", "nullable", "polars", "arrow"],
)
def test_truth_values_with_gaps_are_a_flag_that_may_be_missing(column: Any) -> None:
    make = {"polars": pl.DataFrame, "pyarrow": pa.table}.get(
        type(column).__module__.partition(".")[0], pd.DataFrame
    )
    frame = make({"owner": column})
    schema, advice = advice_for(frame)
    assert not advice
    assert schema == FeatureSchema((Feature("owner", "flag", missing="not stated"),))
    read = schema.people(frame).column("owner")
    assert np.array_equal(read, [1.0, 0.0, math.nan], equal_nan=True)


def test_advice_points_at_the_line_of_the_caller() -> None:
    from likewise import Pool

    frame = pd.DataFrame({"age": [20.0, 30.0, 40.0]})
    _, advice = advice_for(frame)
    assert [warning.filename for warning in advice] == [__file__]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Pool.from_models({"m": lambda f: f["age"] / 100}, frame, cuts=[0.31, 0.32])
    assert [warning.filename for warning in caught] == [__file__] * 2
