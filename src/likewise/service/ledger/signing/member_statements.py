"""Statements that members sign themselves: what they say of a review, in the review's own words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from likewise.service.ledger.canonical_json import canonical
from likewise.service.ledger.signing.signatures import PrivateKey, PublicKey

Act = Literal["flag", "withdraw", "finish", "reopen"]
PURPOSE = "member"


@dataclass(frozen=True)
class MemberStatement:
    """One act of a member: they know the people of a review by p1, p2, … and no other names.

    ``reason`` is the salted digest of their words, so that these can be erased.

    >>> key = PrivateKey(bytes(32))
    >>> done = MemberStatement("loans", "ada", "00" * 16, "finish", None, None, "2026-03-01")
    >>> done.signed_by(key.public, done.sign(key))
    True
    """

    docket: str
    member: str
    review: str
    act: Act
    pair: tuple[str, str] | None
    reason: str | None
    at: str

    def to_json(self) -> dict[str, Any]:
        """Return the statement by name."""
        pair = None if self.pair is None else sorted(self.pair)
        return {**vars(self), "pair": pair}

    @property
    def content(self) -> bytes:
        """The bytes that are signed."""
        return canonical(self.to_json())

    def sign(self, key: PrivateKey) -> str:
        """Sign it, as the member."""
        return key.sign(PURPOSE, self.content)

    def signed_by(self, key: PublicKey, signature: str) -> bool:
        """Tell if the owner of a key signed it."""
        return key.verifies(PURPOSE, self.content, signature)


def possession(docket: str, member: str, key: PublicKey) -> bytes:
    """Return the words by which a member takes a key into use; the key before it signs them too."""
    return canonical({"docket": docket, "member": member, "key": key.text})
