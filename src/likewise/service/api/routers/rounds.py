"""Rounds: people in, decisions out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

from fastapi import Query

from likewise.service.api import requests
from likewise.service.api.dependencies import Deciding, DocketAccess, Reading, api_router
from likewise.service.api.responses import RoundList, RoundResponse, Written
from likewise.service.api.serializers import round_list, round_response, written
from likewise.service.auth.rate_limits import check_features, check_many
from likewise.service.dockets.commands.feedback import close, label, override
from likewise.service.dockets.commands.rounds import Applicant, add_people, open_round, seal
from likewise.service.dockets.docket import Docket
from likewise.service.dockets.views.round import Round
from likewise.service.errors import ServiceError

__all__ = ["router"]

router = api_router("/v1/dockets/{docket}", "rounds")

Status = Literal["open", "arriving", "in audit", "awaiting labels", "closed"]


def _applicants(at: DocketAccess, people: Sequence[requests.PersonBody]) -> list[Applicant]:
    check_many("people", people, at.app.settings.people_limit)
    for person in people:
        check_features(at.app.settings, person.features)
    return [Applicant(one.id, one.features, one.score, one.approved) for one in people]


async def _round(at: DocketAccess, found: Callable[[Docket], Round]) -> RoundResponse:
    """The response to whatever finds a round, or makes one."""
    return await at.run(
        lambda w: round_response(w.docket, found(w.docket), with_panel=at.sees_panel)
    )


@router.get("/rounds")
async def list_rounds(
    at: Reading,
    status: Annotated[
        Status | None, Query(description="Only rounds of that status; open: all but closed ones.")
    ] = None,
    after: Annotated[int, Query(ge=0, le=2**53, description="Numbers above this.")] = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> RoundList:
    """Rounds by number, the oldest first."""
    return await at.run(
        lambda w: round_list(
            w.docket, status=status, after=after, limit=limit, with_panel=at.sees_panel
        )
    )


@router.post("/rounds", status_code=201)
async def start_round(
    body: requests.RoundBody, at: Deciding, key: requests.IdempotencyKey = None
) -> RoundResponse:
    """People arrive and are decided on at once."""
    people = _applicants(at, body.people)
    given: dict[str, Any] = {"round_id": body.round, "key": key, "seal": body.seal}
    return await _round(at, lambda docket: open_round(docket, people, **given)[0])


@router.get("/rounds/{round_id}")
async def get_round(round_id: requests.RoundId, at: Reading) -> RoundResponse:
    """A round with its decisions and what has become of it."""
    return await _round(at, lambda docket: docket.projection.round(round_id))


@router.post("/rounds/{round_id}/people")
async def join_round(
    round_id: requests.RoundId,
    body: requests.PeopleBody,
    at: Deciding,
    key: requests.IdempotencyKey = None,
) -> RoundResponse:
    """More people join a round that is not sealed."""
    people = _applicants(at, body.people)
    return await _round(at, lambda docket: add_people(docket, round_id, people, key=key)[0])


@router.post("/rounds/{round_id}/seal")
async def seal_round(round_id: requests.RoundId, at: Deciding) -> RoundResponse:
    """Nobody else will join; the panel is asked."""
    return await _round(at, lambda docket: seal(docket, round_id)[0])


@router.post("/rounds/{round_id}/overrides")
async def override_decision(
    round_id: requests.RoundId, body: requests.OverrideBody, at: Deciding
) -> Written:
    """Somebody decided otherwise on a person."""
    given = (body.person, body.approved, body.reason)
    return written(await at.run(lambda w: override(w.docket, round_id, *given)))


@router.post("/rounds/{round_id}/close")
async def close_round(
    round_id: requests.RoundId, body: requests.ClosedBody, at: Deciding
) -> Written:
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
    return written(await at.run(lambda w: close(w.docket, round_id, unaudited=body.unaudited)))


@router.post("/labels")
async def add_labels(body: requests.LabelsBody, at: Deciding) -> Written:
    """How it turned out for some people, of any rounds; all are recorded, or none."""
    check_many("labels", body.labels, at.app.settings.labels_limit)
    labels = [(one.round, one.person, one.label) for one in body.labels]
    return written(await at.run(lambda w: label(w.docket, labels)))
