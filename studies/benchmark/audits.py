"""Audits of many people: their time, and the most memory they take.

``python -m studies.benchmark.audits`` measures all rows anew, each in a process of its own.
"""

import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from likewise import Feature, FeatureSchema, MetricAuditor, Panel, audit
from likewise.panel import WeightedL1
from studies.pages import Study, table

KINDS, BLOCK = 10_000, 1 << 17

SCHEMA = FeatureSchema(
    (
        Feature("income", low=0, high=100),
        Feature("age", "integer", 18, 90),
        Feature("debt", low=0, high=1),
        Feature("purpose", "category", levels=("car", "home", "boat")),
        Feature("owner", "flag"),
    )
)
WEIGHTS = (
    {"income": 0.6, "debt": 0.4}, {"income": 0.8, "age": 0.2}, {"income": 0.5, "purpose": 0.5},
    {"debt": 0.7, "owner": 0.3}, {"income": 0.3, "debt": 0.4, "age": 0.3},
)  # fmt: skip
PANEL = Panel([MetricAuditor(f"j{i}", WeightedL1(w)) for i, w in enumerate(WEIGHTS)], "majority")


def in_memory(people: int) -> Any:
    """An audit of all pairs of people in memory; the same by any commit."""
    rng = np.random.default_rng(3)
    x = np.column_stack([
        rng.uniform(0, 100, people), rng.integers(18, 90, people), rng.random(people),
        rng.integers(0, 3, people), rng.integers(0, 2, people),
    ])  # fmt: skip
    scores = np.clip(0.5 * x[:, 0] / 100 + 0.3 * x[:, 2] + 0.2 * rng.random(people), 0, 1)
    return audit(SCHEMA.encoded(x), scores, PANEL, alpha=0.1)


def batches(people: int, discrete: bool) -> Iterator[Any]:
    """Rows of some kinds of people, or of people of whom no two are alike."""
    rng = np.random.default_rng(5)
    kinds, fractions = rng.integers(0, KINDS, BLOCK), rng.random(BLOCK)
    noise = rng.random(KINDS)
    for number, start in enumerate(range(0, people, BLOCK)):
        size = min(BLOCK, people - start)
        kind = (kinds[:size] + 7919 * number) % KINDS
        income = kind % 20 * 5.0
        debt, shift = kind // 20 % 10 / 10, noise[kind]
        if not discrete:
            share = (fractions[:size] + 0.618033988749895 * number) % 1.0
            income, shift = 100 * share, (share * 997) % 1.0
        yield pa.record_batch({
            "id": np.arange(start, start + size), "income": income,
            "age": 18 + kind // 200 % 5 * 12, "debt": debt,
            "purpose": pa.DictionaryArray.from_arrays(
                pa.array(kind // 1000 % 3, pa.int8()), ["car", "home", "boat"]
            ),
            "owner": kind // 3000 % 2 == 1, "score": 0.5 * income / 100 + 0.3 * debt + 0.2 * shift,
        })  # fmt: skip


def stream(people: int, discrete: bool) -> Any:
    rows = batches(people, discrete)
    first = next(rows)
    return pa.RecordBatchReader.from_batches(first.schema, chain([first], rows))


def write_parquet(path: Path, people: int, discrete: bool) -> None:
    reader = stream(people, discrete)
    with parquet.ParquetWriter(path, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)


def _source(name: str, people: int, discrete: bool, path: Path) -> Any:
    if name == "generated":
        return lambda: stream(people, discrete)
    if name == "polars":
        import polars

        return polars.scan_parquet(path)
    if name == "duckdb":
        import duckdb

        return duckdb.sql(f"select * from '{path}'")
    return path


def measured(work: Callable[[], Any]) -> dict[str, Any]:
    """Seconds, processor seconds and the most memory of a process that does this work alone."""
    began, processor = time.perf_counter(), time.process_time()
    result = work()
    return {
        "seconds": round(time.perf_counter() - began, 2),
        "processor_seconds": round(time.process_time() - processor, 2),
        "gigabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2),
        "looked_at": result.looked_at,
        "pairs": result.pairs,
        "reported": result.reported.value,
    }


def one(name: str, people: int, discrete: bool, path: Path) -> dict[str, Any]:
    if name == "memory":
        return measured(lambda: in_memory(people))
    scan = SCHEMA.scan(_source(name, people, discrete, path), ids="id")
    return measured(lambda: audit(scan, "score", PANEL, alpha=0.1))


SOURCES = {"parquet": 10**7, "duckdb": 10**7, "polars": 10**7, "generated": 10**8}
"""How many people each source has."""
IN_MEMORY = 20_000


def rows(folder: Path) -> Iterator[dict[str, Any]]:
    """Figures by source: of people of some kinds, and of people of whom no two are alike."""
    every = [(name, True) for name in SOURCES]
    for name, discrete in (*every, ("memory", False), ("parquet", False), ("generated", False)):
        path, people = folder / f"{discrete}.parquet", SOURCES.get(name, IN_MEMORY)
        if name == "parquet":
            write_parquet(path, people, discrete)
        with ProcessPoolExecutor(1, get_context("spawn")) as alone:
            run = alone.submit(one, name, people, discrete, path).result()
        title = "all pairs in memory" if name == "memory" else name
        yield {"name": title, "people": people, "kinds": KINDS if discrete else None, **run}


def markdown(figures: list[dict[str, Any]]) -> str:
    heads = ("audit", "people", "kinds", "pairs looked at", "processor", "most memory")
    cells = (
        (row["name"], f"{row['people']:,}", f"{row['kinds']:,}" if row["kinds"] else "–",
         f"all {row['pairs']:.2g}" if row["looked_at"] == row["pairs"] else f"{row['looked_at']:,}",
         f"{row['processor_seconds']:.3g} s", f"{row['gigabytes']:.2f} GB")
        for row in figures
    )  # fmt: skip
    return table(heads, cells)


STUDY = Study("audits", "audits.json", "performance.md", markdown)

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        STUDY.keep(list(rows(Path(folder))))
