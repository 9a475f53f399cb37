"""JSON of frozen dataclasses, and its schema: both follow from their annotations.

Fields whose names begin with an underscore are no part of either.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import Field, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from likewise.errors import AuditError, shown

_NAMES = {str: "string", bool: "boolean", int: "integer", float: "number", NoneType: "null"}


def plain(value: Any) -> Any:
    """The value as JSON has it: objects, lists, text, numbers, true, false and null."""
    if is_dataclass(value):
        kind: Any = type(value)
        return {f.name: plain(getattr(value, f.name)) for f in _public(kind)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, tuple | list) else value


@cache
def _public(kind: Any) -> tuple[Field[Any], ...]:
    return tuple(f for f in fields(kind) if not f.name.startswith("_"))


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def schema_of(kind: Any) -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of a dataclass, with those it is made of."""
    parts: dict[str, Any] = {}
    top: str = kind.__name__
    _schema(kind, parts)
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": top}
    body: dict[str, Any] = parts.pop(top)
    return head | body | {"$defs": dict(sorted(parts.items()))}


def _schema(kind: Any, parts: dict[str, Any]) -> dict[str, Any]:
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return {}
    if kind in _NAMES:
        return {"type": _NAMES[kind]}
    if origin in (Union, UnionType):
        return {"anyOf": [_schema(choice, parts) for choice in arguments]}
    if origin is tuple and arguments[-1] is Ellipsis:
        return {"type": "array", "items": _schema(arguments[0], parts)}
    if origin is tuple:
        items = [_schema(item, parts) for item in arguments]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "items": False}
    if origin is Mapping:
        return {"type": "object", "additionalProperties": _schema(arguments[1], parts)}
    if kind.__name__ not in parts:
        parts[kind.__name__] = {}  # it may be a part of itself
        members = {f.name: _schema(_hints(kind)[f.name], parts) for f in _public(kind)}
        parts[kind.__name__] = {
            "description": _description(kind),
            "type": "object", "properties": members, "required": list(members),
            "additionalProperties": False,
        }  # fmt: skip
    return {"$ref": f"#/$defs/{kind.__name__}"}


def _description(kind: Any) -> str:
    """The docstring in one line, without marks for the documentation and without examples."""
    text = (inspect.getdoc(kind) or "").partition(">>>")[0].replace("``", "")
    return " ".join(re.sub(r":\w+:`~?([^`]+)`", r"\1", text).split())


def read(kind: Any, data: Any, where: str) -> Any:
    """The value that :func:`plain` wrote; what does not fit is refused by its place."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return data
    if origin in (Union, UnionType):
        inner = next(choice for choice in arguments if choice is not NoneType)
        return None if data is None else read(inner, data, where)
    if kind in _NAMES:
        allowed = (int, float) if kind is float else (kind,)
        if type(data) not in allowed:
            raise _misfit(where, f"of type {_NAMES[kind]}", data)
        return data
    if origin is tuple:
        if not isinstance(data, list):
            raise _misfit(where, "a list", data)
        kinds = arguments[:1] * len(data) if arguments[-1] is Ellipsis else arguments
        if len(kinds) != len(data):
            raise _misfit(where, f"a list of {len(kinds)}", data)
        pairs = zip(kinds, data, strict=True)
        return tuple(read(item, part, f"{where}[{i}]") for i, (item, part) in enumerate(pairs))
    if not isinstance(data, dict):
        raise _misfit(where, "an object", data)
    if origin is Mapping:
        return {key: read(arguments[1], item, f"{where}.{key}") for key, item in data.items()}
    names = [f.name for f in _public(kind)]
    if set(names) != set(data):
        raise _misfit(where, f"an object of {', '.join(names)}", list(data))
    return kind(**{name: read(_hints(kind)[name], data[name], f"{where}.{name}") for name in names})


def _misfit(where: str, rule: str, value: Any) -> AuditError:
    return AuditError(
        f"{where} must be {rule}; got {shown(value)}. Write the file anew: result.to_json()."
    )
