"""Frames, pools and audits in one run: `python studies/scripts/frames.py [--people 20000]`.

Processor seconds, so that neighbours on the machine do not count; the wall clock beside them.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.preprocessing import OrdinalEncoder

from likewise import Feature, FeatureSchema, MetricAuditor, Panel, Pool, audit
from likewise.errors import MergedHypotheses
from likewise.hypotheses import class_from_spec
from likewise.panel import WeightedL1


def timed(what: str, work: Callable[[], Any], times: int = 1) -> Any:
    wall, processor = time.perf_counter(), time.process_time()
    for _ in range(times):
        result = work()
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    print(f"{what}: {processor / times:.3f} s of a processor, {wall / times:.3f} s")
    return result


def encoding() -> None:
    """100,000 mixed rows, against OrdinalEncoder and numpy."""
    rng, n = np.random.default_rng(1), 100_000
    frame = pd.DataFrame(
        {
            "income": rng.uniform(0, 100, n),
            "age": rng.integers(18, 90, n),
            "debt": np.where(rng.random(n) < 0.3, np.nan, rng.uniform(0, 5, n)),
            "owner": rng.random(n) < 0.5,
            "purpose": rng.choice(["car", "home", "boat"], n),
            "city": rng.choice([f"city {i}" for i in range(20)], n),
        }
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        schema = FeatureSchema.from_frame(frame)
    texts, rest = ["purpose", "city"], ["income", "age", "debt", "owner"]
    encoder = OrdinalEncoder().fit(frame[texts])

    def theirs() -> Any:
        return np.column_stack(
            [frame[rest].to_numpy(dtype=np.float64), encoder.transform(frame[texts])]
        )

    timed("encode 100,000 rows, OrdinalEncoder and numpy", theirs, 10)
    timed("encode 100,000 rows, schema.people", lambda: schema.people(frame), 10)


def pools() -> None:
    """Ten and a hundred columns of a thousand cuts, 2,000 rows."""
    rng = np.random.default_rng(2)
    for columns in (10, 100):
        schema = FeatureSchema(tuple(Feature(f"s{i}", low=0, high=1) for i in range(columns)))
        rows = rng.random((2000, columns))
        # Half of the cuts fall between two values each, so that few members are merged.
        cuts = np.sort(rows[:1000, 0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MergedHypotheses)
            make = partial(Pool.from_scores, schema, schema.names, cuts.tolist(), rows)
            pool = timed(f"pool of {columns * 1000:,}", make)
        spec = json.loads(json.dumps(timed("  its separating set and JSON", pool.spec)))
        read = timed("  read back", partial(class_from_spec, spec))
        print(f"  {pool.size:,} members differ; {read.separators:,} separating rows")


def audits(people: int) -> None:
    """Five metric auditors, majority."""
    rng = np.random.default_rng(3)
    schema = FeatureSchema(
        (
            Feature("income", low=0, high=100),
            Feature("age", "integer", 18, 90),
            Feature("debt", low=0, high=1),
            Feature("purpose", "category", levels=("car", "home", "boat")),
            Feature("owner", "flag"),
        )
    )
    x = np.column_stack([
        rng.uniform(0, 100, people), rng.integers(18, 90, people), rng.random(people),
        rng.integers(0, 3, people), rng.integers(0, 2, people),
    ])  # fmt: skip
    weights = [
        {"income": 0.6, "debt": 0.4}, {"income": 0.8, "age": 0.2}, {"income": 0.5, "purpose": 0.5},
        {"debt": 0.7, "owner": 0.3}, {"income": 0.3, "debt": 0.4, "age": 0.3},
    ]  # fmt: skip
    panel = Panel(
        [MetricAuditor(f"j{i}", WeightedL1(w)) for i, w in enumerate(weights)], "majority"
    )
    scores = np.clip(0.5 * x[:, 0] / 100 + 0.3 * x[:, 2] + 0.2 * rng.random(people), 0, 1)
    somebody = schema.encoded(x)
    report = timed(f"audit of {people:,} people", lambda: audit(somebody, scores, panel, alpha=0.1))
    print(f"  {report.looked_at:,} pairs looked at; {report.reported} reported")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, nargs="*", default=[20_000, 1_000_000])
    asked = parser.parse_args()
    encoding()
    pools()
    for people in asked.people:
        audits(people)
    print(f"most memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")


if __name__ == "__main__":
    main()
