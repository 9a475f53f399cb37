"""Reviews: what awaits an auditor, and what the auditor says of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Literal

from fastapi import Depends, Query

from likewise.service.api.dependencies import Auditing, api_router
from likewise.service.api.requests import (
    ActBody,
    IdempotencyKey,
    ObjectionBody,
    ReviewId,
    WithdrawalBody,
)
from likewise.service.api.responses import Written
from likewise.service.api.review_responses import ReviewList, ReviewResponse
from likewise.service.api.review_serializers import review_list, review_response
from likewise.service.api.serializers import written
from likewise.service.dockets.commands.reviews import flag, set_finished, withdraw
from likewise.service.dockets.commands.signing import SignedAct
from likewise.service.dockets.worker import Worker
from likewise.service.ledger.signing.member_statements import Act

__all__ = ["router"]

router = api_router("/v1/dockets/{docket}/reviews", "reviews")

Status = Literal["asked", "waiting", "closed", "missed"]


@router.get("")
async def list_reviews(
    at: Auditing,
    status: Annotated[Status, Query(description="Only reviews of that status.")] = "asked",
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> ReviewList:
    """List what awaits you, the oldest first; of what has closed, the latest first."""
    return await at.run(lambda w: review_list(w.board, at.caller.name, (status,), limit))


@router.get("/{review_id}")
async def get_review(review_id: ReviewId, at: Auditing) -> ReviewResponse:
    """The people of a round, the pairs that can be reported, and what you object to."""
    return await at.run(
        lambda w: review_response(w.docket, w.board.find(at.caller.name, review_id))
    )


@router.post("/{review_id}/objections")
async def flag_pair(
    review_id: ReviewId, body: ObjectionBody, at: Auditing, key: IdempotencyKey = None
) -> Written:
    """Flag a pair, or say another reason."""
    act = _signed(body, review_id, "flag", body.pair)

    def task(worker: Worker) -> Written:
        review = worker.board.find(at.caller.name, review_id)
        pair = review.people(body.pair)
        return written(flag(worker.docket, review.seat, pair, body.reason, act, key=key))

    return await at.run(task)


@router.post("/{review_id}/withdrawals")
async def withdraw_objection(
    review_id: ReviewId, body: WithdrawalBody, at: Auditing, key: IdempotencyKey = None
) -> Written:
    """Take an objection back, before the panel closes."""

    def task(worker: Worker) -> Written:
        review = worker.board.find(at.caller.name, review_id)
        act = _signed(body, review_id, "withdraw", body.pair)
        return written(withdraw(worker.docket, review.seat, review.people(body.pair), act, key=key))

    return await at.run(task)


def _finishing(
    review_id: ReviewId, at: Auditing, body: ActBody | None = None, key: IdempotencyKey = None
) -> Callable[[bool], Awaitable[Written]]:
    """A review that somebody finishes, or reopens."""

    async def say(finished: bool) -> Written:
        act = _signed(body, review_id, "finish" if finished else "reopen")

        def task(worker: Worker) -> Written:
            seat = worker.board.find(at.caller.name, review_id).seat
            return written(set_finished(worker.docket, seat, act, finished=finished, key=key))

        return await at.run(task)

    return say


Finishing = Annotated[Callable[[bool], Awaitable[Written]], Depends(_finishing)]


@router.post("/{review_id}/finish")
async def finish_review(say: Finishing) -> Written:
    """You have looked at all pairs; the last of the panel to say so closes it."""
    return await say(True)


@router.post("/{review_id}/reopen")
async def reopen_review(say: Finishing) -> Written:
    """You want to look again, before the panel closes."""
    return await say(False)


def _signed(
    body: ActBody | None, review: str, act: Act, pair: Sequence[str] = ()
) -> SignedAct | None:
    """A member's signature as it was sent; None if there is none."""
    if body is None or body.signature is None:
        return None
    by = body.signature
    both = (pair[0], pair[1]) if pair else None
    return SignedAct(review, act, by.at, by.key, by.signature, both, bytes.fromhex(by.salt))
