"""Rounds: people in, decisions out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Query

from likewise.service.api.dependencies import Counter, Deciding, Reading
from likewise.service.api.errors import DOCUMENTED
from likewise.service.api.requests import (
    ClosedBody,
    IdempotencyKey,
    LabelsBody,
    OverrideBody,
    PeopleBody,
    PersonBody,
    RoundBody,
    RoundId,
)
from likewise.service.api.responses import RoundList, RoundResponse, Written
from likewise.service.api.serializers import round_response, round_summary, written
from likewise.service.auth.rate_limits import check_features, check_many
from likewise.service.dockets.commands.feedback import close, label, override
from likewise.service.dockets.commands.rounds import Applicant, add_people, open_round, seal
from likewise.service.dockets.worker import Worker
from likewise.service.errors import ServiceError

__all__ = ["router"]

router = APIRouter(prefix="/v1/dockets/{docket}", tags=["rounds"], responses=DOCUMENTED)

Status = Literal["arriving", "in audit", "awaiting labels", "closed"]


def _applicants(at: Counter, people: Sequence[PersonBody]) -> list[Applicant]:
    check_many("people", people, at.services.settings.people_limit)
    for person in people:
        check_features(at.services.settings, person.features)
    return [Applicant(person.id, person.features) for person in people]


@router.get("/rounds")
async def list_rounds(
    at: Reading,
    status: Annotated[Status | None, Query(description="Only rounds of that status.")] = None,
    after: Annotated[int, Query(ge=0, le=2**53, description="Numbers above this.")] = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> RoundList:
    """Rounds by number, the oldest first."""

    def task(worker: Worker) -> RoundList:
        docket = worker.docket
        found = [
            round_
            for round_ in docket.projection.rounds.values()
            if round_.number > after and status in (None, round_.status)
        ]
        page = found[:limit]
        more = page[-1].number if len(found) > limit else None
        return RoundList([round_summary(docket, round_) for round_ in page], more)

    return await at.run(task)


@router.post("/rounds", status_code=201)
async def start_round(body: RoundBody, at: Deciding, key: IdempotencyKey = None) -> RoundResponse:
    """People arrive and are decided on at once."""
    people = _applicants(at, body.people)

    def task(worker: Worker) -> RoundResponse:
        round_, _ = open_round(worker.docket, people, round_id=body.round, key=key, seal=body.seal)
        return round_response(worker.docket, round_, with_panel=at.sees_panel)

    return await at.run(task)


@router.get("/rounds/{round_id}")
async def get_round(round_id: RoundId, at: Reading) -> RoundResponse:
    """A round with its decisions and what has become of it."""
    return await at.run(
        lambda worker: round_response(
            worker.docket, worker.docket.projection.round(round_id), with_panel=at.sees_panel
        )
    )


@router.post("/rounds/{round_id}/people")
async def join_round(
    round_id: RoundId, body: PeopleBody, at: Deciding, key: IdempotencyKey = None
) -> RoundResponse:
    """More people join a round that is not sealed."""
    people = _applicants(at, body.people)

    def task(worker: Worker) -> RoundResponse:
        round_, _ = add_people(worker.docket, round_id, people, key=key)
        return round_response(worker.docket, round_, with_panel=at.sees_panel)

    return await at.run(task)


@router.post("/rounds/{round_id}/seal")
async def seal_round(round_id: RoundId, at: Deciding) -> RoundResponse:
    """Nobody else will join; the panel is asked."""

    def task(worker: Worker) -> RoundResponse:
        round_, _ = seal(worker.docket, round_id)
        return round_response(worker.docket, round_, with_panel=at.sees_panel)

    return await at.run(task)


@router.post("/rounds/{round_id}/overrides")
async def override_decision(round_id: RoundId, body: OverrideBody, at: Deciding) -> Written:
    """Somebody decided otherwise on a person."""
    return written(await at.run(lambda o: override(o.docket, round_id, body.person, body.approved)))


@router.post("/rounds/{round_id}/close")
async def close_round(round_id: RoundId, body: ClosedBody, at: Deciding) -> Written:
    """Nothing more will be heard of a round; labels that are missing stay missing.

    Only an operator may end an audit that is under way (``unaudited``): those whom a panel audits
    must not silence it.
    """
    if body.unaudited and at.caller.role != "operator":
        raise ServiceError(
            "wrong-role", 403,
            "Only the operator may end an audit before the panel is done. Ask the operator, or "
            "wait for the deadline.",
        )  # fmt: skip
    return written(await at.run(lambda o: close(o.docket, round_id, unaudited=body.unaudited)))


@router.post("/labels")
async def add_labels(body: LabelsBody, at: Deciding) -> Written:
    """How it turned out for some people, of any rounds; all are recorded, or none."""
    check_many("labels", body.labels, at.services.settings.labels_limit)
    labels = [(one.round, one.person, one.label) for one in body.labels]
    return written(await at.run(lambda worker: label(worker.docket, labels)))
