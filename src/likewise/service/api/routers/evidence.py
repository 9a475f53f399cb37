"""Evidence: the keys that sign, in the open; and the keys of members."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter

from likewise.service.api.dependencies import App, Auditing
from likewise.service.api.errors import DOCUMENTED
from likewise.service.api.requests import MemberKeyBody
from likewise.service.api.responses import KeyList, KeyResponse, Written
from likewise.service.api.serializers import written
from likewise.service.dockets.commands.signing import set_member_key
from likewise.service.ledger.signing.keys import InstallationKey
from likewise.service.ledger.signing.signatures import PublicKey

__all__ = ["published", "router"]

published = APIRouter(tags=["evidence"])
router = APIRouter(prefix="/v1/dockets/{docket}", tags=["evidence"], responses=DOCUMENTED)


def _key(one: InstallationKey) -> KeyResponse:
    public = one.public
    return KeyResponse(public.id, public.text, one.created, one.retired, one.compromised)


@published.get("/.well-known/likewise-keys.json", responses={s: DOCUMENTED[s] for s in (429, 503)})
async def published_keys(app: App) -> KeyList:
    """The installation's public keys, by which anybody can tell its receipts from others."""
    await asyncio.to_thread(app.store.keys.current)
    found = await asyncio.to_thread(app.store.keys.listed)
    return KeyList([_key(one) for one in found])


@router.put("/member-key")
async def take_key_into_use(body: MemberKeyBody, at: Auditing) -> Written:
    """From now on you sign what you say, and nothing is taken from you without a signature."""
    key, member = PublicKey(body.key), at.caller.name
    return written(
        await at.run(lambda w: set_member_key(w.docket, member, key, body.proof, body.consent))
    )
