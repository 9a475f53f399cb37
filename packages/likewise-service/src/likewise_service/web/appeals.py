"""The pages of appeals: the docket's queue, and one appeal for whoever reconsiders it."""

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Query
from fastapi.responses import Response

from likewise_client import responses
from likewise_service.api import appeals as api
from likewise_service.api.dependencies import LARGEST
from likewise_service.dockets import appeals
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.worker import Worker
from likewise_service.errors import ServiceError
from likewise_service.ledger import kinds, notes
from likewise_service.web.dependencies import PageRequest, Supervisor, page_router

router = page_router("/dashboard")

LISTED = 50
Round = Annotated[str, Query(min_length=1, max_length=64)]
Name = Annotated[str, Query(pattern="^[0-9a-f]{12}$")]


@router.get("/{docket}/appeals")
async def queue_page(
    request: Supervisor,
    status: Annotated[str, Query(pattern="^(open|overdue|ended)$")] = "open",
    after: Annotated[int, Query(ge=0, le=LARGEST)] = 0,
) -> Response:
    """List the appeals that wait for somebody, or those that have ended."""

    def values(worker: Worker) -> dict[str, Any]:
        page = api.appeal_list(worker.docket, status=status, after=after, limit=LISTED)  # type: ignore[arg-type] # as the pattern has it
        waiting = worker.docket.projection.appeals.values()
        overdue = sum(appeal.overdue for appeal in waiting)
        return {
            "appeals": page.appeals, "following": page.next, "listed": status,
            "count_open": len(waiting), "count_overdue": overdue,
        }  # fmt: skip

    return await request.show("dashboard/appeals.html", values)


@router.get("/{docket}/appeal")
async def appeal_page(request: Supervisor, round: Round, id: Name) -> Response:
    """Show an appeal: what is asked, what the policy makes of it, and what was decided."""

    def values(worker: Worker) -> dict[str, Any]:
        may = request.caller.role in kinds.MAY[kinds.AppealDecided.kind]
        return {"appeal": _appeal(worker.docket, round, id), "may": may}

    return await request.show("dashboard/appeal.html", values)


def _appeal(docket: Docket, round_id: str, name: str) -> responses.AppealResponse:
    appeal = docket.projection.round(round_id).appeals.get(name)
    if appeal is None:
        raise ServiceError("no-appeal", 404, "This round has no such appeal.")
    return api.appeal_responses(docket, [appeal])[0]


@router.post("/{docket}/appeal")
async def act(request: Supervisor) -> Response:
    """Assign an appeal, decide on it in one's own name, or record that it was withdrawn."""
    form = await request.form()
    if request.caller.role not in kinds.MAY[kinds.AppealDecided.kind]:
        raise ServiceError("wrong-role", 403, "Only operators decide on appeals here.")
    round_id, name = form.get("round", ""), form.get("id", "")
    await request.run(lambda worker: _act(worker.docket, request, form, name))
    return request.go(f"/appeal?round={quote(round_id)}&id={quote(name)}")


def _act(docket: Docket, request: PageRequest, form: dict[str, str], name: str) -> notes.Checkpoint:
    own, what = request.caller.name, form.get("act")
    if what == "assign":
        return appeals.assign_appeal(docket, name, form.get("reviewer", "").strip() or own)
    if what == "withdraw":
        return appeals.withdraw_appeal(docket, name)
    if what in ("approve", "reject"):
        return appeals.decide_appeal(
            docket, name, own, what == "approve", form.get("reason", "").strip(),
            accepted=form.get("accepted") == "yes",
        )  # fmt: skip
    raise ServiceError("wrong-form", 422, "This form says nothing to do. Load the page again.")
