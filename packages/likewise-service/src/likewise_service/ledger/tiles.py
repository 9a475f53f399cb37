"""A log: a Merkle tree read tile by tile, and the proofs that are made from it.

A tile is a row of up to 256 hashes (C2SP's tlog-tiles): of entries at level 0, of full tiles of the
level below at all others. No proof reads more than a few tiles, however long the ledger is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from likewise_client.tree import HEIGHT, Tree, leaf_hash, node_hash

WIDTH = 2**HEIGHT
# Returns the hashes of a level from one number up to another.
Read = Callable[[int, int, int], Sequence[bytes]]


def _split(width: int) -> int:
    """Return the largest power of two below a width: the left part of a tree (RFC 6962, 2.1)."""
    return 1 << (width - 1).bit_length() - 1


def _complete_root(hashes: Sequence[bytes]) -> bytes:
    row = list(hashes)
    while len(row) > 1:
        row = [node_hash(row[i], row[i + 1]) for i in range(0, len(row), 2)]
    return row[0]


def tile_path(number: int) -> str:
    """Return the number of a tile as a path.

    >>> tile_path(1_234_067), tile_path(7)
    ('x001/x234/067', '007')
    """
    digits = f"{number % 1000:03}"
    while number := number // 1000:
        digits = f"x{number % 1000:03}/{digits}"
    return digits


@dataclass
class Log:
    """The first ``size`` entries; their hashes are read as they are needed."""

    size: int
    read: Read
    _tiles: dict[tuple[int, int], Sequence[bytes]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, entries: Iterable[bytes]) -> Log:
        levels = [[leaf_hash(entry) for entry in entries]]
        while len(levels[-1]) >= WIDTH:
            row = levels[-1]
            ends = range(WIDTH, len(row) + 1, WIDTH)
            levels.append([_complete_root(row[end - WIDTH : end]) for end in ends])
        return cls(len(levels[0]), lambda level, first, stop: levels[level][first:stop])

    def tile(self, level: int, number: int) -> Sequence[bytes]:
        """Return the hashes of a tile, as far as the log has them."""
        if (level, number) not in self._tiles:
            first = number * WIDTH
            stop = min(first + WIDTH, self.size >> HEIGHT * level)
            self._tiles[level, number] = self.read(level, first, stop) if first < stop else ()
        return self._tiles[level, number]

    def tree(self, size: int | None = None) -> Tree:
        count = self.size if size is None else size
        peaks, start = list[bytes](), 0
        for height in reversed(range(count.bit_length())):
            if count >> height & 1:
                peaks.append(self._root(start, start + 2**height))
                start += 2**height
        return Tree(count, tuple(peaks))

    def inclusion(self, index: int, size: int) -> list[bytes]:
        """Return the proof that an entry is in the tree of that size (RFC 6962, 2.1.1)."""
        proof, start, stop = list[bytes](), 0, size
        while stop - start > 1:
            middle = start + _split(stop - start)
            if index < middle:
                proof.append(self._root(middle, stop))
                stop = middle
            else:
                proof.append(self._root(start, middle))
                start = middle
        return proof[::-1]

    def consistency(self, old: int, size: int) -> list[bytes]:
        """Return the proof that a tree begins with all of an older one (RFC 6962, 2.1.2)."""
        proof, start, stop = list[bytes](), 0, size
        while 0 < old < stop:
            middle = start + _split(stop - start)
            if old <= middle:
                proof.append(self._root(middle, stop))
                stop = middle
            else:
                proof.append(self._root(start, middle))
                start = middle
        if start:
            proof.append(self._root(start, stop))
        return proof[::-1]

    def _root(self, start: int, stop: int) -> bytes:
        width = stop - start
        if width & (width - 1):
            middle = start + _split(width)
            return node_hash(self._root(start, middle), self._root(middle, stop))
        level, height = divmod(width.bit_length() - 1, HEIGHT)
        number, offset = divmod(start >> HEIGHT * level, WIDTH)
        return _complete_root(self.tile(level, number)[offset : offset + 2**height])
