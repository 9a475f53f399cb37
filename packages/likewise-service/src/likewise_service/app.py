"""The application: a store, its workers, the middleware and the routes; the server's health."""

import asyncio
import gc
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial

import uvicorn
from fastapi import APIRouter, FastAPI, Security
from fastapi.middleware.asyncexitstack import AsyncExitStackMiddleware
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.types import ASGIApp

from likewise_service import anchors, demo
from likewise_service.api import appeals, dockets, ledger, reviews, rounds
from likewise_service.api import dependencies as deps
from likewise_service.api.errors import DOCUMENTED
from likewise_service.api.routes import Routes
from likewise_service.api.telemetry import DocketNumbers, Telemetry
from likewise_service.auth import sign_ins, tokens
from likewise_service.clock import parse
from likewise_service.dockets.erasure import erase_expired, with_expired
from likewise_service.dockets.worker import Worker, Workers, pause
from likewise_service.errors import LOG, ServiceError, StoreError
from likewise_service.ledger.store import Store
from likewise_service.server import Config, listening, log_as_json
from likewise_service.settings import Settings
from likewise_service.web import console, dashboard, dependencies, rendering, sign_in

health = APIRouter(tags=["health"])


@health.get("/healthz")
async def healthz() -> dict[str, str]:
    """Respond."""
    return {"status": "ok"}


@health.get("/readyz", responses={s: DOCUMENTED[s] for s in (429, 503)})
async def readyz(app: deps.App) -> dict[str, str]:
    """Check that receipts can be signed, the database written to, and no docket is being loaded.

    A server that only reads says of what time it reads.
    """
    if loading := app.workers.loading():
        raise ServiceError(
            "loading", 503, f"Dockets are being loaded: {', '.join(loading)}. Ask again in a while."
        )
    await asyncio.to_thread(app.store.keys.current)
    if app.settings.writer:
        return {"status": "ready", "as_of": await asyncio.to_thread(app.store.as_of)}
    await asyncio.to_thread(app.store.try_writing)
    return {"status": "ready"}


@health.get(
    "/metrics",
    dependencies=[Security(deps.BEARER)],
    # A class without a media type: errors have another one.
    response_class=Response,
    responses={
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
        **{s: DOCUMENTED[s] for s in (401, 403, 429, 503)},
    },
)
async def metrics(access: deps.SupervisorCaller) -> Response:
    """Return counters of all processes and all dockets, in Prometheus's text format."""
    if access.caller.docket is not None:
        path = f"/v1/dockets/{access.caller.docket}/metrics"
        raise ServiceError("other-docket", 403, f"This is about all dockets; see {path}.")
    # Stored beside the ledgers: dockets that nobody uses are not opened for them.
    text = await asyncio.to_thread(access.app.telemetry.text)
    return Response(text, media_type=CONTENT_TYPE_LATEST)


# The busiest come first.
ROUTERS = (
    rounds.router, reviews.router, reviews.keys, dockets.router, ledger.router,
    appeals.router, dockets.tokens,
)  # fmt: skip
# The last one has a page for every name.
PAGES = (sign_in.router, console.router, dashboard.router)
# Seconds between two checks of what has to be anchored, and between two of what has expired.
ANCHOR_SECONDS = 15.0
RETENTION_SECONDS = 3600.0
# Seconds between two measurements of the process.
MEASURE_SECONDS = 10.0
# Thresholds of the garbage collector for a process that serves; Python's own are 700, 10 and 10.
COLLECTION = (50_000, 20, 50)
DESCRIPTION = (
    "Decisions about people under the eyes of a panel. Every error is "
    '`{"error": {"code", "message"}}`; every response that wrote carries a receipt.'
)


class Service(FastAPI):
    """FastAPI's routes and documentation behind our own middleware, which handles errors."""

    def build_middleware_stack(self) -> ASGIApp:
        routes = Routes(self.routes, AsyncExitStackMiddleware(self.router))
        return deps.AccessMiddleware(routes, self.state.context)


