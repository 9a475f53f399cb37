"""The seats of one person: a page on which to choose for which of them to speak."""

from __future__ import annotations

import asyncio

from fastapi.responses import Response

from likewise_service.auth.sign_ins import add_seat, choose_seat, list_seats
from likewise_service.errors import ServiceError
from likewise_service.web.dependencies import Auditor, PageRequest, page_router
from likewise_service.web.rendering import html, render

router = page_router("/console/seats")


@router.get("")
async def seats_page(request: Auditor) -> Response:
    """Show the seats of the person who is signed in."""
    return await _page(request)


async def _page(request: PageRequest, problem: str = "", status: int = 200) -> Response:
    seats = await asyncio.to_thread(list_seats, request.app.store, request.cookie)
    current, page = request.caller.id, request.page("Your seats")
    text = render("console/seats.html", page, seats=seats, current=current, problem=problem)
    return html(text, status)


@router.post("/add")
async def add(request: Auditor) -> Response:
    """Add a seat by its token."""
    token = (await request.form()).get("token", "").strip()
    try:
        await asyncio.to_thread(add_seat, request.app.store, request.cookie, token)
    except ServiceError as error:
        return await _page(request, error.sentence, error.status)
    return request.go("/seats")


@router.post("/choose")
async def choose(request: Auditor) -> Response:
    """Speak for another seat from now on."""
    seat = (await request.form()).get("seat", "")
    await asyncio.to_thread(choose_seat, request.app.store, request.cookie, seat)
    return request.go("/")
