"""What is personal lies beside the ledger, under salted hashes, so that it can be erased.

The ledger holds ``digest = SHA-256(salt ‖ content)``. As long as the payload is there, it is proved
to be what was recorded; once salt and content are gone, the digest says nothing about anybody.
"""

from __future__ import annotations

import hashlib
import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise.features import Feature
from likewise.fixed_point import FloatArray
from likewise.hypotheses import HypothesisClass
from likewise.schema import People
from likewise.service.ledger.records import canonical

__all__ = ["Payload", "features_of", "person_payload", "surrogate"]


@dataclass(frozen=True)
class Payload:
    """Something personal, with the salt of its digest."""

    salt: bytes
    content: Mapping[str, Any]

    @classmethod
    def fresh(cls, content: Mapping[str, Any]) -> Payload:
        """With a new salt."""
        return cls(secrets.token_bytes(16), content)

    @property
    def digest(self) -> str:
        """What the ledger holds of it."""
        return hashlib.sha256(self.salt + canonical(self.content)).hexdigest()


def person_payload(features: Sequence[float]) -> Payload:
    """A person's encoded features; a missing value is null, which JSON knows."""
    plain = [None if math.isnan(value) else float(value) for value in features]
    return Payload.fresh({"features": plain})


def features_of(content: Mapping[str, Any]) -> tuple[float, ...]:
    """The features that a payload holds."""
    return tuple(math.nan if value is None else float(value) for value in content["features"])


def surrogate(hypotheses: HypothesisClass, features: Sequence[float]) -> tuple[float, ...]:
    """A coarse person whom the class cannot tell from this one.

    Every feature becomes the plainest value that does not move the person's point: the lowest
    one, or the lowest end of a stretch as long as possible. So all decisions and costs stay what
    they were, and what the class never looks at is gone.

    >>> from likewise.worlds import Loans
    >>> world = Loans(1)
    >>> before = world.encounter(1).people.x[0].tolist()
    >>> after = surrogate(world.hypotheses(), before)
    >>> sum(a != b for a, b in zip(after, before)) >= 6
    True
    """
    schema = hypotheses.schema
    plain = np.array(features, dtype=np.float64)
    where = _point(hypotheses, plain)
    for place, name in enumerate(schema.names):
        for value in _plainer(schema[name], float(plain[place])):
            changed = plain.copy()
            changed[place] = value
            if _point(hypotheses, changed) == where:
                plain = changed
                break
    return tuple(plain.tolist())


def _plainer(feature: Feature, value: float) -> list[float]:
    """Values to try, the plainest first: the lowest, then ends of halves, quarters, …, itself."""
    low, high = feature.limits
    if math.isnan(value):
        return [value]
    if feature.kind in ("category", "flag"):
        return [low, value]
    if not math.isfinite(high - low):
        return [min(max(0.0, low), high), value]
    tried = [low]
    for depth in range(1, 11):
        step = (high - low) / 2**depth
        end = low + math.floor((value - low) / step) * step
        tried.append(max(low, float(math.floor(end))) if feature.kind == "integer" else end)
    return [*tried, value]


def _point(hypotheses: HypothesisClass, x: FloatArray) -> bytes:
    points = hypotheses.locate(People(("someone",), x[None, :], hypotheses.schema))
    return np.ascontiguousarray(points).tobytes()
