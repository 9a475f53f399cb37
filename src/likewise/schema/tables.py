"""Tables of people as CSV files: read by name, and refused by line where they are not as needed."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from likewise.errors import LikewiseError
from likewise.features import Feature
from likewise.fixed_point import IntArray
from likewise.schema import FeatureSchema, People

__all__ = ["labels_of", "parse_people", "read_cells", "read_table"]

_SEPARATORS = {";": "semicolons (;)", "\t": "tabs"}
_FLAGS = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}


def read_cells(path: str | os.PathLike[str]) -> tuple[list[str], list[dict[str, str]]]:
    """The names in the first line of a CSV file, and the cells of every other line by name.

    Cells that are empty stay so: whoever reads them says whether they may be.
    """
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            header = list(reader.fieldnames or [])
            rows = list(reader)
    except OSError as error:
        raise LikewiseError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise LikewiseError(
            f"{path} is not a CSV file in UTF-8: {error}. Save it as UTF-8; a spreadsheet calls "
            f"that 'CSV UTF-8'."
        ) from error
    except csv.Error as error:
        raise LikewiseError(f"{path} is not a CSV file in UTF-8: {error}.") from error
    if len(header) == 1 and (found := [sign for sign in _SEPARATORS if sign in header[0]]):
        raise LikewiseError(
            f"{path} must be separated by commas; its first line is separated by "
            f"{_SEPARATORS[found[0]]}. Save it with commas, and numbers with a decimal point."
        )
    for line, row in enumerate(rows, start=2):
        if None in row or None in row.values():
            raise LikewiseError(
                f"{path}, line {line}: it must have {len(header)} cells, as the header has."
            )
    return header, rows


def read_table(path: Path, needed: Sequence[str]) -> list[dict[str, str]]:
    """The rows of a CSV file that has each of the columns needed once, and a row at least."""
    header, rows = read_cells(path)
    for name in needed:
        if header.count(name) != 1:
            raise LikewiseError(
                f"{path} must have one column {name!r}; its columns are {', '.join(header)}."
            )
    if not rows:
        raise LikewiseError(f"{path} has no row below its header.")
    return rows


def parse_people(
    path: Path,
    rows: Sequence[Mapping[str, str]],
    schema: FeatureSchema,
    ids: Sequence[str] | None = None,
) -> People:
    """People from the cells of a table, by the names of the features.

    An empty cell is a missing value. A flag is 1 or 0, true or false, yes or no.

    >>> schema = FeatureSchema((Feature("owner", "flag"), Feature("rooms", "integer", 0, 9)))
    >>> parse_people(Path("a.csv"), [{"owner": "True", "rooms": "3"}], schema).x.tolist()
    [[1.0, 3.0]]
    """
    return schema.people(
        [
            {f.name: _value(path, line, f, row[f.name]) for f in schema.features}
            for line, row in enumerate(rows, start=2)
        ],
        ids=ids,
    )


def _value(path: Path, line: int, feature: Feature, cell: str) -> Any:
    text = cell.strip()
    if not text:
        return None
    if feature.kind == "category":
        return cell if cell in feature.levels else text
    if feature.kind == "flag" and text.lower() in _FLAGS:
        return _FLAGS[text.lower()]
    try:
        return float(text)
    except ValueError:
        rule = "1 or 0, true or false, yes or no" if feature.kind == "flag" else "a number"
        raise LikewiseError(
            f"{path}, line {line}: {feature.name} must be {rule}; got {cell!r}."
        ) from None


def labels_of(path: Path, cells: Sequence[str], column: str) -> IntArray:
    """Labels from the cells of a column, each 0 or 1.

    >>> labels_of(Path("a.csv"), ["1", " 0"], "repaid").tolist()
    [1, 0]
    """
    for line, cell in enumerate(cells, start=2):
        if cell.strip() not in ("0", "1"):
            raise LikewiseError(
                f"{path}, line {line}: {column} must be 0 or 1; got {cell!r}. Write 1 for whom a "
                f"favourable decision was right, 0 for the others."
            )
    return np.array([int(cell) for cell in cells], dtype=np.int64)
