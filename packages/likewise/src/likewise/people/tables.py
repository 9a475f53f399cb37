"""Files of people, labels and other tables: CSV, read by name and refused by line, and Parquet."""

from __future__ import annotations

import csv
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from likewise.errors import LikewiseError
from likewise.numerics.fixed_point import IntArray
from likewise.people import cells as reading
from likewise.people.columns import checked_ids
from likewise.people.schema import FeatureSchema, People

_SEPARATORS = {";": "semicolons (;)", "\t": "tabs", "|": "bars (|)"}
TRUTH = {"true": 1.0, "false": 0.0}


def read_table(
    path: str | os.PathLike[str], needed: Sequence[str] = (), most: int | None = None
) -> list[Row]:
    """The rows of a CSV file by the names in its first line, or of a Parquet or Arrow file.

    Every column ``needed`` must be there once; without any, all names must differ. Names and cells
    lose the spaces around them; empty cells stay empty. ``most`` limits the rows of a Parquet file.
    """
    if is_typed(path):
        return _typed_rows(path, needed, most)
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(_text(file), strict=True)
            reader.fieldnames = header = [name.strip() for name in reader.fieldnames or []]
            rows = [Row(_stripped(row), reader.line_num) for row in reader]
    except OSError as error:
        raise LikewiseError(f"{path} cannot be read: {error.strerror}.") from error
    except (UnicodeDecodeError, csv.Error) as error:
        remedy = "A spreadsheet saves one as 'CSV UTF-8'."
        if isinstance(error, UnicodeDecodeError):
            remedy = "Save it as UTF-8; a spreadsheet calls that 'CSV UTF-8'."
        raise LikewiseError(f"{path} is not a CSV file in UTF-8: {error}. {remedy}") from error
    _check_header(path, header, needed)
    if not (header and rows):
        raise LikewiseError(
            f"{path} has no names in its first line, or no row below its header; it must have a "
            f"line of names, and a line for every row."
        )
    if any(row.get("") for row in rows):
        raise LikewiseError(
            f"{path} has a column without a name. Write one into the first line, or leave the "
            f"column out; pandas does so with to_csv(index=False)."
        )
    for row in rows:
        if None in row or None in row.values():
            raise LikewiseError(
                f"{path}, line {row.line}: it must have {len(header)} cells, as the header has."
            )
    return rows


def is_typed(path: str | os.PathLike[str]) -> bool:
    """Test for a Parquet or Arrow file, or a folder of them, by their first bytes."""
    from likewise.people.scans import file_format

    try:
        return file_format(path) is not None
    except OSError as error:
        raise LikewiseError(f"{path} cannot be read: {error.strerror}.") from error


def _typed_rows(path: str | os.PathLike[str], needed: Sequence[str], most: int | None) -> list[Row]:
    from likewise.people.scans import read_cells_of_file

    columns = read_cells_of_file(path, most)
    header = [name.strip() for name in columns]
    _check_header(path, header, needed)
    if "" in header:
        raise LikewiseError(f"{path} has a column without a name. Name it, or leave it out.")
    rows = enumerate(zip(*columns.values(), strict=True), start=1)
    return [Row(zip(header, cells, strict=True), number, "row") for number, cells in rows]


def _text(lines: Iterable[str]) -> Iterator[str]:
    """The lines of a file; a null character, as in a workbook or Parquet, is an error."""
    for line in lines:
        if "\0" in line:
            raise csv.Error("it has a null character, which no text has")
        yield line


class Row(dict[str, str]):
    """The cells of a line of a file by name, or of a row of a Parquet file."""

    def __init__(self, cells: Any, line: int, noun: str = "line") -> None:
        super().__init__(cells)
        self.line, self.noun = line, noun


def _stripped(row: dict[Any, Any]) -> dict[Any, Any]:
    """The row without spaces around its cells; a row of another length is refused later."""
    return {name: cell.strip() if isinstance(cell, str) else cell for name, cell in row.items()}


