"""Frames and pools in one run: `python studies/scripts/frames.py`.

Processor seconds, so that neighbours on the machine do not count; the wall clock beside them.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.preprocessing import OrdinalEncoder

from likewise import Feature, FeatureSchema, Pool
from likewise.errors import MergedHypotheses
from likewise.hypotheses import class_from_spec


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


if __name__ == "__main__":
    encoding()
    pools()
