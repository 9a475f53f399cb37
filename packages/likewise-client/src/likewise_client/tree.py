"""The Merkle tree over the records of a ledger (RFC 6962), and the proofs that compare trees.

An entry is the hash of a record, which is salted: it says nothing to whoever lacks the record.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

# A full tile has 256 hashes, so its tree is 8 high.
HEIGHT = 8


def leaf_hash(entry: bytes) -> bytes:
    return hashlib.sha256(b"\0" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\1" + left + right).digest()


@dataclass(frozen=True)
class Tree:
    """A tree of ``size`` entries, by the roots of its largest complete subtrees, left to right.

    ``filled`` are the tiles that the last entry has made full: level, number and root.

    >>> Tree().root.hex()[:16], Tree().plus(b"a").plus(b"b").root.hex()[:16]
    ('e3b0c44298fc1c14', 'b137985ff484fb60')
    """

    size: int = 0
    peaks: tuple[bytes, ...] = ()
    filled: tuple[tuple[int, int, bytes], ...] = field(default=(), compare=False, repr=False)

    def plus(self, entry: bytes) -> Tree:
        """Return the tree with one entry more, in O(log size)."""
        rest, height, peaks = self.size, 0, self.peaks
        root, filled = leaf_hash(entry), list[tuple[int, int, bytes]]()
        while rest & 1:
            root, peaks = node_hash(peaks[-1], root), peaks[:-1]
            rest, height = rest >> 1, height + 1
            if height % HEIGHT == 0:
                filled.append((height // HEIGHT, rest, root))
        return Tree(self.size + 1, (*peaks, root), tuple(filled))

    @cached_property
    def root(self) -> bytes:
        if not self.peaks:
            return hashlib.sha256(b"").digest()
        root = self.peaks[-1]
        for peak in reversed(self.peaks[:-1]):
            root = node_hash(peak, root)
        return root


def included_root(entry: bytes, index: int, size: int, proof: Sequence[bytes]) -> bytes | None:
    """Return the root of the tree of that size in which a proof places an entry.

    None where a proof of that index and size is longer or shorter.
    """
    sides = _sides(index, size - 1)
    if not 0 <= index < size or len(sides) != len(proof):
        return None
    root = leaf_hash(entry)
    for other, left in zip(proof, sides, strict=True):
        root = node_hash(other, root) if left else node_hash(root, other)
    return root


def is_consistent(
    old_size: int, old_root: bytes, size: int, root: bytes, proof: Sequence[bytes]
) -> bool:
    """Tell if a proof shows that a tree begins with all entries of an older one."""
    if old_size in (0, size):
        return not proof and (old_size == 0 or old_root == root)
    # A complete subtree is a part of its own proof.
    path = [old_root, *proof] if old_size & (old_size - 1) == 0 else list(proof)
    if not 0 < old_size < size or not path:
        return False
    first, last = old_size - 1, size - 1
    while first & 1:
        first, last = first >> 1, last >> 1
    sides = _sides(first, last)
    if len(sides) != len(path) - 1:
        return False
    before = after = path[0]
    for other, left in zip(path[1:], sides, strict=True):
        before = node_hash(other, before) if left else before
        after = node_hash(other, after) if left else node_hash(after, other)
    return (before, after) == (old_root, root)


def _sides(node: int, last: int) -> list[bool]:
    """Tell for each hash of a proof, from a node up to the root, whether it is on the left."""
    sides = []
    while last > 0:
        left = node & 1 == 1 or node == last
        while left and node and not node & 1:  # a node at the right edge has no sibling there
            node, last = node >> 1, last >> 1
        sides.append(left)
        node, last = node >> 1, last >> 1
    return sides
