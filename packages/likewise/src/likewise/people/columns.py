"""A value for each of some people, from a list, an array or a Series, in the order of the people.

Scores, labels, groups and ids all go through :func:`ordered_values`. A Series is matched by its
index, which must hold the people's ids or the rows of the frame that they came from; the index
0, 1, 2, … is the order itself. A Series whose index has two readings, or none, is refused.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from likewise.errors import PeopleError, shown

if TYPE_CHECKING:
    from likewise.people.schema import People

# The most frequent types, which are never tables.
_PLAIN = (list, tuple, dict, str, int, float, np.ndarray)
# Offered by frames and Series (pandas, polars, Arrow, narwhals, …) and by no list or array.
_PROTOCOLS = (
    "__dataframe__", "__narwhals_dataframe__", "__narwhals_lazyframe__", "__narwhals_series__",
    "__arrow_c_stream__", "__arrow_c_array__", "iloc",
)  # fmt: skip
_TOGETHER = (("columns", "dtypes"), ("dtype", "to_numpy"))


def is_missing(value: Any) -> bool:
    """Test for a value that is missing: None, NaN of any kind of number, NA or NaT."""
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def is_table(value: object) -> bool:
    """Test for a frame or a Series, by the protocols it offers."""
    kind = type(value)
    return kind not in _PLAIN and (
        any(hasattr(kind, name) for name in _PROTOCOLS)
        or any(hasattr(kind, first) and hasattr(kind, second) for first, second in _TOGETHER)
    )


Values = npt.NDArray[Any]

# An error names at most this many people who share an id, and rows of each.
_NAMED = 5


def column_values(title: str, values: Any, people: People) -> Values:
    """A value for each of the people, in their order; see :func:`ordered_values`.

    >>> from likewise.people import Feature, FeatureSchema
    >>> people = FeatureSchema((Feature("age"),)).people([[20], [30]], ids=["ann", "bo"])
    >>> column_values("Scores", {"bo": 0.5, "ann": 0.25}, people).tolist()
    [0.25, 0.5]
    """
    index = None if people.origin is None else people.origin.index
    return ordered_values(title, values, len(people), people.ids, index)


def ordered_values(
    title: str, values: Any, count: int, ids: Sequence[str] = (), index: Any = None
) -> Values:
    """A value for each of ``count`` people, as an array of numbers, truth values or objects.

    It holds objects where values are missing, which are None, or of several kinds. ``index`` is
    that of the frame that the people came from.
    """
    if isinstance(values, Mapping):
        values = _by_id(title, values, ids)
    array = _array(title, values, count)
    if array.shape != (count,):
        size = f"{len(array)}" if array.ndim == 1 else f"shape {array.shape}"
        hint = f" Take one column: [:, {array.shape[1] - 1}]." if array.ndim == 2 else ""
        raise PeopleError(f"{_rule(title, count)}; got {size}.{hint}")
    keys = getattr(values, "index", None)
    if keys is None or callable(keys):  # only pandas has an index; that of a list is a method
        return array
    return np.asarray(array[_order(title, keys, count, ids, index)])


def _rule(title: str, count: int) -> str:
    return f"{title} must be a list, one for each of the {count} people"


def _by_id(title: str, values: Mapping[Any, Any], ids: Sequence[str]) -> list[Any]:
    named, known = {id_text(key): value for key, value in values.items()}, set(ids)
    if unknown := [key for key in values if id_text(key) not in known]:
        raise PeopleError(f"{title} name {shown(unknown[0])}, who is not among the people.")
    if len(named) < len(values):
        raise PeopleError(f"{title} name an id twice, as a number and as text. Give one of them.")
    if lacking := [name for name in ids if name not in named]:
        raise PeopleError(f"{title} lack {lacking[0]!r}. Give one for everybody.")
    return [named[name] for name in ids]


def _array(title: str, values: Any, count: int) -> Values:
    """The values as an array, from any container."""
    if isinstance(values, np.ndarray):
        if values.dtype.names is not None:
            raise PeopleError(f"{title} is an array with field names. Take one: array['name'].")
        if isinstance(values, np.ma.MaskedArray):
            masked = bool(np.ma.getmaskarray(values).any())
            values = np.array(values.tolist(), dtype=object) if masked else values.data
        plain = values.ndim != 1 or values.dtype.kind in "biuf"
        if plain:
            return np.asarray(values)
        # Dates and spans of time would be listed as integers.
        return _typed(list(values) if values.dtype.kind in "mM" else values.tolist())
    if is_table(values):
        if hasattr(type(values), "columns") or hasattr(type(values), "column_names"):
            raise PeopleError(
                f"{title} must be one column; got a {type(values).__name__}. Take a column of it."
            )
        plain = isinstance(getattr(values, "dtype", None), np.dtype) and values.dtype.kind in "biuf"
        return np.asarray(values.to_numpy()) if plain else _typed(_listed(values))
    if hasattr(values, "__array__"):  # such as a tensor
        return _array(title, np.asarray(values), count)
    if isinstance(values, str | bytes | bytearray) or not isinstance(values, Sequence):
        raise PeopleError(f"{_rule(title, count)}; got {shown(values)}.")
    return _typed(list(values))


def _listed(series: Any) -> list[Any]:
    """The values of a Series or an array of any library: pandas, polars, Arrow or narwhals."""
    for method in ("to_pylist", "tolist", "to_list"):
        if hasattr(series, method):
            return list(getattr(series, method)())
    return list(series)


def _typed(values: list[Any]) -> Values:
    """An array of numbers or of truth values if there is nothing else; otherwise of objects."""
    kinds = set(map(type, values))
    if kinds and (kinds <= {bool, np.bool_} or kinds <= {int} or kinds <= {int, float, np.float64}):
        array = np.array(values)
        if array.dtype.kind in "bif":  # integers of more than 64 bits are objects
            return array
    if values and all(isinstance(value, list | tuple | np.ndarray) for value in values):
        widths = {len(value) for value in values}
        return np.empty((len(values), *(widths if len(widths) == 1 else (0,))))
    array = np.empty(len(values), dtype=object)
    array[:] = [None if is_missing(value) else value for value in values]
    return array


def _order(title: str, keys: Any, count: int, ids: Sequence[str], index: Any) -> Any:
    """The places of a Series in the order of the people; an uncertain index is refused."""
    counted = list(keys) == list(range(count))
    same = counted if index is None else index.equals(keys)
    readings = []
    if count and id_text(keys[0]) in ids:
        readings.append(_places([id_text(key) for key in keys], ids))
    if keys.name is None and same:
        readings.append(np.arange(count))
    elif keys.name is None and index is not None:  # an index with a name does not hold rows
        readings.append(_places(list(keys), list(index)))
    orders = [order for order in readings if order is not None]
    uncertain = counted and not same
    if not orders or uncertain or not (orders[0] == orders[-1]).all():
        raise PeopleError(
            f"{title} is a Series whose index is certain to be neither the people's ids nor the "
            f"rows of their frame, so it may be in another order. Give values by id, "
            f"dict(zip(ids, series)), or series.to_numpy() if their order is right."
        )
    return orders[0]


def _places(keys: list[Any], names: Sequence[Any]) -> Any:
    """The place of each name among the keys; None unless both are the same, each once."""
    places = {key: place for place, key in enumerate(keys)}
    if len(places) != len(keys) or len(keys) != len(names) or places.keys() != set(names):
        return None
    return np.array([places[name] for name in names])


def id_text(value: Any) -> str | None:
    """An id as text: text or an integer; None for anything else."""
    if isinstance(value, str):
        return str(value)
    plain = isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64)
    return str(int(value)) if plain else None


def checked_ids(count: int, ids: Any, index: Any = None) -> tuple[str, ...]:
    """An id for each of ``count`` people: the given ones, or p1, p2, …."""
    if ids is None:
        return tuple(f"p{i + 1}" for i in range(count))
    if type(ids) is tuple and len(ids) == count and all(type(name) is str for name in ids):
        return _not_empty(ids)
    values = ordered_values("Ids", ids, count, (), index).tolist()
    names = [id_text(value) for value in values]
    for place, (name, value) in enumerate(zip(names, values, strict=True)):
        if name is None:
            fault = f"row {place + 1} has none" if value is None else f"got {shown(value)}"
            raise PeopleError(f"Ids must be text or integers; {fault}. Use str(…).")
    return _not_empty(tuple(map(str, names)))


def _not_empty(ids: tuple[str, ...]) -> tuple[str, ...]:
    if "" in ids:
        raise PeopleError(
            f"Everybody must have an id that is not empty; that of row {ids.index('') + 1} is. "
            f"Give it one, or leave ids out for p1, p2, …."
        )
    return ids


def refuse_repeated(ids: Sequence[str]) -> None:
    """Refuse ids that are not all different, and say in which rows they are."""
    if len(set(ids)) == len(ids):
        return
    twice = sorted(name for name, count in Counter(ids).items() if count > 1)
    repeated = []
    for name in twice[:_NAMED]:
        rows = [str(row) for row, other_id in enumerate(ids, start=1) if other_id == name]
        rows[_NAMED - 1 :] = ["others"] if len(rows) > _NAMED else rows[_NAMED - 1 :]
        repeated.append(f"{name!r} (rows {', '.join(rows[:-1])} and {rows[-1]})")
    more = f" and {len(twice) - _NAMED} others" if len(twice) > _NAMED else ""
    raise PeopleError(
        f"Everybody must have an id of their own; more than one person is called "
        f"{', '.join(repeated)}{more}. Keep one row for each, or give ids that differ: another "
        f"column, or none for p1, p2, …."
    )
