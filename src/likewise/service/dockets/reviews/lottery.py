"""The lottery of hidden repeats, and opaque ids: keyed hashes of the docket's secret."""

from __future__ import annotations

import hmac
from collections.abc import Iterable

from likewise.service.dockets.reviews.targets import Seat

# A round is shown again only after the member has finished this many others in between.
BETWEEN = 3
# The most ids of reviews in the cache.
CACHED = 4096


class ReviewKey:
    """The key of a docket's reviews: whoever knows the seed and its salt can draw again.

    >>> key = ReviewKey(7, b"salt")
    >>> key.review_id(Seat("r1", "ann")) == key.review_id(Seat("r1", "ann"))
    True
    >>> key.review_id(Seat("r1", "ann")) == key.review_id(Seat("r1", "ann", again="later"))
    False
    """

    def __init__(self, seed: int, salt: bytes) -> None:
        key = hmac.digest(salt, f"reviews:{seed}".encode(), "sha256")
        # Copied for every draw, which takes a third of the time of a new one.
        self._hmac = hmac.new(key, digestmod="sha256")
        self._ids: dict[tuple[str, str, str], str] = {}

    def review_id(self, seat: Seat) -> str:
        """Return the id of a review; a repeat has another one than the first review."""
        parts = (seat.member, seat.round, str(seat.again is not None))
        review_id = self._ids.get(parts)
        if review_id is None:
            if len(self._ids) >= CACHED:
                self._ids.clear()
            review_id = self._ids[parts] = self._draw("review", *parts)[:32]
        return review_id

    def shuffled(self, review_id: str, people: Iterable[str]) -> list[str]:
        """Return the people of a review in an order of its own."""
        return sorted(people, key=lambda person: self._draw("person", review_id, person))

    def repeats(self, member: str, count: int, share: float) -> bool:
        """Tell if a round is shown again after a member has finished ``count`` of them."""
        return int(self._draw("repeat", member, str(count))[:13], 16) / 16**13 < share

    def ranked(self, member: str, count: int, rounds: Iterable[str]) -> list[str]:
        """Return rounds in the order in which the lottery would show them again."""
        return sorted(rounds, key=lambda name: self._draw("which", member, str(count), name))

    def _draw(self, *parts: str) -> str:
        """Hash the parts, each preceded by its length, so that no two lists are alike."""
        digest = self._hmac.copy()
        for part in parts:
            text = part.encode()
            digest.update(len(text).to_bytes(4, "big") + text)
        return digest.hexdigest()
