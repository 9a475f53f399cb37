"""Keys with which members sign what they say."""

from typing import Annotated

from fastapi import Path, Query
from pydantic import Field

from likewise_client import responses
from likewise_service.api import dependencies as deps
from likewise_service.api.dependencies import Access, adds
from likewise_service.api.errors import Written
from likewise_service.dockets import signing
from likewise_service.dockets.docket import Docket
from likewise_service.ledger import kinds, signatures

router = deps.api_router("/v1/dockets/{docket}/member-keys", "member keys")

Signature = Annotated[str, Field(pattern=deps.SIGNATURE)]
KeyId = Annotated[str, Path(pattern=r"^[0-9a-f]{16}$", description="From the list of your keys.")]


class MemberKeyBody(deps.Body):
    """A key of yours: its own signature the first time, and one of a key that signs for you."""

    key: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    device: Annotated[str, Field(max_length=100, description="Where the key is, in words.")] = ""
    proof: Signature | None = None
    consent: Signature | None = None


class MemberKeyList(responses.Response):
    keys: list[responses.MemberKeyResponse]


def member_keys(docket: Docket, member: str) -> list[responses.MemberKeyResponse]:
    """List the keys that a member has had, the oldest first."""
    listed = docket.refresh().governance.keys.get(member, {})
    return [
        responses.MemberKeyResponse(name, key.key, key.device, key.at, key.state)
        for name, key in listed.items()
    ]


@router.get("")
async def list_member_keys(access: deps.AuditorAccess) -> MemberKeyList:
    """List your keys: those that sign, those that wait for one of them to agree, and ended ones."""
    return await access.run(lambda w: MemberKeyList(member_keys(w.docket, access.caller.name)))


@router.put("")
async def enrol_member_key(
    body: MemberKeyBody, access: Access = adds(kinds.MemberKeyEnrolled)
) -> Written:
    """Enrol a key, or agree to one: nothing is accepted from you without a signature any more."""
    key = signatures.PublicKey(body.key)
    return await access.write(
        signing.enrol_key, access.caller.name, key, device=body.device, proof=body.proof,
        consent=body.consent,
    )  # fmt: skip


@router.delete("/{key_id}")
async def revoke_member_key(
    key_id: KeyId,
    access: Access = adds(kinds.MemberKeyRevoked),
    signature: Annotated[str | None, Query(pattern=deps.SIGNATURE)] = None,
) -> Written:
    """End a key; a key of yours may sign that, and does not have to: you may have lost it."""
    return await access.write(signing.revoke_key, access.caller.name, key_id, signature)
