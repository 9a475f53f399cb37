"""The application: a store, its workers, the middleware and the routes."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from fastapi import FastAPI

from likewise.errors import LikewiseError
from likewise_service.anchors import Anchoring, targets_from
from likewise_service.api import dockets, evidence, health, ledger, reviews, rounds, tokens
from likewise_service.api.dependencies import AppContext, operation_id
from likewise_service.api.errors import Telemetry, install_handlers
from likewise_service.api.middleware import AccessMiddleware
from likewise_service.auth.sign_ins import provider_from
from likewise_service.auth.tokens import Buckets
from likewise_service.demo import Simulation, demonstrate
from likewise_service.dockets.erasure import erase_expired, has_periods
from likewise_service.dockets.worker import Workers
from likewise_service.errors import StoreError
from likewise_service.ledger.store import Store
from likewise_service.server import configured, guarded, listening, log_as_json
from likewise_service.settings import Settings
from likewise_service.web import console, dashboard, seats, sign_in
from likewise_service.web.dependencies import ErrorPages
from likewise_service.web.rendering import StaticPages

# The busiest come first.
ROUTERS = (rounds, reviews, dockets, ledger, evidence, tokens)
PAGES = (sign_in, seats, console, dashboard)
# Seconds between two checks of what has to be anchored, and between two of what has expired.
ANCHOR_SECONDS = 15.0
RETENTION_SECONDS = 3600.0
# Thresholds of the garbage collector for a process that serves; Python's own are 700, 10 and 10.
COLLECTION = (50_000, 20, 50)
DESCRIPTION = (
    "Decisions about people under the eyes of a panel. Every error is "
    '`{"error": {"code", "message"}}`; every response that wrote carries a receipt.'
)


def create_app(settings: Settings) -> FastAPI:
    """Return a server with these settings; the database is opened at once, so mistakes show."""
    store, telemetry = Store.open(settings.database), Telemetry()
    workers = Workers(store, settings, telemetry.waiting)
    anchoring = Anchoring(targets_from(settings.anchors), settings.anchor_minutes)

    # FastAPI's pages of documentation load scripts from elsewhere; only the schema is served.
    app = FastAPI(
        title="Likewise",
        version="1",
        description=DESCRIPTION,
        openapi_url="/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lambda _: _background(workers, settings, anchoring),
        generate_unique_id_function=operation_id,
        redirect_slashes=False,
    )
    page_limits = Buckets(settings.rate, settings.burst)
    provider = provider_from(settings)
    app.state.context = AppContext(store, settings, workers, telemetry, page_limits, provider)
    install_handlers(app)
    app.add_middleware(AccessMiddleware, store=store, settings=settings, telemetry=telemetry)
    app.add_middleware(ErrorPages)  # outermost: what the middleware refuses is a page as well
    for module in ROUTERS:
        # Extended, not included: FastAPI would look for the route in every router.
        app.router.routes.extend(module.router.routes)
    for router in (health.router, evidence.published, *(pages.router for pages in PAGES)):
        app.include_router(router)
    app.mount("/static", StaticPages(), name="static")
    return app


@asynccontextmanager
async def _background(
    workers: Workers, settings: Settings, anchoring: Anchoring
) -> AsyncIterator[None]:
    """Run the periodic tasks while the server runs."""
    stop = asyncio.Event()
    jobs = [workers.tick(settings.tick_seconds, stop), _retain(workers, stop)]
    if anchoring.targets:
        jobs.append(anchoring.run(workers, ANCHOR_SECONDS, stop))
    if settings.demo:
        jobs.append(demonstrate(workers, Simulation(workers.store), stop))
    tasks = [asyncio.create_task(job) for job in jobs]
    try:
        yield
    finally:
        stop.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        await workers.close()
        workers.store.close()


async def _retain(workers: Workers, stop: asyncio.Event) -> None:
    """Erase what has expired, every hour until told to stop."""
    while not stop.is_set():
        try:
            await asyncio.wait_for(stop.wait(), RETENTION_SECONDS)
        except TimeoutError:
            names = await asyncio.to_thread(_with_periods, workers.store)
            await workers.each("Retention", names, lambda w: erase_expired(w.docket))


def _with_periods(store: Store) -> list[str]:
    try:
        return [name for name in store.dockets() if has_periods(store, name)]
    except LikewiseError:  # the log says why; the next check may succeed
        return []


def from_environment() -> FastAPI:
    """Return a server with the settings of the environment, for one of several processes."""
    log_as_json()  # every process logs by itself
    app = create_app(Settings())
    collect_seldom()
    return app


def collect_seldom() -> None:
    """Spare a serving process most garbage collections; what is loaded now stays until its end."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTION)


TIMEOUT = 60.0


@contextmanager
def running(settings: Settings) -> Iterator[str]:
    """Run a server on loopback until the end of the block; return its address."""
    with listening("127.0.0.1", 0) as listener:
        config = uvicorn.Config(
            create_app(settings), lifespan="on", timeout_graceful_shutdown=5,
            http=guarded(settings), **configured(settings),  # type: ignore[arg-type] # by name
        )  # fmt: skip
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
