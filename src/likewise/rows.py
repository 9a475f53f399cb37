"""Rows and ids of people as callers give them: only those that can be read in one way.

A frame can be read by row or by column, and a Series, a named tuple or a database row by name or by
place. A guess would be wrong for somebody, silently, so they are refused here with the remedy;
:mod:`likewise.frames` reads frames by column name. Frames are recognised by the protocols that they
offer, without an import of their libraries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from likewise.errors import PeopleError, shown

# Offered by frames and Series (pandas, polars, Arrow, narwhals, …) and by no list or array.
_PROTOCOLS = (
    "__dataframe__", "__narwhals_dataframe__", "__narwhals_lazyframe__", "__narwhals_series__",
    "__arrow_c_stream__", "__arrow_c_array__", "iloc",
)  # fmt: skip
# Kinds of arrays that hold numbers: floats, integers with and without sign, truth values.
_NUMERIC = "fiub"
# The most frequent types, which are never tables.
_PLAIN = (list, tuple, dict, str, int, float)
# An error names at most this many people who share an id, and rows of each.
_NAMED = 5
_TOGETHER = (("columns", "dtypes"), ("dtype", "to_numpy"))


def is_table(value: object) -> bool:
    """Test for a frame or a Series, by the protocols it offers."""
    if type(value) in _PLAIN or type(value) is np.ndarray:
        return False
    kind = type(value)
    return any(hasattr(kind, name) for name in _PROTOCOLS) or any(
        hasattr(kind, first) and hasattr(kind, second) for first, second in _TOGETHER
    )


def is_numeric(rows: object) -> TypeGuard[npt.NDArray[Any]]:
    """Test for a plain array of numbers; what can be read in two ways is refused.

    >>> is_numeric(np.array([[1.5]])), is_numeric([[1.5]])
    (True, False)
    """
    refuse_table(rows)
    return isinstance(rows, np.ndarray) and rows.ndim > 0 and rows.dtype.kind in _NUMERIC


def refuse_table(value: object) -> None:
    """Refuse a frame, a Series, and arrays with names or masks.

    >>> refuse_table(np.array([(1, 2)], dtype=[("income", "i8"), ("age", "i8")]))
    Traceback (most recent call last):
    likewise.errors.PeopleError: An array with field names or a mask can be read in two ways. Give \
