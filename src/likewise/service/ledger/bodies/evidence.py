"""Bodies of records about the docket's own keeping: keys, who acted, anchors, holds.

None of them concerns the learner, and none of them has a field ``round``: they are no part of any
round's view.
"""

from __future__ import annotations

from typing import Literal

from likewise.service.ledger.bodies.own import OwnBody

__all__ = [
    "EVIDENCE_KINDS",
    "AnchorFailed",
    "Anchored",
    "EvidenceBody",
    "HoldLifted",
    "HoldPlaced",
    "KeyPublished",
    "MemberKeySet",
    "PacketGiven",
    "ReasonsErased",
    "RetentionSet",
    "Signed",
    "SignedIn",
    "SignedOut",
    "TokenEnded",
    "TokenIssued",
]


class EvidenceBody(OwnBody):
    """A record about the keeping of the docket."""


class KeyPublished(EvidenceBody):
    """The installation signs with another key from now on.

    ``signature`` is that of the key before it (``replaces``, by id) over the new one, if there was
    one; a key that was ``compromised`` is not believed any more from this record on.
    """

    key: str
    replaces: str | None
    signature: str | None
    compromised: bool


class TokenIssued(EvidenceBody):
    """Somebody was given a token: ``seat`` is the one docket that it is for, if it is for one."""

    token: str
    role: str
    name: str
    seat: str | None
    created: str


class TokenEnded(EvidenceBody):
    """A token opens nothing any more."""

    token: str


class SignedIn(EvidenceBody):
    """Somebody signed in to the pages, with a token or by their organisation's sign-on."""

    sign_in: str
    token: str
    role: str
    name: str
    issuer: str | None
    subject: str | None
    until: str


class SignedOut(EvidenceBody):
    """A sign-in ended before its time."""

    sign_in: str


class MemberKeySet(EvidenceBody):
    """A member signs with that key from now on, and says nothing without it.

    ``proof`` is the new key's own signature, ``consent`` that of the key before it.
    """

    member: str
    key: str
    proof: str
    consent: str | None


class Signed(EvidenceBody):
    """A member's own signature over what the next record says, in the words of their review."""

    member: str
    key: str
    review: str
    act: Literal["flag", "withdraw", "finish", "reopen"]
    pair: tuple[str, str] | None
    reason: str | None
    at: str
    signature: str


class Anchored(EvidenceBody):
    """A receipt was fixed outside; ``proof`` is the time-stamp of an authority, if it gives one."""

    target: str
    receipt: str
    fixed: str
    proof: str | None


class AnchorFailed(EvidenceBody):
    """A receipt could not be fixed outside; it is tried again until it can."""

    target: str
    why: str


class RetentionSet(EvidenceBody):
    """How many days after a round has closed features and reasons are kept; None: always."""

    features: float | None
    reasons: float | None


class HoldPlaced(EvidenceBody):
    """Nothing is erased, of one round or of all of them, as long as the hold lasts."""

    hold: str
    of_round: str | None
    person: str | None
    why: str


class HoldLifted(EvidenceBody):
    """A hold is over."""

    hold: str


class ReasonsErased(EvidenceBody):
    """The words of all reasons in a round were erased, as their time had ended."""

    of_round: str


class PacketGiven(EvidenceBody):
    """Somebody was given the file of a decision; ``digest`` is the hash of it."""

    of_round: str
    person: str
    digest: str


EVIDENCE_KINDS: dict[str, type[EvidenceBody]] = {
    "key-published": KeyPublished,
    "token-issued": TokenIssued,
    "token-ended": TokenEnded,
    "signed-in": SignedIn,
    "signed-out": SignedOut,
    "member-key-set": MemberKeySet,
    "signed": Signed,
    "anchored": Anchored,
    "anchor-failed": AnchorFailed,
    "retention-set": RetentionSet,
    "hold-placed": HoldPlaced,
    "hold-lifted": HoldLifted,
    "reasons-erased": ReasonsErased,
    "packet-given": PacketGiven,
}
