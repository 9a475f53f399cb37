"""Members who sign: their keys, a review as they are shown it, and their signatures."""

import hmac
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from likewise.panel.objections import Pair
from likewise.people.features import Feature
from likewise_service.clock import seconds_between
from likewise_service.dockets.docket import Docket, UnitOfWork, command
from likewise_service.dockets.reviews import Review
from likewise_service.dockets.round import Round
from likewise_service.dockets.seating import ReviewKey
from likewise_service.errors import ServiceError
from likewise_service.language import N_
from likewise_service.ledger import kinds, records, signatures

# Seconds by which a member's clock may differ from ours; older signatures are not taken again.
CLOCKS = 200.0
# The most keys of a member that sign or wait.
KEYS = 20


@dataclass(frozen=True)
class Signature:
    """A member's signature: by which key and when, the hash of what was shown, the reason's salt.

    What else is signed the docket knows itself.
    """

    key: str
    at: str
    shown: str
    signature: str
    salt: bytes = b""


@command
def enrol_key(
    work: UnitOfWork, member: str, key: signatures.PublicKey, *, device: str = "",
    proof: str | None = None, consent: str | None = None,
) -> None:  # fmt: skip
    """Record a key of a member; it signs at once if they have no other, or if one agrees.

    ``proof`` is the new key's own signature, which is needed the first time; ``consent`` is that of
    a key that signs for them.
    """
    keys = work.projection.governance.keys
    content = signatures.possession(work.docket.name, member, key)
    enrolled = keys.get(member, {}).get(key.id)
    signing = kinds.signing_keys(keys, member)
    if enrolled is None or (enrolled.state == "waits" and not signing):
        if proof is None or not key.verifies("member-key", content, proof):
            raise _bad("The new key did not sign that you take it into use. Send its signature.")
        if sum(listed.state != "revoked" for listed in keys.get(member, {}).values()) >= KEYS:
            raise _bad(f"You have {KEYS} keys. Revoke those that you do not use.")
        work.add(kinds.MemberKeyEnrolled(member, key.text, device, proof))
    elif enrolled.state == "revoked":
        raise _bad(f"The key {key.id} was revoked, and does not come back. Make another one.")
    if consent is not None and signing and key.id not in signing:
        agreeing = _signer(signing, "member-key", content, consent)
        work.add(kinds.MemberKeyAgreed(member, key.id, agreeing, consent))


@command
def revoke_key(work: UnitOfWork, member: str, key_id: str, signature: str | None = None) -> None:
    """End a key of a member, who may have lost it: then nothing can sign that they do."""
    keys = work.projection.governance.keys
    enrolled = keys.get(member, {}).get(key_id)
    if enrolled is None:
        raise ServiceError("no-key", 404, f"You have no key {key_id!r}. List yours.")
    if enrolled.state == "revoked":
        return
    if signature is not None:
        content = signatures.revocation(work.docket.name, member, enrolled.public)
        _signer(kinds.signing_keys(keys, member), "member-key-end", content, signature)
    work.add(kinds.MemberKeyRevoked(member, key_id, signature))


def _signer(
    keys: Mapping[str, signatures.PublicKey], purpose: str, content: bytes, signature: str
) -> str:
    for name, key in keys.items():
        if key.verifies(purpose, content, signature):
            return name
    fault = f"None of your keys ({', '.join(keys) or 'none'}) signed that."
    raise _bad(f"{fault} Sign it with one of them, or revoke those that you have lost.")


def to_sign(docket: Docket, review: Review) -> dict[str, Any] | None:
    """Return what a member's signature covers besides what they say; None if they do not sign."""
    if review.seat.member not in docket.projection.governance.keys:
        return None
    flags = kinds.flags_of(review.objections, review.aliases)
    return {"shown": _shown(docket, review), "flags": flags}


def _shown(docket: Docket, review: Review) -> str:
    round_, guidelines = review.round, docket.projection.guidelines
    features, payloads = docket.schema.features, docket.payloads(round_.people.values())
    key, member = docket.seating.key, review.seat.member
    text = shown_text(key, review.id, member, round_, guidelines, features, payloads)
    if text is None:
        seq = docket.projection.head.seq
        raise records.LedgerBroken(docket.name, seq, "features beside it are gone.")
    return text


