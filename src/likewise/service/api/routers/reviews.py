"""Reviews: what awaits an auditor, and what the auditor says of it."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query

from likewise.service.api.dependencies import Auditing
from likewise.service.api.errors import DOCUMENTED
from likewise.service.api.requests import ObjectionBody, ReviewId, WithdrawalBody
from likewise.service.api.responses import Written
from likewise.service.api.review_responses import ReviewList, ReviewResponse
from likewise.service.api.review_serializers import review_response, review_summary
from likewise.service.api.serializers import receipt_response, written
from likewise.service.dockets.commands.reviewing import finish, objection, take_back, withdrawal
from likewise.service.dockets.worker import Worker
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

    def task(worker: Worker) -> ReviewList:
        found = [r for r in worker.board.of(at.caller.name) if r.status == status]
        if status in ("closed", "missed"):
            found.reverse()
        page = [review_summary(worker.docket, review) for review in found[:limit]]
        return ReviewList(page, receipt_response(worker.docket.receipt()))

    return await at.run(task)


@router.get("/{review_id}")
async def get_review(review_id: ReviewId, at: Auditing) -> ReviewResponse:
    """The people of a round, the pairs that can be reported, and what you object to."""
    return await at.run(lambda o: review_response(o.board, o.board.one(at.caller.name, review_id)))


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
