"""Signing in and out."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response

from likewise.service.api.dependencies import AppContext
from likewise.service.auth.sign_ins import begin_session, end_session
from likewise.service.errors import ServiceError
from likewise.service.ledger.store import now
from likewise.service.web.dependencies import (
    PRE,
    SESSION,
    PageRoute,
    auditor,
    check_form,
    cookies,
    fresh_form,
    page,
    same_site,
    session_cookie,
    watcher,
)
from likewise.service.web.member_pages import Frame, SignIn, render_sign_in

__all__ = ["router"]

router = APIRouter(route_class=PageRoute, include_in_schema=False)

PAGES = {"auditor": "/console/", "operator": "/dashboard/", "regulator": "/dashboard/"}


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
    services: AppContext = request.app.state.services
    try:
        cookie, session = await asyncio.to_thread(
            begin_session, services.store, token.strip(), services.settings.session_seconds
        )
    except ServiceError as error:
        return _sign_in(request, error.sentence, error.status)
    where = PAGES.get(session.identity.role)
    if where is None:
        await asyncio.to_thread(end_session, services.store, cookie)
        return _sign_in(
            request, "This is a program's token; it opens the API, and no page. Use your own.", 403
        )
    # Whoever was signed in here before is not any more.
    await asyncio.to_thread(end_session, services.store, session_cookie(request))
    answer = RedirectResponse(where, 303)
    answer.set_cookie(
        SESSION, cookie, max_age=int(services.settings.session_seconds), **cookies(request)
    )
    answer.delete_cookie(PRE, path="/")
    return answer


async def _leave(request: Request) -> RedirectResponse:
    services: AppContext = request.app.state.services
    await asyncio.to_thread(end_session, services.store, session_cookie(request))
    answer = RedirectResponse("/console/sign-in", 303)
    answer.delete_cookie(SESSION, path="/")
    return answer


@router.post("/console/sign-out")
async def sign_out(request_: auditor) -> Response:
    """An auditor leaves."""
    await request_.form()
    return await _leave(request_.request)


@router.post("/dashboard/{docket}/sign-out")
@router.post("/dashboard/sign-out")
async def sign_out_of_dashboard(request_: watcher) -> Response:
    """An operator leaves."""
    await request_.form()
    return await _leave(request_.request)


def _sign_in(request: Request, problem: str = "", status: int = 200) -> Response:
    csrf = fresh_form(request)
    frame = Frame(base="/console", static="/static", csrf=csrf, docket="Likewise", now=now())
    answer = page(render_sign_in(SignIn(frame, problem)), status)
    answer.set_cookie(PRE, csrf, max_age=3600, **cookies(request))
    return answer
