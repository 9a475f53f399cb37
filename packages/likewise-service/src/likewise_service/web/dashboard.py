"""The dashboard: a docket in numbers, its rounds, people and appeals, its ledger as files.

Forms manage its members, tokens, legal holds and pairs to practise with. Every act is the API's
own, by the same roles.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse, RedirectResponse, Response

from likewise.errors import LikewiseError
from likewise.learner.evidence import OneSided
from likewise_client import responses
from likewise_service.api import appeals as appeal_api
from likewise_service.api import dockets, errors, ledger, metrics, rounds
from likewise_service.api.dependencies import LARGEST, PersonBody
from likewise_service.dockets import appeals, panel
from likewise_service.dockets.round import Round
from likewise_service.dockets.worker import Worker
from likewise_service.errors import ServiceError
from likewise_service.language import _, speaking
from likewise_service.ledger import kinds
from likewise_service.verify import certificates, packets
from likewise_service.web import dependencies as deps
from likewise_service.web import practice, rendering

router = APIRouter(prefix="/dashboard", include_in_schema=False)

LISTED, APPEALS = 100, 50


async def certificate_file(request: deps.PageRequest) -> Response:
    return JSONResponse((await ledger.get_certificate(request)).certificate)


FILES: dict[str, Callable[[deps.PageRequest], Awaitable[Response]]] = {
    "ledger.jsonl": ledger.export_jsonl,
    "ledger.csv": ledger.export_csv,
    "agreement.csv": ledger.get_agreement,
    "certificate.json": certificate_file,
    "assessment.md": ledger.get_assessment_text,
}
# The rounds that a figure counts, by its name; the others are named by their outcome.
HAVING: dict[str, Callable[[Round], bool]] = {
    "": lambda _: True,
    "open": lambda _: True,
    "seen": lambda r: r.looked_at,
    "changed": lambda r: bool(r.overrides),
    "missing": lambda r: r.closed is not None and not r.people.keys() <= r.labels.keys(),
}


@router.get("/")
async def dockets_page(
    request: deps.Supervisor, after: dockets.AfterDocket = "", contains: dockets.PartOfName = ""
) -> Response:
    """List the dockets; a single one is shown at once."""
    page = await dockets.list_dockets(request, after, LISTED, contains)
    if len(page.dockets) == 1 and not after and not contains:
        return RedirectResponse(f"/dashboard/{page.dockets[0].name}/", 303)
    return rendering.html("dashboard/dockets.html", request.page(), page_of=page, contains=contains)


@router.get("/{docket}/")
async def dashboard(request: deps.Supervisor, wrong_reports: ledger.WrongReports = 0) -> Response:
    def values(worker: Worker) -> dict[str, Any]:
        learner = worker.docket.state.learner
        page = rounds.round_list(worker.docket, status="open", after=0, limit=LISTED)
        return {
            "docket": dockets.docket_response(worker.docket),
            "metrics": metrics.measure(worker),
            "rounds": page.rounds,
            "certificate": _certificate(worker, wrong_reports),
            # How far apart chances may be for the panel, and for the policy to compare with.
            "limits": (learner.alpha, learner.alpha - learner.eps),
            "wrong_reports": wrong_reports,
        }

    return await request.show("dashboard/dashboard.html", values)


def _certificate(worker: Worker, wrong_reports: int) -> list[str]:
    """Return the certificate in words, also why a part of it is not there."""
    docket, part, learner = worker.docket, worker.one_sided, worker.docket.state.learner
    if not certificates.is_certified(docket):
        return []
    words = certificates.paragraphs(
        certificates.certificate_content(docket.state, wrong_reports=wrong_reports, one_sided=part)
    )
    if part is not None or not learner.pricing.one_sided:
        return words
    if not OneSided(learner).proved:
        why = _("Nothing is proved of this learner that holds with high probability.")
    elif worker.settings.writer:
        why = _("What holds with high probability is computed by the server that writes.")
    else:
        why = _("What holds with high probability is being computed from the ledger.")
    return [*words, why]


@router.get("/{docket}/rounds")
async def rounds_page(
    request: deps.Supervisor,
    after: Annotated[int | None, Query(ge=0, le=LARGEST)] = None,
    having: Literal["", "report", "quiet", "unaudited", "open", "seen", "changed", "missing"] = "",
) -> Response:
    """List a hundred rounds by number, the latest without ``after``; those of a figure, if any."""

    def values(worker: Worker) -> dict[str, Any]:
        number = worker.docket.projection.counts["rounds"]
        first = max(0, number - LISTED) if after is None and not having else after or 0
        page = rounds.round_list(
            worker.docket, status="open" if having == "open" else None, after=first, limit=LISTED,
            having=HAVING.get(having, lambda round_: round_.outcome == having),
        )  # fmt: skip
        return {
            "page_of": page, "having": having, "first": first, "number": number,
            "earlier": max(0, first - LISTED) if first else None,
        }  # fmt: skip

    return await request.show("dashboard/rounds.html", values)


Name = Annotated[str, Query(min_length=1, max_length=200)]
AppealId = Annotated[str, Query(pattern="^[0-9a-f]{12}$")]


def _round(worker: Worker, name: str) -> responses.RoundResponse:
    docket = worker.docket
    return rounds.round_response(docket, docket.projection.round(name))


@router.get("/{docket}/round")
async def round_page(request: deps.Supervisor, id: Name) -> Response:
    """Show a round: who was decided on and how, who was asked, and what they said."""
    return await request.show("dashboard/round.html", lambda w: {"round": _round(w, id)})


@router.get("/{docket}/person")
async def person_page(request: deps.Supervisor, round: Name, id: Name) -> Response:
    def values(worker: Worker) -> dict[str, Any]:
        round_ = _round(worker, round)
        decision = next((d for d in round_.decisions if d.person == id), None)
        if decision is None:
            raise ServiceError("no-person", 404, "This round has nobody of that id.")
        return {"round": round_, "decision": decision, "packet": ""}

    return await request.show("dashboard/person.html", values)


@router.post("/{docket}/person")
async def give_packet(request: deps.Supervisor) -> Response:
    """Make the packet of a decision, which the ledger records, and show it in words."""
    form = await request.form()
    # Not checked: an id that cannot be is found nowhere.
    body = PersonBody.model_construct(round=form.get("round", ""), person=form.get("person", ""))
    packet = (await ledger.give_decision_packet(body, request)).packet
    with speaking(request.language):
        words = packets.packet_words(packet)
    return await person_page(replace(request, shown={"packet": words}), body.round, body.person)


@router.get("/{docket}/appeals")
async def appeals_page(
    request: deps.Supervisor,
    status: appeal_api.Status = "open",
    after: Annotated[int, Query(ge=0, le=LARGEST)] = 0,
) -> Response:
    """List the appeals that wait for somebody, or those that have ended."""

    def values(worker: Worker) -> dict[str, Any]:
        projection = worker.docket.projection
        page = appeal_api.appeal_list(worker.docket, status=status, after=after, limit=APPEALS)
        return {
            "appeals": page.appeals, "following": page.next, "listed": status,
            "count_open": len(projection.appeals), "count_overdue": projection.overdue_appeals,
        }  # fmt: skip

    return await request.show("dashboard/appeals.html", values)


@router.get("/{docket}/appeal")
async def appeal_page(request: deps.Supervisor, round: Name, id: AppealId) -> Response:
    """Show an appeal: what is asked, what the policy makes of it, and what was decided."""

    def values(worker: Worker) -> dict[str, Any]:
        appeal = worker.docket.projection.round(round).appeals.get(id)
        if appeal is None:
            raise ServiceError("no-appeal", 404, "This round has no such appeal.")
        return {"appeal": appeal_api.appeal_responses(worker.docket, [appeal])[0]}

    return await request.show("dashboard/appeal.html", values)


Show = Callable[[Any], Awaitable[Response]]
Act = Callable[[deps.PageRequest, Mapping[str, str]], Awaitable[object]]

TokenKeeper = Annotated[deps.PageRequest, deps.acts(kinds.TokenIssued)]
Place = Annotated[str, Query(max_length=200)]


def _form(path: str, kind: type[kinds.Body], show: Show, act: Act) -> None:
    """Let those who may add a kind of record do an act by a form, and go to its page again.

    What is refused is said above the form, which keeps what was written; a token that was made is
    shown this once. An act may return the address of its page.
    """

    async def respond(request: Annotated[deps.PageRequest, deps.acts(kind)]) -> Response:
        form = await request.form()
        try:
            result = await act(request, form)
        except LikewiseError as error:
            problem = errors.error_response(error)
            sentence = deps.told(problem, request.language)
            refused = {"problem": sentence, "status": problem.status_code, "form": form}
            return await show(replace(request, shown=refused))
        if isinstance(result, responses.NewToken):
            return await show(replace(request, shown={"made": result}))
        return request.go(result if isinstance(result, str) else f"/{path.partition('/')[0]}")

    router.post(f"/{{docket}}/{path}")(respond)


@router.get("/{docket}/members")
async def members_page(request: deps.Supervisor, after: dockets.AfterName = "") -> Response:
    """List the members by name, with a way to add one or to let one leave."""

    def values(worker: Worker) -> dict[str, Any]:
        page_of = metrics.member_list(worker, after=after, limit=LISTED)
        return {"page_of": page_of, "rule": worker.docket.projection.rule}

    return await request.show("dashboard/members.html", values)


@router.get("/{docket}/tokens")
async def tokens_page(request: TokenKeeper, after: dockets.AfterToken = "") -> Response:
    """List the tokens that open this docket, with a way to make one or to revoke one."""
    page_of = await dockets.get_tokens(request, after, LISTED, request.docket)
    return await request.show(
        "dashboard/tokens.html",
        lambda w: {"page_of": page_of, "members": w.docket.projection.members},
    )


@router.get("/{docket}/holds")
async def holds_page(request: deps.Supervisor, round: Place = "", person: Place = "") -> Response:
    """List the legal holds in force, with a way to place one, on a person to begin with."""
    form = {"round": round, "person": person}
    return await request.show(
        "dashboard/holds.html", lambda w: {"holds": ledger.hold_list(w.docket).holds, "form": form}
    )


@router.get("/{docket}/practice")
async def practice_page(request: deps.Supervisor) -> Response:
    """List the pairs that members practise with, with a way to add one or to remove one."""

    def values(worker: Worker) -> dict[str, Any]:
        features, pairs = worker.docket.schema.features, worker.docket.projection.practice
        review = practice.practice_review(features, pairs)
        own = list(zip(pairs, review.pairs, strict=True))
        return {"review": review, "own": own, "fields": practice.form_fields(features)}

    return await request.show("dashboard/practice.html", values)


async def _act_on_appeal(request: deps.PageRequest, form: Mapping[str, str]) -> str:
    """Assign an appeal, decide on it in one's own name, or record that it was withdrawn."""
    own, act = request.caller.name, form.get("act")
    round_id, name, reason = (form.get(field, "").strip() for field in ("round", "id", "reason"))
    if act == "assign":
        body = deps.read_form(appeal_api.ReviewerBody, {"reviewer": form.get("reviewer") or own})
        await request.write(appeals.assign_appeal, name, body.reviewer)
    elif act == "withdraw":
        await request.write(appeals.withdraw_appeal, name)
    elif act in ("approve", "reject"):
        choice = (own, act == "approve", reason)
        await request.write(appeals.decide_appeal, name, *choice, accepted="accepted" in form)
    else:
        raise ServiceError("wrong-form", 422, "This form says nothing to do. Load the page again.")
    return f"/appeal?round={quote(round_id)}&id={quote(name)}"


