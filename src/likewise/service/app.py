"""The application: a store, its workers, the middleware and the routes."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from likewise.errors import LikewiseError
from likewise.service.anchoring.targets import targets_from
from likewise.service.anchoring.worker import Anchoring
from likewise.service.api.dependencies import AppContext, name_of
from likewise.service.api.errors import install_handlers
from likewise.service.api.middleware import AccessMiddleware
from likewise.service.api.routers import dockets, evidence, health, ledger, reviews, rounds, tokens
from likewise.service.api.telemetry import Telemetry
from likewise.service.auth.provider import provider_from
from likewise.service.auth.rate_limits import Buckets
from likewise.service.demo import Simulation, demonstrate
from likewise.service.dockets.commands.retention import erase_expired, has_periods
from likewise.service.dockets.worker import Workers
from likewise.service.ledger.store import Store
from likewise.service.logging import log_as_json
from likewise.service.settings import Settings
from likewise.service.web.error_pages import ErrorPages
from likewise.service.web.pages import console, dashboard, receipts, seats, sign_in, sign_on
from likewise.service.web.rendering import StaticPages

__all__ = ["create_app", "from_environment"]

# Those that are asked for most come first.
ROUTERS = (rounds, reviews, dockets, ledger, evidence, tokens)
PAGES = (sign_on, sign_in, seats, receipts, console, dashboard)
# Seconds between two looks at what has to be fixed outside, and tries of what failed.
ANCHOR_LOOK = 15.0
# Seconds between two looks at what has been kept for its time.
RETENTION_LOOK = 3600.0
# So many objects more than before, and the collector of cycles looks at the young ones; it looks at
# the older ones when it has done so that often. Python's own numbers are 700, 10 and 10.
COLLECTION = (50_000, 20, 50)
DESCRIPTION = (
    "Decisions about people under the eyes of a panel. Every error is "
    '`{"error": {"code", "message"}}`; every response that wrote carries a receipt.'
)


def create_app(settings: Settings) -> FastAPI:
    """A server with these settings. The database is opened at once, so that mistakes show."""
    store, telemetry = Store.open(settings.database), Telemetry()
    workers = Workers(store, settings, telemetry.waiting)
    anchoring = Anchoring(targets_from(settings.anchors), settings.anchor_minutes)

    # FastAPI's pages of documentation load scripts from elsewhere; there is the schema alone.
    app = FastAPI(
        title="Likewise",
        version="1",
        description=DESCRIPTION,
        openapi_url="/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lambda _: _working(workers, settings, anchoring),
        generate_unique_id_function=name_of,
        redirect_slashes=False,
    )
    page_limits = Buckets(settings.rate, settings.burst)
    provider = provider_from(settings)
    app.state.context = AppContext(store, settings, workers, telemetry, page_limits, provider)
    install_handlers(app)
    app.add_middleware(AccessMiddleware, store=store, settings=settings, telemetry=telemetry)
    app.add_middleware(ErrorPages)  # outermost: what the middleware refuses is a page as well
    for module in ROUTERS:
        # As they are: FastAPI would look for the route in every router, and once more within it.
        app.router.routes.extend(module.router.routes)
    app.include_router(health.router)
    app.include_router(evidence.published)
    for pages in PAGES:
        app.include_router(pages.router)
    app.mount("/static", StaticPages(), name="static")
    return app


@asynccontextmanager
async def _working(
    workers: Workers, settings: Settings, anchoring: Anchoring
) -> AsyncIterator[None]:
    """While the server runs: what is done by the clock, until all of it is told to stop."""
    stop = asyncio.Event()
    tasks = [asyncio.create_task(workers.tick(settings.tick_seconds, stop))]
    tasks.append(asyncio.create_task(_retain(workers, stop)))
    if anchoring.targets:
        tasks.append(asyncio.create_task(anchoring.run(workers, ANCHOR_LOOK, stop)))
    if settings.demo:
        tasks.append(asyncio.create_task(demonstrate(workers, Simulation(workers.store), stop)))
    try:
        yield
    finally:
        stop.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        await workers.close()
        workers.store.close()


async def _retain(workers: Workers, stop: asyncio.Event) -> None:
    """Erase what has been kept for its time, again and again until told to stop."""
    while not stop.is_set():
        try:
            await asyncio.wait_for(stop.wait(), RETENTION_LOOK)
        except TimeoutError:
            names = await asyncio.to_thread(_with_periods, workers.store)
            await workers.each("Retention", names, lambda w: erase_expired(w.docket))


def _with_periods(store: Store) -> list[str]:
    try:
        return [name for name in store.dockets() if has_periods(store, name)]
    except LikewiseError:  # the log says why; the next look may succeed
        return []


def from_environment() -> FastAPI:
    """A server with the settings of the environment, for several processes of one command."""
    log_as_json()  # every process has logs of its own
    app = create_app(Settings())
    collect_seldom()
    return app


def collect_seldom() -> None:
    """Spare a process that serves most of the looks for cycles of garbage.

    All that is there now stays until the process ends, so it is never looked at again.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTION)
