"""Evidence: the public keys of the installation, packets, retention, and keys of members."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import Field

from likewise_client.responses import KeyResponse, PacketResponse, Response, Written
from likewise_service.api.dependencies import (
    SIGNATURE,
    App,
    AuditorAccess,
    Body,
    OperatorAccess,
    PersonBody,
    PersonId,
    ReadAccess,
    RoundName,
    Text,
    api_router,
)
from likewise_service.api.errors import DOCUMENTED, fill, receipt_response
from likewise_service.dockets.erasure import lift_hold, place_hold, set_retention
from likewise_service.dockets.panel import set_member_key
from likewise_service.ledger.kinds import acting
from likewise_service.ledger.signatures import PublicKey
from likewise_service.verify.packets import give_packet, packet_words

published = APIRouter(tags=["evidence"])
router = api_router("/v1/dockets/{docket}", "evidence")

HoldId = Annotated[str, Path(pattern=r"^[0-9a-f]{12}$", description="From placing it.")]
Days = Annotated[float, Field(gt=0, le=36_525, allow_inf_nan=False)]
Signature = Annotated[str, Field(pattern=SIGNATURE)]


class RetentionBody(Body):
    """Days after a round has closed for which features and reasons are kept; null: always."""

    features: Days | None
    reasons: Days | None


class HoldBody(Body):
    """A legal hold on the docket, a round, or a person of it; ``why`` stays in the ledger."""

    why: Text
    round: RoundName | None = None
    person: PersonId | None = None


class MemberKeyBody(Body):
    """A key that you sign with from now on: its own signature, and that of the key before it."""

    key: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    proof: Signature
    consent: Signature | None = None


class KeyList(Response):
    """The keys that sign, or once signed, receipts; the key in use is not ``retired``."""

    keys: list[KeyResponse]


class NewHold(Written):
    """The id of a new legal hold."""

    hold: str


@published.get("/.well-known/likewise-keys.json", responses={s: DOCUMENTED[s] for s in (429, 503)})
async def published_keys(app: App) -> KeyList:
    """List the installation's public keys, by which anybody can tell its receipts from others."""
    await asyncio.to_thread(app.store.keys.current)
    keys = await asyncio.to_thread(app.store.keys.listed)
    return KeyList([fill(KeyResponse, k, id=k.public.id, public=k.public.text) for k in keys])


@router.post("/packets")
async def give_decision_packet(body: PersonBody, access: ReadAccess) -> PacketResponse:
    """Return everything that led to the decision on one person, in words and as signed JSON.

    It is for that person: it holds nobody else's data. The ledger records that it was given.
    """
    store = access.app.store
    with acting(access.caller.actor):
        packet = await asyncio.to_thread(give_packet, store, access.docket, body.round, body.person)
    return PacketResponse(packet, packet_words(packet))


@router.put("/retention")
async def set_periods(body: RetentionBody, access: OperatorAccess) -> Written:
    """Set how long features and reasons are kept after a round has closed."""
    return await access.write(set_retention, body.features, body.reasons)


@router.post("/holds", status_code=201)
async def new_hold(body: HoldBody, access: OperatorAccess) -> NewHold:
    """Place a legal hold on the docket, a round or a person: nothing of it is erased."""
    hold, receipt = await access.run(
        lambda w: place_hold(w.docket, body.why, body.round, body.person)
    )
    return NewHold(receipt_response(receipt), hold)


@router.delete("/holds/{hold}")
async def end_hold(hold: HoldId, access: OperatorAccess) -> Written:
    """Lift a legal hold."""
    return await access.write(lift_hold, hold)


@router.put("/member-key")
async def take_key_into_use(body: MemberKeyBody, access: AuditorAccess) -> Written:
    """Sign what you say from now on; nothing is accepted from you without a signature."""
    key = PublicKey(body.key)
    return await access.write(set_member_key, access.caller.name, key, body.proof, body.consent)
