"""Members' own signatures: their keys, and the acts that they sign."""

from __future__ import annotations

from dataclasses import dataclass

from likewise.service.clock import seconds_between
from likewise.service.dockets.docket import Docket
from likewise.service.dockets.unit_of_work import UnitOfWork
from likewise.service.errors import ServiceError
from likewise.service.ledger.bodies.evidence import MemberKeySet, Signed
from likewise.service.ledger.payloads import Payload
from likewise.service.ledger.records import Receipt
from likewise.service.ledger.signing.member_statements import Act, MemberStatement, possession
from likewise.service.ledger.signing.signatures import PublicKey

# Seconds by which a member's clock may differ from ours; older signatures are not taken again.
CLOCKS = 300.0


@dataclass(frozen=True)
class SignedAct:
    """An act that a member signed: the review's id and names, the time, the salt of the reason."""

    review: str
    act: Act
    at: str
    key: str
    signature: str
    pair: tuple[str, str] | None = None
    salt: bytes = b""


def set_member_key(
    docket: Docket, member: str, key: PublicKey, proof: str, consent: str | None
) -> Receipt:
    """Record the key that a member signs with from now on; the key before it has to consent."""
    content = possession(docket.name, member, key)
    if not key.verifies("member-key", content, proof):
        raise _bad("The new key did not sign that you take it into use. Send its own signature.")
    with docket.unit_of_work() as work:
        current = work.projection.governance.keys.get(member)
        if current == key.text:
            return docket.receipt()
        if current is not None and (
            consent is None or not PublicKey(current).verifies("member-key", content, consent)
        ):
            raise _bad(
                f"You sign with the key {PublicKey(current).id}, which has to agree to another "
                f"one. If you have lost it, leave the panel and join it under another name."
            )
        work.add(MemberKeySet(member, key.text, proof, consent))
    return docket.receipt()


def sign_act(
    work: UnitOfWork, member: str, signed: SignedAct | None, act: Act, reason: Payload | None = None
) -> None:
    """Record a member's signature before the record that it signs.

    Once a member has a key, nothing of theirs is recorded without it.
    """
    key = work.projection.governance.keys.get(member)
    if signed is None:
        if key is not None:
            raise ServiceError(
                "signature-needed", 409,
                f"You sign with the key {PublicKey(key).id}, so nothing is taken without a "
                f"signature. Use the client with that key.",
            )  # fmt: skip
        return
    if key is None or PublicKey(key).id != signed.key or signed.act != act:
        raise _bad(f"The key {signed.key} is not one that you have taken into use for this.")
    if not _in_time(signed.at, work.clock):
        raise _bad(f"You signed at {signed.at}, and it is {work.clock}. Set your clock.")
    if signed.at <= work.projection.governance.signed.get(member, ""):
        raise _bad("You signed something later already. Sign again, at this time.")
    content = (
        signed.review,
        act,
        signed.pair,
        None if reason is None else reason.digest,
        signed.at,
    )
    statement = MemberStatement(work.projection.name, member, *content)
    if not statement.signed_by(PublicKey(key), signed.signature):
        raise _bad("The signature is not one of what was sent. Sign exactly that.")
    work.add(Signed(member, signed.key, *content, signed.signature))


def _in_time(at: str, clock: str) -> bool:
    try:
        return abs(seconds_between(at, clock)) <= CLOCKS
    except ValueError:
        return False  # no such day, or hour


def _bad(sentence: str) -> ServiceError:
    return ServiceError("bad-signature", 422, sentence)
