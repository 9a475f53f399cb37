"""Rounds: people in, decisions out."""

from collections.abc import Callable, Sequence
from typing import Annotated, Literal

from fastapi import Query
from pydantic import Field

from likewise.numerics.fixed_point import ONE
from likewise_client import responses
from likewise_service.api import dependencies as deps
from likewise_service.api import dockets
from likewise_service.api.dependencies import Access, adds
from likewise_service.api.errors import Written, fill, receipt_response
from likewise_service.api.reviews import comment_responses, objection_responses
from likewise_service.dockets import rounds
from likewise_service.dockets.docket import Docket, awaited
from likewise_service.dockets.round import Round
from likewise_service.dockets.worker import Worker
from likewise_service.errors import ServiceError
from likewise_service.ledger import kinds

router = deps.api_router("/v1/dockets/{docket}", "rounds")

Status = Literal["open", "arriving", "in audit", "awaiting labels", "closed"]
Outcome = Literal["report", "quiet", "unaudited"]
# The most rounds that are searched for a page.
LOOKED_THROUGH = 500
Score = Annotated[
    float, Field(ge=0, le=1, allow_inf_nan=False, description="Where you decide: your chance.")
]


class ApplicantBody(deps.Body):
    """A person to decide on. The id stays in the ledger: do not use a name."""

    id: deps.PersonId
    features: Annotated[dict[str, deps.FeatureValue], Field(max_length=1000)]
    score: Score | None = None
    approved: Annotated[bool, Field(description="Where you decide: your decision.")] | None = None


class PeopleBody(deps.Body):
    people: Annotated[list[ApplicantBody], Field(min_length=1, max_length=10_000)]


class RoundBody(PeopleBody):
    """A new round. More people may join it until it is sealed."""

    round: deps.RoundName | None = None
    seal: bool = True


class LabelBody(deps.PersonBody):
    label: Annotated[int, Field(ge=0, le=1)]


class LabelsBody(deps.Body):
    labels: Annotated[list[LabelBody], Field(min_length=1, max_length=10_000)]


class OverrideBody(deps.Body):
    person: deps.PersonId
    approved: bool
    reason: deps.Reason | None = None


class ClosedBody(deps.Body):
    unaudited: bool = False


def round_list(
    docket: Docket, *, status: str | None, after: int, limit: int,
    having: Callable[[Round], bool] | None = None,
) -> responses.RoundList:  # fmt: skip
    """Return a page of rounds by number, of one status or (``open``) of all but closed ones.

    With ``having``, a page may be short or even empty although more rounds follow.
    """
    projection = docket.projection
    history, looked, page = iter(projection.opened.values()), 0, list[Round]()
    if status in (None, "closed"):
        history = projection.history(after)
    rounds_ = (r for r in history if r.number > after and status in (None, "open", r.status))
    for looked, round_ in enumerate(rounds_, start=1):
        if len(page) == limit or looked > LOOKED_THROUGH:
            following = round_.number - 1
            break
        if having is None or having(round_):
            page.append(round_)
    else:
        following = None
    return responses.RoundList([_summary(docket, r) for r in page], following)


def _summary(docket: Docket, round_: Round) -> responses.RoundSummary:
    with_panel = kinds.current_actor().sees_panel
    finished = sum(seat == "finished" for seat in round_.seats.values())
    return fill(
        responses.RoundSummary, round_, due=_due(docket, round_), people=len(round_.people),
        missing=len(awaited(docket.state, round_.id)),
        seats=len(round_.seats) if with_panel else None,
        finished=finished if with_panel else None,
    )  # fmt: skip


def _due(docket: Docket, round_: Round) -> str | None:
    """Return by when the panel is to be done; in turns it would tell when a member has finished."""
    hidden = docket.projection.settings.turns and not kinds.current_actor().sees_panel
    return None if hidden else round_.due


def round_response(docket: Docket, round_: Round) -> responses.RoundResponse:
    """Return a round, with what its members said for those who see the panel."""
    shadow, with_panel = docket.projection.settings.shadow, kinds.current_actor().sees_panel
    return fill(
        responses.RoundResponse,
        round_,
        due=_due(docket, round_),
        shadow=shadow,
        notice=dockets.IN_SHADOW if shadow else None,
        rule=round_.rule or None,
        decisions=[
            responses.DecisionResponse(d.person, d.approved, d.score / ONE, d.score)
            for d in round_.decisions.values()
        ],
        reported=[responses.PairResponse(over, under) for over, under in round_.pairs],
        reconsidered={
            appeal.person: appeal.approved
            for appeal in round_.appeals.values()
            if appeal.approved is not None
        },
        missing=list(awaited(docket.state, round_.id)),
        seats=round_.seats if with_panel else None,
        objections=objection_responses(docket, round_, round_.objections) if with_panel else None,
        comments=comment_responses(docket, round_.comments) if with_panel else None,
        receipt=receipt_response(docket.receipt()),
    )


