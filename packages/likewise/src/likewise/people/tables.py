"""CSV files: people, labels and other tables, read by name and refused by line."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from likewise.errors import LikewiseError
from likewise.numerics.fixed_point import IntArray
from likewise.people.features import Feature, checked_ids
from likewise.people.schema import FeatureSchema, People

_SEPARATORS = {";": "semicolons (;)", "\t": "tabs"}
_FLAGS = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}


def read_table(path: str | os.PathLike[str], needed: Sequence[str] = ()) -> list[dict[str, str]]:
    """The rows of a CSV file by the names in its first line.

    Every column ``needed`` must be there once; without any, no name may be there twice.
    Empty cells stay empty: the caller decides whether they may be.
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
    _check_header(path, header, needed)
    if not rows:
        raise LikewiseError(
            f"{path} has no row below its header; it must have a line of names, and a line for "
            f"every row."
        )
    for line, row in enumerate(rows, start=2):
        if None in row or None in row.values():
            raise LikewiseError(
                f"{path}, line {line}: it must have {len(header)} cells, as the header has."
            )
    return rows


def _check_header(
    path: str | os.PathLike[str], header: Sequence[str], needed: Sequence[str]
) -> None:
    separators = [sign for sign in _SEPARATORS if len(header) == 1 and sign in header[0]]
    if separators:
        raise LikewiseError(
            f"{path} must be separated by commas; its first line is separated by "
            f"{_SEPARATORS[separators[0]]}. Save it with commas, and numbers with a decimal point."
        )
    for name in needed or header:
        if header.count(name) > 1:
            raise LikewiseError(f"{path} names the column {name!r} twice. Rename one of them.")
        if name not in header:
            raise LikewiseError(
                f"{path} must have one column {name!r}; its columns are {', '.join(header)}."
            )


def parse_people(
    path: Path,
    rows: Sequence[Mapping[str, str]],
    schema: FeatureSchema,
    ids: Sequence[str] | None = None,
) -> People:
    """People from the cells of a table, by the names of the features.

    An empty cell is a missing value. A flag is 1 or 0, true or false, yes or no.
    """
    if lacking := [name for name in schema.names if name not in rows[0]]:
        raise LikewiseError(f"{path} has no column {lacking[0]!r}, which the schema names.")
    columns = [
        [_value(path, line, feature, row[feature.name]) for line, row in enumerate(rows, start=2)]
        for feature in schema.features
    ]
    return schema.from_columns(columns, checked_ids(len(rows), ids))


def _value(path: Path, line: int, feature: Feature, cell: str) -> Any:
    text = cell.strip()
    if not text:
        return None
    if feature.kind == "category":
        return cell if cell in feature.levels else text
    if feature.kind == "flag" and text.lower() in _FLAGS:
        return _FLAGS[text.lower()]
    rule = "1 or 0, true or false, yes or no" if feature.kind == "flag" else "a number"
    return _number(path, line, feature.name, cell, rule)


def _number(path: Path, line: int, column: str, cell: str, rule: str = "a number") -> float:
    try:
        return float(cell)
    except ValueError:
        raise LikewiseError(
            f"{path}, line {line}: {column} must be {rule}; got {cell!r}."
        ) from None


def parse_numbers(path: Path, rows: Sequence[Mapping[str, str]], column: str) -> list[float]:
    """The numbers of a column."""
    return [_number(path, line, column, row[column]) for line, row in enumerate(rows, start=2)]


def parse_labels(path: Path, rows: Sequence[Mapping[str, str]], column: str) -> IntArray:
    """The labels of a column, each 0 or 1."""
    for line, row in enumerate(rows, start=2):
        if row[column].strip() not in ("0", "1"):
            raise LikewiseError(
                f"{path}, line {line}: {column} must be 0 or 1; got {row[column]!r}. Write 1 for "
                f"whom a favourable decision was right, 0 for the others."
            )
    return np.array([int(row[column]) for row in rows], dtype=np.int64)
