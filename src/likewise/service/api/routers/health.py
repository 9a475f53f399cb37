"""Whether the server is well: for those who keep it running."""

from __future__ import annotations

import asyncio

import sqlalchemy as sa
from fastapi import APIRouter, Security
from fastapi.responses import PlainTextResponse, Response

from likewise.service.api.dependencies import BEARER, AppContextOf, Supervising
from likewise.service.api.errors import DOCUMENTED
from likewise.service.api.responses import HealthResponse
from likewise.service.api.telemetry import exposition
from likewise.service.dockets.worker import Worker
from likewise.service.errors import ServiceError
from likewise.service.ledger.store import Store

__all__ = ["router"]

router = APIRouter(tags=["health"])

GAUGES = {
    "likewise_rounds": "Rounds of a docket.",
    "likewise_open_rounds": "Rounds that are not closed.",
    "likewise_reports": "Rounds in which a pair was reported.",
    "likewise_missing_labels": "Labels that never came.",
    "likewise_lam": "The multiplier, the price of a report.",
    "likewise_ledger_records": "Records of the ledger.",
}


@router.get("/healthz")
async def healthz() -> HealthResponse:
    """The server answers."""
    return HealthResponse("ok")


@router.get("/readyz", responses={s: DOCUMENTED[s] for s in (429, 503)})
async def readyz(services: AppContextOf) -> HealthResponse:
    """The database answers too."""
    await asyncio.to_thread(_ask, services.store)
    return HealthResponse("ready")


def _ask(store: Store) -> None:
    with store.reading() as connection:
        connection.execute(sa.text("SELECT 1"))


@router.get(
    "/metrics",
    dependencies=[Security(BEARER)],
    # A class without a media type: that of errors is another one.
    response_class=Response,
    responses={
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
        **{s: DOCUMENTED[s] for s in (401, 403, 429, 503)},
    },
)
async def metrics(caller: Supervising, services: AppContextOf) -> Response:
    """Counters in Prometheus's text format: of this process, and of all dockets."""
    if caller.docket is not None:
        raise ServiceError(
            "other-docket", 403,
            f"This is about all dockets; your token is for {caller.docket!r}. See "
            f"/v1/dockets/{caller.docket}/metrics.",
        )  # fmt: skip
    found = {
        docket: await services.workers.run(docket, _numbers)
        for docket in await services.workers.dockets()
    }
    text = services.telemetry.text()
    for place, (name, words) in enumerate(GAUGES.items()):
        samples = [({"docket": docket}, numbers[place]) for docket, numbers in found.items()]
        text += exposition(name, "gauge", words, samples)
    waiting = [({"docket": d}, float(n)) for d, n in services.workers.waiting().items()]
    text += exposition("likewise_waiting_requests", "gauge", "Requests that wait.", waiting)
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")


def _numbers(worker: Worker) -> tuple[float, ...]:
    """In the order of the gauges."""
    projection, state = worker.docket.projection, worker.docket.state
    opened = sum(1 for _ in projection.open_rounds())
    counts = (
        len(projection.rounds),
        opened,
        state.reports,
        state.missing,
        state.lam,
        projection.head.seq,
    )
    return tuple(float(number) for number in counts)
