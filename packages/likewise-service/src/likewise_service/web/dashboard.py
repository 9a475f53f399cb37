"""The operator's dashboard: the state of a docket, its numbers as JSON, its ledger as files."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi.responses import RedirectResponse, Response

from likewise_service.api.dockets import docket_list, docket_response
from likewise_service.api.ledger import export_csv, export_jsonl, get_agreement
from likewise_service.api.metrics import MetricsResponse, measure
from likewise_service.api.rounds import round_list
from likewise_service.dockets.worker import Worker
from likewise_service.web.dependencies import Supervisor, file_response, page_router
from likewise_service.web.rendering import html, render

router = page_router("/dashboard")

LISTED = 100


@router.get("/")
async def dockets(request: Supervisor) -> Response:
    """List the dockets; a single one is shown at once."""
    docket = request.caller.docket
    names = (docket,) if docket else await request.app.workers.dockets()
    if len(names) == 1:
        return RedirectResponse(f"/dashboard/{names[0]}/", 303)
    listed = await asyncio.to_thread(docket_list, request.app.store, names)
    return html(render("dashboard/dockets.html", request.page(), dockets=listed.dockets))


@router.get("/{docket}/")
async def dashboard(request: Supervisor) -> Response:
    """Show the state of the docket."""

    def values(worker: Worker) -> dict[str, Any]:
        page = round_list(worker.docket, status="open", after=0, limit=LISTED, with_panel=True)
        return {
            "docket": docket_response(worker.docket, all_features=True),
            "metrics": measure(worker, with_panel=True),
            "rounds": page.rounds,
        }

    return await request.show("dashboard/dashboard.html", values)


@router.get("/{docket}/data")
async def data(request: Supervisor) -> MetricsResponse:
    """Return the same numbers, for the charts of a page that refreshes itself."""
    return await request.run(lambda worker: measure(worker, with_panel=True))


@router.get("/{docket}/ledger.jsonl")
async def ledger_lines(request: Supervisor) -> Response:
    """Return all records, one a line."""
    response = await export_jsonl(request)
    return file_response(response, f"{request.docket}-ledger.jsonl")


@router.get("/{docket}/ledger.csv")
async def ledger_table(request: Supervisor) -> Response:
    """Return all records as a table."""
    return file_response(await export_csv(request), f"{request.docket}-ledger.csv")


@router.get("/{docket}/agreement.csv")
async def agreement(request: Supervisor) -> Response:
    """Return agreement and disagreement by member and month."""
    response = await get_agreement(request)
    return file_response(response, f"{request.docket}-agreement.csv")
