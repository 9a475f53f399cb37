"""The required size: 8000 rounds of 8 people, 1000 hypotheses, in under a minute."""

from __future__ import annotations

import time

import numpy as np
import pytest

from likewise.hypotheses import HypothesisClass, Points, Pool, Segments
from likewise.numerics.fixed_point import ONE, FloatArray, IntArray
from likewise.people import Feature, FeatureSchema, People
from likewise.simulate import Faced, best_fair_policy

T, K, TRAITS, COLUMNS = 8000, 8, 5, 50
SECONDS = 60.0


def believable() -> tuple[FloatArray, IntArray, IntArray]:
    """Scores of 50 models that agree in part, labels, and the median of three auditors."""
    rng = np.random.default_rng(2024)
    traits = rng.normal(size=(T * K, TRAITS))
    loadings = 0.4 * rng.normal(size=(TRAITS, COLUMNS))
    loadings[0] += 1.0
    noise = 0.5 * rng.normal(size=(T * K, COLUMNS))
    scores = 1.0 / (1.0 + np.exp(-(traits @ loadings + noise)))
    chance = 1.0 / (1.0 + np.exp(-2.0 * traits[:, 0] - traits[:, 1]))
    labels = (rng.random(T * K) < chance).astype(np.int64)
    rooms = traits.reshape(T, K, TRAITS)
    apart = np.abs(rooms[:, :, None] - rooms[:, None])
    weights = np.array([[0.3, 0.1, 0, 0.05, 0], [0.2, 0.2, 0.1, 0, 0], [0.5, 0, 0, 0.1, 0.1]])
    pivots = np.median(apart @ weights.T, axis=-1)
    return scores, labels, np.rint(np.minimum(pivots, 1.0) * ONE).astype(np.int64)


def seconds(
    hypotheses: HypothesisClass, points: Points, labels: IntArray, pivots: IntArray
) -> float:
    rounds = [
        Faced(points[t * K : (t + 1) * K], labels[t * K : (t + 1) * K], pivots[t]) for t in range(T)
    ]
    began = time.perf_counter()
    best = best_fair_policy(hypotheses, rounds, slack=0.05)
    taken = time.perf_counter() - began
    print(f"\n{type(hypotheses).__name__}: {taken:.1f} s, error rate {best.error_rate:.4f}")
    return taken


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::likewise.errors.MergedHypotheses")
def test_a_pool_of_a_thousand_over_8000_rounds_of_8_takes_under_a_minute() -> None:
    scores, labels, pivots = believable()
    names = [f"s{j + 1}" for j in range(COLUMNS)]
    schema = FeatureSchema(tuple(Feature(name) for name in names))
    pool = Pool.from_scores(schema, names, np.linspace(0.1, 0.9, 20).tolist(), scores[:3000])
    assert pool.size >= 1000
    people = People(tuple(map(str, range(T * K))), scores, schema)
    assert seconds(pool, pool.locate(people), labels, pivots) < SECONDS


@pytest.mark.long
def test_fifty_segments_of_twenty_bins_over_8000_rounds_of_8_take_under_a_minute() -> None:
    scores, labels, pivots = believable()
    regions = tuple(f"region {g + 1}" for g in range(50))
    schema = FeatureSchema((Feature("score"), Feature("region", "category", levels=regions)))
    cuts = np.linspace(0.05, 0.95, 19).tolist()
    lender = Segments(schema, score="score", cuts=cuts, by=["region"])
    region = np.minimum(np.floor(50 * scores[:, 7]), 49)
    people = People(tuple(map(str, range(T * K))), np.stack([scores[:, 0], region], axis=1), schema)
    assert lender.separators == 1000
    assert seconds(lender, lender.locate(people), labels, pivots) < SECONDS
