"""Personal content lies beside the ledger, under salted hashes, so that it can be erased.

The ledger holds ``digest = SHA-256(salt ‖ content)``. As long as the payload is there, it is proved
to be what was recorded; once salt and content are gone, the digest says nothing about anybody.
"""

from __future__ import annotations

import hashlib
import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from likewise.service.ledger.canonical_json import canonical


@dataclass(frozen=True)
class Payload:
    """Something personal, with the salt of its digest."""

    salt: bytes
    content: Mapping[str, Any]

    @classmethod
    def fresh(cls, content: Mapping[str, Any]) -> Payload:
        """Return a payload with a new salt."""
        return cls(secrets.token_bytes(16), content)

    @cached_property
    def text(self) -> str:
        """The content as it is hashed and stored."""
        return canonical(self.content).decode()

    @cached_property
    def digest(self) -> str:
        """The hash that the ledger holds of it."""
        return hashlib.sha256(self.salt + self.text.encode()).hexdigest()


def person_payload(features: Sequence[float]) -> Payload:
    """Return a person's encoded features as a payload; a missing value is null."""
    plain = [None if math.isnan(value) else float(value) for value in features]
    return Payload.fresh({"features": plain})


def features_of(content: Mapping[str, Any]) -> tuple[float, ...]:
    """Return the features that a payload holds."""
    return tuple(math.nan if value is None else float(value) for value in content["features"])
