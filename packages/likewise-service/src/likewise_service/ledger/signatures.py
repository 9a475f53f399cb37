"""Signatures: Ed25519 keys, their ids, and statements that name their own purpose.

What is signed is ``likewise-PURPOSE/1`` and a line feed before the statement, so that a signature
given for one purpose is never one for another.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal, Self

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ed25519

from likewise.errors import LikewiseError
from likewise_service.clock import write
from likewise_service.ledger.records import canonical, sha256

_PUBLIC = re.compile(r"[0-9a-f]{64}\Z")


def text_of(signature: bytes) -> str:
    """Return a signature in base64 for addresses, without padding."""
    return base64.urlsafe_b64encode(signature).decode().rstrip("=")


def unread_text(text: str) -> bytes:
    """Return the bytes of a signature, or none if the text is no signature."""
    try:
        signature = base64.b64decode(text + "==", altchars=b"-_", validate=True)
    except (ValueError, TypeError):
        return b""
    return signature if len(signature) == 64 and text_of(signature) == text else b""


@lru_cache(maxsize=256)
def _loaded(text: str) -> ed25519.Ed25519PublicKey:
    """Return a key as the library has it; making one costs as much as a signature."""
    return ed25519.Ed25519PublicKey.from_public_bytes(bytes.fromhex(text))


def _statement(purpose: str, content: bytes) -> bytes:
    return f"likewise-{purpose}/1\n".encode() + content


@dataclass(frozen=True)
class PublicKey:
    """The public half of a key, as 64 hexadecimal digits."""

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
        return self.verifies_raw(_statement(purpose, content), unread_text(signature))

    def verifies_raw(self, content: bytes, signature: bytes) -> bool:
        """Check a signature in another format, which separates its purposes by itself."""
        try:
            _loaded(self.text).verify(signature, content)
        except (InvalidSignature, ValueError):
            return False
        return True


@dataclass(frozen=True)
class PrivateKey:
    """The private half of a key: 32 bytes.

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
        return cls(ed25519.Ed25519PrivateKey.generate().private_bytes_raw())

    @cached_property
    def _key(self) -> ed25519.Ed25519PrivateKey:
        return ed25519.Ed25519PrivateKey.from_private_bytes(self.raw)

    @cached_property
    def public(self) -> PublicKey:
        return PublicKey(self._key.public_key().public_bytes_raw().hex())

    def sign(self, purpose: str, content: bytes) -> str:
        return text_of(self.sign_raw(_statement(purpose, content)))

    def sign_raw(self, content: bytes) -> bytes:
        return self._key.sign(content)


Act = Literal["flag", "withdraw", "finish", "reopen", "comment"]
# An objection in the names of a review: two people, the digest of the reason, the limit in units.
Flag = tuple[str, str, str | None, int | None]


def act_statement(
    docket: str, member: str, review: str, shown: str, act: Act, pair: Sequence[str] | None,
    reason: str | None, limit: int | None, flags: Sequence[Flag] | None, at: str,
) -> bytes:  # fmt: skip
    """Return the statement of a member's act, which they sign for the purpose ``member``.

    ``shown`` is the hash of what the member was shown, where people are called p1, p2, …
    ``reason`` is the salted digest of their reason or comment, so that its words can be erased;
    ``limit`` is in units of 2^-20. A member who finishes signs all ``flags`` that stand: every
    other pair that was shown is fine.
    """
    content = {"docket": docket, "member": member, "review": review, "shown": shown, "act": act}
    response = {"pair": sorted(pair) if pair else None, "reason": reason, "limit": limit}
    return canonical({**content, **response, "flags": flags, "at": at})


def possession(docket: str, member: str, key: PublicKey) -> bytes:
    """Return the statement that takes a member's key into use; their earlier key signs it too."""
    return canonical({"docket": docket, "member": member, "key": key.text})


def revocation(docket: str, member: str, key: PublicKey) -> bytes:
    """Return the statement that ends a member's key; any key of theirs signs it."""
    return canonical({"docket": docket, "member": member, "revoked": key.text})


def succession(key: PublicKey) -> bytes:
    """Return the statement by which a key names the next one."""
    return f"the next key is {key.text}".encode()


def time_stamp_request(content: bytes) -> tuple[bytes, int | None]:
    from rfc3161_client import HashAlgorithm, TimestampRequestBuilder

    request = TimestampRequestBuilder().data(content).hash_algorithm(HashAlgorithm.SHA256).build()
    return request.as_bytes(), request.nonce


@dataclass(frozen=True)
class TimeStamp:
    """An authority's statement that something existed at a time."""

    at: str
    imprint: bytes
    nonce: int | None
    raw: bytes

    @classmethod
    def read(cls, raw: bytes) -> TimeStamp:
        """Read an authority's response; refuse one that is none, or grants nothing."""
        from rfc3161_client import PKIStatus, decode_timestamp_response

        try:
            response = decode_timestamp_response(raw)
            if PKIStatus(response.status) in (PKIStatus.GRANTED, PKIStatus.GRANTED_WITH_MODS):
                info = response.tst_info
                imprint = bytes(info.message_imprint.message)
                return cls(write(info.gen_time), imprint, info.nonce, raw)
        except (ValueError, TypeError, AttributeError) as error:
            raise LikewiseError(f"This is not a time-stamp of RFC 3161: {error}.") from error
        message = " ".join(response.status_string)[:200]
        raise LikewiseError(
            f"The authority granted no time-stamp (status {response.status}) {message}"
        )

    @classmethod
    def parse(cls, text: str) -> TimeStamp:
        try:
            return cls.read(base64.b64decode(text, validate=True))
        except ValueError as error:
            raise LikewiseError(f"This is not a time-stamp in base64: {error}.") from error

    @property
    def text(self) -> str:
        return base64.b64encode(self.raw).decode()

    def covers(self, content: bytes) -> bool:
        return self.imprint == hashlib.sha256(content).digest()

    def check(self, content: bytes, roots: list[Any]) -> str:
        """Return why the authority with those certificates did not give it, or nothing."""
        from rfc3161_client import VerificationError, VerifierBuilder, decode_timestamp_response

        leaf, *rest = sorted(roots, key=lambda c: c.subject == c.issuer)
        builder = VerifierBuilder()
        for root in rest or [leaf]:
            builder = builder.add_root_certificate(root)
        if rest:
            builder = builder.tsa_certificate(leaf)
        try:
            builder.build().verify_message(decode_timestamp_response(self.raw), content)
        except (VerificationError, ValueError) as error:
            return str(error) or type(error).__name__
        return ""


def read_certificates(path: Path) -> list[Any]:
    """Read the certificates of a time-stamp authority: the root, and its own if it sends none."""
    try:
        return x509.load_pem_x509_certificates(path.read_bytes())
    except (OSError, ValueError) as error:
        raise LikewiseError(
            f"{path} holds no certificates in PEM ({error}). Get the authority's root from where "
            f"it is published."
        ) from error