def _check_header(
    path: str | os.PathLike[str], header: Sequence[str], needed: Sequence[str]
) -> None:
    for sign, noun in _SEPARATORS.items():
        if len(header) == 1 and sign in header[0]:
            raise LikewiseError(
                f"{path} must be separated by commas; its first line is separated by {noun}. Save "
                f"it with commas, and numbers with a decimal point."
            )
    for name in needed or header:
        if header.count(name) > 1:
            raise LikewiseError(f"{path} names the column {name!r} twice. Rename one of them.")
        if name not in header:
            raise LikewiseError(
                f"{path} must have one column {name!r}; its columns are {', '.join(header)}."
            )


def line_of(path: str | os.PathLike[str], rows: Sequence[Row]) -> reading.RowName:
    """The names of a file's rows: their lines, of which the header is the first."""
    return lambda place: f"{path}, {rows[place].noun} {rows[place].line}"


def parse_people(
    path: Path, rows: Sequence[Row], schema: FeatureSchema, ids: str | None = None
) -> People:
    """People from the cells of a table, by the names of the features; ``ids`` names a column.

    Empty cells are missing values, and so are the usual marks, with a warning. A flag is 1 or 0,
    true or false, yes or no.
    """
    if lacking := [name for name in schema.names if name not in rows[0]]:
        raise LikewiseError(f"{path} has no column {lacking[0]!r}, which the schema names.")
    columns = [
        reading.read_cells(feature, [row[feature.name] for row in rows], line_of(path, rows))
        for feature in schema.features
    ]
    names = None if ids is None else [row[ids] for row in rows]
    return schema.from_columns(columns, checked_ids(len(rows), names))


def parse_column(
    path: Path, rows: Sequence[Row], column: str, favourable: Collection[str] = ()
) -> list[float] | list[str]:
    """The numbers of a column, true and false as 1 and 0; its texts where one is favourable."""
    cells = [row[column] for row in rows]
    if set(favourable) & set(cells):
        return cells
    if all(cell.lower() in TRUTH for cell in cells):
        return [TRUTH[cell.lower()] for cell in cells]
    no_word = f"No cell is {' or '.join(favourable)}." if favourable else "Correct the cell."
    numbers = [reading.parse_number(cell) for cell in cells]
    for place, (cell, number) in enumerate(zip(cells, numbers, strict=True)):
        if number is None:
            raise LikewiseError(
                f"{line_of(path, rows)(place)}: {column} must be a number; got {cell!r}. "
                f"{_remedy(cell, cells) or no_word}"
            )
    return [float(number) for number in numbers if number is not None]


def parse_labels(path: Path, rows: Sequence[Row], column: str) -> IntArray:
    """The labels of a column, 0 or 1, from digits, true and false."""
    labels, cells = [], [row[column] for row in rows]
    for place, cell in enumerate(cells):
        value = TRUTH.get(cell.lower(), reading.parse_number(cell))
        if value not in (0, 1):
            remedy = _remedy(cell, cells) or (
                "Write 1 for whom a favourable decision was right, 0 for the others."
            )
            raise LikewiseError(
                f"{line_of(path, rows)(place)}: {column} must be 0 or 1; got {cell!r}. {remedy}"
            )
        labels.append(int(value))
    return np.array(labels, dtype=np.int64)


def _remedy(cell: str, cells: Sequence[str]) -> str:
    """Advice on a cell that is no score or label; it depends on the other cells."""
    different = sorted(set(cells))
    if reading.is_mark(cell):
        return "Leave out the lines of people without one."
    if len(different) == 2:
        values = " and ".join(map(repr, different))
        return f"Of its two values, {values}, say which is favourable: --favourable."
    if reading.is_amount(cell) and reading.parse_number(cell) is None:
        return reading.number_remedy(cell)
    words = [text for text in different if not reading.is_mark(text)]
    words = [text for text in words if reading.parse_number(text) is None]
    if len(words) > 1:
        return f"Words must be two, one of them favourable; these are {', '.join(different[:5])}."
    return ""
