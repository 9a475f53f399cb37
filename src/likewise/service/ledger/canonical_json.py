"""JSON in one way only: what is hashed, signed and stored is written and read here.

Every record of a ledger passes, so what the standard library does anew at every call is done once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from json import encoder
from typing import Any

from likewise.errors import LikewiseError

__all__ = ["canonical", "canonical_text", "quoted", "read_json", "sha256"]

_JSON = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
_DECODER = json.JSONDecoder()
quoted: Callable[[str], str] = encoder.encode_basestring  # text as a JSON string, and text alone


def _prepared() -> Callable[[Any, int], tuple[str, ...]] | None:
    """The compiled half of the encoder, which ``encode`` makes at every call; None without one.

    It is not told to look for a value that holds itself: that one is too deep, and refused as such.
    """
    make: Any = getattr(encoder, "c_make_encoder", None)
    if make is None:
        return None
    made: Callable[[Any, int], tuple[str, ...]] = make(
        None, _JSON.default, quoted, None, ":", ",", True, False, False
    )
    return made


_PREPARED = _prepared()


def canonical_text(value: Any) -> str:
    """JSON with sorted keys, no spaces and no NaN, as text; the encoder's own errors are raised.

    >>> canonical_text({"b": 1, "a": "é"})
    '{"a":"é","b":1}'
    """
    return _JSON.encode(value) if _PREPARED is None else "".join(_PREPARED(value, 0))


def canonical(value: Any) -> bytes:
    """The same in UTF-8; a value that cannot be written so is refused.

    >>> canonical({"b": 1, "a": "é"}).decode()
    '{"a":"é","b":1}'
    """
    try:
        return canonical_text(value).encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise LikewiseError(
            f"What is to be recorded cannot be written as JSON ({error}). Numbers must be finite, "
            f"and text must be text that can be written to a file."
        ) from error


def read_json(text: str) -> Any:
    """The value with which a text begins; whoever reads all of it compares what it is written as.

    >>> read_json('{"a":1}')
    {'a': 1}
    """
    return _DECODER.raw_decode(text)[0]


def sha256(content: bytes) -> str:
    """The hash in hexadecimal."""
    return hashlib.sha256(content).hexdigest()
