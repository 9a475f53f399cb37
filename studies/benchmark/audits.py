"""Audits of many people: time beside that of an earlier commit, and the most memory they take.

``python -m studies.benchmark.audits --write`` measures all rows anew, each in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from likewise import Feature, FeatureSchema, MetricAuditor, Panel, audit
from likewise.panel import WeightedL1

ROOT = Path(__file__).parents[2]
FIGURES, PAGE = ROOT / "studies/results/audits.json", ROOT / "docs/research/performance.md"
BEFORE = "3e28142"
"""The commit whose scan of all pairs is the reference."""
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
    """The figures of one audit, in this process."""
    if name == "memory":
        return measured(lambda: in_memory(people))
    scan = SCHEMA.scan(_source(name, people, discrete, path), ids="id")
    return measured(lambda: audit(scan, "score", PANEL, alpha=0.1))


def _apart(source: Path, *arguments: str) -> dict[str, Any]:
    """The figures of an audit in a process of its own, with the library in some folder."""
    paths = os.pathsep.join([str(source), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-m", "studies.benchmark.audits", "--one", *arguments],
        env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def race(people: int, turns: int) -> dict[str, Any]:
    """All pairs of people in memory, by this commit and by the earlier one, in turns."""
    now = ROOT / "packages/likewise/src"
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(
            ["git", "archive", BEFORE, "packages/likewise/src"],
            cwd=ROOT, capture_output=True, check=True,
        )  # fmt: skip
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        before = Path(folder) / "packages/likewise/src"
        _apart(now, "memory", str(people))  # compiles
        runs = [
            (_apart(now, "memory", str(people)), _apart(before, "memory", str(people)))
            for _ in range(turns)
        ]
    ours, reference = (
        min(pair, key=lambda run: run["seconds"]) for pair in zip(*runs, strict=True)
    )
    least = [min(run[who]["processor_seconds"] for run in runs) for who in (0, 1)]
    return {
        **ours, "name": "all pairs in memory", "people": people, "kinds": None, "turns": turns,
        "processor_seconds": least[0], "reference_seconds": reference["seconds"],
        "reference_processor_seconds": least[1],
        "same": all(ours[key] == reference[key] for key in ("pairs", "looked_at", "reported")),
    }  # fmt: skip


SOURCES = ("parquet", "duckdb", "polars", "generated")


def rows(
    names: Sequence[str], sizes: Mapping[str, int], turns: int, folder: Path
) -> Iterator[dict[str, Any]]:
    """Figures by name: a race, Parquet files by some engines, and rows that are generated."""
    if "memory" in names:
        yield race(sizes["memory"], turns)
    for discrete in (True, False):
        path = folder / f"{discrete}.parquet"
        if {*names} & {*SOURCES} - {"generated"}:
            write_parquet(path, sizes["parquet"], discrete)
        for name in (name for name in SOURCES if name in names):
            people = sizes["generated" if name == "generated" else "parquet"]
            now = ROOT / "packages/likewise/src"
            run = _apart(now, name, str(people), str(discrete), str(path))
            yield {"name": name, "people": people, "kinds": KINDS if discrete else None, **run}


def merged(before: list[dict[str, Any]], now: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Figures with those that were measured anew in place of the earlier ones."""
    keys = ("name", "people", "kinds")
    figures = {tuple(row[key] for key in keys): row for row in (*before, *now)}
    order = ("all pairs in memory", *SOURCES)
    return sorted(
        figures.values(), key=lambda row: (row["kinds"] is None, order.index(row["name"]))
    )


def markdown(figures: list[dict[str, Any]]) -> str:
    """The figures as a table."""
    lines = [
        "| audit | people | kinds | pairs looked at | processor | most memory |",
        "|---|---|---|---|---|---|",
    ]
    for row in figures:
        every = row["looked_at"] == row["pairs"]
        cells = (
            row["name"], f"{row['people']:,}", f"{row['kinds']:,}" if row["kinds"] else "–",
            f"all {row['pairs']:.2g}" if every else f"{row['looked_at']:,}",
            f"{row['processor_seconds']:.3g} s", f"{row['gigabytes']:.2f} GB",
        )  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    for row in (row for row in figures if "reference_seconds" in row):
        ratio = row["reference_processor_seconds"] / row["processor_seconds"]
        clock = row["reference_seconds"] / row["seconds"]
        turns = row.get("turns", 1)
        how = (
            f"in {turns} turns, the least of each"
            if turns > 1
            else "one after the other, once each"
        )
        lines += [
            "",
            f"Commit `{BEFORE}`, which counted all pairs by numpy, takes {ratio:.1f} times the "
            f"processor time and {clock:.1f} times the time by the clock, in the same run, {how}.",
        ]
    return "\n".join(lines)


def main() -> None:
    """Measure all rows, or one of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs="+", help="name, people, whether they are of kinds, file")
    every = ["memory", *SOURCES]
    parser.add_argument("--only", nargs="+", default=every, choices=every, help="some rows alone")
    parser.add_argument("--memory", type=int, default=20_000)
    parser.add_argument("--parquet", type=int, default=10**7)
    parser.add_argument("--generated", type=int, default=10**8)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="keep the figures, and show them")
    asked = parser.parse_args()
    if asked.one:
        name, people, discrete, path = (*asked.one, "", "")[:4]
        print(json.dumps(one(name, int(people), discrete == "True", Path(path))))
        return
    sizes = {name: getattr(asked, name) for name in ("memory", "parquet", "generated")}
    with tempfile.TemporaryDirectory() as folder:
        figures = list(rows(asked.only, sizes, asked.turns, Path(folder)))
    print(markdown(figures))
    if asked.write:
        keep(figures)


def keep(figures: list[dict[str, Any]]) -> None:
    """Store figures, and show them on the page."""
    from studies.sweep.tables import write_between_marks

    before = json.loads(FIGURES.read_text()) if FIGURES.exists() else []
    figures = merged(before, figures)
    FIGURES.write_text(json.dumps(figures, indent=1) + "\n")
    write_between_marks(PAGE, "audits", markdown(figures))


if __name__ == "__main__":
    main()
