"""Signing in and out."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response

from likewise.service.auth.sign_ins import begin_session, end_session
from likewise.service.auth.sign_on import end_sign_on
from likewise.service.errors import ServiceError
from likewise.service.web.dependencies import (
    PRE,
    SESSION,
    Auditor,
    PageRequest,
    PageRoute,
    Supervisor,
    check_form,
    context_of,
    cookies,
    fresh_form,
    same_site,
    session_cookie,
)
from likewise.service.web.pages.sign_on import PAGES
from likewise.service.web.rendering import PageContext, html, render

__all__ = ["router"]

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/")
async def front() -> RedirectResponse:
    """The first page."""
    return RedirectResponse("/console/sign-in", 303)


@router.get("/console")
@router.get("/dashboard")
@router.get("/dashboard/{docket}")
async def with_slash(request: Request) -> RedirectResponse:
    """Pages have addresses that end in a slash; people leave it out."""
    return RedirectResponse(f"{request.url.path}/", 308)


@router.get("/console/sign-in")
async def sign_in_page(request: Request) -> Response:
    """The page on which to paste a token."""
    return _sign_in(request)


@router.post("/console/sign-in")
async def sign_in(
    request: Request,
    token: Annotated[str, Form(max_length=200)] = "",
    csrf: Annotated[str, Form(max_length=200)] = "",
) -> Response:
    """A token is exchanged for a session, and forgotten."""
    same_site(request)
    check_form(request, csrf)
    app = context_of(request)
    seconds = app.settings.session_seconds
    try:
        cookie, session = await asyncio.to_thread(begin_session, app.store, token.strip(), seconds)
    except ServiceError as error:
        return _sign_in(request, error.sentence, error.status)
    where = PAGES.get(session.identity.role)
    if where is None:
        await asyncio.to_thread(end_session, app.store, cookie)
        return _sign_in(
            request, "This is a program's token; it opens the API, and no page. Use your own.", 403
        )
    # Whoever was signed in here before is not any more.
    await asyncio.to_thread(end_session, app.store, session_cookie(request))
    response = RedirectResponse(where, 303)
    response.set_cookie(SESSION, cookie, max_age=int(seconds), **cookies(request))
    response.delete_cookie(PRE, path="/")
    return response


@router.post("/console/sign-out")
async def sign_out(request: Auditor) -> Response:
    """An auditor leaves."""
    return await _leave(request)


@router.post("/dashboard/{docket}/sign-out")
@router.post("/dashboard/sign-out")
async def sign_out_of_dashboard(request: Supervisor) -> Response:
    """An operator leaves."""
    return await _leave(request)


async def _leave(request: PageRequest) -> Response:
    await request.form()
    session, app, there = request.session, request.app, None
    await asyncio.to_thread(end_session, app.store, session_cookie(request.request))
    if session.issuer:
        # Whoever signed on by their organisation leaves everywhere, and there too.
        await asyncio.to_thread(end_sign_on, app.store, session.issuer, session.subject)
        if app.provider is not None and app.provider.issuer == session.issuer:
            home = (app.settings.public_url or str(request.request.base_url)).rstrip("/")
            with suppress(ServiceError):  # they have left here, whether it responds or not
                there = await asyncio.to_thread(app.provider.end_address, f"{home}/console/sign-in")
    # Forms lead nowhere but here, so the way to the organisation is a page of its own.
    response: Response = RedirectResponse("/console/sign-in", 303)
    if there is not None:
        response = html(render("signed_out.html", PageContext("/console"), where=there))
    response.delete_cookie(SESSION, path="/")
    return response


def _sign_in(request: Request, problem: str = "", status: int = 200) -> Response:
    page = PageContext("/console", fresh_form(request))
    sign_on = context_of(request).provider is not None
    response = html(render("sign_in.html", page, problem=problem, sign_on=sign_on), status)
    response.set_cookie(PRE, page.csrf, max_age=3600, **cookies(request))
    return response
