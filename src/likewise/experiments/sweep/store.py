"""The results of a sweep in a folder: appended as runs finish, and safe against any interruption.

``sweep.json`` says which sweep the folder is of; ``results.csv`` has the rows of every run that has
finished. The rows of a run are written at once, and a run counts when all of them are there: what a
process that was killed left half written is dropped when the folder is opened again. When all runs
are there the rows are put into the sweep's order, so that the file is the same bit for bit, however
many workers there were and in whatever order they finished.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, fields, replace
from pathlib import Path
from typing import Any, get_type_hints

from likewise.errors import LikewiseError
from likewise.experiments.sweep.runs import Row
from likewise.experiments.sweep.spec import Sweep

try:
    import fcntl
except ImportError:  # not on this system: two processes must not share a folder there
    fcntl = None  # type: ignore[assignment]

COLUMNS = tuple(field.name for field in fields(Row))
_TYPES = get_type_hints(Row)


class Results:
    """A folder of results, opened for one sweep; any other one's folder is refused."""

    def __init__(self, folder: Path, sweep: Sweep) -> None:
        self.folder, self.sweep = folder, sweep
        self._runs = {run.digest: n for n, run in enumerate(sweep.runs())}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._claim()
        except OSError as error:
            raise LikewiseError(
                f"The folder {folder} cannot be used: {error.strerror}. Give another one."
            ) from error
        self.rows = self._complete_rows()

    @property
    def csv(self) -> Path:
        """The file of all rows."""
        return self.folder / "results.csv"

    @property
    def finished(self) -> set[str]:
        """The digests of the runs that have finished."""
        return {row.run for row in self.rows}

    def _claim(self) -> None:
        """Write which sweep it is of, or refuse the folder of another one."""
        path, sweep = self.folder / "sweep.json", self.sweep
        claim = {"sweep": sweep.digest, "title": sweep.title, "runs": len(self._runs)}
        if not path.exists():
            if self.csv.exists():
                raise LikewiseError(
                    f"{self.folder} has results but no sweep.json, so nobody can tell of what "
                    f"they are. Give another folder."
                )
            _replace(path, json.dumps(claim, indent=2) + "\n")
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise LikewiseError(f"{path} is not JSON: {error}. Give another folder.") from error
        if stored.get("sweep") != claim["sweep"]:
            raise LikewiseError(
                f"{self.folder} holds results of another sweep, {stored.get('title')!r} with "
                f"{stored.get('runs')} runs; this one is {sweep.title!r} with {len(self._runs)}, "
                f"with its own settings and today's defaults. Give another folder; what is there "
                f"is kept as it is."
            )

    def _complete_rows(self) -> list[Row]:
        """All rows of runs that are complete; if there are others, the file is written anew."""
        text = self.csv.read_text(encoding="utf-8") if self.csv.exists() else ""
        rows = list(_parsed(text))
        counts, horizons = Counter(row.run for row in rows), len(self.sweep.horizons)
        complete = [row for row in rows if row.run in self._runs and counts[row.run] == horizons]
        if (mended := _as_csv(complete)) != text:
            _replace(self.csv, mended)
        return complete

    def append(self, rows: Sequence[Row]) -> None:
        """The rows of one run that has finished, at once and onto the disk."""
        with self.csv.open("a", encoding="utf-8", newline="") as file:
            file.write(_as_csv(rows, header=False))
            file.flush()
            os.fsync(file.fileno())
        self.rows += rows

    def finish(self) -> list[Row]:
        """All rows in the sweep's order, with its titles, once every run is there."""
        entries = {run.digest: run.entry for run in self.sweep.runs()}
        self.rows = [
            replace(row, scenario=entries[row.run].scenario, configuration=entries[row.run].title)
            for row in sorted(self.rows, key=lambda row: (self._runs[row.run], row.rounds))
        ]
        _replace(self.csv, _as_csv(self.rows))
        return self.rows

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else writes into the folder meanwhile; a lock goes with its process."""
        with (self.folder / "sweep.json").open("r", encoding="utf-8") as file:
            if fcntl is not None:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError as error:
                    raise LikewiseError(
                        f"Another process is writing into {self.folder}. Wait for it, or give "
                        f"another folder."
                    ) from error
            yield


def read_rows(path: Path) -> list[Row]:
    """The rows of a file of results: all that its tables and figures need."""
    try:
        return list(_parsed(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise LikewiseError(f"{path} cannot be read: {error.strerror}.") from error


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """All rows as a file of results."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _replace(path, _as_csv(rows))


def _parsed(text: str) -> Iterator[Row]:
    """The rows that are complete; the last line may have been cut off by whatever happened."""
    lines = [line for line in text.splitlines(keepends=True) if line.endswith("\n")]
    header, *rows = csv.reader(lines) if lines else [list(COLUMNS)]
    if tuple(header) != COLUMNS:
        raise LikewiseError(
            f"These are not results of this version: the columns are {', '.join(header)}. Run the "
            f"sweep again in another folder."
        )
    for cells in rows:
        if len(cells) == len(COLUMNS):
            yield Row(**{n: _value(n, cell) for n, cell in zip(COLUMNS, cells, strict=True)})


def _value(name: str, cell: str) -> Any:
    if _TYPES[name] in (str, int):
        return _TYPES[name](cell)
    return float(cell) if cell else None


def _as_csv(rows: Iterable[Row], *, header: bool = True) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if header:
        writer.writerow(COLUMNS)
    writer.writerows(astuple(row) for row in rows)
    return text.getvalue()


def _replace(path: Path, text: str) -> None:
    """Write a file anew; whatever happens meanwhile, either the old or the new one is there."""
    part = path.with_suffix(path.suffix + ".part")
    with part.open("w", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
