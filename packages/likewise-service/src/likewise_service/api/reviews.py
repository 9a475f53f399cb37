"""Reviews: what awaits an auditor, and what the auditor says of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import Depends, Path, Query
from pydantic import Field

from likewise.numerics.fixed_point import from_units
from likewise.panel.objections import Pair
from likewise.panel.reports import decisive
from likewise.people.features import Feature
from likewise_client import responses
from likewise_service.api import dependencies as deps
from likewise_service.api.errors import fill, reason_text, receipt_response, written
from likewise_service.dockets import panel
from likewise_service.dockets.board import Review, ReviewBoard
from likewise_service.dockets.docket import Docket, features_known
from likewise_service.dockets.worker import Worker
from likewise_service.ledger import records, signatures

router = deps.api_router("/v1/dockets/{docket}/reviews", "reviews")

MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z$"
Status = Literal["asked", "waiting", "closed", "missed"]
ReviewId = Annotated[str, Path(pattern=r"^[0-9a-f]{32}$", description="From the list of reviews.")]
Values = Mapping[str, tuple[float, ...]]


class SignatureBody(deps.Body):
    """A member's own signature: by which key, when, and the salt of the reason's digest."""

    key: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
    at: Annotated[str, Field(pattern=MOMENT)]
    signature: Annotated[str, Field(pattern=deps.SIGNATURE)]
    salt: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")] = "0" * 32


class ActBody(deps.Body):
    """An act of a member, signed by them or not."""

    signature: SignatureBody | None = None


class WithdrawalBody(ActBody):
    """A pair of people, by their aliases in the review."""

    pair: Annotated[list[Annotated[str, Field(max_length=16)]], Field(min_length=2, max_length=2)]


class ObjectionBody(WithdrawalBody):
    """An objection: two people are similar, yet treated differently."""

    reason: deps.Reason | None = None


class ReviewList(responses.Response):
    """Reviews, and a receipt."""

    reviews: list[responses.ReviewSummary]
    receipt: responses.ReceiptResponse


def review_list(
    board: ReviewBoard, member: str, statuses: tuple[str, ...], limit: int
) -> ReviewList:
    """List a member's reviews, the oldest first; of those that have ended, the latest first."""
    reviews = [_summary(review) for review in board.listed(member, statuses, limit)]
    return ReviewList(reviews, receipt_response(board.docket.receipt()))


def _summary(review: Review) -> responses.ReviewSummary:
    return fill(
        responses.ReviewSummary, review, people=len(review.round.decisions),
        pairs=len(review.round.reportable()), objections=len(review.target.objections),
        asked=review.target.asked, due=review.target.due,
    )  # fmt: skip


def review_response(docket: Docket, review: Review) -> responses.ReviewResponse:
    """Return a round as a member sees it: no labels, nothing of others before the panel closes."""
    round_, aliases, objections = review.round, review.aliases, review.target.objections
    values = _values(docket, review)
    facts = _facts(docket, values)
    payloads = docket.payloads(objections.values())
    return fill(
        responses.ReviewResponse,
        review,
        asked=review.target.asked,
        due=review.target.due,
        shadow=docket.projection.settings.shadow,
        reason_limit=docket.reason_limit,
        people=[
            responses.ReviewPerson(
                alias, from_units(round_.decisions[person].score),
                list(facts[person].values()), person in round_.erased,
            )
            for person, alias in aliases.items()
        ],
        pairs=_pairs(docket, review, values, facts),
        objections=[
            responses.MyObjection(aliases[over], aliases[under], reason_text(payloads, digest))
            for pair, digest in objections.items()
            for over, under in [round_.favoured_first(pair)]
        ],
        outcome=review.target.outcome.outcome if review.ended else None,
        reported=_reported(review) if review.ended else [],
        receipt=receipt_response(docket.receipt()),
    )  # fmt: skip


def _pairs(
    docket: Docket,
    review: Review,
    values: Values,
    facts: Mapping[str, Mapping[str, responses.Fact]],
) -> list[responses.ReviewPair]:
    """List the pairs that can be reported, each with the features in which the two differ."""
    aliases, visible = review.aliases, _visible(docket)
    return [
        responses.ReviewPair(
            aliases[over], aliases[under], from_units(gap),
            [f for f, fact in facts[over].items() if facts[under].get(f, fact) != fact],
            Pair(over, under) in review.target.objections,
            [
                _difference(feature, values[over][column], values[under][column])
                for column, feature in visible
                if values[over] and values[under]
                and facts[over][feature.name] != facts[under][feature.name]
            ],
        )
        for over, under, gap in review.round.reportable()
    ]  # fmt: skip


def _values(docket: Docket, review: Review) -> dict[str, tuple[float, ...]]:
    """Return everybody's features; of those who were erased nothing."""
    round_ = review.round
    # What the learner holds is not read from the database.
    values = dict(features_known(docket.state, round_.id))
    absent = {p: digest for p, digest in round_.people.items() if p not in values}
    payloads = docket.payloads(absent.values())
    for person, digest in absent.items():
        payload = None if digest is None else payloads.get(digest)
        values[person] = () if payload is None else records.features_of(payload.content)
    return {p: () if p in round_.erased else values[p] for p in round_.people}


