"""The auditor's console: what awaits a member, one round at a time, and what became of it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response

from likewise.service.api.review_serializers import review_list, review_response
from likewise.service.dockets.commands.reviews import finish, object_to, reopen, withdraw
from likewise.service.dockets.reviews.board import ENDED
from likewise.service.dockets.worker import Worker
from likewise.service.errors import ServiceError
from likewise.service.web.dependencies import Auditor, PageRoute

__all__ = ["router"]

router = APIRouter(prefix="/console", route_class=PageRoute, include_in_schema=False)

LISTED, LATEST = 500, 50

Key = Annotated[str, Path(pattern="^[0-9a-f]{32}$")]


@router.get("/")
async def awaiting(request: Auditor) -> Response:
    """The rounds that await the member."""

    def values(worker: Worker) -> dict[str, Any]:
        found = review_list(worker.board, request.reader, ("asked", "waiting"), LISTED)
        return {"reviews": found.reviews}

    return await request.show("console/awaiting.html", values)


@router.get("/rounds/{key}")
async def review_page(
    request: Auditor, key: Key, pair: Annotated[int, Query(ge=-(10**6), le=10**6)] = 1
) -> Response:
    """One round, with one pair in focus; a place out of range means the nearest one."""

    def values(worker: Worker) -> dict[str, Any]:
        review = review_response(worker.docket, worker.board.one(request.reader, key))
        return {"review": review, "position": min(max(pair, 1), max(len(review.pairs), 1))}

    return await request.show("console/review.html", values)


@router.post("/rounds/{key}/{act}")
async def act_on_review(
    request: Auditor, key: Key, act: Literal["flag", "unflag", "done", "reopen"]
) -> Response:
    """Flag a pair, take a flag back, be done, or not yet."""
    form = await request.form()

    def task(worker: Worker) -> None:
        review, docket = worker.board.one(request.reader, key), worker.docket
        if act == "done":
            finish(docket, review.seat)
        elif act == "reopen":
            reopen(docket, review.seat)
        else:
            pair, reason = form.get("pair", "").split("."), form.get("reason", "").strip()
            if len(pair) != 2:
                raise ServiceError("no-pair", 422, "This form names no pair. Load the page again.")
            if act == "flag":
                object_to(docket, review.seat, review.people(pair), reason or None)
            else:
                withdraw(docket, review.seat, review.people(pair))

    await request.run(task)
    if act == "done":
        return request.go("/")
    place = form.get("place", "1")
    focus = f"?pair={int(place) if place.isdecimal() else 1}#pair" if act != "reopen" else ""
    return request.go(f"/rounds/{key}{focus}")


@router.get("/history")
async def history(
    request: Auditor, before: Annotated[int | None, Query(ge=1, le=10**9)] = None
) -> Response:
    """The member's past reviews, the latest first, and what became of their objections."""

    def values(worker: Worker) -> dict[str, Any]:
        past = worker.board.listed(request.reader, ENDED, LATEST + 1, before)
        return {
            "reviews": [review_response(worker.docket, review) for review in past[:LATEST]],
            "older": past[LATEST - 1].number if len(past) > LATEST else None,
        }

    return await request.show("console/history.html", values)