def sign_act(
    work: UnitOfWork, review: Review, act: signatures.Act, signed: Signature | None,
    pair: Pair | None = None,
    objection: kinds.Objection = kinds.Objection(),  # noqa: B008 - a frozen value
) -> None:  # fmt: skip
    """Record a member's signature before the record that it signs.

    Once a member has had a key, nothing of theirs is recorded without one.
    """
    governance, member = work.projection.governance, review.seat.member
    if member not in governance.keys:
        if signed is not None:
            raise _bad("You have no key here. Take yours into use first.")
        return
    keys = kinds.signing_keys(governance.keys, member)
    if signed is None:
        listed = ", ".join(keys) or "all your keys are revoked"
        fault = f"You sign what you say ({listed}), so nothing is taken without a signature."
        remedy = "Sign in the browser that has the key, or make another under “Your signature”."
        raise ServiceError("signature-needed", 409, f"{fault} {remedy}")
    if signed.key not in keys:
        raise _bad(f"The key {signed.key} does not sign for you; {', '.join(keys) or 'none'} does.")
    names = review.aliases
    flags = kinds.flags_of(review.objections, names) if act == "finish" else None
    people = None if pair is None else (names[pair.first], names[pair.second])
    body = kinds.Signed(
        member, signed.key, review.id, records.sha256(_shown(work.docket, review).encode()),
        act, people, objection.reason, objection.limit, flags, signed.at, signed.signature,
    )  # fmt: skip
    _check_signed(work, body, signed.shown)
    statement = body.statement(work.projection.name)
    if not keys[signed.key].verifies("member", statement, body.signature):
        fault = "The signature is not of what was sent, or what you have said here has changed."
        raise _bad(f"{fault} Read the review again, and sign it.")
    work.add(body)


def _check_signed(work: UnitOfWork, body: kinds.Signed, shown: str) -> None:
    """Refuse what was signed at another time, or when something else was shown."""
    try:
        apart = abs(seconds_between(body.at, work.clock))
    except ValueError:
        apart = math.inf  # no such day, or hour
    if apart > CLOCKS:
        sentence = f"You signed at {body.at}, and it is {work.clock}. Sign again"
        raise ServiceError("signature-late", 409, f"{sentence}; if that fails, set your clock.")
    if body.at <= work.projection.governance.signed.get(body.subject, ""):
        raise _bad("You signed something later about the same already. Sign again, at this time.")
    if body.shown != shown:
        sentence = N_(
            "What you were shown is not what is shown now: the guidelines have changed, or "
            "somebody was erased. Look again, and sign that."
        )
        raise ServiceError("shown-changed", 409, sentence)


def _bad(sentence: str) -> ServiceError:
    return ServiceError("bad-signature", 422, sentence)


def shown_text(
    key: ReviewKey, review_id: str, member: str, round_: Round, guidelines: str,
    features: Sequence[Feature], payloads: Mapping[str, records.Payload],
) -> str | None:  # fmt: skip
    """Return the people, their scores and visible features, the pairs and the guidelines, as JSON.

    Each person has a salt of their own in this review, which is erased with them, so that nobody
    can guess their features from the hash. Returns None if features are gone of somebody who was
    not erased when they were shown.
    """
    aliases, people = key.aliases(review_id, round_.shown(member)), []
    for person, alias in aliases.items():
        score, values, salt = round_.decisions[person].score, None, ""
        if person not in round_.erased:
            payload = payloads.get(round_.people[person] or "")
            if payload is None:
                return None
            salt = hmac.digest(payload.salt, review_id.encode(), "sha256").hex()[:32]
            pairs = zip(features, records.features_of(payload.content), strict=True)
            values = [[f.name, plain(f, value)] for f, value in pairs if f.visible]
        people.append({"id": alias, "score": score, "salt": salt, "features": values})
    pairs_asked = [[aliases[over], aliases[under]] for over, under, _ in round_.asked_of(member)]
    shown = {"guidelines": guidelines, "people": people, "pairs": pairs_asked}
    return records.canonical(shown).decode()


def plain(feature: Feature, value: float) -> str | None:
    """Write an encoded value as no language and no version writes it differently.

    >>> purpose = Feature("purpose", "category", levels=("car", "home"))
    >>> plain(purpose, 1.0), plain(Feature("income"), 0.1), plain(Feature("income"), math.nan)
    ('home', '0.1', None)
    """
    if math.isnan(value):
        return None
    return feature.levels[int(value)] if feature.kind == "category" else repr(float(value))
