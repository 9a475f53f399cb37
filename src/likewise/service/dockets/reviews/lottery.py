"""The lottery of hidden repeats, and ids that say nothing: keyed hashes of the docket's secret."""

from __future__ import annotations

import hmac
from collections.abc import Iterable

from likewise.service.dockets.reviews.targets import Seat

__all__ = ["BETWEEN", "ReviewKey"]

# A round is shown again only after the member has judged this many others in between.
BETWEEN = 3
# So many ids of reviews are kept in mind.
REMEMBERED = 4096


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
        # Copied for every draw: to begin anew costs three times as much.
        self._begun = hmac.new(key, digestmod="sha256")
        # A review is named when it is asked for, at every act and when it ends.
        self._ids: dict[tuple[str, str, str], str] = {}

    def review_id(self, seat: Seat) -> str:
        """The id of a review; a round that is shown again has another one."""
        parts = (seat.member, seat.round, str(seat.again is not None))
        known = self._ids.get(parts)
        if known is None:
            if len(self._ids) >= REMEMBERED:
                self._ids.clear()
            known = self._ids[parts] = self._draw("review", *parts)[:32]
        return known

    def shuffled(self, review_id: str, people: Iterable[str]) -> list[str]:
        """The people of a review in an order of its own."""
        return sorted(people, key=lambda person: self._draw("person", review_id, person))

    def repeats(self, member: str, count: int, share: float) -> bool:
        """Tell if a round is shown again, after a member has judged so many."""
        drawn = int(self._draw("repeat", member, str(count))[:13], 16) / 16**13
        return drawn < share

    def ranked(self, member: str, count: int, rounds: Iterable[str]) -> list[str]:
        """Rounds in the order in which the lottery would show them again."""
        number = str(count)
        return sorted(rounds, key=lambda name: self._draw("which", member, number, name))

    def _draw(self, *parts: str) -> str:
        drawn = self._begun.copy()
        drawn.update(_joined(parts))
        return drawn.hexdigest()


def _joined(parts: Iterable[str]) -> bytes:
    """Parts that cannot be mistaken for others: each is preceded by its length."""
    encoded = [part.encode() for part in parts]
    return b"".join(len(part).to_bytes(4, "big") + part for part in encoded)
