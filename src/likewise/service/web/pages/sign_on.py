"""Signing on by the organisation's provider, and out of it everywhere."""

from __future__ import annotations

import asyncio
import hmac
import secrets
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response

from likewise.service.api.dependencies import AppContext
from likewise.service.auth.provider import Attempt, Provider
from likewise.service.auth.sign_ins import end_session
from likewise.service.auth.sign_on import begin_sign_on, end_sign_on, identity_claims
from likewise.service.errors import ServiceError
from likewise.service.web.dependencies import (
    SESSION,
    PageRoute,
    context_of,
    cookies,
    session_cookie,
)
from likewise.service.web.rendering import PageContext, html, render

__all__ = ["PAGES", "router"]

router = APIRouter(prefix="/console/sign-on", route_class=PageRoute, include_in_schema=False)

PAGES = {"auditor": "/console/", "operator": "/dashboard/", "regulator": "/dashboard/"}
ATTEMPT = "likewise_sign_on"

Long = Annotated[str, Query(max_length=4000)]


def _provider(app: AppContext) -> Provider:
    if app.provider is None:
        raise ServiceError(
            "no-sign-on", 404, "There is no sign-on here. Sign in with the token that you have."
        )
    return app.provider


def _back(request: Request, app: AppContext) -> str:
    base = app.settings.public_url or str(request.base_url)
    return f"{base.rstrip('/')}/console/sign-on/return"


@router.get("")
async def sign_on(request: Request) -> Response:
    """On to the provider, with an attempt that this browser alone can end."""
    app = context_of(request)
    attempt = Attempt(*(secrets.token_urlsafe(32) for _ in range(3)))
    where = await asyncio.to_thread(_provider(app).address, attempt, _back(request, app))
    response = RedirectResponse(where, 303)
    # Lax: the browser comes back from another site, and has to bring it.
    kept = {**cookies(request), "samesite": "lax", "path": "/console/sign-on"}
    response.set_cookie(ATTEMPT, attempt.cookie, max_age=600, **kept)
    return response


@router.get("/return")
async def returned(
    request: Request, state: Long = "", code: Long = "", error: Long = ""
) -> Response:
    """Somebody comes back from the provider; only whoever began here is let in."""
    app = context_of(request)
    provider, attempt = _provider(app), Attempt.read(request.cookies.get(ATTEMPT, ""))
    if attempt is None or not hmac.compare_digest(attempt.state.encode(), state.encode()):
        raise ServiceError(
            "sign-on-refused", 401, "This sign-on was not begun in this browser. Begin again here."
        )
    if error or not code:
        said = "".join(c for c in error if c.isalnum() or c == "_")[:50] or "no code"
        raise ServiceError("sign-on-refused", 401, f"The provider says no ({said}). Begin again.")
    claims = await asyncio.to_thread(provider.claims, attempt, code, _back(request, app))
    _, _, docket = identity_claims(app.settings, claims)
    members: tuple[str, ...] = ()
    if docket is not None:
        members = await app.workers.run(docket, lambda w: tuple(w.docket.projection.members))
    cookie, session = await asyncio.to_thread(
        begin_sign_on, app.store, app.settings, claims, members
    )
    await asyncio.to_thread(end_session, app.store, session_cookie(request))
    # A page, and no redirect: cookies of this site alone are not sent on the way back from another.
    where = PAGES[session.identity.role]
    page = PageContext("/console", title="Likewise")
    response = html(render("signed_on.html", page, where=where, name=session.identity.name))
    seconds = int(app.settings.session_seconds)
    response.set_cookie(SESSION, cookie, max_age=seconds, **cookies(request))
    response.delete_cookie(ATTEMPT, path="/console/sign-on")
    return response


@router.post("/logout")
async def logged_out(
    request: Request, logout_token: Annotated[str, Form(max_length=10_000)] = ""
) -> Response:
    """The provider says that somebody signed out there; so they are here."""
    app = context_of(request)
    claims = await asyncio.to_thread(_provider(app).logged_out, logout_token)
    who = (str(claims["iss"]), str(claims.get("sub", "")), str(claims.get("sid", "")))
    await asyncio.to_thread(end_sign_on, app.store, *who)
    return Response(status_code=200)
