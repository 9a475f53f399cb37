"""The operator's dashboard: how a docket stands, its numbers as JSON, and its ledger as files."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter
from fastapi.responses import RedirectResponse, Response

from likewise.service.api.dependencies import DocketAccess, DocketName
from likewise.service.api.metrics import measured
from likewise.service.api.review_responses import MetricsResponse
from likewise.service.api.routers.ledger import export_csv, export_jsonl, get_agreement
from likewise.service.api.serializers import docket_list, docket_response, round_list
from likewise.service.dockets.worker import Worker
from likewise.service.web.dependencies import PageRequest, PageRoute, Supervisor
from likewise.service.web.rendering import html, render

__all__ = ["router"]

router = APIRouter(prefix="/dashboard", route_class=PageRoute, include_in_schema=False)

SHOWN = 100


@router.get("/")
async def dockets(request: Supervisor) -> Response:
    """The dockets that there are; with one alone, that one."""
    mine = request.session.identity.docket
    names = (mine,) if mine else await request.app.workers.dockets()
    if len(names) == 1:
        return RedirectResponse(f"/dashboard/{names[0]}/", 303)
    found = await asyncio.to_thread(docket_list, request.app.store, names)
    return html(render("dashboard/dockets.html", request.page(), dockets=found.dockets))


@router.get("/{docket}/")
async def dashboard(request: Supervisor, docket: DocketName) -> Response:  # noqa: ARG001
    """How the docket stands."""

    def values(worker: Worker) -> dict[str, Any]:
        found = round_list(worker.docket, status="open", after=0, limit=SHOWN, with_panel=True)
        return {
            "docket": docket_response(worker.docket, all_features=True),
            "metrics": measured(worker, with_panel=True),
            "rounds": found.rounds,
        }

    return await request.show("dashboard/dashboard.html", values)


@router.get("/{docket}/data")
async def data(request: Supervisor, docket: DocketName) -> MetricsResponse:  # noqa: ARG001
    """The same numbers, for the charts of a page that asks again and again."""
    return await request.run(lambda worker: measured(worker, with_panel=True))


@router.get("/{docket}/ledger.jsonl")
async def ledger_lines(request: Supervisor, docket: DocketName) -> Response:
    """All records, one a line."""
    return _as_file(await export_jsonl(_access(request)), f"{docket}-ledger.jsonl")


@router.get("/{docket}/ledger.csv")
async def ledger_table(request: Supervisor, docket: DocketName) -> Response:
    """All records as a table."""
    return _as_file(await export_csv(_access(request)), f"{docket}-ledger.csv")


@router.get("/{docket}/agreement.csv")
async def agreement(request: Supervisor, docket: DocketName) -> Response:
    """Agreement and disagreement by member and month."""
    return _as_file(await get_agreement(_access(request)), f"{docket}-agreement.csv")


def _access(request: PageRequest) -> DocketAccess:
    return DocketAccess(request.session.identity, request.docket, request.app)


def _as_file(response: Response, name: str) -> Response:
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
