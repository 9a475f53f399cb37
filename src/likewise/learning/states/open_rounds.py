"""Values of which a changed copy costs little: frozen ones, and the mapping of open rounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar
from zlib import crc32

if TYPE_CHECKING:
    from likewise.learning.states.state import OpenRound

BUCKETS = 64

_Bucket = dict[str, "OpenRound"]


T = TypeVar("T")


def changed(value: T, **changes: object) -> T:
    """A copy of a frozen value with some fields changed, unchecked: for values that the fold made.

    ``dataclasses.replace`` runs the constructor, which costs more than the rest of an event.
    """
    copy = object.__new__(type(value))
    object.__setattr__(copy, "__dict__", value.__dict__ | changes)
    return copy


class OpenRounds(Mapping[str, "OpenRound"]):
    """Rounds by id, in the order in which they opened.

    Thousands of rounds may wait for feedback, and every event changes one of them. A copy shares
    all buckets but the one that changes.

    >>> rounds = OpenRounds()
    >>> len(rounds), "monday" in rounds
    (0, False)
    """

    __slots__ = ("_buckets", "_count")

    def __init__(self, rounds: Mapping[str, OpenRound] | None = None) -> None:
        buckets: list[_Bucket] = [{} for _ in range(BUCKETS)]
        for name, round_ in (rounds or {}).items():
            buckets[_bucket_index(name)][name] = round_
        self._buckets, self._count = buckets, len(rounds or ())

    def __getitem__(self, name: str) -> OpenRound:
        return self._buckets[_bucket_index(name)][name]

    def find(self, name: str) -> OpenRound | None:
        """The round of that id, or None."""
        return self._buckets[_bucket_index(name)].get(name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._buckets[_bucket_index(name)]

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        everything = (round_ for bucket in self._buckets for round_ in bucket.values())
        return iter([round_.id for round_ in sorted(everything, key=lambda r: r.number)])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OpenRounds):
            return NotImplemented
        return self._buckets == other._buckets

    __hash__ = None  # type: ignore[assignment] # rounds hold arrays

    def __repr__(self) -> str:
        return f"OpenRounds({list(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return OpenRounds, (dict(self),)

    def having(self, round_: OpenRound) -> OpenRounds:
        """A copy with a round added or replaced."""
        index = _bucket_index(round_.id)
        return self._with(index, {**self._buckets[index], round_.id: round_})

    def without(self, name: str) -> OpenRounds:
        """A copy without a round."""
        index = _bucket_index(name)
        bucket = {key: value for key, value in self._buckets[index].items() if key != name}
        return self._with(index, bucket)

    def _with(self, index: int, bucket: _Bucket) -> OpenRounds:
        copy = object.__new__(OpenRounds)
        copy._buckets = self._buckets.copy()
        copy._buckets[index] = bucket
        copy._count = self._count + len(bucket) - len(self._buckets[index])
        return copy


@lru_cache(maxsize=1024)
def _bucket_index(name: str) -> int:
    # Python's own hash differs from process to process.
    return crc32(name.encode("utf-8", "surrogatepass")) % BUCKETS