def create_app(settings: Settings) -> FastAPI:
    """Return a server with these settings; its database is opened at once, so mistakes show."""
    key, writer = settings.installation_key, settings.writer
    store = Store.open(settings.database, key=key, writer=writer)
    store.keys.current()  # a server without its key does not start
    telemetry = Telemetry(DocketNumbers(store.numbers))
    workers = Workers(store, settings, telemetry.waiting)
    anchoring = anchors.Anchoring(anchors.targets_from(settings.anchors), settings.anchor_minutes)

    # FastAPI's pages of documentation load scripts from elsewhere; only the schema is served.
    app = Service(
        title="Likewise", version="1", description=DESCRIPTION, openapi_url="/v1/openapi.json",
        docs_url=None, redoc_url=None, redirect_slashes=False,
        lifespan=lambda _: _background(workers, settings, anchoring, telemetry),
        generate_unique_id_function=deps.operation_id,
        # Requests can be traced; numbers and logs are our own.
        telemetry={"metrics": False, "logs": False},
    )  # fmt: skip
    app.state.error_page = dependencies.error_page
    app.state.context = deps.AppContext(
        store, settings, workers, telemetry, tokens.TokenCache(store),
        page_limits=tokens.Buckets(settings.rate, settings.burst),
        provider=sign_ins.provider_from(settings),
    )  # fmt: skip
    for router in ROUTERS:
        # Extended, not included: FastAPI would look for the route in every router.
        app.router.routes.extend(router.routes)
    for router in (health, ledger.published, *PAGES):
        app.include_router(router)
    app.mount("/static", rendering.StaticPages(), name="static")
    return app


@asynccontextmanager
async def _background(
    workers: Workers, settings: Settings, anchoring: anchors.Anchoring, telemetry: Telemetry
) -> AsyncIterator[None]:
    stop = asyncio.Event()
    jobs = [
        _every(settings.tick_seconds, stop, workers.tick),
        _every(MEASURE_SECONDS, stop, lambda: _measure(workers, telemetry)),
    ]
    if not settings.writer:
        jobs.append(workers.recompute(stop, telemetry.recomputed))
        jobs.append(_every(RETENTION_SECONDS, stop, lambda: retain(workers, stop)))
    if anchoring.targets and not settings.writer:
        look = partial(asyncio.to_thread, anchoring.look, workers.store, stop.is_set)
        jobs.append(_every(ANCHOR_SECONDS, stop, look))
    if settings.demo:
        jobs.append(demo.demonstrate(workers, demo.Simulation(workers.store), stop))
    tasks = [asyncio.create_task(job) for job in jobs]
    try:
        yield
    finally:
        stop.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        await workers.close()
        workers.store.close()


async def _every(seconds: float, stop: asyncio.Event, task: Callable[[], Awaitable[None]]) -> None:
    """Run a task periodically until told to stop; log a failure and try again.

    The task is not cancelled: a thread that is reading goes on, and needs its connection.
    """
    while await pause(stop, seconds):
        try:
            await task()
        except Exception:  # the database may be back the next time
            LOG.exception("A periodic task failed; it is tried again.")


async def _measure(workers: Workers, telemetry: Telemetry) -> None:
    as_of = parse(await asyncio.to_thread(workers.store.as_of))
    await asyncio.to_thread(telemetry.measured, workers.count, as_of.timestamp())


async def retain(workers: Workers, stop: asyncio.Event) -> None:
    """Erase what has been kept for its time, in all dockets where there is some, turn by turn.

    One docket after another: those that nobody uses are not all in memory at once.
    """
    store = workers.store
    names = await asyncio.to_thread(with_expired, store)
    for name in names:
        in_use = name in workers
        last: int | None = 0
        while last is not None and not stop.is_set():
            ends = await workers.each("Retention", [name], partial(_erase_after, last))
            last = ends.get(name)
        if not in_use:
            workers.release(name)
    if names:  # within its transaction an erasure could not do it
        await asyncio.to_thread(store.scrub_soon)


def _erase_after(last: int, worker: Worker) -> int | None:
    return erase_expired(worker.docket, last).last


def serving_app(settings: Settings) -> FastAPI:
    """Return the app of a process in which garbage is seldom collected."""
    log_as_json()  # every process logs by itself
    app = create_app(settings)
    gc.collect()
    gc.freeze()  # what is loaded now stays until the end
    gc.set_threshold(*COLLECTION)
    return app


TIMEOUT = 60.0


@contextmanager
def running(settings: Settings) -> Iterator[str]:
    """Run a server on loopback until the end of the block; return its address."""
    with listening("127.0.0.1", 0) as listener:
        app = create_app(settings)
        config = Config(app, settings, lifespan="on", timeout_graceful_shutdown=5)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        ends = time.monotonic() + TIMEOUT
        while not server.started:
            if time.monotonic() > ends or not thread.is_alive():
                raise StoreError("The server does not start; its log says why.")
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(TIMEOUT)
