"""The auditor's console: what awaits a member, one round at a time, and what became of it."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response

from likewise.service.api.review_responses import ReviewPerson, ReviewResponse
from likewise.service.api.review_serializers import review_response, review_summary
from likewise.service.dockets.commands.reviewing import finish, objection, take_back, withdrawal
from likewise.service.dockets.worker import Worker
from likewise.service.errors import ServiceError
from likewise.service.web.dependencies import PageRequest, PageRoute, auditor, page
from likewise.service.web.member_pages import (
    Awaiting,
    Fact,
    Frame,
    History,
    PairView,
    PastFlag,
    PastRound,
    Person,
    Review,
    Waiting,
    render_awaiting,
    render_history,
    render_review,
)

__all__ = ["router"]

router = APIRouter(prefix="/console", route_class=PageRoute, include_in_schema=False)

LATEST = 50
ERASED = "erased"

Key = Annotated[str, Path(pattern="^[0-9a-f]{32}$")]


@router.get("/")
async def awaiting(request_: auditor) -> Response:
    """The rounds that await the member."""

    def task(worker: Worker) -> str:
        found = []
        for review in worker.board.of(request_.session.identity.name):
            if review.status in ("asked", "waiting"):
                said = review_summary(worker.docket, review)
                begun = "begun" if said.objections else "new"
                state = "done" if review.status == "waiting" else begun
                found.append(
                    Waiting(
                        key=review.id, title=f"Review {review.number}", people=said.people,
                        pairs=said.pairs, closes=said.due or "", flagged=said.objections,
                        state=state,  # type: ignore[arg-type] # one of the three
                    )
                )  # fmt: skip
        frame = _frame(request_, worker)
        return render_awaiting(Awaiting(frame, tuple(found)))

    return page(await request_.run(task))


@router.get("/rounds/{key}")
async def review_page(
    request_: auditor, key: Key, pair: Annotated[int, Query(ge=-(10**6), le=10**6)] = 1
) -> Response:
    """One round, with one pair in focus."""

    def task(worker: Worker) -> str:
        review = worker.board.one(request_.session.identity.name, key)
        said = review_response(worker.board, review)
        places = {person.id: place for place, person in enumerate(said.people)}
        reasons = {(o.over, o.under): o.reason or "" for o in said.objections}
        shown = Review(
            frame=_frame(request_, worker),
            key=key,
            title=f"Review {said.number}",
            people=_people(said),
            pairs=tuple(
                PairView(
                    f"{p.over}.{p.under}", places[p.over], places[p.under], p.objected,
                    reasons.get((p.over, p.under), ""),
                )
                for p in said.pairs
            ),
            place=pair,
            closes=said.due or "",
            state=_state(said.status),
            reason_limit=request_.services.settings.reason_limit,
        )  # fmt: skip
        return render_review(shown)

    return page(await request_.run(task))


def _frame(request_: PageRequest, worker: Worker) -> Frame:
    docket = worker.docket
    return request_.frame(docket.projection.settings.title, str(docket.receipt()))


def _state(status: str) -> Literal["open", "done", "closed"]:
    if status == "asked":
        return "open"
    return "done" if status == "waiting" else "closed"


def _people(said: ReviewResponse) -> tuple[Person, ...]:
    """Everybody with the same features; of those who were erased, the word for it."""
    known = next((person.features for person in said.people if person.features), [])

    def facts(person: ReviewPerson) -> tuple[Fact, ...]:
        if person.erased:
            return tuple(Fact(fact.title, ERASED) for fact in known)
        return tuple(Fact(fact.title, fact.value) for fact in person.features)

    return tuple(
        Person(f"Person {person.id[1:]}", person.chance, facts(person)) for person in said.people
    )


@router.post("/rounds/{key}/{act}")
async def act_on_review(
    request_: auditor, key: Key, act: Literal["flag", "unflag", "done", "reopen"]
) -> Response:
    """Flag a pair, take a flag back, be done, or not yet."""
    form, member = await request_.form(), request_.session.identity.name
    if act in ("flag", "unflag"):
        pair, reason = form.get("pair", "").split("."), form.get("reason", "").strip()
        if len(pair) != 2:
            raise ServiceError("no-pair", 422, "This form names no pair. Load the page again.")
        limit = request_.services.settings.reason_limit
        if len(reason) > limit:
            raise ServiceError(
                "too-long", 422, f"A reason may have {limit} characters; shorten it."
            )
        if act == "flag":
            await request_.run(lambda o: objection(o.board, member, key, pair, reason or None))
        else:
            await request_.run(lambda o: withdrawal(o.board, member, key, pair))
        place = form.get("place", "1")
        return request_.go(f"/rounds/{key}?pair={int(place) if place.isdecimal() else 1}#pair")
    if act == "done":
        await request_.run(lambda o: finish(o.board, member, key))
        return request_.go("/")
    await request_.run(lambda o: take_back(o.board, member, key))
    return request_.go(f"/rounds/{key}")


@router.get("/history")
async def history(
    request_: auditor, before: Annotated[int | None, Query(ge=1, le=10**9)] = None
) -> Response:
    """What became of the member's objections, the latest first."""

    def task(worker: Worker) -> str:
        past = [
            review
            for review in reversed(worker.board.of(request_.session.identity.name))
            if review.status in ("closed", "missed") and (before is None or review.number < before)
        ]
        rounds = tuple(_past(review_response(worker.board, review)) for review in past[:LATEST])
        older = ""
        if len(past) > LATEST:
            older = f"{request_.base}/history?before={past[LATEST - 1].number}"
        frame = _frame(request_, worker)
        return render_history(History(frame, rounds, older))

    return page(await request_.run(task))


def _past(said: ReviewResponse) -> PastRound:
    chances = {person.id: person.chance for person in said.people}
    reported = {(pair.over, pair.under): pair.decisive for pair in said.reported}

    def became(over: str, under: str) -> Literal["reported", "not reported", "unaudited"]:
        if said.outcome == "unaudited":
            return "unaudited"
        return "reported" if (over, under) in reported else "not reported"

    return PastRound(
        title=f"Review {said.number}",
        closed=said.asked,
        people=len(said.people),
        pairs=len(said.pairs),
        flags=tuple(
            PastFlag(
                _named(mine.over), _named(mine.under), chances[mine.over], chances[mine.under],
                became(mine.over, mine.under), reported.get((mine.over, mine.under), False),
                mine.reason or "",
            )
            for mine in said.objections
        ),
        present=said.status == "closed",
    )  # fmt: skip


def _named(alias: str) -> str:
    return f"Person {alias[1:]}"
