"""Canonical JSON: what is hashed, signed and stored is written in one way only."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

from likewise.errors import LikewiseError

# JSON with sorted keys, no spaces and no NaN, as text; the encoder's own errors are raised.
canonical_text: Callable[[Any], str] = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
).encode
# Text as a JSON string, and text alone.
quoted: Callable[[str], str] = json.encoder.encode_basestring


def canonical(value: Any) -> bytes:
    """Return canonical JSON in UTF-8; a value that cannot be written so is refused.

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


def sha256(content: bytes) -> str:
    """Return the hash in hexadecimal."""
    return hashlib.sha256(content).hexdigest()
