"""The scikit-learn face keeps scikit-learn's conventions, apart from what is named here."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from likewise import MetricAuditor, Panel
from likewise.errors import LikewiseError, SchemaAdvice, UnseenValues
from likewise.hypotheses import Trees
from likewise.panel import WeightedL1
from likewise.people import FeatureSchema
from likewise.sklearn import LikewiseClassifier

EXPECTED = {
    "check_classifiers_train": "decisions are drawn from the policy: predict is not the argmax of "
    "predict_proba, and must not be, or two people of nearly equal chances would be far apart",
}


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
def test_the_estimator_passes_scikit_learns_checks() -> None:
    found = check_estimator(
        LikewiseClassifier(cuts=4), expected_failed_checks=EXPECTED, on_fail=None, on_skip=None
    )
    failed = {
        str(one["check_name"]): one["exception"] for one in found if one["status"] == "failed"
    }
    assert not failed
    assert sum(one["status"] == "passed" for one in found) > 45


@pytest.fixture
def table() -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "income": rng.uniform(0, 100, 120),
            "purpose": rng.choice(["car", "home"], 120),
            "owner": rng.random(120) < 0.5,
        }
    )
    labels = np.where(frame["income"] + 20 * frame["owner"] > 55, "repaid", "default")
    return frame, labels


@pytest.mark.parametrize("make", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_mixed_frames_are_learnt_from_and_scored(table: tuple[Any, Any], make: Any) -> None:
    frame, labels = table
    given = make(frame)
    model = LikewiseClassifier(k=8, eta=1.0, alpha=0.5).fit(given, labels)
    assert model.classes_.tolist() == ["default", "repaid"]
    assert model.n_features_in_ == 3
    assert list(model.feature_names_in_) == ["income", "purpose", "owner"]
    chances = model.predict_proba(given)[:, 1]
    good = labels == "repaid"
    assert chances[good].mean() > chances[~good].mean() + 0.1
    assert set(model.predict(given)) <= {"default", "repaid"}
    with pytest.warns(UnseenValues, match="'boat'"):
        model.predict_proba(make(frame.assign(purpose="boat")))
    with pytest.warns(UnseenValues, match="'purpose': 120 missing where fit saw none, of no level"):
        model.predict_proba(make(frame.assign(purpose=pd.Series([None] * 120, dtype="str"))))


def test_predictions_are_functions_of_the_seed_and_the_rounds(table: tuple[Any, Any]) -> None:
    frame, labels = table
    one, other = (LikewiseClassifier(seed=3).fit(frame, labels) for _ in range(2))
    assert (one.predict(frame) == other.predict(frame)).all()
    assert (one.predict(frame)[:5] == one.predict(frame[:5])).all()
    again = pickle.loads(pickle.dumps(one))
    assert (again.predict(frame) == one.predict(frame)).all()
    later = again.partial_fit(frame[:8], labels[:8])
    assert later.state_.opened == one.state_.opened + 1
    assert clone(one).get_params() == one.get_params()


def test_parameters_of_the_wrong_kind_are_refused_and_those_set_later_are_for_fit(
    table: tuple[Any, Any],
) -> None:
    frame, labels = table
    for name, value in (("panel", "any"), ("hypotheses", "stumps")):
        wrong = LikewiseClassifier(favourable="repaid").set_params(**{name: value})
        with pytest.raises(LikewiseError, match=f"{name} must be .*; got '{value}'"):
            wrong.fit(frame, labels)
    model = LikewiseClassifier(k=8).fit(frame, labels)
    chances, decided = model.predict_proba(frame), model.predict(frame)
    model.set_params(favourable="default")  # which exchanged the classes of what was learnt
    assert (model.predict_proba(frame) == chances).all()
    assert (model.predict(frame) == decided).all()


def test_reports_are_heard_and_routed(table: tuple[Any, Any]) -> None:
    frame, labels = table
    model = LikewiseClassifier(k=8, favourable="repaid")
    model.partial_fit(frame[:8], labels[:8], classes=["default", "repaid"], reports=[])
    assert (model.state_.audits, model.state_.reports) == (1, 0)
    chances = model.predict_proba(frame[8:16])[:, 1]
    over, under = int(chances.argmax()), int(chances.argmin())
    model.partial_fit(frame[8:16], labels[8:16], reports=[(over, under)])
    assert (model.state_.audits, model.state_.reports) == (2, 1)
    before = model.state_
    junk: list[Any] = [[(0, 0)], [(0, 99)], [(0,)], [("a", "b")], [(0.5, 1)]]
    for bad in junk:
        with pytest.raises(LikewiseError):
            model.partial_fit(frame[16:24], labels[16:24], reports=bad)
        assert model.state_ is before
    with pytest.raises(LikewiseError, match="one round"):
        model.partial_fit(frame, labels, reports=[])
    with config_context(enable_metadata_routing=True):
        routed = LikewiseClassifier().set_partial_fit_request(reports=True)
        requested = routed.get_metadata_routing().partial_fit.requests
        assert requested["reports"] is True


def test_a_panel_of_metrics_watches_the_rounds(table: tuple[Any, Any]) -> None:
    frame, labels = table
    panel = Panel([MetricAuditor("j", WeightedL1({"income": 1.0}, {"income": 400.0}))], "any")
    watched = LikewiseClassifier(panel=panel, alpha=0.1, eta=0.05, k=8, favourable="repaid").fit(
        frame, labels
    )
    alone = LikewiseClassifier(alpha=0.1, eta=0.05, k=8).fit(frame, labels)
    assert watched.state_.audits == 15
    assert alone.state_.audits == 0
    assert watched.state_.reports > 0
    assert np.ptp(watched.predict_proba(frame)[:, 1]) < np.ptp(alone.predict_proba(frame)[:, 1])


def test_it_works_in_a_pipeline_and_under_cross_validation(table: tuple[Any, Any]) -> None:
    frame, labels = table
    numbers = frame[["income", "owner"]].astype(float)
    model = make_pipeline(StandardScaler(), LikewiseClassifier(k=8, cuts=4, eta=1.0))
    scores = cross_val_score(model, numbers, labels, cv=3)
    assert len(scores) == 3
    assert scores.min() > 0.2


def test_a_class_of_ones_own(table: tuple[Any, Any]) -> None:
    frame, labels = table

    def trees(schema: Any, people: Any) -> Trees:
        return Trees(schema, {"income": [25.0, 50.0, 75.0], "owner": [1]}, people)

    model = LikewiseClassifier(hypotheses=trees, k=8).fit(frame, labels)
    assert isinstance(model.state_.learner.hypotheses, Trees)


def test_what_cannot_be_learnt_is_said(table: tuple[Any, Any]) -> None:
    frame, labels = table
    for X, y, says in (
        (frame.assign(day=pd.Timestamp("2026-01-01")), labels, "'day' can be no feature"),
        (frame, ["same"] * 120, "two classes"),
        (frame, [1, 2, 3] * 40, "two classes"),
        (frame, labels[:-1], "inconsistent"),
        (frame[:0], labels[:0], "0 sample"),
    ):
        with pytest.raises(ValueError, match=says):
            LikewiseClassifier().fit(X, y)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_columns_with_missing_values_are_learnt_from(kind: str) -> None:
    """With a missing value the column counts as much as without; that it is missing counts too."""
    rng = np.random.default_rng(4)
    tested = rng.uniform(0, 100, 400)
    noise = rng.uniform(0, 100, 400)
    passed = (tested > 50).astype(int)
    tested[::10] = np.nan
    passed[::10] = 1
    columns = {"tested": tested, "noise": noise}
    frame: Any = (
        pd.DataFrame(columns) if kind == "pandas" else pl.DataFrame(columns, nan_to_null=True)
    )
    model = LikewiseClassifier(k=8, eta=2.0).fit(frame, passed)
    asked = {"tested": [20.0, 80.0, np.nan], "noise": [50.0] * 3}
    new: Any = pd.DataFrame(asked) if kind == "pandas" else pl.DataFrame(asked, nan_to_null=True)
    low, high, missing = model.predict_proba(new)[:, 1]
    assert low < 0.3 < high
    assert low < missing
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict_proba(new) == model.predict_proba(new)).all()


def raw(count: int = 150, seed: int = 5) -> tuple[Any, Any]:
    """A frame as it comes: gaps, rare levels, rare integers, truth values with gaps, text."""
    rng = np.random.default_rng(seed)
    income = rng.uniform(0, 100, count)
    labels = (income + rng.normal(0, 10, count) > 50).astype(int)
    income[rng.random(count) < 0.1] = np.nan
    rare = np.where(np.arange(count) % 50 == 7, "boat", rng.choice(["car", "home"], count)).astype(
        object
    )
    rare[3] = "yacht"
    frame = pd.DataFrame(
        {
            "income": income,
            "age": rng.integers(18, 80, count).astype(float),
            "purpose": rare,
            "region": pd.Categorical(rng.choice(["n", "s"], count), ["n", "s", "e"]),
            "children": np.where(np.arange(count) == 5, 2, rng.integers(0, 2, count)),
            "owner": pd.array(rng.random(count) < 0.5, dtype="boolean"),
            "grade": rng.choice(["1", "2", "?"], count, p=[0.5, 0.45, 0.05]),
        }
    )
    frame.loc[4, "age"] = np.nan  # one fold alone has a gap in this column
    frame.loc[6, "purpose"] = None
    frame.loc[8, "owner"] = pd.NA
    return frame, labels


UNSEEN = pytest.mark.filterwarnings(
    "ignore::likewise.errors.UnseenValues", "ignore::likewise.errors.SchemaAdvice"
)


@UNSEEN
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_raw_frames_go_through_cross_validation(kind: str) -> None:
    frame, labels = raw()
    rows = frame if kind == "pandas" else pl.from_pandas(frame)
    model = LikewiseClassifier(k=8, eta=1.0, cuts=4)
    folds = KFold(5)
    scores = cross_val_score(model, rows, labels, cv=folds, scoring="roc_auc", error_score="raise")
    assert np.isfinite(scores).all()
    assert scores.mean() > 0.6
    chances = cross_val_predict(model, rows, labels, cv=folds, method="predict_proba")
    assert chances.shape == (150, 2)
    search = GridSearchCV(
        model, {"eta": [0.5, 1.0], "unseen": ["missing"]}, cv=folds, scoring="roc_auc",
        error_score="raise",
    )  # fmt: skip
    assert np.isfinite(search.fit(rows, labels).cv_results_["mean_test_score"]).all()
    calibrated = CalibratedClassifierCV(model, cv=3).fit(rows, labels)
    assert calibrated.predict_proba(rows).shape == (150, 2)


def test_what_fit_has_not_seen_is_said_or_refused() -> None:
    frame, labels = raw()
    frame = frame.drop(columns="grade")
    seen = frame.drop(index=[3, 4, 5, 8])
    model = LikewiseClassifier(k=8).fit(seen, labels[seen.index])
    with pytest.warns(UnseenValues) as caught:
        chances = model.predict_proba(frame)
    said = " ".join(str(warning.message) for warning in caught)
    assert "'purpose': 1 unseen by fit ('yacht'), counted as missing" in said
    assert "'age': 1 missing where fit saw none, replaced by the median" in said
    assert "'owner': 1 missing where fit saw none" in said
    known = model.predict_proba(seen)
    assert (chances[seen.index] == known).all()
    strict = LikewiseClassifier(k=8, unseen="refuse").fit(seen, labels[seen.index])
    with pytest.raises(LikewiseError, match=r"must be one of boat, car, home.*unseen='missing'"):
        strict.predict_proba(frame.loc[[3]])
    with pytest.raises(LikewiseError, match="'age' is missing"):
        strict.predict_proba(frame.loc[[4]])
    with pytest.raises(LikewiseError, match="unseen must be one of"):
        LikewiseClassifier(unseen="ignore").fit(seen, labels[seen.index])


@UNSEEN
def test_a_schema_says_what_may_come() -> None:
    frame, labels = raw()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SchemaAdvice)
        schema = FeatureSchema.from_frame(frame)
    model = LikewiseClassifier(k=8, cuts=4, schema=schema)
    scores = cross_val_score(model, frame, labels, cv=4, scoring="roc_auc", error_score="raise")
    assert np.isfinite(scores).all()
    fitted = model.fit(frame[:100], labels[:100])
    assert fitted.schema_["purpose"].levels == ("boat", "car", "home", "yacht")
    assert clone(model).schema == schema
    extra = frame.assign(seen=pd.Timestamp("2026-01-01")).rename_axis("customer")
    assert (fitted.fit(extra, labels).predict_proba(extra) == model.predict_proba(extra)).all()
    with pytest.raises(LikewiseError, match="schema"):
        LikewiseClassifier(schema="income").fit(frame, labels)  # type: ignore[arg-type]


def test_the_favourable_class_is_named_where_somebody_is_favoured(table: tuple[Any, Any]) -> None:
    frame, labels = table
    words = np.where(labels == "repaid", "approved", "denied")
    panel = Panel([MetricAuditor("j", WeightedL1({"income": 1.0}, {"income": 400.0}))], "any")
    with pytest.raises(LikewiseError, match=r"favourable must be one of .*'approved', 'denied'"):
        LikewiseClassifier(panel=panel).fit(frame, words)
    with pytest.raises(LikewiseError, match="favourable must be one of"):
        LikewiseClassifier(favourable="yes").fit(frame, words)
    with pytest.raises(LikewiseError, match="favourable must be one of"):
        LikewiseClassifier().partial_fit(
            frame[:8], words[:8], classes=["approved", "denied"], reports=[]
        )
    settings: dict[str, Any] = {"panel": panel, "alpha": 0.1, "eta": 0.05, "k": 8}
    model = LikewiseClassifier(**settings, favourable="approved").fit(frame, words)
    same = LikewiseClassifier(**settings).fit(frame, (words == "approved").astype(int))
    assert model.classes_.tolist() == ["approved", "denied"]
    assert (model.predict_proba(frame)[:, 0] == same.predict_proba(frame)[:, 1]).all()
    assert ((model.predict(frame) == "approved") == (same.predict(frame) == 1)).all()


def test_labels_in_another_order_than_the_rows_are_refused(table: tuple[Any, Any]) -> None:
    frame, labels = table
    series = pd.Series(labels, index=frame.index)
    LikewiseClassifier().fit(frame, series)
    with pytest.raises(LikewiseError, match=r"y .*another order"):
        LikewiseClassifier().fit(frame, series.iloc[::-1])


@UNSEEN
@pytest.mark.parametrize(
    ("column", "says"),
    [
        (pd.Timestamp("2026-01-01"), "holds dates"),
        (np.inf, "has no value at all"),
        ([2**62 + n for n in range(120)], "integers that no float holds"),
        ([f"text {n}" for n in range(120)], "looks like an identity"),
        ("$10", r"'\$10' \(row 1\)"),
    ],
)
def test_a_column_that_is_no_feature_is_named_with_the_reason(
    table: tuple[Any, Any], column: Any, says: str
) -> None:
    frame, labels = table
    with pytest.raises(LikewiseError, match=f"'odd' .*{says}"):
        LikewiseClassifier().fit(frame.assign(odd=column), labels)


def test_rows_are_read_once_and_an_index_is_not_read(table: tuple[Any, Any]) -> None:
    frame, labels = table
    marked = frame.assign(grade=["NA", "1", "2"] * 40).rename_axis("customer")
    with pytest.warns(SchemaAdvice, match="is read as a missing value") as caught:
        LikewiseClassifier().fit(marked, labels)
    assert len(caught) == 1
    with pytest.raises(LikewiseError, match="lazy"):
        LikewiseClassifier().fit(pl.from_pandas(frame).lazy(), labels)
