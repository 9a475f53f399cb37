"""Reference data: rows on which hypotheses must differ, and members of a pool that agree there."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.errors import ParameterError, PeopleError
from likewise.fixed_point import FloatArray, IntArray
from likewise.hypotheses.base import Bits
from likewise.hypotheses.separating import rows_as_bytes
from likewise.schema import FeatureSchema, People
from likewise.validation import as_array

# Members whose predictions are compared with levels at once, for memory.
_AT_ONCE = 4096


def _array(name: str, value: Any, rule: str, remedy: str) -> npt.NDArray[Any]:
    """Numbers as an array; text, and lists of different lengths, are none."""
    array = as_array(value)
    if array.dtype.kind not in "biuf":
        raise ParameterError(name, rule, value, remedy)
    return array


def reference_rows(schema: FeatureSchema, reference: Any) -> FloatArray:
    """Rows of the schema's features as numbers, from people or an array."""
    if isinstance(reference, People):
        return schema.encoded(reference).x
    remedy = "It is the data on which members must differ; schema.people(rows) encodes it."
    rule = f"must be rows of the schema's {len(schema)} features, at least one, as numbers"
    rows = _array("Pool.reference", reference, rule, remedy).astype(np.float64)
    if rows.ndim != 2 or rows.shape[1] != len(schema) or len(rows) == 0:
        raise ParameterError("Pool.reference", rule, rows.shape, remedy)
    return rows


def rows_to_json(rows: FloatArray) -> list[list[float | None]]:
    """Rows as JSON: a missing value is null, which equals itself, as NaN does not.

    >>> rows_to_json(np.array([[1.5, np.nan]]))
    [[1.5, None]]
    """
    return [[None if math.isnan(x) else x for x in row] for row in rows.tolist()]


def rows_from_json(rows: Any) -> Any:
    """The inverse of :func:`rows_to_json`; anything else is returned as it is, to be refused."""
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        return rows
    return [[math.nan if x is None else x for x in row] for row in rows]


def admitted(name: str, schema: FeatureSchema, reference: Any) -> People:
    """Rows as people; refuse those whom the schema does not admit."""
    try:
        return schema.encoded(reference)
    except PeopleError as error:
        raise ParameterError(
            name, "must be people whom the schema admits", f"{len(reference)} rows", str(error)
        ) from error


def zeros_and_ones(name: str, table: npt.ArrayLike) -> npt.NDArray[Any]:
    """A table of 0s and 1s, a row for every member."""
    rule = "must be a table of 0s and 1s, a row for every member"
    remedy = "Turn scores into decisions first, or use Pool.from_scores."
    bits = _array(name, table, rule, remedy)
    if bits.ndim != 2 or not bits.size:
        raise ParameterError(name, rule, bits.shape, remedy)
    if not np.isin(bits, (0, 1)).all():
        raise ParameterError(name, rule, bits[~np.isin(bits, (0, 1))][0], remedy)
    return bits


def packed_predictions(reference: FloatArray, columns: IntArray, levels: FloatArray) -> Bits:
    """The members' predictions on the rows, a bit each: (members, rows/8)."""
    by_column = np.ascontiguousarray(reference.T)
    parts = [
        np.packbits(by_column[columns[block]] >= levels[block, None], axis=1)
        for block in (slice(i, i + _AT_ONCE) for i in range(0, len(columns), _AT_ONCE))
    ]
    return np.concatenate(parts)


def representatives(packed: Bits, constant: npt.NDArray[np.bool_]) -> IntArray:
    """Of members that agree on all reference data the first, or a constant if one is among them."""
    first: dict[bytes, int] = {}
    for member, key in enumerate(rows_as_bytes(packed)):
        earlier = first.setdefault(key, member)
        if constant[member] and not constant[earlier]:
            first[key] = member
    return np.array(sorted(first.values()), dtype=np.int64)
