"""A codec between values and JSON that is derived from the types of their dataclasses.

A dataclass is an object by the names of its fields, a tuple a list, a mapping an object by its
keys, the open rounds a list, and NaN, which JSON does not have, null. Integer arrays are written
once, however many values share them, and referred to by number. A class with ``spec`` and
``from_spec`` writes and reads itself. Reading refuses a value that does not fit, and names its
field.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from likewise.errors import ParameterError
from likewise.fixed_point import FloatArray, IntArray
from likewise.learning.states.open_rounds import OpenRounds
from likewise.learning.states.state import OpenRound
from likewise.validation import choice, flag, integer, items, members, real, text

LARGEST = 1 << 100  # no count and no cost of any run comes near it
NOT_WRITTEN = "Likewise writes no such value."
Reader = Callable[[Any, Sequence[IntArray]], Any]


class ArrayWriter:
    """Integer arrays by number, each written once."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[tuple[int, ...], bytes], int] = {}

    def number(self, array: IntArray) -> int:
        """The number under which an array is written."""
        content = array.astype("<i8").tobytes()
        return self._numbers.setdefault((array.shape, content), len(self._numbers))

    def to_json(self) -> list[Any]:
        """Every array as its shape and its integers, little-endian int64 in base64."""
        return [
            [list(shape), base64.b64encode(content).decode("ascii")]
            for shape, content in self._numbers
        ]


def to_json(value: Any, arrays: ArrayWriter) -> Any:
    """A value as JSON."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if isinstance(value, tuple):
        return [to_json(item, arrays) for item in value]
    if isinstance(value, OpenRounds):
        return [to_json(round_, arrays) for round_ in value.values()]
    if isinstance(value, Mapping):
        return {key: to_json(item, arrays) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return arrays.number(value) if value.dtype == np.int64 else value.tolist()
    if hasattr(value, "spec"):
        return value.spec()
    return {f.name: to_json(getattr(value, f.name), arrays) for f in fields(value)}


def read_arrays(data: Any) -> list[IntArray]:
    """The arrays that values refer to by number."""
    return [_array(pair) for pair in items("arrays", data, NOT_WRITTEN)]


def _array(data: Any) -> IntArray:
    shape, encoded = _exactly(2, "arrays", data)
    sizes = [
        integer("arrays: a shape", n, 0, 1 << 32, NOT_WRITTEN)
        for n in items("arrays: a shape", shape, NOT_WRITTEN)
    ]
    try:
        content = base64.b64decode(encoded, validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise ParameterError("arrays", "must be in base64", encoded, NOT_WRITTEN) from None
    if len(content) != 8 * math.prod(sizes):
        rule = f"must be {math.prod(sizes)} integers of 64 bits"
        raise ParameterError("arrays", rule, f"{len(content)} bytes", NOT_WRITTEN)
    return np.frombuffer(content, dtype="<i8").astype(np.int64).reshape(sizes)


@cache
def reader(kind: Any, name: str) -> Reader:
    """The function that reads JSON as a value of a type; ``name`` is what errors call it.

    >>> reader(tuple[int, ...], "closed")([1, 2], [])
    (1, 2)
    >>> reader(bool | None, "drawn")("yes", [])
    Traceback (most recent call last):
    likewise.errors.ParameterError: drawn must be True or False; got 'yes'. Likewise writes no \
such value.
    """
    if kind in _PLAIN:
        read = _PLAIN[kind]
        return lambda data, _: read(name, data)
    if kind == IntArray:
        return lambda data, arrays: arrays[integer(name, data, 0, len(arrays), NOT_WRITTEN)]
    if hasattr(kind, "from_spec"):
        return lambda data, _: kind.from_spec(data)
    if kind is OpenRounds:
        return _open_rounds_reader(name)
    if is_dataclass(kind):
        return _object_reader(kind, name)
    return _generic_reader(kind, name)


def _generic_reader(kind: Any, name: str) -> Reader:
    """The reader of X | None, Literal[…], Mapping[str, X], tuple[X, …] or tuple[X, Y]."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        present = reader(next(a for a in arguments if a is not NoneType), name)
        return lambda data, arrays: None if data is None else present(data, arrays)
    if origin is Literal:
        return lambda data, _: choice(name, data, arguments, NOT_WRITTEN)
    if origin is Mapping:
        return _mapping_reader(arguments[1], name)
    if origin is tuple and arguments[-1] is Ellipsis:
        item = reader(arguments[0], name)
        return lambda data, arrays: tuple(
            [item(part, arrays) for part in items(name, data, NOT_WRITTEN)]
        )
    if origin is tuple:
        parts = [reader(argument, name) for argument in arguments]
        return lambda data, arrays: tuple(
            part(value, arrays)
            for part, value in zip(parts, _exactly(len(parts), name, data), strict=True)
        )
    raise TypeError(f"{name} has the type {kind}, which the codec does not know")


def _object_reader(kind: Any, name: str) -> Reader:
    hints = get_type_hints(kind)
    readers = {f.name: reader(hints[f.name], f"{name}.{f.name}") for f in fields(kind)}

    def read(data: Any, arrays: Sequence[IntArray]) -> Any:
        values = members(name, data, readers)
        return kind(**{key: read(values[key], arrays) for key, read in readers.items()})

    return read


def _open_rounds_reader(name: str) -> Reader:
    rounds = reader(tuple[OpenRound, ...], name)

    def read(data: Any, arrays: Sequence[IntArray]) -> OpenRounds:
        by_id = {round_.id: round_ for round_ in rounds(data, arrays)}
        if len(by_id) != len(data):
            raise ParameterError(name, "must have every id once", list(by_id), NOT_WRITTEN)
        return OpenRounds(by_id)

    return read


def _mapping_reader(kind: Any, name: str) -> Reader:
    item = reader(kind, name)

    def read(data: Any, arrays: Sequence[IntArray]) -> Any:
        if not isinstance(data, Mapping):
            raise ParameterError(name, "must be an object", data, NOT_WRITTEN)
        return MappingProxyType({key: item(value, arrays) for key, value in data.items()})

    return read


def _exactly(count: int, name: str, data: Any) -> list[Any]:
    values = items(name, data, NOT_WRITTEN)
    if len(values) != count:
        raise ParameterError(name, f"must be {count} values", data, NOT_WRITTEN)
    return values


def _read_float(name: str, data: Any) -> float:
    """A finite number, or NaN where it is missing."""
    number = math.nan if data is None else real(name, data, NOT_WRITTEN)
    if math.isinf(number):
        raise ParameterError(name, "must be finite", data, NOT_WRITTEN)
    return number


def _read_floats(name: str, data: Any) -> FloatArray:
    return np.array([_read_float(name, number) for number in items(name, data, NOT_WRITTEN)])


_PLAIN: Mapping[Any, Callable[[str, Any], Any]] = {
    bool: lambda name, data: flag(name, data, NOT_WRITTEN),
    int: lambda name, data: integer(name, data, -LARGEST, LARGEST, NOT_WRITTEN),
    float: _read_float,
    str: lambda name, data: text(name, data, NOT_WRITTEN),
    FloatArray: _read_floats,
}
