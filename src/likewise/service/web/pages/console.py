"""The auditor's console: what awaits a member, one round at a time, and what became of it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from fastapi.responses import JSONResponse, Response

from likewise.service.api.review_responses import ReviewPair, ReviewResponse
from likewise.service.api.review_serializers import review_list, review_response
from likewise.service.dockets.commands.reviews import finish, flag, reopen, withdraw
from likewise.service.dockets.reviews.board import ENDED, Review
from likewise.service.dockets.reviews.marks import keep_marks, parse_marks, read_marks, unseen
from likewise.service.dockets.worker import Worker
from likewise.service.errors import ServiceError
from likewise.service.web.dependencies import Auditor, PageRequest, PageRoute, wants_json
from likewise.service.web.practice import PRACTICE, practice_review
from likewise.service.web.rendering import PageContext, html, render
from likewise.service.web.review_data import as_shown

__all__ = ["router"]

router = APIRouter(prefix="/console", route_class=PageRoute, include_in_schema=False)

LISTED, LATEST = 500, 50
_KEY = re.compile(r"[0-9a-f]{32}\Z")

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

    def found(worker: Worker) -> tuple[ReviewResponse, PageContext]:
        docket = worker.docket
        review = review_response(docket, worker.board.find(request.reader, key))
        page = request.page(docket.projection.settings.title, str(docket.receipt()))
        return review, page

    if key == PRACTICE:
        practice = practice_review()
        values = {"position": 1, "marks": {}, "unseen": len(practice.pairs)}
        return html(render("console/review.html", request.page(), review=practice, **values))
    review, page = await request.run(found)
    review = replace(review, pairs=as_shown(review))
    position = min(max(pair, 1), max(len(review.pairs), 1))
    marks = await asyncio.to_thread(_look, request, review, position)
    values = {"position": position, "marks": marks, "unseen": _unseen(review, marks)}
    return html(render("console/review.html", page, review=review, **values))


def _look(request: PageRequest, review: ReviewResponse, position: int) -> dict[str, str]:
    """The marks of a review, with that of the pair which is shown now."""
    store, docket = request.app.store, request.docket
    marks = read_marks(store, docket, review.id)
    if review.status == "asked" and review.pairs:
        shown = _name(review.pairs[position - 1])
        if shown not in marks:
            marks[shown] = "seen"
            keep_marks(store, docket, review.id, {shown: "seen"})
    return marks


def _name(pair: ReviewPair) -> str:
    return f"{pair.over}.{pair.under}"


def _unseen(review: ReviewResponse, marks: Mapping[str, str]) -> int:
    return unseen([(_name(pair), pair.flagged) for pair in review.pairs], marks)


Act = Literal["flag", "withdraw", "marks", "finish", "reopen"]


@router.post("/rounds/{key}/{act}")
async def act_on_review(request: Auditor, key: Key, act: Act) -> Response:
    """Flag a pair, take a flag back, say what was looked at, be done, or not yet."""
    form = await request.form()
    if key == PRACTICE:  # nothing of it is recorded
        if wants_json(request.request):
            return JSONResponse({"saved": True, "receipt": ""})
        return request.go("/guidelines?practised=1" if act == "finish" else f"/rounds/{key}")

    def task(worker: Worker) -> str:
        review = worker.board.find(request.reader, key)
        if act != "marks":
            _act(worker, review, act, form)
        return str(worker.docket.receipt())

    receipt = await request.run(task)
    if act == "marks":  # not in the docket's thread: a transaction may be under way there
        marks = parse_marks(form.get("marks", ""))
        await asyncio.to_thread(keep_marks, request.app.store, request.docket, key, marks)
    if wants_json(request.request):
        return JSONResponse({"saved": True, "receipt": receipt})
    if act == "finish":
        return request.go("/")
    place = form.get("place", "1")
    focus = f"?pair={int(place) if place.isdecimal() else 1}#pair" if act != "reopen" else ""
    return request.go(f"/rounds/{key}{focus}")


def _act(worker: Worker, review: Review, act: Act, form: Mapping[str, str]) -> None:
    docket, key = worker.docket, _checked_key(form.get("key"))
    if act == "finish":
        if not form.get("meant"):
            shown = review_response(docket, review)
            left = _unseen(shown, read_marks(worker.store, worker.name, review.id))
            if left and review.status == "asked":
                raise ServiceError(
                    "not-seen", 422,
                    f"You have not looked at {left} of {len(shown.pairs)} pairs. Go back and look "
                    f"at them, or tick that you mean it.",
                )  # fmt: skip
        finish(docket, review.seat, key=key)
    elif act == "reopen":
        reopen(docket, review.seat, key=key)
    else:
        pair, reason = form.get("pair", "").split("."), form.get("reason", "").strip()
        if len(pair) != 2:
            raise ServiceError("no-pair", 422, "This form names no pair. Load the page again.")
        if act == "flag":
            flag(docket, review.seat, review.people(pair), reason or None, key=key)
        else:
            withdraw(docket, review.seat, review.people(pair), key=key)


def _checked_key(key: str | None) -> str | None:
    """The key by which a request that is sent again is recognised."""
    if key is not None and not _KEY.match(key):
        raise ServiceError("bad-key", 422, "This form has a key that is none. Load the page again.")
    return key


@router.get("/guidelines")
async def guidelines(
    request: Auditor, practised: Annotated[int, Query(ge=0, le=1)] = 0
) -> Response:
    """The guidelines with examples, and a round to practise with."""

    def values(worker: Worker) -> dict[str, Any]:
        text = worker.docket.projection.guidelines
        paragraphs = [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]
        return {"guidelines": paragraphs, "practised": bool(practised), "practice": PRACTICE}

    return await request.show("console/guidelines.html", values)


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
