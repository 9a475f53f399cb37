"""Kinds of record about governance: keys, who acted, anchors, retention and legal holds.

None of them concerns the learner, and none of them has a field ``round``: they are no part of any
round's view. Keys, actors, members' signatures and anchors are checked in
``likewise.service.verification.keeping``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from likewise.service.ledger.bodies.own import MemberAct, OwnBody

if TYPE_CHECKING:
    from likewise.service.verification.replay import Replay


class EvidenceBody(OwnBody):
    """A record about the governance of the docket."""


class KeyPublished(EvidenceBody, kind="key-published", by="operator"):
    """The installation signs with another key from now on.

    ``signature`` is that of the key before it (``replaces``, by id) over the new one; a key that
    was ``compromised`` signs nothing, and is not believed any more from this record on.
    """

    key: str
    replaces: str | None
    signature: str | None
    compromised: bool


class TokenIssued(EvidenceBody, kind="token-issued", by="operator client auditor regulator"):
    """Somebody was given a token: ``seat`` is the one docket that it is for, if it is for one."""

    token: str
    role: str
    name: str
    seat: str | None
    created: str


class TokenEnded(EvidenceBody, kind="token-ended", by="operator"):
    """A token was revoked."""

    token: str


class SignedIn(EvidenceBody, kind="signed-in", by="operator auditor regulator"):
    """Somebody signed in to the pages, with a token or by their organisation's sign-on."""

    sign_in: str
    token: str
    role: str
    name: str
    issuer: str | None
    subject: str | None
    until: str


class SignedOut(EvidenceBody, kind="signed-out", by="operator auditor regulator"):
    """A sign-in ended before its time."""

    sign_in: str


class MemberKeySet(EvidenceBody, MemberAct, kind="member-key-set", by="auditor"):
    """A member signs with that key from now on, and says nothing without it.

    ``proof`` is the new key's own signature, ``consent`` that of the key before it.
    """

    member: str
    key: str
    proof: str
    consent: str | None


class Signed(EvidenceBody, kind="signed", by="auditor"):
    """A member's own signature over what the next record says, in the words of their review."""

    member: str
    key: str
    review: str
    act: Literal["flag", "withdraw", "finish", "reopen"]
    pair: tuple[str, str] | None
    reason: str | None
    at: str
    signature: str


class Anchored(EvidenceBody, kind="anchored"):
    """A receipt was anchored outside; ``proof`` is an authority's time-stamp, if there is one."""

    target: str
    receipt: str
    fixed: str
    proof: str | None


class AnchorFailed(EvidenceBody, kind="anchor-failed"):
    """A receipt could not be anchored; the service tries again until it can."""

    target: str
    why: str


class RetentionSet(EvidenceBody, kind="retention-set", by="operator"):
    """How many days after a round has closed features and reasons are kept; None: always."""

    features: float | None
    reasons: float | None


class HoldPlaced(EvidenceBody, kind="hold-placed", by="operator"):
    """A legal hold: nothing of one round, or of all of them, is erased as long as it lasts."""

    hold: str
    of_round: str | None
    person: str | None
    why: str


class HoldLifted(EvidenceBody, kind="hold-lifted", by="operator"):
    """A legal hold is over."""

    hold: str

    def check(self, replay: Replay) -> None:
        """The hold was placed."""
        if self.hold not in replay.projection.governance.holds:
            replay.differ("erasure", f"The hold {self.hold!r} is lifted", "one that exists")


class ReasonsErased(EvidenceBody, kind="reasons-erased", by="operator"):
    """The words of all reasons in a round were erased, as their time had ended."""

    of_round: str

    def check(self, replay: Replay) -> None:
        """The words are gone."""
        replay.reasonless.add(self.of_round)
        round_ = replay.projection.find(self.of_round)
        for digest in (*round_.reasons, *round_.explanations.values()) if round_ else ():
            if digest in (replay.evidence.payloads or {}):
                replay.differ("erasure", "The words of a reason are still there", "erased")


class PacketGiven(EvidenceBody, kind="packet-given", by="operator client regulator"):
    """Somebody was given the file of a decision; ``digest`` is the hash of it."""

    of_round: str
    person: str
    digest: str
