"""The auditor's console: rounds that await a member, one at a time, past ones, and seats."""

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Annotated, Any, Literal

from fastapi import Path, Query
from fastapi.responses import JSONResponse, Response

from likewise_client.responses import ReviewResponse
from likewise_service.api.reviews import review_list, review_response
from likewise_service.auth.sign_ins import add_seat, choose_seat, list_seats
from likewise_service.dockets import board, panel
from likewise_service.dockets.worker import Worker
from likewise_service.errors import ServiceError
from likewise_service.verify.receipts import acknowledge
from likewise_service.web import rendering
from likewise_service.web.dependencies import Auditor, PageRequest, file_response, page_router

router = page_router("/console")

# The most reviews in a list, and on a page of the history.
LISTED, PAGE = 500, 50
_KEY = re.compile(r"[0-9a-f]{32}\Z")

Key = Annotated[str, Path(pattern="^[0-9a-f]{32}$")]
Act = Literal["flag", "withdraw", "marks", "finish", "reopen"]


@router.get("/")
async def awaiting(request: Auditor) -> Response:
    return await request.show(
        "console/awaiting.html",
        lambda w: {
            "reviews": review_list(w.board, request.caller.name, board.OPEN, LISTED).reviews
        },
    )


@router.get("/rounds/{key}")
async def review_page(
    request: Auditor, key: Key, pair: Annotated[int, Query(ge=-(10**6), le=10**6)] = 1
) -> Response:
    """Show one round, with one pair in focus; a number out of range means the nearest pair."""

    def load(worker: Worker) -> tuple[ReviewResponse, rendering.PageContext]:
        docket = worker.docket
        review = review_response(docket, worker.board.find(request.caller.name, key))
        page = request.page(docket.projection.settings.title, str(docket.receipt()))
        return replace(review, pairs=rendering.by_points(review)), page

    if key == rendering.PRACTICE:
        review, page, position = rendering.practice_review(), request.page(), 1
        marks: dict[str, str] = {}
    else:
        review, page = await request.run(load)
        position = min(max(pair, 1), max(len(review.pairs), 1))
        marks = await asyncio.to_thread(_mark_seen, request, review, position)
    return rendering.html(
        "console/review.html", page, review=review, position=position, marks=marks,
        unseen=_unseen(review, marks),
    )  # fmt: skip


def _mark_seen(request: PageRequest, review: ReviewResponse, position: int) -> dict[str, str]:
    """Return the marks of a review, and mark the pair in focus as seen."""
    store, docket = request.app.store, request.docket
    marks = board.read_marks(store, docket, review.id)
    if review.status == "asked" and review.pairs:
        focus = rendering.pair_key(review.pairs[position - 1])
        if focus not in marks:
            marks[focus] = "seen"
            board.keep_marks(store, docket, review.id, {focus: "seen"})
    return marks


def _unseen(review: ReviewResponse, marks: Mapping[str, str]) -> int:
    return board.unseen([(rendering.pair_key(pair), pair.flagged) for pair in review.pairs], marks)


@router.post("/rounds/{key}/{act}")
async def act_on_review(request: Auditor, key: Key, act: Act) -> Response:
    """Flag a pair, withdraw that, mark pairs as seen, finish a review, or reopen it."""
    form = await request.form()
    if key == rendering.PRACTICE:  # nothing of it is recorded
        if request.wants_json:
            return JSONResponse({"saved": True, "receipt": ""})
        return request.go("/guidelines?practised=1" if act == "finish" else f"/rounds/{key}")

    def task(worker: Worker) -> str:
        review = worker.board.find(request.caller.name, key)
        if act != "marks":
            _act(worker, review, act, form)
        return str(worker.docket.receipt())

    receipt = await request.run(task)
    if act == "marks":  # not in the docket's thread: a transaction may be under way there
        marks = board.parse_marks(form.get("marks", ""))
        await asyncio.to_thread(board.keep_marks, request.app.store, request.docket, key, marks)
    if request.wants_json:
        return JSONResponse({"saved": True, "receipt": receipt})
    if act == "finish":
        return request.go("/")
    position = form.get("place", "1")
    focus = f"?pair={int(position) if position.isdecimal() else 1}#pair" if act != "reopen" else ""
    return request.go(f"/rounds/{key}{focus}")


