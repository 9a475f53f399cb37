"""Put the pages and their static files into the app."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from likewise.service.auth.rate_limits import Buckets
from likewise.service.settings import Settings
from likewise.service.web import console, dashboard, exports, sign_in

__all__ = ["install_pages"]

STATIC = Path(__file__).parent / "static"


class _Cached(StaticFiles):
    """Static files, which a browser may keep for an hour; they hold nothing about anybody."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        answer = await super().get_response(path, scope)
        answer.headers["Cache-Control"] = "public, max-age=3600"
        return answer


def install_pages(app: FastAPI, settings: Settings) -> None:
    """The console, the dashboard, signing in, and what they are drawn with."""
    app.state.page_buckets = Buckets(settings.rate, settings.burst)
    for module in (sign_in, console, exports, dashboard):
        app.include_router(module.router)
    app.mount("/static", _Cached(directory=STATIC), name="static")
