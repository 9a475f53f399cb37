"""Time-stamps of an authority (RFC 3161): requested, read, and checked against its certificate."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from likewise.errors import LikewiseError
from likewise.service.clock import write


def time_stamp_request(content: bytes) -> tuple[bytes, int | None]:
    """Return a request for a time-stamp of some content, and its nonce."""
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
        """Read an authority's response; one that grants nothing, or is none, is refused."""
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
        """Read a time-stamp as a record has it, in base64."""
        try:
            return cls.read(base64.b64decode(text, validate=True))
        except ValueError as error:
            raise LikewiseError(f"This is not a time-stamp in base64: {error}.") from error

    @property
    def text(self) -> str:
        """The time-stamp as a record has it."""
        return base64.b64encode(self.raw).decode()

    def covers(self, content: bytes) -> bool:
        """Tell if it is of that content."""
        return self.imprint == hashlib.sha256(content).digest()

    def check(self, content: bytes, roots: list[Any]) -> str:
        """Return why the authority with those certificates did not give it; nothing if it did."""
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
    from cryptography import x509

    try:
        return x509.load_pem_x509_certificates(path.read_bytes())
    except (OSError, ValueError) as error:
        raise LikewiseError(
            f"{path} holds no certificates in PEM ({error}). Get the authority's root from where "
            f"it is published."
        ) from error
