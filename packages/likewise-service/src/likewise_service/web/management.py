"""Management of a docket by forms: its members, the tokens that open it, its legal holds.

Every act is the API's own, by the same roles.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, TypeVar

from fastapi import Query
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import ValidationError

from likewise.errors import LikewiseError
from likewise_client import responses
from likewise_service.api import dependencies as deps
from likewise_service.api import dockets, errors, ledger, metrics
from likewise_service.dockets.worker import Worker
from likewise_service.ledger import kinds
from likewise_service.web.dependencies import PageRequest, Supervisor, acts, page_router, told
from likewise_service.web.language import speaking

router = page_router("/dashboard")

LISTED = 100
Show = Callable[..., Awaitable[Response]]
B = TypeVar("B", bound=deps.Body)

TokenKeeper = Annotated[PageRequest, acts(kinds.TokenIssued)]
Place = Annotated[str, Query(max_length=200)]


def read_form(kind: type[B], fields: Mapping[str, str], **more: Any) -> B:
    """Return the request body that a form stands for; what is left empty is not said."""
    filled = {name: text.strip() for name, text in fields.items() if name in kind.model_fields}
    try:
        return kind(**{name: text for name, text in filled.items() if text}, **more)
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from error


async def _done(
    request: PageRequest, act: Awaitable[object], page: str, show: Show, form: Mapping[str, str]
) -> Response:
    """Do what a form asks for, and go to a page; what is refused is said above the form."""
    try:
        await act
    except (LikewiseError, RequestValidationError) as error:
        problem = errors.error_response(error)
        with speaking(request.language):
            sentence = told(problem.code, problem.sentence)
        return await show(request, problem=sentence, status=problem.status_code, form=form)
    return request.go(page)


@router.get("/{docket}/members")
async def members_page(request: Supervisor, after: dockets.AfterName = "") -> Response:
    """List the members by name, with a way to add one or to let one leave."""
    return await _show_members(request, after=after)


async def _show_members(request: PageRequest, *, after: str = "", **form: Any) -> Response:
    def values(worker: Worker) -> dict[str, Any]:
        page_of = metrics.member_list(worker, after=after, limit=LISTED)
        projection = worker.docket.projection
        return {"page_of": page_of, "rule": projection.rule, **_blank(form)}

    return await request.show("dashboard/members.html", values)


def _blank(form: Mapping[str, Any]) -> dict[str, Any]:
    return {"problem": "", "status": 200, "form": {}, **form}


@router.post("/{docket}/members/join")
async def add_member(request: Annotated[PageRequest, acts(kinds.MemberJoined)]) -> Response:
    form = await request.form()

    async def act() -> None:
        await dockets.add_member(read_form(dockets.MemberBody, form), request)

    return await _done(request, act(), "/members", _show_members, form)


@router.post("/{docket}/members/leave")
async def remove_member(request: Annotated[PageRequest, acts(kinds.MemberLeft)]) -> Response:
    form = await request.form()
    act = dockets.remove_member(form.get("member", ""), request)
    return await _done(request, act, "/members", _show_members, form)


@router.get("/{docket}/tokens")
async def tokens_page(request: TokenKeeper, after: dockets.AfterToken = "") -> Response:
    """List the tokens that open this docket, with a way to make one or to revoke one."""
    return await _show_tokens(request, after=after)


async def _show_tokens(
    request: PageRequest, *, after: str = "", made: responses.NewToken | None = None, **form: Any
) -> Response:
    page_of = await asyncio.to_thread(
        dockets.token_list, request.app.store, after=after, limit=LISTED, docket=request.docket
    )

    def values(worker: Worker) -> dict[str, Any]:
        members = worker.docket.projection.members
        return {"page_of": page_of, "made": made, "members": members, **_blank(form)}

    return await request.show("dashboard/tokens.html", values)


@router.post("/{docket}/tokens/create")
async def create_token(request: TokenKeeper) -> Response:
    """Make a token, and show it: this once."""
    form = await request.form()
    docket = (
        None if form.get("reach") == "all" or form.get("role") == "operator" else request.docket
    )
    made: list[responses.NewToken] = []

    async def act() -> None:
        body = read_form(dockets.TokenBody, form, docket=docket)
        made.append(await dockets.issue_token(request.app, request.actor, body))

    response = await _done(request, act(), "/tokens", _show_tokens, form)
    return await _show_tokens(request, made=made[0]) if made else response


@router.post("/{docket}/tokens/revoke")
async def revoke_token(request: Annotated[PageRequest, acts(kinds.TokenEnded)]) -> Response:
    form = await request.form()
    act = dockets.end_token(request.app, request.actor, form.get("token", ""))
    return await _done(request, act, "/tokens", _show_tokens, form)


@router.get("/{docket}/holds")
async def holds_page(request: Supervisor, round: Place = "", person: Place = "") -> Response:
    """List the legal holds in force, with a way to place one, on a person to begin with."""
    return await _show_holds(request, form={"round": round, "person": person})


async def _show_holds(request: PageRequest, **form: Any) -> Response:
    return await request.show(
        "dashboard/holds.html",
        lambda w: {"holds": ledger.hold_list(w.docket).holds, **_blank(form)},
    )


@router.post("/{docket}/holds/place")
async def place_hold(request: Annotated[PageRequest, acts(kinds.HoldPlaced)]) -> Response:
    form = await request.form()

    async def act() -> None:
        await ledger.new_hold(read_form(ledger.HoldBody, form), request)

    return await _done(request, act(), "/holds", _show_holds, form)


@router.post("/{docket}/holds/lift")
async def lift_hold(request: Annotated[PageRequest, acts(kinds.HoldLifted)]) -> Response:
    form = await request.form()
    act = ledger.end_hold(form.get("hold", ""), request)
    return await _done(request, act, "/holds", _show_holds, form)
