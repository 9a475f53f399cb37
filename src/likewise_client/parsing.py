"""From JSON back to the plain values of the responses."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from likewise.errors import LikewiseError

__all__ = ["read_response"]

T = TypeVar("T")


def read_response(kind: type[T], data: Any) -> T:
    """A response of that kind; what a newer server adds is passed over.

    >>> from likewise.service.api.responses import PairResponse
    >>> read_response(PairResponse, {"over": "ann", "under": "bo", "new": 1})
    PairResponse(over='ann', under='bo')
    """
    return cast(T, _read(kind, data))


@cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    return get_type_hints(kind)


def _read(kind: Any, data: Any) -> Any:
    if isinstance(kind, type) and is_dataclass(kind):
        if not isinstance(data, dict):
            raise _unreadable(kind, data)
        hints = _hints(kind)
        missing = [f.name for f in fields(kind) if f.name not in data]
        if missing:
            raise _unreadable(kind, data)
        return kind(**{f.name: _read(hints[f.name], data[f.name]) for f in fields(kind)})
    origin, inside = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        if data is None and NoneType in inside:
            return None
        return _read(next(one for one in inside if one is not NoneType), data)
    if origin is list and isinstance(data, list):
        return [_read(inside[0], one) for one in data]
    if origin is dict and isinstance(data, dict):
        return {key: _read(inside[1], value) for key, value in data.items()}
    if kind is Any:
        return data
    if kind is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    if isinstance(kind, type) and type(data) is kind:
        return data
    raise _unreadable(kind, data)


def _unreadable(kind: Any, data: Any) -> LikewiseError:
    name = getattr(kind, "__name__", str(kind))
    return LikewiseError(
        f"The server's response is no {name}: {str(data)[:100]}. Is it a Likewise of this version?"
    )
