"""One person, several seats: a page on which to choose for which of them to speak."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter
from fastapi.responses import Response

from likewise.service.auth.seats import add_seat, choose_seat, list_seats
from likewise.service.errors import ServiceError
from likewise.service.web.dependencies import Auditor, PageRequest, PageRoute, session_cookie
from likewise.service.web.rendering import html, render

__all__ = ["router"]

router = APIRouter(prefix="/console/seats", route_class=PageRoute, include_in_schema=False)


@router.get("")
async def seats_page(request: Auditor) -> Response:
    """The seats of whoever is signed in."""
    return await _page(request)


async def _page(request: PageRequest, problem: str = "", status: int = 200) -> Response:
    cookie = session_cookie(request.request)
    found = await asyncio.to_thread(list_seats, request.app.store, cookie)
    current = request.session.identity.id
    page = request.page("Your seats")
    text = render("console/seats.html", page, seats=found, current=current, problem=problem)
    return html(text, status)


@router.post("/add")
async def add(request: Auditor) -> Response:
    """One more seat, by its token."""
    form = await request.form()
    cookie, token = session_cookie(request.request), form.get("token", "").strip()
    try:
        await asyncio.to_thread(add_seat, request.app.store, cookie, token)
    except ServiceError as error:
        return await _page(request, error.sentence, error.status)
    return request.go("/seats")


@router.post("/choose")
async def choose(request: Auditor) -> Response:
    """Speak for another seat from now on."""
    form = await request.form()
    cookie = session_cookie(request.request)
    await asyncio.to_thread(choose_seat, request.app.store, cookie, form.get("seat", ""))
    return request.go("/")