rows by name, [dict(zip(a.dtype.names, row)) for row in a.tolist()], or a plain array.
    """
    if type(value) in _PLAIN:
        return
    named = isinstance(value, np.ndarray | np.void) and value.dtype.names is not None
    if named or isinstance(value, np.ma.MaskedArray):
        raise PeopleError(
            "An array with field names or a mask can be read in two ways. Give rows by name, "
            "[dict(zip(a.dtype.names, row)) for row in a.tolist()], or a plain array."
        )
    if type(value) is not np.ndarray and is_table(value):
        raise PeopleError(
            f"A {type(value).__name__} of {type(value).__module__.partition('.')[0]} can be read "
            f"by row or by column, by name or by place. Give rows by name: "
            f"frame.to_dict('records') for pandas, frame.to_dicts() for polars, "
            f"table.to_pylist() for Arrow."
        )


def listed_rows(rows: Any) -> list[Any]:
    """All rows, as a list; a single row or column and text are refused.

    >>> listed_rows({"income": [1, 2]})
    Traceback (most recent call last):
    likewise.errors.PeopleError: People must be a list of rows, one for each person; got \
{'income': [1, 2]}. For one person write [row].
    """
    refuse_table(rows)
    single = isinstance(rows, Mapping | str | bytes) or not isinstance(rows, Iterable)
    if single or (isinstance(rows, np.ndarray) and rows.ndim == 0):
        raise PeopleError(
            f"People must be a list of rows, one for each person; got {shown(rows)}. For one "
            f"person write [row]."
        )
    return list(rows)


def row_values(row: Any, names: Sequence[str], person: str) -> list[Any]:
    """The values of one row in the order of ``names``; by name where the row is a mapping.

    >>> row_values({"age": 30, "income": 52}, ("income", "age"), "ann")
    [52, 30]
    """
    refuse_table(row)
    if isinstance(row, Mapping):
        if unknown := [str(key) for key in row if key not in names]:
            raise PeopleError(
                f"Person {person!r}: unknown features {', '.join(unknown)}. The schema has "
                f"{', '.join(names)}."
            )
        return [row.get(name) for name in names]
    keys = _own_names(row)
    if keys is not None and keys != tuple(names):
        raise PeopleError(
            f"Person {person!r}: the row has names of its own ({', '.join(map(str, keys))}), which "
            f"are not those of the schema in its order ({', '.join(names)}). Give a mapping: "
            f"row._asdict(), or dict(row)."
        )
    values = None if keys is None and not _is_sequence(row) else list(row)
    if values is None or len(values) != len(names):
        actual = f"shape {row.shape}" if isinstance(row, np.ndarray) else shown(row)
        raise PeopleError(
            f"Person {person!r}: a row must have {len(names)} values ({', '.join(names)}); got "
            f"{actual}."
        )
    return values


def _own_names(row: Any) -> tuple[Any, ...] | None:
    """The names that a row brings: of a named tuple, or of a database row that has keys."""
    if isinstance(row, tuple) and hasattr(row, "_fields"):
        return tuple(row._fields)
    return tuple(row.keys()) if callable(getattr(row, "keys", None)) else None


def _is_sequence(row: Any) -> bool:
    if isinstance(row, np.ndarray):
        return row.ndim == 1
    return isinstance(row, Sequence) and not isinstance(row, str | bytes | bytearray | memoryview)


def checked_ids(count: int, ids: Any) -> tuple[str, ...]:
    """An id for each of ``count`` people: the given ones, or p1, p2, ….

    >>> checked_ids(2, None)
    ('p1', 'p2')
    """
    if ids is None:
        return tuple(f"p{i + 1}" for i in range(count))
    if type(ids) is tuple and len(ids) == count and all(type(name) is str for name in ids):
        return _not_empty(ids)
    refuse_table(ids)
    if not _is_sequence(ids):
        raise PeopleError(
            f"Ids must be a list of text, one for each person; got {shown(ids)}. Use str(…)."
        )
    names = tuple(ids)
    if len(names) != count:
        raise PeopleError(f"There are {count} people but {len(names)} ids; give one each.")
    for name in names:
        if not isinstance(name, str):
            raise PeopleError(f"An id must be text; got {shown(name)}. Use str(…).")
    return _not_empty(tuple(str(name) for name in names))


def _not_empty(ids: tuple[str, ...]) -> tuple[str, ...]:
    if "" in ids:
        raise PeopleError(
            f"Everybody must have an id that is not empty; that of row {ids.index('') + 1} is. "
            f"Give it one, or leave ids out for p1, p2, …."
        )
    return ids


def refuse_repeated(ids: Sequence[str]) -> None:
    """Refuse ids that are not all different, and say in which rows they are.

    >>> refuse_repeated(["ann", "bo", "ann"])
    Traceback (most recent call last):
    likewise.errors.PeopleError: Everybody must have an id of their own; more than one person is \
called 'ann' (rows 1 and 3). Keep one row for each, or give ids that differ: another column, or \
none for p1, p2, ….
    """
    if len(set(ids)) == len(ids):
        return
    twice = sorted(name for name, count in Counter(ids).items() if count > 1)
    repeated = []
    for name in twice[:_NAMED]:
        rows = [str(row) for row, other_id in enumerate(ids, start=1) if other_id == name]
        last = rows[-1] if len(rows) <= _NAMED else "others"
        repeated.append(
            f"{name!r} (rows {', '.join(rows[: _NAMED - 1][: len(rows) - 1])} and {last})"
        )
    more = f" and {len(twice) - _NAMED} others" if len(twice) > _NAMED else ""
    raise PeopleError(
        f"Everybody must have an id of their own; more than one person is called "
        f"{', '.join(repeated)}{more}. Keep one row for each, or give ids that differ: another "
        f"column, or none for p1, p2, …."
    )