def _applicants(access: Access, people: Sequence[ApplicantBody]) -> list[rounds.Applicant]:
    settings = access.app.settings
    check_count("people", people, settings.people_limit)
    most = max(len(person.features) for person in people)
    if most > settings.feature_limit:
        fault = f"A person may have {settings.feature_limit} features; one here has {most}."
        raise ServiceError("too-many", 422, f"{fault} Send those of the docket's schema only.")
    return [rounds.Applicant(p.id, p.features, p.score, p.approved) for p in people]


def check_count(noun: str, items: Sequence[object], limit: int) -> None:
    if len(items) > limit:
        sentence = f"A request may have {limit} {noun}; this one has {len(items)}. Split it."
        raise ServiceError("too-many", 422, sentence)


async def _respond(
    access: Access, command: Callable[[Docket], Round], key: str | None = None
) -> responses.RoundResponse:
    def task(worker: Worker) -> responses.RoundResponse:
        return round_response(worker.docket, command(worker.docket))

    return await access.run(task, key)


@router.get("/rounds")
async def list_rounds(
    access: deps.ReadAccess,
    status: Annotated[
        Status | None, Query(description="Only rounds of that status; open: all but closed ones.")
    ] = None,
    after: Annotated[int, Query(ge=0, le=deps.LARGEST, description="Numbers above this.")] = 0,
    outcome: Annotated[Outcome | None, Query(description="Only audits that ended so.")] = None,
    limit: deps.Limit = 100,
) -> responses.RoundList:
    """List rounds by number, the oldest first; follow ``next`` until it is null."""
    return await access.run(
        lambda w: round_list(
            w.docket, status=status, after=after, limit=limit,
            having=None if outcome is None else lambda round_: round_.outcome == outcome,
        )
    )  # fmt: skip


@router.post("/rounds", status_code=201)
async def start_round(
    body: RoundBody, access: Access = adds(kinds.PeopleArrived), key: deps.IdempotencyKey = None
) -> responses.RoundResponse:
    """Open a round and decide on its people at once."""
    people = _applicants(access, body.people)
    return await _respond(
        access,
        lambda d: rounds.open_round(d, people, round_id=body.round, key=key, seal=body.seal)[0],
        key,
    )


@router.get("/rounds/{round_id}")
async def get_round(round_id: deps.RoundId, access: deps.ReadAccess) -> responses.RoundResponse:
    """Return a round with its decisions, report and labels."""
    return await _respond(access, lambda docket: docket.projection.round(round_id))


@router.post("/rounds/{round_id}/people")
async def join_round(
    round_id: deps.RoundId,
    body: PeopleBody,
    access: Access = adds(kinds.PeopleArrived),
    key: deps.IdempotencyKey = None,
) -> responses.RoundResponse:
    """Add people to a round that is not sealed."""
    people = _applicants(access, body.people)
    return await _respond(access, lambda d: rounds.add_people(d, round_id, people, key=key)[0], key)


@router.post("/rounds/{round_id}/seal")
async def seal_round(
    round_id: deps.RoundId, access: Access = adds(kinds.RoundSealed)
) -> responses.RoundResponse:
    """Seal a round: nobody else joins it, and the panel is asked."""
    return await _respond(access, lambda docket: rounds.seal(docket, round_id)[0])


@router.post("/rounds/{round_id}/overrides")
async def override_decision(
    round_id: deps.RoundId, body: OverrideBody, access: Access = adds(kinds.Overridden)
) -> Written:
    """Record that somebody decided otherwise on a person."""
    return await access.write(rounds.override, round_id, body.person, body.approved, body.reason)


@router.post("/rounds/{round_id}/close")
async def close_round(
    round_id: deps.RoundId, body: ClosedBody, access: Access = adds(kinds.Closed)
) -> Written:
    """Close a round; labels that are missing stay missing.

    Only an operator may end an audit that is under way (``unaudited``): those whom a panel audits
    must not silence it.
    """
    if body.unaudited and access.caller.role not in kinds.MAY["audited"]:
        fault = "Only the operator may end an audit before the panel is done."
        raise ServiceError(
            "wrong-role", 403, f"{fault} Ask the operator, or wait for the deadline."
        )
    return await access.write(rounds.close, round_id, unaudited=body.unaudited)


@router.post("/labels")
async def add_labels(body: LabelsBody, access: Access = adds(kinds.Labelled)) -> Written:
    """Record labels of people of any rounds: all of them, or none."""
    check_count("labels", body.labels, access.app.settings.labels_limit)
    labels = [(item.round, item.person, item.label) for item in body.labels]
    return await access.write(rounds.label, labels)
