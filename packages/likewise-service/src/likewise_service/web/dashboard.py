"""The operator's dashboard: the state of a docket, its numbers as JSON, its ledger as files."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi.responses import RedirectResponse, Response

from likewise_service.api import ledger, metrics, rounds
from likewise_service.api.dockets import docket_list, docket_response
from likewise_service.dockets.worker import Worker
from likewise_service.errors import ServiceError
from likewise_service.web import rendering
from likewise_service.web.dependencies import PageRequest, Supervisor, file_response, page_router

router = page_router("/dashboard")

LISTED = 100
FILES: dict[str, Callable[[PageRequest], Awaitable[Response]]] = {
    "ledger.jsonl": ledger.export_jsonl,
    "ledger.csv": ledger.export_csv,
    "agreement.csv": ledger.get_agreement,
}


@router.get("/")
async def dockets(request: Supervisor) -> Response:
    """List the dockets; a single one is shown at once."""
    docket = request.caller.docket
    names = (docket,) if docket else await request.app.workers.dockets()
    if len(names) == 1:
        return RedirectResponse(f"/dashboard/{names[0]}/", 303)
    listed = await asyncio.to_thread(docket_list, request.app.store, names)
    return rendering.html("dashboard/dockets.html", request.page(), dockets=listed.dockets)


@router.get("/{docket}/")
async def dashboard(request: Supervisor) -> Response:
    def values(worker: Worker) -> dict[str, Any]:
        page = rounds.round_list(
            worker.docket, status="open", after=0, limit=LISTED, with_panel=True
        )
        return {
            "docket": docket_response(worker.docket, all_features=True),
            "metrics": metrics.measure(worker, with_panel=True),
            "rounds": page.rounds,
        }

    return await request.show("dashboard/dashboard.html", values)


@router.get("/{docket}/data")
async def data(request: Supervisor) -> metrics.MetricsResponse:
    """Return the same numbers, for the charts of a page that refreshes itself."""
    return await request.run(lambda worker: metrics.measure(worker, with_panel=True))


@router.get("/{docket}/{file}")
async def download(request: Supervisor, file: str) -> Response:
    if file not in FILES:
        raise ServiceError("not-found", 404, "There is no such file of a docket.")
    return file_response(await FILES[file](request), f"{request.docket}-{file}")