async def _create_token(request: deps.PageRequest, form: Mapping[str, str]) -> responses.NewToken:
    everywhere = form.get("reach") == "all" or form.get("role") == "operator"
    docket = None if everywhere else request.docket
    body = deps.read_form(dockets.TokenBody, form, docket=docket)
    return await dockets.new_token(body, request)


FORMS: tuple[tuple[str, type[kinds.Body], Show, Act], ...] = (
    ("appeal", kinds.AppealDecided,
     lambda r: appeal_page(r, *(r.shown["form"].get(field, "") for field in ("round", "id"))),
     _act_on_appeal),
    ("members/join", kinds.MemberJoined, members_page,
     lambda r, form: dockets.add_member(deps.read_form(dockets.MemberBody, form), r)),
    ("members/leave", kinds.MemberLeft, members_page,
     lambda r, form: dockets.remove_member(form.get("member", ""), r)),
    ("tokens/create", kinds.TokenIssued, tokens_page, _create_token),
    ("tokens/revoke", kinds.TokenEnded, tokens_page,
     lambda r, form: dockets.delete_token(form.get("token", ""), r)),
    ("holds/place", kinds.HoldPlaced, holds_page,
     lambda r, form: ledger.new_hold(deps.read_form(ledger.HoldBody, form), r)),
    ("holds/lift", kinds.HoldLifted, holds_page,
     lambda r, form: ledger.end_hold(form.get("hold", ""), r)),
    ("practice/add", kinds.PracticeSet, practice_page,
     lambda r, form: r.run(lambda w: panel.add_gold(w.docket, practice.read_gold(w.docket, form)))),
    ("practice/remove", kinds.PracticeSet, practice_page,
     lambda r, form: r.run(lambda w: panel.remove_gold(w.docket, form.get("pair", "")))),
)  # fmt: skip
for listed in FORMS:
    _form(*listed)


@router.get("/{docket}/{file}")
async def download(request: deps.Supervisor, file: str) -> Response:
    if file not in FILES:
        raise ServiceError("not-found", 404, "There is no such file of a docket.")
    return deps.file_response(await FILES[file](request), f"{request.docket}-{file}")
