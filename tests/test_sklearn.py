"""The scikit-learn face keeps scikit-learn's conventions, apart from what is named here."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from likewise import MetricAuditor, Panel
from likewise.errors import LikewiseError
from likewise.hypotheses import Trees
from likewise.panel import WeightedL1
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


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_mixed_frames_are_learnt_from_and_scored(table: tuple[Any, Any], kind: str) -> None:
    frame, labels = table
    given = frame if kind == "pandas" else pl.from_pandas(frame)
    model = LikewiseClassifier(k=8, eta=1.0, alpha=0.5).fit(given, labels)
    assert model.classes_.tolist() == ["default", "repaid"]
    assert model.n_features_in_ == 3
    assert list(model.feature_names_in_) == ["income", "purpose", "owner"]
    chances = model.predict_proba(given)[:, 1]
    good = labels == "repaid"
    assert chances[good].mean() > chances[~good].mean() + 0.1
    assert set(model.predict(given)) <= {"default", "repaid"}
    boats = frame.assign(purpose="boat")
    with pytest.raises(LikewiseError, match="must be one of car, home"):
        model.predict_proba(boats if kind == "pandas" else pl.from_pandas(boats))


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


def test_reports_are_heard_and_routed(table: tuple[Any, Any]) -> None:
    frame, labels = table
    model = LikewiseClassifier(k=8)
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
    watched = LikewiseClassifier(panel=panel, alpha=0.1, eta=0.05, k=8).fit(frame, labels)
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
