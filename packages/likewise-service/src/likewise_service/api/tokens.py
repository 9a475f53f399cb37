"""Tokens: they open the API until they are revoked."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import Path

from likewise_client.responses import MeResponse, NewToken, Response, TokenResponse
from likewise_service.api.dependencies import (
    AnyCaller,
    App,
    Body,
    DocketId,
    OperatorCaller,
    Text,
    api_router,
)
from likewise_service.api.errors import fill
from likewise_service.auth.tokens import Role, create_token, list_tokens, revoke_token
from likewise_service.errors import ServiceError
from likewise_service.ledger.kinds import acting

router = api_router("/v1", "tokens")

TokenId = Annotated[str, Path(min_length=1, max_length=32, pattern=r"^[a-z0-9-]+$")]


class TokenBody(Body):
    """A new token; an auditor's name is that of a member of the panel."""

    role: Role
    name: Text
    docket: DocketId | None = None


class TokenList(Response):
    """All tokens, including revoked ones."""

    tokens: list[TokenResponse]


@router.get("/me")
async def who_am_i(caller: AnyCaller) -> MeResponse:
    """Return the owner of your token."""
    return fill(MeResponse, caller)


@router.get("/tokens")
async def get_tokens(_: OperatorCaller, app: App) -> TokenList:
    """List all tokens, including revoked ones; the tokens themselves are not shown."""
    identities = await asyncio.to_thread(list_tokens, app.store)
    return TokenList([fill(TokenResponse, identity) for identity in identities])


@router.post("/tokens", status_code=201)
async def new_token(body: TokenBody, caller: OperatorCaller, app: App) -> NewToken:
    """Create a token, which is shown only once; an auditor must sit on the panel before."""
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
    return NewToken(token, fill(TokenResponse, identity))


@router.delete("/tokens/{token_id}")
async def delete_token(token_id: TokenId, caller: OperatorCaller, app: App) -> TokenResponse:
    """Revoke a token."""
    with acting(caller.actor):
        return fill(TokenResponse, await asyncio.to_thread(revoke_token, app.store, token_id))
