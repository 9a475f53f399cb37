"""A column for some people: matched by its index, in order, or refused."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from likewise.errors import LikewiseError, PeopleError
from likewise.people import Feature, FeatureSchema, People
from likewise.people.columns import column_values

SCHEMA = FeatureSchema((Feature("income", low=0, high=100),))
IDS = ["ann", "bo", "cy"]


def people(index: Any = None, ids: Any = IDS) -> People:
    """Three people: from rows, or from a pandas frame with an index."""
    rows = [10.0, 20.0, 30.0]
    if index is None:
        return SCHEMA.people([[x] for x in rows], ids=ids)
    return SCHEMA.people(pd.DataFrame({"income": rows}, index=index), ids=ids)


@pytest.mark.parametrize(
    "values",
    [
        [0.1, 0.2, 0.3], (0.1, 0.2, 0.3), np.array([0.1, 0.2, 0.3]),
        np.ma.masked_array([0.1, 0.2, 0.3], [False] * 3), pd.Series([0.1, 0.2, 0.3]),
        pd.Series([0.1, 0.2, 0.3], dtype="Float64"), pd.Index([0.1, 0.2, 0.3]),
        pd.array([0.1, 0.2, 0.3], dtype="Float64"), pl.Series([0.1, 0.2, 0.3]),
        pa.array([0.1, 0.2, 0.3]), pa.chunked_array([[0.1], [0.2, 0.3]]),
        {"cy": 0.3, "ann": 0.1, "bo": 0.2}, pd.Series({"cy": 0.3, "ann": 0.1, "bo": 0.2}),
    ],
    ids=lambda values: type(values).__name__,
)  # fmt: skip
def test_anything_that_is_a_column_is_read(values: Any) -> None:
    read = column_values("Scores", values, people())
    assert read.dtype == np.float64
    assert read.tolist() == [0.1, 0.2, 0.3]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([True, False, True], "b"), ([1, 0, 1], "i"), ([1, 0.5, 1], "f"), ([1, None, 0], "O"),
        (["a", "b", 3], "O"), ([True, 0.5, 0.0], "O"), ([Decimal("0.5")] * 3, "O"),
        (np.ma.masked_array([1, 0, 1], [False, True, False]), "O"),
        (pd.Series([1, None, 0], dtype="Int64"), "O"), (pd.Categorical(["a", "b", "a"]), "O"),
        (pd.Series(["a", None, "b"]), "O"), (pl.Series([1, None, 0]), "O"),
        (pd.Series(pd.to_datetime(["2026-01-01", None, "2026-01-02"])), "O"),
        ([2**70, 1, 2], "O"), ([Fraction(1, 2)] * 3, "O"),
    ],
)  # fmt: skip
def test_values_keep_their_kind_and_what_is_missing_is_none(values: Any, kind: str) -> None:
    read = column_values("Scores", values, people())
    assert read.dtype.kind == kind
    listed = [None if value is None or value is pd.NaT else value for value in list(values)]
    if any(value is None or value is pd.NA or value is np.ma.masked for value in listed):
        assert read[1] is None


@pytest.mark.parametrize(
    ("group", "keys", "order"),
    [
        (people(), IDS[::-1], [2, 1, 0]),  # by id
        (people(), range(3), [0, 1, 2]),  # in order: the index says nothing else
        (people([7, 3, 5]), [7, 3, 5], [0, 1, 2]),  # as the frame has it
        (people([7, 3, 5]), [3, 5, 7], [2, 0, 1]),  # by the frame's rows
        (people([7, 3, 5]), ["bo", "cy", "ann"], [2, 0, 1]),
        (people(range(3)), [2, 0, 1], [1, 2, 0]),
        (people(ids=[11, 12, 13]), [13, 11, 12], [1, 2, 0]),  # ids that are integers
        (people([5, 5, 6]), [5, 5, 6], [0, 1, 2]),  # repeated, but the same
    ],
)
def test_a_series_is_matched_by_its_index(group: People, keys: Any, order: list[int]) -> None:
    series = pd.Series(
        [0.0, 1.0, 2.0], index=keys if isinstance(keys, range | pd.Index) else list(keys)
    )
    assert column_values("Scores", series, group).tolist() == order


@pytest.mark.parametrize(
    ("group", "keys"),
    [
        (people(), [7, 3, 5]),
        (people(), [2, 0, 1]),  # sorted by something, and nobody knows by what
        (people([7, 3, 5]), range(3)),
        (people([2, 0, 1]), range(3)),  # a new index, or that of the rows: two ways to read it
        (people([5, 5, 6]), [5, 6, 5]),
        (people(ids=["1", "2", "0"]), range(3)),  # an order, or ids
        (people([2, 1, 0], ids=["0", "2", "1"]), [1, 0, 2]),  # rows, or ids
        (people(), ["ann", "bo", "di"]),
        (people(), ["ann", "bo", "bo"]),
        (people(), pd.Index(range(3), name="customer")),
    ],
)
def test_a_series_whose_order_is_uncertain_is_refused(group: People, keys: Any) -> None:
    series = pd.Series(
        [0.0, 1.0, 2.0], index=keys if isinstance(keys, range | pd.Index) else list(keys)
    )
    with pytest.raises(PeopleError, match=r"Scores .*another order.*series\.to_numpy\(\)"):
        column_values("Scores", series, group)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (None, "one for each of the 3 people"),
        (0.5, "one for each"),
        ("abc", "one for each"),
        (iter([1, 2, 3]), "one for each"),
        ({0.1, 0.2, 0.3}, "one for each"),
        ([0.1, 0.2], "got 2"),
        (pd.Series([0.1, 0.2]), "got 2"),
        ([[0.1, 0.9]] * 3, r"shape \(3, 2\)\. Take one column: \[:, 1\]"),
        (np.zeros((3, 2)), "Take one column"),
        (np.zeros((3, 1)), r"Take one column: \[:, 0\]"),
        (np.float64(0.5), "one for each"),
        (np.zeros(3, dtype=[("a", float)]), "field names"),
        (pd.DataFrame({"a": [1, 2, 3]}), "Take a column"),
        (pl.DataFrame({"a": [1, 2, 3]}), "Take a column"),
        (pa.table({"a": [1, 2, 3]}), "Take a column"),
        ({"ann": 1, "bo": 2}, "lack 'cy'"),
        ({"ann": 1, "bo": 2, "cy": 3, "di": 4}, "'di', who is not among"),
    ],
)
def test_what_is_no_column_is_refused(values: Any, says: str) -> None:
    with pytest.raises(LikewiseError, match=says):
        column_values("Scores", values, people())


@pytest.mark.parametrize(
    "ids",
    [
        pd.Series(["7", "8", "9"]), pd.Index([7, 8, 9]), [7, 8, 9], np.array([7, 8, 9]),
        pl.Series([7, 8, 9]), pa.array(["7", "8", "9"]), pd.Series([7, 8, 9], dtype="Int64"),
        range(7, 10), ["7", 8, np.int64(9)],
    ],
    ids=lambda ids: type(ids).__name__,
)  # fmt: skip
def test_ids_are_text_or_integers_in_any_column(ids: Any) -> None:
    assert SCHEMA.people([[1], [2], [3]], ids=ids).ids == ("7", "8", "9")
    assert SCHEMA.people(pd.DataFrame({"income": [1.0, 2.0, 3.0]}), ids=ids).ids == ("7", "8", "9")


def test_ids_follow_the_index_of_the_frame() -> None:
    frame = pd.DataFrame({"income": [1.0, 2.0, 3.0]}, index=[5, 6, 7])
    ids = pd.Series(["c", "a", "b"], index=[7, 5, 6])
    assert SCHEMA.people(frame, ids=ids).ids == ("a", "b", "c")
    with pytest.raises(PeopleError, match="another order"):
        SCHEMA.people(frame, ids=pd.Series(["a", "b", "c"]))


@pytest.mark.parametrize("column", [[1, 2, 3], ["1", "2", "3"]])
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_column_of_ids_may_hold_integers(make: Any, column: list[Any]) -> None:
    frame = make({"income": [1.0, 2.0, 3.0], "customer": column})
    assert SCHEMA.people(frame, ids="customer").ids == ("1", "2", "3")


@pytest.mark.parametrize(
    ("ids", "says"),
    [
        ([1.0, 2.0, 3.0], "text or integers; got 1.0"),
        ([True, False, True], "text or integers; got True"),
        (np.array([1, 2, 3], dtype="datetime64[ns]"), "text or integers; got np.datetime64"),
        (np.array([1, 2, 3], dtype="timedelta64[ns]"), "text or integers; got np.timedelta64"),
        (["a", None, "c"], "row 2 has none"),
        (pd.Series([1, None, 3]), "text or integers"),
        ([1, "1", 2], r"called '1' \(rows 1 and 2\)"),
        (["a", "", "c"], "not empty"),
        (["a", "b"], "3 people; got 2"),
    ],
)
def test_ids_that_name_nobody_are_refused(ids: Any, says: str) -> None:
    with pytest.raises(PeopleError, match=says):
        SCHEMA.people([[1], [2], [3]], ids=ids)


def test_a_record_batch_and_decimals_are_read() -> None:
    batch = pa.RecordBatch.from_pydict({"income": [Decimal("1.5"), Decimal(2), Decimal(3)]})
    assert SCHEMA.people(batch).column("income").tolist() == [1.5, 2.0, 3.0]
    assert FeatureSchema.from_frame(batch)["income"].kind == "number"
    objects = pd.DataFrame({"income": [Decimal("1.5"), Decimal(2), None]})
    schema = FeatureSchema.from_frame(objects)
    assert (schema["income"].kind, schema["income"].missing) == ("number", "not stated")
    assert np.array_equal(schema.people(objects).x[:, 0], [1.5, 2.0, math.nan], equal_nan=True)


TOO_LARGE = 2**53 + 1


@pytest.mark.parametrize(
    "rows",
    [
        [[TOO_LARGE]], [{"n": TOO_LARGE}], np.array([[TOO_LARGE]]), [[Decimal(TOO_LARGE)]],
        np.array([[TOO_LARGE]], dtype=np.uint64), pd.DataFrame({"n": [TOO_LARGE]}),
        pl.DataFrame({"n": [TOO_LARGE]}), pa.table({"n": [TOO_LARGE]}),
        pd.DataFrame({"n": pd.array([TOO_LARGE, None], dtype="Int64")}),
        pd.DataFrame({"n": [TOO_LARGE, 2**80]}), pl.DataFrame({"n": [str(TOO_LARGE)]}),
    ],
)  # fmt: skip
def test_an_integer_that_a_float_does_not_hold_is_refused(rows: Any) -> None:
    schema = FeatureSchema((Feature("n", missing="none"),))
    with pytest.raises(PeopleError, match=r"'n' .*exactly.*got .*9007199254740993"):
        schema.people(rows)
    assert schema.people([[2**60]]).x[0, 0] == 2.0**60


@pytest.mark.parametrize("kind", ["number", "integer"])
@pytest.mark.parametrize(
    "rows",
    [
        [[True], [False]], [{"n": np.True_}, {"n": 0}], np.array([[True], [False]]),
        pd.DataFrame({"n": [True, False]}), pl.DataFrame({"n": [True, None]}),
        pd.DataFrame({"n": [True, 2.5]}, dtype=object),
    ],
)  # fmt: skip
def test_a_truth_value_is_no_number(kind: Any, rows: Any) -> None:
    schema = FeatureSchema((Feature("n", kind, missing="none"),))
    with pytest.raises(PeopleError, match=r"'n' must be of the kind.*got (np\.)?True.*flag"):
        schema.people(rows)


def test_a_panel_matches_scores_by_their_index() -> None:
    from likewise import MetricAuditor, Panel
    from likewise.panel import WeightedL1

    panel = Panel([MetricAuditor("j", WeightedL1({"income": 1.0}))], "any")
    units = pd.Series([0, 2**20, 0], index=["bo", "ann", "cy"])
    assert panel.audit(people(), units, 0).pairs[0][0] == "ann"
    with pytest.raises(LikewiseError, match="another order"):
        panel.audit(people(), units.set_axis([7, 3, 5]), 0)
    with pytest.raises(LikewiseError, match="integers"):
        panel.audit(people(), np.ma.masked_array([0, 2**20, 0], [False, True, False]), 0)


def test_labels_of_a_round_are_matched_by_their_index() -> None:
    from likewise import Learner, Segments, State, deploy, learn

    schema = FeatureSchema((Feature("income", low=0, high=100), Feature("owner", "flag")))
    lender = Segments(schema, score="income", cuts=[50], by=["owner"])
    rows = [[10, 1], [20, 0], [30, 1]]
    start = State.start(Learner(lender, k=3, alpha=0.3, eps=0.3, seed=1))

    def learnt(ids: Any, labels: Any) -> Any:
        state, round_ = deploy(start, schema.people(rows, ids=ids))
        return learn(state, round_, labels=labels)

    by_id = learnt([7, 8, 9], {"7": 1, "8": 0, "9": 0})
    for series in (pd.Series([0, 1, 0], index=[8, 7, 9]), pd.Series([1, 0, 0])):
        assert learnt([7, 8, 9], series) == by_id
    for ids, index in (([2, 0, 1], [0, 1, 2]), ([7, 8, 9], [5, 6, 7])):
        with pytest.raises(LikewiseError, match="another order"):
            learnt(ids, pd.Series([1, 0, 0], index=index))