def _act(worker: Worker, review: board.Review, act: Act, form: Mapping[str, str]) -> None:
    docket, key = worker.docket, form.get("key")  # a request that is sent again has the same key
    if key is not None and not _KEY.match(key):
        raise ServiceError("bad-key", 422, "This form has a key that is none. Load the page again.")
    if act == "finish":
        if not form.get("meant"):
            _check_all_seen(worker, review)
        panel.finish(docket, review.seat, key=key)
    elif act == "reopen":
        panel.reopen(docket, review.seat, key=key)
    else:
        pair, reason = form.get("pair", "").split("."), form.get("reason", "").strip()
        if len(pair) != 2:
            raise ServiceError("no-pair", 422, "This form names no pair. Load the page again.")
        if act == "flag":
            panel.flag(docket, review.seat, review.people(pair), reason or None, key=key)
        else:
            panel.withdraw(docket, review.seat, review.people(pair), key=key)


def _check_all_seen(worker: Worker, review: board.Review) -> None:
    """Refuse to finish a review whose pairs the member has not all seen."""
    response = review_response(worker.docket, review)
    count = _unseen(response, board.read_marks(worker.store, worker.name, review.id))
    if count and review.status == "asked":
        raise ServiceError(
            "not-seen", 422,
            f"You have not looked at {count} of {len(response.pairs)} pairs. Go back and look at "
            f"them, or tick that you mean it.",
        )  # fmt: skip


@router.get("/guidelines")
async def guidelines(
    request: Auditor, practised: Annotated[int, Query(ge=0, le=1)] = 0
) -> Response:
    def values(worker: Worker) -> dict[str, Any]:
        text = worker.docket.projection.guidelines
        paragraphs = [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]
        return {
            "guidelines": paragraphs,
            "practised": bool(practised),
            "practice": rendering.PRACTICE,
        }

    return await request.show("console/guidelines.html", values)


@router.get("/history")
async def history(
    request: Auditor, before: Annotated[int | None, Query(ge=1, le=10**9)] = None
) -> Response:
    """Show the member's past reviews, the latest first, and what became of their objections."""

    def values(worker: Worker) -> dict[str, Any]:
        past = worker.board.listed(request.caller.name, board.ENDED, PAGE + 1, before)
        return {
            "reviews": [review_response(worker.docket, review) for review in past[:PAGE]],
            "older": past[PAGE - 1].number if len(past) > PAGE else None,
        }

    return await request.show("console/history.html", values)


@router.get("/receipts.json")
async def receipts(request: Auditor) -> Response:
    """Return a signed file with all that the member has said, and a receipt of the ledger."""

    def task(worker: Worker) -> dict[str, Any]:
        docket = worker.docket
        reviews = [
            {
                "review": review.id,
                "status": review.status,
                "objections": [
                    asdict(objection) for objection in review_response(docket, review).objections
                ],
            }
            for statuses in (board.OPEN, board.ENDED)
            for review in worker.board.listed(request.caller.name, statuses, LISTED)
        ]
        return acknowledge(
            request.caller.name, reviews, docket.receipt(), worker.store.keys.current()
        )

    text = json.dumps(await request.run(task), ensure_ascii=False, indent=2) + "\n"
    response = Response(text, media_type="application/json")
    return file_response(response, f"{request.docket}-receipts.json")


@router.get("/seats")
async def seats_page(request: Auditor) -> Response:
    return await _seats_page(request)


async def _seats_page(request: PageRequest, problem: str = "", status: int = 200) -> Response:
    seats = await asyncio.to_thread(list_seats, request.app.store, request.cookie)
    current, page = request.caller.id, request.page("Your seats")
    return rendering.html(
        "console/seats.html", page, status, seats=seats, current=current, problem=problem
    )


@router.post("/seats/add")
async def add(request: Auditor) -> Response:
    token = (await request.form()).get("token", "").strip()
    try:
        await asyncio.to_thread(add_seat, request.app.store, request.cookie, token)
    except ServiceError as error:
        return await _seats_page(request, error.sentence, error.status)
    return request.go("/seats")


@router.post("/seats/choose")
async def choose(request: Auditor) -> Response:
    seat = (await request.form()).get("seat", "")
    await asyncio.to_thread(choose_seat, request.app.store, request.cookie, seat)
    return request.go("/")
