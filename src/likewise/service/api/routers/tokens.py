"""Tokens: they open the API until they are revoked."""

from __future__ import annotations

import asyncio
from dataclasses import asdict

from likewise.service.api.dependencies import App, Operating, Somebody, api_router
from likewise.service.api.requests import TokenBody, TokenId
from likewise.service.api.responses import MeResponse, NewToken, TokenList, TokenResponse
from likewise.service.auth.tokens import Identity, create_token, list_tokens, revoke_token
from likewise.service.errors import ServiceError
from likewise.service.ledger.actors import acting

__all__ = ["router"]

router = api_router("/v1", "tokens")


def _response(identity: Identity) -> TokenResponse:
    return TokenResponse(**asdict(identity))


@router.get("/me")
async def who_am_i(caller: Somebody) -> MeResponse:
    """The owner of your token."""
    return MeResponse(caller.id, caller.role, caller.name, caller.docket)


@router.get("/tokens")
async def get_tokens(_: Operating, app: App) -> TokenList:
    """All tokens but for the tokens themselves, also those that were revoked."""
    found = await asyncio.to_thread(list_tokens, app.store)
    return TokenList([_response(identity) for identity in found])


@router.post("/tokens", status_code=201)
async def new_token(body: TokenBody, caller: Operating, app: App) -> NewToken:
    """A token, shown this once. A member must sit on the panel before they can have one."""
    if body.docket is not None:
        members = await app.workers.run(body.docket, lambda w: tuple(w.docket.projection.members))
        if body.role == "auditor" and body.name not in members:
            raise ServiceError(
                "no-member", 422,
                f"{body.name!r} does not sit on the panel of {body.docket!r}. Add the member "
                f"first, or correct the name.",
            )  # fmt: skip
    with acting(caller.actor):
        token, identity = await asyncio.to_thread(
            create_token, app.store, body.role, body.name, body.docket
        )
    return NewToken(token, _response(identity))


@router.delete("/tokens/{token_id}")
async def delete_token(token_id: TokenId, caller: Operating, app: App) -> TokenResponse:
    """From now on the token opens nothing."""
    with acting(caller.actor):
        return _response(await asyncio.to_thread(revoke_token, app.store, token_id))