def _visible(docket: Docket) -> list[tuple[int, Feature]]:
    return [(i, feature) for i, feature in enumerate(docket.schema.features) if feature.visible]


def _facts(docket: Docket, values: Values) -> dict[str, dict[str, responses.Fact]]:
    """Return everybody's visible features in words."""
    visible = _visible(docket)
    return {
        person: {
            feature.name: responses.Fact(feature.name, feature.title, feature.say(features[column]))
            for column, feature in visible
            if features
        }
        for person, features in values.items()
    }


def _difference(feature: Feature, over: float, under: float) -> responses.FeatureDifference:
    """Say how large a difference is: 579 against 581 is not 579 against 200."""
    amount = abs(over - under)
    if feature.kind in ("category", "flag") or math.isnan(amount):
        return responses.FeatureDifference(feature.name, "differs", None)
    low, high = feature.limits
    share = amount / (high - low) if math.isfinite(high - low) else None
    return responses.FeatureDifference(feature.name, apart(feature.say(amount), share), share)


def apart(amount: str, share: float | None) -> str:
    """Say how far apart two values are.

    >>> apart("3", 0.005), apart("3", None)
    ('3 apart, under 1\\u202f% of the range', '3 apart')
    """
    if share is None:
        return f"{amount} apart"
    percent = "under 1" if share < 0.01 else f"{100 * share:.0f}"
    return f"{amount} apart, {percent}\u202f% of the range"


def _reported(review: Review) -> list[responses.ReportedPair]:
    """List the reported pairs, and the member's part in each."""
    round_, aliases, objections = review.round, review.aliases, review.round.panel_objections()
    pairs = []
    for over, under in review.target.outcome.pairs:
        mine = Pair(over, under) in review.target.objections
        alone = mine and review.target.member in decisive(round_.rule, objections, (over, under))
        pairs.append(responses.ReportedPair(aliases[over], aliases[under], mine, alone))
    return pairs


@router.get("")
async def list_reviews(
    access: deps.AuditorAccess,
    status: Annotated[Status, Query(description="Only reviews of that status.")] = "asked",
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> ReviewList:
    """List what awaits you, the oldest first; of what has closed, the latest first."""
    return await access.run(lambda w: review_list(w.board, access.caller.name, (status,), limit))


@router.get("/{review_id}")
async def get_review(review_id: ReviewId, access: deps.AuditorAccess) -> responses.ReviewResponse:
    """Return the people of a round, the pairs that can be reported, and your objections."""
    return await access.run(
        lambda w: review_response(w.docket, w.board.find(access.caller.name, review_id))
    )


@dataclass(frozen=True)
class OwnReview:
    """A review of the caller; a request that is sent again with the same ``key`` acts once."""

    id: str
    access: deps.DocketAccess
    key: str | None

    async def act(
        self, act: signatures.Act, body: ActBody | None, command: Command
    ) -> responses.Written:
        """Run a command on the review, with the member's signature if there is one."""
        signed = None
        if body is not None and body.signature is not None:
            sent = body.signature
            pair = (body.pair[0], body.pair[1]) if isinstance(body, WithdrawalBody) else None
            salt = bytes.fromhex(sent.salt)
            signed = panel.SignedAct(self.id, act, sent.at, sent.key, sent.signature, pair, salt)

        def task(worker: Worker) -> responses.Written:
            review = worker.board.find(self.access.caller.name, self.id)
            return written(command(worker.docket, review, signed))

        return await self.access.run(task)


Command = Callable[[Docket, Review, panel.SignedAct | None], records.Receipt]


async def _own_review(
    review_id: ReviewId, access: deps.AuditorAccess, key: deps.IdempotencyKey = None
) -> OwnReview:
    return OwnReview(review_id, access, key)


Own = Annotated[OwnReview, Depends(_own_review)]


@router.post("/{review_id}/objections")
async def flag_pair(body: ObjectionBody, own: Own) -> responses.Written:
    """Flag a pair, or change the reason."""
    return await own.act(
        "flag", body,
        lambda docket, review, signed: panel.flag(
            docket, review.seat, review.people(body.pair), body.reason, signed, key=own.key
        ),
    )  # fmt: skip


@router.post("/{review_id}/withdrawals")
async def withdraw_objection(body: WithdrawalBody, own: Own) -> responses.Written:
    """Withdraw an objection, before the panel closes."""
    return await own.act(
        "withdraw", body,
        lambda docket, review, signed: panel.withdraw(
            docket, review.seat, review.people(body.pair), signed, key=own.key
        ),
    )  # fmt: skip


@router.post("/{review_id}/finish")
async def finish_review(own: Own, body: ActBody | None = None) -> responses.Written:
    """Finish a review; the last member of the panel to do so closes it."""
    return await own.act("finish", body, lambda d, r, s: panel.finish(d, r.seat, s, key=own.key))


@router.post("/{review_id}/reopen")
async def reopen_review(own: Own, body: ActBody | None = None) -> responses.Written:
    """Reopen a review that you finished, before the panel closes."""
    return await own.act("reopen", body, lambda d, r, s: panel.reopen(d, r.seat, s, key=own.key))
