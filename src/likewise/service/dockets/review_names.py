"""Names of a review that say nothing: its id, and p1, p2, … for the people in it.

They are drawn by the docket's secret, so whoever knows it can tell later what a member meant.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable

__all__ = ["alias_names", "draw", "review_key", "review_name"]


def review_key(seed: int, salt: bytes) -> bytes:
    """The key of all draws about a docket's reviews."""
    return hmac.digest(salt, f"reviews:{seed}".encode(), "sha256")


def review_name(key: bytes, member: str, round_id: str, *, again: bool) -> str:
    """The id of a member's review of a round, the first or a repeated one."""
    return draw(key, "review", member, round_id, str(again))[:32]


def alias_names(key: bytes, review: str, people: Iterable[str]) -> dict[str, str]:
    """A name for everybody in a round that holds for one review only."""
    shuffled = sorted(people, key=lambda person: draw(key, "person", review, person))
    return {person: f"p{number}" for number, person in enumerate(shuffled, start=1)}


def draw(key: bytes, *parts: str) -> str:
    """Digits that follow from the parts and the key; no other parts have the same."""
    # Parts that cannot be mistaken for others: each is preceded by its length.
    content = b"".join(len(p.encode()).to_bytes(4, "big") + p.encode() for p in parts)
    return hmac.digest(key, content, "sha256").hex()
