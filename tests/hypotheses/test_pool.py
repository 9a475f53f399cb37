"""Pools: reference data is people; pools of then are read as they were written."""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from likewise import Learner, State, load_state, save_state
from likewise.errors import HypothesisError, LikewiseError, MergedHypotheses, ParameterError
from likewise.hypotheses import Cut, Pool, class_from_spec
from likewise.people import Feature, FeatureSchema, People

SCHEMA = FeatureSchema(
    (
        Feature("forest", low=0, high=1),
        Feature("logistic", low=0, high=1),
        Feature("rent", low=0, missing="no rent"),
        Feature("purpose", "category", levels=("car", "home")),
    )
)
ROWS = np.array([[0.1, 0.9, math.nan, 0], [0.5, 0.5, 3.0, 1], [0.9, 0.2, 7.0, 1]])
CUTS = [Cut("forest", -math.inf), Cut("forest", 0.3), Cut("logistic", 0.4)]


def at(row: int, column: int, value: float) -> np.ndarray[Any, Any]:
    rows = ROWS.copy()
    rows[row, column] = value
    return rows


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (at(1, 0, math.nan), "'forest' is missing"),
        (at(1, 0, math.inf), "'forest' must be a finite number"),
        (at(2, 1, 1.5), r"Person 'p3': feature 'logistic' must be .* got .*1\.5"),
        (at(0, 3, 2), "'purpose' must be an integer in"),
        (np.full((3, 4), math.nan), "'forest' is missing"),
    ],
)
def test_rows_that_are_nobody_are_refused(rows: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=rf"Pool\.reference must be people.*{message}"):
        Pool(SCHEMA, CUTS, rows)
    with pytest.raises(ParameterError, match=r"Pool\.reference"):
        Pool.from_scores(SCHEMA, ["forest"], [0.5], rows)


@pytest.mark.parametrize(
    "rows",
    [ROWS.astype(str), [["0.1", "0.2", "3", "car"]], None, 0.5, "rows", [[0.1], [0.2, 0.3]],
     np.zeros((0, 4)), np.zeros((2, 3)), np.zeros(4), [[object()] * 4]],
)  # fmt: skip
def test_what_is_no_array_of_numbers_is_refused(rows: Any) -> None:
    with pytest.raises(ParameterError, match=r"Pool\.reference must be rows"):
        Pool(SCHEMA, CUTS, rows)


def test_people_are_reference_data() -> None:
    people = SCHEMA.encoded(ROWS)
    spec = Pool(SCHEMA, CUTS, ROWS).spec()
    assert repr(Pool(SCHEMA, CUTS, people).spec()) == repr(spec)
    assert repr(Pool(SCHEMA, CUTS, ROWS.tolist()).spec()) == repr(spec)
    strangers = FeatureSchema((Feature("forest"),)).people([[0.5]])
    with pytest.raises(LikewiseError, match="another schema"):
        Pool(SCHEMA, CUTS, strangers)


@pytest.mark.parametrize("cuts", [0.5, None, "0.5", [None], [math.nan], ["0.5"], [[0.5]], {0.5: 1}])
def test_cuts_are_a_list_of_numbers(cuts: Any) -> None:
    with pytest.raises(ParameterError):
        Pool.from_scores(SCHEMA, ["forest"], cuts, ROWS)


def test_members_are_cuts_and_one_is_constant() -> None:
    with pytest.raises(HypothesisError, match="must have a member"):
        Pool(SCHEMA, [], ROWS)
    with pytest.raises(ParameterError, match="Cut"):
        Pool(SCHEMA, [("forest", 0.5)], ROWS)  # type: ignore[list-item]
    with pytest.raises(HypothesisError, match="constant classifier"):
        Pool(SCHEMA, CUTS[1:], ROWS)
    with pytest.raises(HypothesisError, match="may be missing"):
        Pool(SCHEMA, [*CUTS, Cut("rent", 1.0)], ROWS)
    with pytest.warns(MergedHypotheses, match="1 of 4 members"):
        assert Pool(SCHEMA, [*CUTS, Cut("forest", 0.31)], ROWS).size == 3


def test_a_pool_is_read_back_only_with_rows_of_people_whom_the_schema_admits() -> None:
    spec = Pool(SCHEMA, CUTS, ROWS[[0, 2]]).spec()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert class_from_spec(spec).size == 3
    for rows in ([[-5.0, 0.9, 0.0, 0.0]], [[math.nan] * 4]):
        with pytest.raises(ParameterError, match=r"Pool\.reference must be people"):
            class_from_spec({**spec, "reference": rows})
    with pytest.warns(MergedHypotheses):
        class_from_spec({**spec, "cuts": [*spec["cuts"], ["forest", 0.31]]})


def test_points_of_the_separating_set_are_rows_of_the_reference() -> None:
    pool = Pool(SCHEMA, CUTS, ROWS)
    rows = np.array(pool.spec()["reference"], dtype=np.float64)
    people = People(tuple("ab"), rows, SCHEMA)
    assert (pool.locate(people) == pool.separating_points()).all()


def missing_pool() -> Any:
    """A pool from models on a frame with a missing value, in a feature that no cut is on."""
    frame = pd.DataFrame({"income": [20.0, 40.0, 60.0, 90.0], "years": [1.0, None, 2.0, 3.0]})
    return Pool.from_models({"rich": lambda f: f["income"] / 100}, frame, cuts=[0.3, 0.5])


def test_a_pool_on_people_with_missing_values_is_itself_after_it_was_saved(tmp_path: Path) -> None:
    pool = missing_pool()
    text = json.dumps(pool.spec(), allow_nan=False)
    assert Pool.from_spec(json.loads(text)).spec() == pool.spec()
    state = State.start(Learner(pool, k=4, alpha=0.3, eps=0.3, seed=1))
    save_state(state, tmp_path / "x.state")
    assert load_state(tmp_path / "x.state") == state
    assert load_state(tmp_path / "x.state", learner=state.learner) == state


def test_a_pool_that_was_written_with_nan_is_still_read() -> None:
    pool = missing_pool()
    earlier = json.loads(json.dumps(pool.spec()).replace("null", "NaN"))
    assert any(math.isnan(x) for row in earlier["reference"] for x in row)
    assert Pool.from_spec(earlier).spec() == pool.spec()


def test_another_class_is_said_by_what_differs(tmp_path: Path) -> None:
    pool = missing_pool()
    save_state(State.start(Learner(pool, k=4, alpha=0.3, eps=0.3, seed=1)), tmp_path / "x.state")
    changed = Pool.from_scores(pool.schema, ["rich"], [0.3], [[20.0, 1.0, 0.2], [60.0, 2.0, 0.6]])
    with pytest.raises(LikewiseError, match="hypotheses differs in its cuts"):
        load_state(tmp_path / "x.state", learner=Learner(changed, k=4, alpha=0.3, eps=0.3, seed=1))
