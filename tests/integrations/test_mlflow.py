"""Audits and policies in MLflow itself; skipped where it is not installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from likewise import (
    Feature,
    FeatureSchema,
    Learner,
    MetricAuditor,
    Panel,
    Pool,
    State,
    audit,
    deploy,
)
from likewise.learner.fold import current_scores
from likewise.numerics.fixed_point import ONE
from likewise.panel import WeightedL1

mlflow: Any = pytest.importorskip("mlflow", reason="MLflow is not installed")
pandas: Any = pytest.importorskip("pandas")
pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::Warning")]

SCHEMA = FeatureSchema((Feature("income", low=0, high=100),))
PANEL = Panel([MetricAuditor("banker", WeightedL1({"income": 1.0}))], "any")


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Any]:
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'runs.db'}")
    experiment = mlflow.create_experiment("audits", artifact_location=(tmp_path / "files").as_uri())
    with mlflow.start_run(experiment_id=experiment) as started:
        yield started


def test_an_audit_is_logged_to_the_run(run: Any) -> None:
    from likewise.mlflow import log_audit

    people = SCHEMA.people([[50], [52], [90]], ids=["ann", "bo", "cy"])
    result = audit(people, [0.2, 0.9, 0.9], PANEL, alpha=0.1, labels=[0, 1, 1], model="spring")
    log_audit(result)
    stored = mlflow.get_run(run.info.run_id).data
    assert stored.metrics["audit_reported_pairs"] == result.reported.value == 2
    assert stored.metrics["audit_error"] == result.price.model  # type: ignore[union-attr]
    assert stored.tags["audit_model"] == "spring"
    page = mlflow.artifacts.load_text(f"{run.info.artifact_uri}/audit.html")
    assert "bo" in page
    text = mlflow.artifacts.load_text(f"{run.info.artifact_uri}/audit.json")
    assert type(result).from_json(text).reported == result.reported


def test_a_pool_is_a_model_that_gives_the_learners_own_chances(run: Any) -> None:
    from likewise.mlflow import log_policy

    frame = pandas.DataFrame({"income": [20.0, 40.0, 60.0, 90.0]})
    models: dict[str, Any] = {
        "cautious": lambda f: f["income"] / 100,
        "bold": lambda f: f["income"] % 50 / 50,
    }
    pool = Pool.from_models(models, frame, cuts=[0.5], schema=SCHEMA)
    state, _ = deploy(
        State.start(Learner(pool, k=4, alpha=0.3, eps=0.3, seed=1)), pool.people(frame)
    )
    logged = log_policy(state)
    scored = frame.assign(**{name: model(frame) for name, model in models.items()})
    chances = mlflow.pyfunc.load_model(logged.model_uri).predict(scored)
    assert np.array_equal(chances, current_scores(state, pool.people(frame)) / ONE)
