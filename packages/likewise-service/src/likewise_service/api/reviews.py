"""Reviews: what awaits an auditor, what the auditor says of it, and the keys that sign that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

from fastapi import Depends, Path, Query
from pydantic import Field

from likewise.numerics.fixed_point import ONE, from_units
from likewise.panel import Pair, decisive
from likewise.people.features import Feature
from likewise_client import responses
from likewise_service.api import dependencies as deps
from likewise_service.api.dependencies import Access, adds
from likewise_service.api.errors import Written, fill, receipt_response
from likewise_service.dockets import panel, reviews, signing
from likewise_service.dockets.docket import Docket, features_known
from likewise_service.dockets.reviews import Review
from likewise_service.dockets.round import Round
from likewise_service.dockets.worker import Worker
from likewise_service.ledger import kinds, notes, records, signatures

router = deps.api_router("/v1/dockets/{docket}/reviews", "reviews")

Status = Literal["asked", "waiting", "closed", "missed"]
ReviewId = Annotated[str, Path(pattern=r"^[0-9a-f]{32}$", description="From the list of reviews.")]
Signature = Annotated[str, Field(pattern=deps.SIGNATURE)]
Limit = Annotated[
    float, Field(ge=0, le=1, description="If graded: the largest gap that you would accept.")
]


class SignatureBody(deps.Body):
    """A member's signature: by which key, when, of what that was shown, and the reason's salt."""

    key: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
    at: deps.Moment
    shown: Annotated[
        str, Field(pattern=r"^[0-9a-f]{64}$", description="The hash of to_sign.shown.")
    ]
    signature: Signature
    salt: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")] = "0" * 32

    @property
    def parsed(self) -> signing.Signature:
        salt = bytes.fromhex(self.salt)
        return signing.Signature(self.key, self.at, self.shown, self.signature, salt)


class ActBody(deps.Body):
    """An act of a member, signed by them or not."""

    signature: SignatureBody | None = None


class WithdrawalBody(ActBody):
    """A pair of people, by their aliases in the review."""

    pair: Annotated[list[Annotated[str, Field(max_length=16)]], Field(min_length=2, max_length=2)]


class ObjectionBody(WithdrawalBody):
    """An objection: two people are similar, yet treated differently."""

    reason: deps.Reason | None = None
    limit: Limit | None = None


class CommentBody(ActBody):
    text: deps.Reason


class ReviewList(responses.Response):
    """A page of reviews; ``next`` is the ``after`` of the next page, if there is one."""

    reviews: list[responses.ReviewSummary]
    receipt: responses.ReceiptResponse
    next: int | None


def review_list(
    docket: Docket, member: str, statuses: tuple[str, ...], limit: int, after: int | None = None
) -> ReviewList:
    """List a member's reviews, the oldest first; of those that have ended, the latest first."""
    page = reviews.listed(docket, member, statuses, limit + 1, after)
    listed = [_summary(review) for review in page[:limit]]
    following = listed[-1].number if len(page) > limit else None
    return ReviewList(listed, receipt_response(docket.receipt()), following)


def _summary(review: Review) -> responses.ReviewSummary:
    return responses.ReviewSummary(
        review.id, review.number, review.status, review.asked, review.due, review.ended,
        len(review.round.shown(review.seat.member)), len(review.pairs), len(review.objections),
    )  # fmt: skip


def review_response(
    docket: Docket, review: Review, *, ended_too: bool = False
) -> responses.ReviewResponse:
    """Return a round as a member sees it: no labels, nothing of others before the panel closes.

    Of one that has ended a comment can be signed, if ``ended_too``.
    """
    round_, aliases, objections = review.round, review.aliases, review.objections
    features, values = docket.schema.features, _values(docket, round_)
    people = {person: Described.of(features, values[person]) for person in aliases}
    settings, outcome = docket.projection.settings, review.outcome if review.ended else None
    return fill(
        responses.ReviewResponse,
        review,
        shadow=settings.shadow,
        graded=settings.graded,
        final=settings.turns,
        reason_limit=docket.reason_limit,
        people=[
            responses.ReviewPerson(
                alias, round_.decisions[person].score / ONE,
                facts(features, people[person]), person in round_.erased,
            )
            for person, alias in aliases.items()
        ],
        pairs=[
            responses.ReviewPair(
                aliases[over], aliases[under], gap / ONE,
                bool(objections) and Pair(over, under) in objections,
                differences(features, people[over], people[under]),
            )
            for over, under, gap in review.pairs
        ],
        objections=objection_responses(docket, round_, {review.seat.member: objections}, aliases),
        outcome=None if outcome is None else outcome.outcome,
        reported=[] if outcome is None else _reported(review, outcome.pairs),
        receipt=receipt_response(docket.receipt()),
        comments=comment_responses(docket, review.comments),
        to_sign=signing.to_sign(docket, review) if ended_too or not review.ended else None,
    )  # fmt: skip


