"""The health of the server, for those who keep it running."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Security
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST

from likewise_client.responses import Response as Value
from likewise_service.api.dependencies import BEARER, App, SupervisorCaller
from likewise_service.api.errors import DOCUMENTED
from likewise_service.errors import ServiceError

router = APIRouter(tags=["health"])


class HealthResponse(Value):
    """The server responds."""

    status: str


@router.get("/healthz")
async def healthz() -> HealthResponse:
    """Respond."""
    return HealthResponse("ok")


@router.get("/readyz", responses={s: DOCUMENTED[s] for s in (429, 503)})
async def readyz(app: App) -> HealthResponse:
    """Check that the database can be written to, and that no docket is being loaded."""
    if loading := app.workers.loading():
        raise ServiceError(
            "loading", 503, f"Dockets are being loaded: {', '.join(loading)}. Ask again in a while."
        )
    await asyncio.to_thread(app.store.try_writing)
    return HealthResponse("ready")


@router.get(
    "/metrics",
    dependencies=[Security(BEARER)],
    # A class without a media type: errors have another one.
    response_class=Response,
    responses={
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
        **{s: DOCUMENTED[s] for s in (401, 403, 429, 503)},
    },
)
async def metrics(caller: SupervisorCaller, app: App) -> Response:
    """Return counters of all processes and all dockets, in Prometheus's text format."""
    if caller.docket is not None:
        path = f"/v1/dockets/{caller.docket}/metrics"
        raise ServiceError("other-docket", 403, f"This is about all dockets; see {path}.")
    # Stored beside the ledgers: dockets that nobody uses are not opened for them.
    numbers = await asyncio.to_thread(app.store.numbers)
    return Response(app.telemetry.text(numbers), media_type=CONTENT_TYPE_LATEST)
