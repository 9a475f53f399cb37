"""The middleware: every request on its way to a route, and every response on its way back."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Iterator
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from likewise.errors import LikewiseError
from likewise.service.api.errors import (
    UNAVAILABLE,
    BodyTooLarge,
    error_response,
    problem,
    unavailable,
)
from likewise.service.api.telemetry import Telemetry
from likewise.service.auth.rate_limits import Buckets, too_large
from likewise.service.auth.tokens import Identity, KnownTokens
from likewise.service.errors import ServiceError
from likewise.service.ledger.store import Store
from likewise.service.settings import Settings

__all__ = ["AccessMiddleware"]

LOG = logging.getLogger("likewise.service")

HEADERS = {
    b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'",
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"x-frame-options": b"DENY",
    b"cache-control": b"no-store",
}
OPEN = ("/v1/openapi.json",)
# Open to anybody, and they ask the database.
ASKING = ("/readyz", "/.well-known/likewise-keys.json")
GONE = 499  # whoever asked has gone before the request was complete
GUARDED = ("/v1/", "/metrics")


def _request_ids() -> Iterator[str]:
    """Ids of requests, which say nothing; randomness is asked for many at a time."""
    while True:
        digits = secrets.token_hex(8 * 128)
        yield from (digits[start : start + 16] for start in range(0, len(digits), 16))


class AccessMiddleware:
    """Recognises the caller, keeps the limits, adds headers, writes the log, counts.

    Addresses under /v1 and /metrics need a token, which is looked at before anything else: without
    one nobody learns anything, not even which addresses there are.
    """

    def __init__(
        self, app: ASGIApp, *, store: Store, settings: Settings, telemetry: Telemetry
    ) -> None:
        self.app, self.store, self.settings, self.telemetry = app, store, settings, telemetry
        self.known, self._ids = KnownTokens.of(store), _request_ids()
        self.callers = Buckets(settings.rate, settings.burst)
        self.anonymous = Buckets(settings.anonymous_rate, settings.anonymous_burst)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status, request_id = time.perf_counter(), 0, next(self._ids)
        scope.setdefault("state", {})["caller"] = None

        async def respond(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                given = {name.lower() for name, _ in message.get("headers", [])}
                added = {**HEADERS, b"x-request-id": request_id.encode()}
                message = {
                    **message,
                    "headers": [
                        *message.get("headers", []),
                        *((name, text) for name, text in added.items() if name not in given),
                    ],
                }
            await send(message)

        try:
            scope["state"]["caller"] = await self._caller(scope)
            await self.app(scope, self._bounded(scope, receive), respond)
        except LikewiseError as error:
            await error_response(error)(scope, receive, respond)
        except ClientDisconnect:
            status = GONE  # nobody is left to tell
        except UNAVAILABLE as error:
            await unavailable(error)(scope, receive, respond)
        except Exception:
            LOG.exception("A request failed.", extra={"said": {"request": request_id}})
            if status:
                raise  # the response has begun; the connection has to break
            sentence = f"Something failed here. Tell the operator this number: {request_id}."
            await problem("internal", 500, sentence)(scope, receive, respond)
        finally:
            self._log(scope, status, request_id, time.perf_counter() - began)

    async def _caller(self, scope: Scope) -> Identity | None:
        """The caller; refused where a token is needed and there is none that is known."""
        path: str = scope["path"]
        address = (scope.get("client") or ("unknown",))[0]
        guessing = path.endswith("/sign-in") and scope["method"] == "POST"
        if path in ASKING or guessing or path.startswith("/console/sign-on"):
            self.anonymous.take(address)  # it asks the database; nobody may guess tokens
        if path in OPEN or not path.startswith(GUARDED):
            return None
        scheme, _, token = _header(scope, b"authorization").partition(" ")
        caller = None
        if scheme.lower() == "bearer":
            caller = self.known.get(token.strip())
            if caller is None:
                caller = await asyncio.to_thread(self.known.recognise, token.strip())
        if caller is None:
            self.anonymous.take(address)
            raise ServiceError(
                "unauthorised", 401,
                "This needs a token that is known and was not revoked: send the header "
                "Authorization: Bearer lw_…, or ask the operator for a token.",
            )  # fmt: skip
        self.callers.take(caller.id)
        return caller

    def _bounded(self, scope: Scope, receive: Receive) -> Receive:
        """The body, refused as soon as it is known to be too large."""
        limit = self.settings.body_limit
        announced = _header(scope, b"content-length")
        if announced.isdecimal() and int(announced) > limit:
            raise too_large(limit)
        read = 0

        async def counted() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > limit:
                raise BodyTooLarge(limit)
            return message

        return counted

    def _log(self, scope: Scope, status: int, request_id: str, seconds: float) -> None:
        caller: Identity | None = scope["state"]["caller"]
        role = caller.role if caller else "anonymous"
        route: Any = scope.get("route")
        path = getattr(route, "path", None) or "(none)"
        method = scope["method"] if scope["method"].isalpha() else "(other)"
        self.telemetry.responded(path, method, status, role, seconds)
        said = {
            "event": "request",
            "request": request_id,
            "method": method,
            "route": path,
            "docket": scope.get("path_params", {}).get("docket"),
            "status": status,
            "ms": round(1000 * seconds, 2),
            "role": role,
            "token": caller.id if caller else None,
        }
        LOG.info("%s %s %s", method, path, status, extra={"said": said})


def _header(scope: Scope, name: bytes) -> str:
    for given, value in scope["headers"]:
        if given == name:
            return str(value.decode("latin-1"))
    return ""
