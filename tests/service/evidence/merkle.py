"""A second implementation of the logs' formats, for the tests: it shares no code with the first.

As slow as it may be: trees by the recursion of RFC 6962 over all leaves, proofs by comparing sets
of hashes, notes by splitting text. Written from the specifications of C2SP.
"""

from __future__ import annotations

import base64
import hashlib
import struct
from functools import cache

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def _left(count: int) -> int:
    part = 1
    while part * 2 < count:
        part *= 2
    return part


@cache
def root(leaves: tuple[bytes, ...]) -> bytes:
    """MTH of RFC 6962, section 2.1."""
    if not leaves:
        return hashlib.sha256().digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\x00" + leaves[0]).digest()
    half = _left(len(leaves))
    return hashlib.sha256(b"\x01" + root(leaves[:half]) + root(leaves[half:])).digest()


def path(index: int, leaves: tuple[bytes, ...]) -> list[bytes]:
    """PATH of section 2.1.1."""
    if len(leaves) == 1:
        return []
    half = _left(len(leaves))
    if index < half:
        return [*path(index, leaves[:half]), root(leaves[half:])]
    return [*path(index - half, leaves[half:]), root(leaves[:half])]


def proof(old: int, leaves: tuple[bytes, ...]) -> list[bytes]:
    """PROOF of section 2.1.2."""
    return _subproof(old, leaves, True)


def _subproof(old: int, leaves: tuple[bytes, ...], whole: bool) -> list[bytes]:
    if old == len(leaves):
        return [] if whole else [root(leaves)]
    half = _left(len(leaves))
    if old <= half:
        return [*_subproof(old, leaves[:half], whole), root(leaves[half:])]
    return [*_subproof(old - half, leaves[half:], False), root(leaves[:half])]


def root_by_proof(leaf: bytes, index: int, size: int, hashes: list[bytes]) -> bytes:
    """The root that an inclusion proof leads to, by the recursion, from the root's side."""
    if size == 1:
        assert not hashes
        return hashlib.sha256(b"\x00" + leaf).digest()
    half, top = _left(size), hashes[-1]
    if index < half:
        pair = root_by_proof(leaf, index, half, hashes[:-1]) + top
    else:
        pair = top + root_by_proof(leaf, index - half, size - half, hashes[:-1])
    return hashlib.sha256(b"\x01" + pair).digest()


def roots_by_proof(old: int, size: int, hashes: list[bytes], known: bytes) -> tuple[bytes, bytes]:
    """The roots of both trees that a consistency proof leads to; ``known`` is the older one."""
    if old == size:
        return (hashes[0], hashes[0]) if hashes else (known, known)
    half, top = _left(size), hashes[-1]
    if old <= half:
        before, after = roots_by_proof(old, half, hashes[:-1], known)
        return before, hashlib.sha256(b"\x01" + after + top).digest()
    before, after = roots_by_proof(old - half, size - half, hashes[:-1], known)
    return (
        hashlib.sha256(b"\x01" + top + before).digest(),
        hashlib.sha256(b"\x01" + top + after).digest(),
    )


def tile(level: int, number: int, leaves: tuple[bytes, ...]) -> bytes:
    """The hashes of a tile, by the formula of tlog-tiles."""
    width, hashes = 256**level, b""
    for place in range(number * 256, number * 256 + 256):
        part = leaves[place * width : (place + 1) * width]
        if len(part) == width:
            hashes += root(part)
    return hashes


def note_is_signed(note: str, name: str, public: bytes, kind: int = 1) -> int:
    """1 for a note that a key signed (the time, if it is a witness's), 0 for others."""
    text, lines = note[: note.rindex("\n\n") + 1], note[note.rindex("\n\n") + 2 :].split("\n")
    number = hashlib.sha256(f"{name}\n".encode() + bytes([kind]) + public).digest()[:4]
    for line in lines[:-1]:
        dash, signer, encoded = line.split(" ")
        raw = base64.b64decode(encoded)
        if (dash, signer, raw[:4]) != ("—", name, number):
            continue
        moment, message, signature = 1, text.encode(), raw[4:]
        if kind == 4:
            [moment] = struct.unpack(">Q", raw[4:12])
            message, signature = b"cosignature/v1\ntime %d\n" % moment + message, raw[12:]
        try:
            Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
        except InvalidSignature:
            return 0
        return moment
    return 0