def objection_responses(
    docket: Docket, round_: Round, objections: Mapping[str, Mapping[Pair, kinds.Objection]],
    aliases: Mapping[str, str] | None = None,
) -> list[responses.ObjectionResponse]:  # fmt: skip
    """Return members' objections with the words of reasons; ``aliases`` are names to use."""
    names = {person: person for person in round_.people} if aliases is None else aliases
    payloads = docket.payloads(o.reason for pairs in objections.values() for o in pairs.values())
    return [
        responses.ObjectionResponse(
            names[over], names[under], member, records.words_in(payloads, objection.reason),
            None if objection.limit is None else from_units(objection.limit),
        )
        for member, pairs in objections.items()
        for pair, objection in pairs.items()
        for over, under in [round_.favoured_first(pair)]
    ]  # fmt: skip


def comment_responses(
    docket: Docket, comments: Sequence[kinds.Comment]
) -> list[responses.CommentResponse]:
    payloads = docket.payloads(comment.digest for comment in comments)
    return [
        responses.CommentResponse(c.member, records.words_in(payloads, c.digest), c.at)
        for c in comments
    ]


def _values(docket: Docket, round_: Round) -> dict[str, tuple[float, ...]]:
    """Return everybody's features; of those who were erased nothing."""
    # What the learner holds is not read from the database.
    values = features_known(docket.state, round_.id)
    payloads = docket.payloads(d for p, d in round_.people.items() if p not in values)
    for person, digest in round_.people.items():
        if payload := payloads.get(digest or ""):
            values[person] = records.features_of(payload.content)
    return {p: () if p in round_.erased else values.get(p, ()) for p in round_.people}


class Described(NamedTuple):
    """A person's features, and the same in words; of somebody erased there are none."""

    values: Sequence[float]
    words: Sequence[str]

    @classmethod
    def of(cls, features: Sequence[Feature], values: Sequence[float]) -> Described:
        pairs = zip(features, values, strict=bool(values))
        return cls(values, [feature.say(value) for feature, value in pairs])


def facts(features: Sequence[Feature], person: Described) -> list[responses.Fact]:
    pairs = zip(features, person.words, strict=False)
    return [responses.Fact(f.name, f.title, word) for f, word in pairs if f.visible]


def differences(features: Sequence[Feature], over: Described, under: Described) -> dict[str, str]:
    """Say by feature how far two people differ; nothing if one of them was erased."""
    columns = zip(features, over.values, under.values, over.words, under.words, strict=False)
    return {
        feature.name: feature.say_difference(first, second)
        for feature, first, second, word, other in columns
        if feature.visible and first != second and word != other
    }


def _reported(review: Review, reported: Sequence[tuple[str, str]]) -> list[responses.ReportedPair]:
    """List the reported pairs that the member was asked about, and their part in each."""
    rule, aliases, objections = review.round.rule, review.aliases, review.round.panel_objections()
    pairs = []
    for over, under in reported:
        if over in aliases and under in aliases:
            own = Pair(over, under) in review.objections
            alone = own and review.seat.member in decisive(rule, objections, (over, under))
            pairs.append(responses.ReportedPair(aliases[over], aliases[under], own, alone))
    return pairs


@router.get("")
async def list_reviews(
    access: deps.AuditorAccess,
    status: Annotated[Status, Query(description="Only reviews of that status.")] = "asked",
    after: Annotated[
        int | None, Query(ge=1, le=deps.LARGEST, description="Those behind this number.")
    ] = None,
    limit: deps.Limit = 100,
) -> ReviewList:
    """List what awaits you, the oldest first; of what has closed, the latest first."""
    return await access.run(
        lambda w: review_list(w.docket, access.caller.name, (status,), limit, after)
    )


@router.get("/{review_id}")
async def get_review(review_id: ReviewId, access: deps.AuditorAccess) -> responses.ReviewResponse:
    """Return the people of a round, the pairs that can be reported, and your objections."""

    def task(worker: Worker) -> responses.ReviewResponse:
        review = reviews.find(worker.docket, access.caller.name, review_id)
        return review_response(worker.docket, review, ended_too=True)

    return await access.run(task)


