"""Results as Parquet, beside the CSV file, for those who have pyarrow: it is imported here alone.

``results.parquet`` is a folder, which every reader of Parquet takes for one table: a file for every
run as it finishes, and one for all of them, in the sweep's order, when the last has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

from likewise.experiments.sweep.runs import Row
from likewise.extras import missing

__all__ = ["append_parquet", "need_parquet", "write_parquet"]


def need_parquet() -> Any:
    """pyarrow, or an error that says how to install it."""
    try:
        import_module("pyarrow.parquet")
        return import_module("pyarrow")
    except ImportError as error:
        raise missing("Writing Parquet", "pyarrow", "parquet", error) from error


def append_parquet(folder: Path, rows: Sequence[Row]) -> None:
    """The rows of a run as a file of their own."""
    target = _folder(folder)
    _write(target / f"run-{rows[0].run}.parquet", rows)


def write_parquet(folder: Path, rows: Sequence[Row]) -> None:
    """All rows as one file, and nothing else."""
    target = _folder(folder)
    for old in target.glob("*.parquet"):
        old.unlink()
    if rows:
        _write(target / "all.parquet", rows)


def _folder(folder: Path) -> Path:
    target = folder / "results.parquet"
    target.mkdir(exist_ok=True)
    return target


def _write(path: Path, rows: Sequence[Row]) -> None:
    pyarrow = need_parquet()
    kinds = {str: pyarrow.string(), int: pyarrow.int64()}
    schema = pyarrow.schema(
        [(name, kinds.get(kind, pyarrow.float64())) for name, kind in get_type_hints(Row).items()]
    )
    table = pyarrow.Table.from_pylist([asdict(row) for row in rows], schema=schema)
    part = path.with_suffix(".part")
    pyarrow.parquet.write_table(table, part)
    part.replace(path)
