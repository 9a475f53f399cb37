"""Management of a docket by forms: members, tokens, legal holds, pairs to practise with.

Every act is the API's own, by the same roles.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any

from fastapi import Query
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response

from likewise.errors import LikewiseError
from likewise_client import responses
from likewise_service.api import dockets, errors, ledger, metrics
from likewise_service.dockets import panel
from likewise_service.dockets.worker import Worker
from likewise_service.ledger import kinds, notes
from likewise_service.web import practice
from likewise_service.web.dependencies import (
    PageRequest,
    Supervisor,
    acts,
    page_router,
    read_form,
    told,
)

router = page_router("/dashboard")

LISTED = 100
Show = Callable[..., Awaitable[Response]]
Act = Callable[[PageRequest, Mapping[str, str]], Awaitable[object]]

TokenKeeper = Annotated[PageRequest, acts(kinds.TokenIssued)]
Place = Annotated[str, Query(max_length=200)]


def _form(path: str, kind: type[kinds.Body], show: Show, act: Act) -> None:
    """Let those who may add a kind of record do an act by a form, and go to its page again.

    What is refused is said above the form; a token that was made is shown this once.
    """

    async def respond(request: Annotated[PageRequest, acts(kind)]) -> Response:
        form = await request.form()
        try:
            result = await act(request, form)
        except (LikewiseError, RequestValidationError) as error:
            problem = errors.error_response(error)
            sentence = told(problem, request.language)
            return await show(request, problem=sentence, status=problem.status_code, form=form)
        if isinstance(result, responses.NewToken):
            return await show(request, made=result)
        return request.go(f"/{path.partition('/')[0]}")

    router.post(f"/{{docket}}/{path}")(respond)


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


@router.get("/{docket}/holds")
async def holds_page(request: Supervisor, round: Place = "", person: Place = "") -> Response:
    """List the legal holds in force, with a way to place one, on a person to begin with."""
    return await _show_holds(request, form={"round": round, "person": person})


async def _show_holds(request: PageRequest, **form: Any) -> Response:
    return await request.show(
        "dashboard/holds.html",
        lambda w: {"holds": ledger.hold_list(w.docket).holds, **_blank(form)},
    )


@router.get("/{docket}/practice")
async def practice_page(request: Supervisor) -> Response:
    """List the pairs that members practise with, with a way to add one or to remove one."""
    return await _show_practice(request)


async def _show_practice(request: PageRequest, **form: Any) -> Response:
    def values(worker: Worker) -> dict[str, Any]:
        features, pairs = worker.docket.schema.features, worker.docket.projection.practice
        review = practice.practice_review(features, pairs)
        golds = practice.gold_pairs(pairs) if pairs else []
        own = [(pair.id, gold) for pair, gold in zip(pairs, golds, strict=True)]
        fields = practice.form_fields(features)
        return {"review": review, "own": own, "fields": fields, **_blank(form)}

    return await request.show("dashboard/practice.html", values)


async def _create_token(request: PageRequest, form: Mapping[str, str]) -> responses.NewToken:
    everywhere = form.get("reach") == "all" or form.get("role") == "operator"
    docket = None if everywhere else request.docket
    body = read_form(dockets.TokenBody, form, docket=docket)
    return await dockets.issue_token(request.app, request.actor, body)


async def _add_gold(request: PageRequest, form: Mapping[str, str]) -> notes.Checkpoint:
    def task(worker: Worker) -> notes.Checkpoint:
        gold = practice.read_gold(worker.docket.schema.features, form)
        return panel.add_gold(worker.docket, gold)

    return await request.run(task)


FORMS: tuple[tuple[str, type[kinds.Body], Show, Act], ...] = (
    ("members/join", kinds.MemberJoined, _show_members,
     lambda r, form: dockets.add_member(read_form(dockets.MemberBody, form), r)),
    ("members/leave", kinds.MemberLeft, _show_members,
     lambda r, form: dockets.remove_member(form.get("member", ""), r)),
    ("tokens/create", kinds.TokenIssued, _show_tokens, _create_token),
    ("tokens/revoke", kinds.TokenEnded, _show_tokens,
     lambda r, form: dockets.end_token(r.app, r.actor, form.get("token", ""))),
    ("holds/place", kinds.HoldPlaced, _show_holds,
     lambda r, form: ledger.new_hold(read_form(ledger.HoldBody, form), r)),
    ("holds/lift", kinds.HoldLifted, _show_holds,
     lambda r, form: ledger.end_hold(form.get("hold", ""), r)),
    ("practice/add", kinds.PracticeSet, _show_practice, _add_gold),
    ("practice/remove", kinds.PracticeSet, _show_practice,
     lambda r, form: r.run(lambda w: panel.remove_gold(w.docket, form.get("pair", "")))),
)  # fmt: skip
for listed in FORMS:
    _form(*listed)
