"""Appeals and notices: what applicants ask for and are told, for the institution's front end."""

from collections.abc import Iterable
from itertools import islice
from typing import Annotated, Literal

from fastapi import Path, Query
from pydantic import Field

from likewise.learner.events import Decision
from likewise.numerics.fixed_point import from_units
from likewise_client import responses
from likewise_service.api import dependencies as deps
from likewise_service.api.dependencies import Access, adds
from likewise_service.api.errors import Written, fill, receipt_response
from likewise_service.dockets import appeals
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.worker import Worker
from likewise_service.errors import ServiceError
from likewise_service.ledger import kinds, records

router = deps.api_router("/v1/dockets/{docket}", "appeals")

AppealId = Annotated[str, Path(pattern=r"^[0-9a-f]{12}$", description="From opening it.")]
Status = Literal["open", "overdue", "ended"]
# The appeals in a list of each status: what is overdue is still open.
LISTED = {"open": ("open", "overdue"), "overdue": ("overdue",), "ended": ("decided", "withdrawn")}


class AppealBody(deps.PersonBody):
    """An applicant's words, the right values of features that are wrong, or both."""

    text: deps.Reason | None = None
    corrections: Annotated[dict[str, deps.FeatureValue], Field(max_length=1000)] | None = None


class ReviewerBody(deps.Body):
    reviewer: deps.Text


class OutcomeBody(deps.Body):
    """A reviewer's decision; an operator decides in their own name, and may leave it out."""

    approved: bool
    reason: deps.Reason
    accepted: Annotated[bool, Field(description="The corrections are right.")] = False
    reviewer: deps.Text | None = None


class NoticesBody(deps.Body):
    """Templates with $title and $days; ``after`` has $person and $reasons too."""

    before: Annotated[str, Field(min_length=1, max_length=appeals.LONGEST_TEXT)]
    after: Annotated[str, Field(min_length=1, max_length=appeals.LONGEST_TEXT)]
    days: Annotated[float, Field(gt=0, le=appeals.LONGEST_DAYS, allow_inf_nan=False)]


class NoticeBody(deps.PersonBody):
    """A notice that is given now, or was at a time before; reasons only where you decided."""

    occasion: kinds.Occasion
    given: deps.Moment | None = None
    reasons: Annotated[list[deps.Reason], Field(default_factory=list, max_length=4)]


def appeal_list(
    docket: Docket, *, status: Status | None = None, round_id: str | None = None, after: int = 0,
    limit: int = 100,
) -> responses.AppealList:  # fmt: skip
    """Return a page of appeals in the order in which they were opened."""
    if round_id is not None:
        listed: Iterable[kinds.Appeal] = docket.projection.round(round_id).appeals.values()
    elif status in ("open", "overdue"):
        listed = docket.projection.appeals.values()
    else:
        listed = _recorded(docket, after)
    fitting = (a for a in listed if a.seq > after and (not status or a.status in LISTED[status]))
    page = list(islice(fitting, limit + 1))
    following = page[limit - 1].seq if len(page) > limit else None
    return responses.AppealList(appeal_responses(docket, page[:limit]), following)


def _recorded(docket: Docket, after: int) -> Iterable[kinds.Appeal]:
    while True:
        with docket.looking() as view:
            page = view.records(after, limit=100, kind=kinds.AppealOpened.kind)
        for record in page:
            round_ = docket.projection.round(record.body["round"])
            yield round_.appeals[record.body["appeal"]]
            after = record.seq
        if not page:
            return


def appeal_responses(
    docket: Docket, listed: Iterable[kinds.Appeal]
) -> list[responses.AppealResponse]:
    rounds = {appeal.id: docket.projection.round(appeal.round) for appeal in listed}
    digests = [d for a in listed for d in (a.content, a.reason, rounds[a.id].people[a.person])]
    payloads, receipt = docket.payloads(digests), receipt_response(docket.receipt())
    return [
        fill(
            responses.AppealResponse, appeal,
            decision=_decision(rounds[appeal.id].decisions[appeal.person]),
            stands=rounds[appeal.id].stands(appeal.person),
            text=records.words_in(payloads, appeal.content),
            corrections=_corrections(
                docket, payloads.get(appeal.content),
                payloads.get(rounds[appeal.id].people[appeal.person] or ""),
            ),
            again=None if appeal.again is None else _decision(appeal.again),
            reason=records.words_in(payloads, appeal.reason), receipt=receipt,
        )
        for appeal in listed
    ]  # fmt: skip


