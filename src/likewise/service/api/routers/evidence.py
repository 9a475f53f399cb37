"""Evidence: the keys that sign, in the open; and the keys of members."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter

from likewise.service.api.dependencies import App, Auditing, Governing, Reading, api_router
from likewise.service.api.errors import DOCUMENTED
from likewise.service.api.requests import (
    HoldBody,
    HoldId,
    MemberKeyBody,
    PacketBody,
    RetentionBody,
)
from likewise.service.api.responses import KeyList, KeyResponse, NewHold, PacketResponse, Written
from likewise.service.api.serializers import receipt_response, written
from likewise.service.dockets.commands.retention import lift_hold, place_hold, set_retention
from likewise.service.dockets.commands.signing import set_member_key
from likewise.service.ledger.actors import acting
from likewise.service.ledger.signing.keys import InstallationKey
from likewise.service.ledger.signing.signatures import PublicKey
from likewise.service.verification.packets.packet import give_packet
from likewise.service.verification.packets.words import packet_words

__all__ = ["published", "router"]

published = APIRouter(tags=["evidence"])
router = api_router("/v1/dockets/{docket}", "evidence")


def _key(one: InstallationKey) -> KeyResponse:
    public = one.public
    return KeyResponse(public.id, public.text, one.created, one.retired, one.compromised)


@published.get("/.well-known/likewise-keys.json", responses={s: DOCUMENTED[s] for s in (429, 503)})
async def published_keys(app: App) -> KeyList:
    """The installation's public keys, by which anybody can tell its receipts from others."""
    await asyncio.to_thread(app.store.keys.current)
    found = await asyncio.to_thread(app.store.keys.listed)
    return KeyList([_key(one) for one in found])


@router.post("/packets")
async def give_decision_packet(body: PacketBody, at: Reading) -> PacketResponse:
    """Everything that led to the decision on one person, in words and as JSON, signed.

    It is for that person: nobody else's data are in it. That it was given is recorded.
    """
    store, asked = at.app.store, (at.docket, body.round, body.person)
    with acting(at.caller.actor):
        made = await asyncio.to_thread(give_packet, store, *asked)
    return PacketResponse(made, packet_words(made))


@router.put("/retention")
async def set_periods(body: RetentionBody, at: Governing) -> Written:
    """How long features and reasons are kept after a round has closed; then they are erased."""
    return written(await at.run(lambda w: set_retention(w.docket, body.features, body.reasons)))


@router.post("/holds", status_code=201)
async def new_hold(body: HoldBody, at: Governing) -> NewHold:
    """Nothing is erased, of everything or of one round or person, until the hold is lifted."""
    given = (body.why, body.round, body.person)
    hold, receipt = await at.run(lambda w: place_hold(w.docket, *given))
    return NewHold(hold, receipt_response(receipt))


@router.delete("/holds/{hold}")
async def end_hold(hold: HoldId, at: Governing) -> Written:
    """The hold is over."""
    return written(await at.run(lambda w: lift_hold(w.docket, hold)))


@router.put("/member-key")
async def take_key_into_use(body: MemberKeyBody, at: Auditing) -> Written:
    """From now on you sign what you say, and nothing is taken from you without a signature."""
    key, member = PublicKey(body.key), at.caller.name
    return written(
        await at.run(lambda w: set_member_key(w.docket, member, key, body.proof, body.consent))
    )
