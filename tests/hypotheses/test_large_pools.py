"""Pools of many members: merged, told apart and read back as small ones are; models as columns."""

from __future__ import annotations

import json
import math
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from likewise import Feature, FeatureSchema, Learner, Pool, State, deploy
from likewise.errors import HypothesisError, LikewiseError, MergedHypotheses
from likewise.hypotheses import class_from_spec, lists, verify_separating_set
from likewise.hypotheses import pool as pools
from likewise.hypotheses.lists import greedy_separating_set, trie_separating_set
from likewise.learner import dump_state, parse_state

SCHEMA = FeatureSchema(tuple(Feature(f"s{i}", low=0, high=1) for i in range(4)))


def large(monkeypatch: pytest.MonkeyPatch, cuts: int = 100, rows: int = 400) -> Pool:
    """As if it were too large for the search of a small separating set."""
    monkeypatch.setattr(pools, "FEW_PREDICTIONS", 0)
    reference = np.random.default_rng(1).random((rows, 4))
    levels = np.linspace(0.01, 0.99, cuts).tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MergedHypotheses)
        return Pool.from_scores(SCHEMA, SCHEMA.names, levels, reference)


def test_a_separating_set_separates_and_is_kept_in_the_json(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pool = large(monkeypatch)
    assert pool.size > pools.FEW_MEMBERS
    assert pool._chosen is None  # nobody has needed it
    assert verify_separating_set(pool)
    spec = json.loads(json.dumps(pool.spec()))
    read = class_from_spec(spec)
    assert read.spec() == spec
    assert (read.separating_points() == pool.separating_points()).all()


def test_a_state_continues_after_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = large(monkeypatch)
    learner = Learner(pool, k=2, alpha=0.3, eps=0.3, seed=1, player="context-ftpl")
    state = State.start(learner)
    people = SCHEMA.people(np.random.default_rng(2).random((2, 4)))
    read = parse_state(dump_state(state), "here")
    assert deploy(read, people)[1].units.tolist() == deploy(state, people)[1].units.tolist()


def test_a_pool_that_was_large_keeps_its_separating_set_when_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its rows in the JSON are few, among which a search would find a smaller set."""
    pool = large(monkeypatch).with_prior("flat")
    learner = Learner(pool, k=2, alpha=0.3, eps=0.3, seed=1)
    spec, points = learner.spec(), pool.separating_points()
    monkeypatch.setattr(pools, "FEW_PREDICTIONS", pool.size * pool.separators)
    assert len(greedy_separating_set(points.T)) < pool.separators
    read = Learner.from_spec(spec)
    assert (read.hypotheses.separating_points() == points).all()
    assert read.spec() == spec


def test_members_are_merged_as_by_comparing_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = large(monkeypatch, cuts=90, rows=60)
    levels = np.linspace(0.01, 0.99, 90)
    reference = np.random.default_rng(1).random((60, 4))
    table = [(reference[:, c] >= at).tobytes() for c in range(4) for at in levels]
    constants = {np.ones(60, dtype=bool).tobytes(), np.zeros(60, dtype=bool).tobytes()}
    assert pool.size == len(set(table) | constants)
    assert pool.cuts[0].at == -math.inf
    assert pool.cuts[-1].at == math.inf


@pytest.mark.parametrize("seed", range(5))
def test_both_ways_of_separating_separate(seed: int) -> None:
    bits = np.unique(np.random.default_rng(seed).integers(0, 2, (60, 40), dtype=np.uint8), axis=0)
    for find in (greedy_separating_set, trie_separating_set):
        assert len(np.unique(bits[:, find(bits)], axis=0)) == len(bits)
    assert trie_separating_set(bits[:1]).tolist() == []
    with pytest.raises(HypothesisError, match="same"):
        trie_separating_set(np.vstack([bits, bits[:1]]))


def test_a_pool_too_large_for_draws_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = large(monkeypatch)
    monkeypatch.setattr(lists, "LARGEST_TABLE", 10)
    with pytest.raises(HypothesisError, match="exponential-weights"):
        pool.separating_points()


@pytest.fixture(scope="module")
def fitted() -> tuple[pd.DataFrame, dict[str, Any]]:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"income": rng.uniform(0, 100, 200), "age": rng.integers(18, 80, 200)})
    labels = (frame["income"] + rng.normal(0, 20, 200) > 50).astype(int)
    frame["purpose"] = rng.choice(["car", "home"], 200)
    frame["person"] = [f"c{i}" for i in range(200)]
    x = frame[["age", "income"]]
    return frame, {
        "forest": RandomForestClassifier(5, random_state=1).fit(x, labels),
        "logistic": LogisticRegression().fit(x, labels),
        "rule": lambda table: np.asarray(table["income"]) / 100,
    }


FEATURES = FeatureSchema(
    (
        Feature("income", low=0, high=100),
        Feature("purpose", "category", levels=("car", "home")),
    )
)


@pytest.mark.filterwarnings("ignore::likewise.errors.MergedHypotheses")
@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_models_become_columns(fitted: tuple[pd.DataFrame, dict[str, Any]], kind: Any) -> None:
    frame, models = fitted
    native = frame if kind is pd.DataFrame else pl.from_pandas(frame)
    if kind is pl.DataFrame:
        models = {name: model for name, model in models.items() if name != "forest"}
    pool = Pool.from_models(models, native, cuts=10, schema=FEATURES, ids="person")
    assert pool.schema.names == ("income", "purpose", *models)
    people = pool.people(native[:5], ids="person")
    expected = fitted[1]["logistic"].predict_proba(frame[["age", "income"]][:5])[:, 1]
    assert np.allclose(people.column("logistic"), expected)
    assert people.ids[0] == "c0"
    _, round_ = deploy(State.start(Learner(pool, k=5, alpha=0.3, eps=0.3, seed=1)), people)
    assert len(round_.units) == 5
    assert "forest" not in people.say(0)
    with pytest.raises(HypothesisError, match="no models"):
        class_from_spec(pool.spec()).people(native)  # type: ignore[attr-defined]


def test_models_that_do_not_fit_are_named(fitted: tuple[pd.DataFrame, dict[str, Any]]) -> None:
    frame, _ = fitted
    for models, says in (
        ({"m": lambda table: table["income"]}, r"within \[0, 1\]"),
        ({"m": lambda table: table["nothing"]}, "KeyError"),
        ({"m": lambda table: [0.5] * (len(table) - 1)}, "one for each"),
        ({"m": 3}, "predict_proba"),
        ({}, "at least one"),
        ("forest", "by name"),
        ({"income": lambda table: table["income"] / 100}, "Rename the model"),
    ):
        with pytest.raises(LikewiseError, match=says):
            Pool.from_models(models, frame, schema=FEATURES, ids="person")


def test_columns_of_a_frame_are_cut_into_parts() -> None:
    frame = pd.DataFrame({"score": np.arange(100) / 100, "income": np.arange(100.0)})
    pool = Pool.from_frame(frame, ["score"], cuts=4)
    assert [cut.at for cut in pool.cuts] == [-math.inf, 0.25, 0.5, 0.75, math.inf]
    with pytest.raises(LikewiseError, match="score2"):
        Pool.from_frame(frame, ["score2"])


class Words:
    """A model whose classes are words, in the order of the alphabet."""

    classes_ = np.array(["approved", "denied"])

    def predict_proba(self, frame: Any) -> Any:
        chances = np.asarray(frame["income"]) / 100
        return np.column_stack([chances, 1 - chances])


def test_of_two_words_the_favourable_one_is_approval() -> None:
    frame = pd.DataFrame({"income": [20.0, 40.0, 90.0]})
    schema = FeatureSchema((Feature("income", low=0, high=100),))
    for favourable in (None, "yes", ["approved"]):
        with pytest.raises(LikewiseError, match=r"favourable must be .*'approved', 'denied'"):
            Pool.from_models({"m": Words()}, frame, [0.5], schema, favourable=favourable)
    models = {"m": Words(), "n": lambda table: table["income"] / 200}
    pool = Pool.from_models(models, frame, [0.3], schema, favourable="approved")
    assert pool.people(frame).column("m").tolist() == [0.2, 0.4, 0.9]


def test_a_model_may_return_a_series_in_another_order() -> None:
    frame = pd.DataFrame({"income": [20.0, 90.0, 40.0]}, index=["x", "y", "z"])
    schema = FeatureSchema((Feature("income", low=0, high=100),))
    ordered = {"m": lambda table: (table["income"] / 100).sort_values()}
    pool = Pool.from_models(ordered, frame, [0.5], schema)
    assert pool.people(frame).column("m").tolist() == [0.2, 0.9, 0.4]
    loose = {"m": lambda table: (table["income"] / 100).sort_values().reset_index(drop=True)}
    with pytest.raises(HypothesisError, match="another order"):
        Pool.from_models(loose, frame, [0.5], schema)
