"""Reviews: what awaits an auditor, and what the auditor says of it."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query

from likewise.service.api.dependencies import Auditing
from likewise.service.api.errors import DOCUMENTED
from likewise.service.api.requests import ObjectionBody, ReviewId, WithdrawalBody
from likewise.service.api.responses import Written
from likewise.service.api.review_responses import ReviewAnswer, ReviewList
from likewise.service.api.review_serializers import review_answer, review_summary
from likewise.service.api.serializers import receipt_answer, written
from likewise.service.dockets.commands.reviewing import finish, objection, take_back, withdrawal
from likewise.service.dockets.worker import Office
from likewise.service.errors import ServiceError

__all__ = ["router"]

router = APIRouter(prefix="/v1/dockets/{docket}/reviews", tags=["reviews"], responses=DOCUMENTED)

Status = Literal["asked", "waiting", "closed", "missed"]


@router.get("")
async def list_reviews(
    at: Auditing,
    status: Annotated[Status, Query(description="Only reviews of that status.")] = "asked",
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> ReviewList:
    """What awaits you, the oldest first; of what has closed, the latest first."""

    def task(office: Office) -> ReviewList:
        found = [r for r in office.board.of(at.caller.name) if r.status == status]
        if status in ("closed", "missed"):
            found.reverse()
        page = [review_summary(office.desk, review) for review in found[:limit]]
        return ReviewList(page, receipt_answer(office.desk.receipt()))

    return await at.run(task)


@router.get("/{review_id}")
async def get_review(review_id: ReviewId, at: Auditing) -> ReviewAnswer:
    """The people of a round, the pairs that can be reported, and what you object to."""
    return await at.run(lambda o: review_answer(o.board, o.board.one(at.caller.name, review_id)))


@router.post("/{review_id}/objections")
async def object_to_pair(review_id: ReviewId, body: ObjectionBody, at: Auditing) -> Written:
    """Object to a pair, or say another reason."""
    limit = at.services.settings.reason_limit
    if body.reason is not None and len(body.reason) > limit:
        raise ServiceError("too-long", 422, f"A reason may have {limit} characters; shorten it.")
    return written(
        await at.run(
            lambda o: objection(o.board, at.caller.name, review_id, body.pair, body.reason)
        )
    )


@router.post("/{review_id}/withdrawals")
async def withdraw_objection(review_id: ReviewId, body: WithdrawalBody, at: Auditing) -> Written:
    """Take an objection back, before the panel closes."""
    return written(
        await at.run(lambda o: withdrawal(o.board, at.caller.name, review_id, body.pair))
    )


@router.post("/{review_id}/done")
async def finish_review(review_id: ReviewId, at: Auditing) -> Written:
    """You have looked at all pairs; the last of the panel to say so closes it."""
    return written(await at.run(lambda o: finish(o.board, at.caller.name, review_id)))


@router.post("/{review_id}/reopen")
async def reopen_review(review_id: ReviewId, at: Auditing) -> Written:
    """You want to look again, before the panel closes."""
    return written(await at.run(lambda o: take_back(o.board, at.caller.name, review_id)))