@dataclass(frozen=True)
class OwnReview:
    """A review of the caller; a request that is sent again with the same ``key`` acts once."""

    id: str
    access: Access
    key: str | None

    async def act(
        self, command: Callable[..., notes.Checkpoint], body: ActBody | None,
        **options: str | float | None,
    ) -> Written:  # fmt: skip
        """Run a command on the review, with the member's signature if there is one."""
        pair = body.pair if isinstance(body, WithdrawalBody) else None
        signed = None if body is None or body.signature is None else body.signature.parsed

        def act(docket: Docket) -> notes.Checkpoint:
            review = reviews.find(docket, self.access.caller.name, self.id)
            people = () if pair is None else (review.people(pair),)
            return command(docket, review.seat, *people, signed=signed, key=self.key, **options)

        return await self.access.write(act)


async def _own_review(
    review_id: ReviewId, access: deps.AuditorAccess, key: deps.IdempotencyKey = None
) -> OwnReview:
    return OwnReview(review_id, access, key)


Own = Annotated[OwnReview, Depends(_own_review)]


@router.post("/{review_id}/objections")
async def flag_pair(body: ObjectionBody, own: Own) -> Written:
    """Flag a pair, or change the reason or the limit."""
    return await own.act(panel.flag, body, reason=body.reason, limit=body.limit)


@router.post("/{review_id}/withdrawals")
async def withdraw_objection(body: WithdrawalBody, own: Own) -> Written:
    """Withdraw an objection, before the panel closes."""
    return await own.act(panel.withdraw, body)


@router.post("/{review_id}/comments")
async def comment_on_round(body: CommentBody, own: Own) -> Written:
    """Comment on a round; other members see it once the panel has closed."""
    return await own.act(panel.comment, body, text=body.text)


@router.post("/{review_id}/finish")
async def finish_review(own: Own, body: ActBody | None = None) -> Written:
    """Finish a review; the last member of the panel to do so closes it."""
    return await own.act(panel.finish, body)


@router.post("/{review_id}/reopen")
async def reopen_review(own: Own, body: ActBody | None = None) -> Written:
    """Reopen a review that you finished, before the panel closes."""
    return await own.act(panel.reopen, body)


keys = deps.api_router("/v1/dockets/{docket}/member-keys", "member keys")

KeyId = Annotated[str, Path(pattern=r"^[0-9a-f]{16}$", description="From the list of your keys.")]


class MemberKeyBody(deps.Body):
    """A key of yours: its own signature the first time, and one of a key that signs for you."""

    key: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    device: Annotated[str, Field(max_length=100, description="Where the key is, in words.")] = ""
    proof: Signature | None = None
    consent: Signature | None = None


class MemberKeyList(responses.Response):
    keys: list[responses.MemberKeyResponse]


def member_keys(docket: Docket, member: str) -> list[responses.MemberKeyResponse]:
    """List the keys that a member has had, the oldest first."""
    listed = docket.refresh().governance.keys.get(member, {})
    return [
        responses.MemberKeyResponse(name, key.key, key.device, key.at, key.state)
        for name, key in listed.items()
    ]


@keys.get("")
async def list_member_keys(access: deps.AuditorAccess) -> MemberKeyList:
    """List your keys: those that sign, those that wait for one of them to agree, and ended ones."""
    return await access.run(lambda w: MemberKeyList(member_keys(w.docket, access.caller.name)))


@keys.put("")
async def enrol_member_key(
    body: MemberKeyBody, access: Access = adds(kinds.MemberKeyEnrolled)
) -> Written:
    """Enrol a key, or agree to one: nothing is accepted from you without a signature any more."""
    key = signatures.PublicKey(body.key)
    return await access.write(
        signing.enrol_key, access.caller.name, key, device=body.device, proof=body.proof,
        consent=body.consent,
    )  # fmt: skip


@keys.delete("/{key_id}")
async def revoke_member_key(
    key_id: KeyId,
    access: Access = adds(kinds.MemberKeyRevoked),
    signature: Annotated[str | None, Query(pattern=deps.SIGNATURE)] = None,
) -> Written:
    """End a key; a key of yours may sign that, and does not have to: you may have lost it."""
    return await access.write(signing.revoke_key, access.caller.name, key_id, signature)