def _decision(decision: Decision | kinds.Redecided) -> responses.AppealDecision:
    return responses.AppealDecision(decision.approved, from_units(decision.score))


def _corrections(
    docket: Docket, asked: records.Payload | None, known: records.Payload | None
) -> list[responses.CorrectionResponse]:
    if asked is None or known is None or "features" not in asked.content:
        return []
    was, now = records.features_of(known.content), records.features_of(asked.content)
    corrections = []
    for name in asked.content["corrected"]:
        feature, place = docket.schema[name], docket.schema.place(name)
        words = feature.say_apart(was[place], now[place])
        corrections.append(responses.CorrectionResponse(name, feature.title, *words))
    return corrections


@router.get("/appeals")
async def list_appeals(
    access: deps.ReadAccess,
    status: Annotated[Status | None, Query(description="open: overdue ones too.")] = None,
    round: Annotated[str | None, Query(min_length=1, max_length=64, pattern=deps.ROUND_ID)] = None,
    after: Annotated[int, Query(ge=0, le=deps.LARGEST, description="Opened after it.")] = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> responses.AppealList:
    """List appeals, the oldest first: what is asked for, by when, and what was decided."""
    return await access.run(
        lambda w: appeal_list(w.docket, status=status, round_id=round, after=after, limit=limit)
    )


@router.post("/appeals", status_code=201)
async def new_appeal(
    body: AppealBody, access: Access = adds(kinds.AppealOpened), key: deps.IdempotencyKey = None
) -> responses.AppealResponse:
    """Record that an applicant corrects data, or asks that a person reconsider."""

    def task(worker: Worker) -> responses.AppealResponse:
        asked = (body.round, body.person, body.text, body.corrections)
        appeal, _ = appeals.open_appeal(worker.docket, *asked, key)
        return appeal_responses(worker.docket, [appeal])[0]

    return await access.run(task)


@router.put("/appeals/{appeal}/reviewer")
async def assign(
    appeal: AppealId, body: ReviewerBody, access: Access = adds(kinds.AppealAssigned)
) -> Written:
    """Name the person who is to reconsider."""
    return await access.write(appeals.assign_appeal, appeal, body.reviewer)


@router.post("/appeals/{appeal}/outcome")
async def decide(
    appeal: AppealId, body: OutcomeBody, access: Access = adds(kinds.AppealDecided)
) -> Written:
    """Record what the reviewer decides, and why. The first decision stays on record."""
    caller = access.caller
    reviewer = caller.name if body.reviewer is None else body.reviewer
    if body.reviewer is None and caller.role != "operator":
        raise ServiceError("no-reviewer", 422, "Name the person who decided, as reviewer.")
    return await access.write(
        appeals.decide_appeal, appeal, reviewer, body.approved, body.reason, accepted=body.accepted
    )


@router.post("/appeals/{appeal}/withdrawal")
async def withdraw(appeal: AppealId, access: Access = adds(kinds.AppealWithdrawn)) -> Written:
    """Record that the applicant takes the appeal back."""
    return await access.write(appeals.withdraw_appeal, appeal)


@router.get("/notices")
async def get_notices(access: deps.ReadAccess) -> responses.NoticesResponse:
    """Return the texts of notices, and the days within which appeals are decided."""
    return await access.run(lambda w: fill(responses.NoticesResponse, appeals.notices_of(w.docket)))


@router.put("/notices")
async def change_notices(body: NoticesBody, access: Access = adds(kinds.NoticesSet)) -> Written:
    """Set the texts of notices, and the days for appeals that are opened from now on."""
    return await access.write(appeals.set_notices, body.before, body.after, body.days)


@router.post("/notices", status_code=201)
async def new_notice(
    body: NoticeBody, access: Access = adds(kinds.NoticeGiven)
) -> responses.NoticeResponse:
    """Make the notice for one applicant, and record that it is given."""
    notice, receipt = await access.run(
        lambda w: appeals.give_notice(
            w.docket, body.round, body.person, body.occasion, body.given, body.reasons
        )
    )
    return fill(responses.NoticeResponse, notice, receipt=receipt_response(receipt))
