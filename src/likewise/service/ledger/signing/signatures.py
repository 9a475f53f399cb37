"""Signatures: Ed25519 keys, their ids, and statements that name their own purpose.

What is signed is ``likewise-PURPOSE/1`` and a line feed before the statement, so that a signature
given for one purpose is never one for another.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Self

from likewise.errors import LikewiseError
from likewise.service.ledger.canonical_json import sha256

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

_PUBLIC = re.compile(r"[0-9a-f]{64}\Z")


def text_of(signature: bytes) -> str:
    """Return a signature as it is written: base64 for addresses, without padding.

    >>> text_of(bytes(64)) == "A" * 86
    True
    """
    return base64.urlsafe_b64encode(signature).decode().rstrip("=")


def unread_text(text: str) -> bytes:
    """Return the bytes of a signature; nothing for what is no signature."""
    try:
        signature = base64.b64decode(text + "==", altchars=b"-_", validate=True)
    except (ValueError, TypeError):
        return b""
    return signature if len(signature) == 64 and text_of(signature) == text else b""


@lru_cache(maxsize=256)
def _loaded(text: str) -> Ed25519PublicKey:
    """Return a key as the library has it: making one costs as much as a signature."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    return Ed25519PublicKey.from_public_bytes(bytes.fromhex(text))


def _statement(purpose: str, content: bytes) -> bytes:
    return f"likewise-{purpose}/1\n".encode() + content


@dataclass(frozen=True)
class PublicKey:
    """The half of a key that everybody may have, as 64 hexadecimal digits; ``id`` names it."""

    text: str

    def __post_init__(self) -> None:
        if not isinstance(self.text, str) or not _PUBLIC.match(self.text):
            raise LikewiseError(
                f"{str(self.text)[:80]!r} is not a public key; one is 64 hexadecimal digits. Copy "
                f"all of it, from the address where its owner publishes it."
            )

    @cached_property
    def id(self) -> str:
        """The first 16 digits of its hash, by which receipts name it."""
        return sha256(bytes.fromhex(self.text))[:16]

    def verifies(self, purpose: str, content: bytes, signature: str) -> bool:
        """Tell if somebody with the other half signed that, for that purpose."""
        from cryptography.exceptions import InvalidSignature

        try:
            _loaded(self.text).verify(unread_text(signature), _statement(purpose, content))
        except (InvalidSignature, ValueError):
            return False
        return True


@dataclass(frozen=True)
class PrivateKey:
    """The half of a key that its owner keeps: 32 bytes.

    >>> key = PrivateKey(bytes(range(32)))
    >>> signature = key.sign("receipt", b"loans")
    >>> key.public.verifies("receipt", b"loans", signature)
    True
    >>> key.public.verifies("packet", b"loans", signature)
    False
    """

    raw: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.raw, bytes) or len(self.raw) != 32:
            raise LikewiseError("A private key must be 32 bytes. Make one: likewise key --create.")

    @classmethod
    def fresh(cls) -> Self:
        """Return a new key."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return cls(Ed25519PrivateKey.generate().private_bytes_raw())

    @cached_property
    def _key(self) -> Ed25519PrivateKey:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return Ed25519PrivateKey.from_private_bytes(self.raw)

    @property
    def public(self) -> PublicKey:
        """The other half."""
        return PublicKey(self._key.public_key().public_bytes_raw().hex())

    def sign(self, purpose: str, content: bytes) -> str:
        """Sign a statement for a purpose."""
        return text_of(self._key.sign(_statement(purpose, content)))
