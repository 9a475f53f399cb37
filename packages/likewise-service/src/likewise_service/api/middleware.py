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
from likewise_service.api.errors import (
    UNAVAILABLE,
    BodyTooLarge,
    Telemetry,
    error_response,
    problem,
)
from likewise_service.auth.tokens import Buckets, Identity, TokenCache, too_large
from likewise_service.errors import ServiceError
from likewise_service.ledger.store import Store
from likewise_service.settings import Settings

LOG = logging.getLogger("likewise_service")

HEADERS = {
    b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'",
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"x-frame-options": b"DENY",
    b"cache-control": b"no-store",
}
SCHEMA = "/v1/openapi.json"
# Open to anybody, and they read the database.
PUBLIC = ("/readyz", "/.well-known/likewise-keys.json")
DISCONNECTED = 499  # the caller disconnected before the request was complete
GUARDED = ("/v1/", "/metrics")


def _request_ids() -> Iterator[str]:
    """Yield random ids of requests; randomness is read for 128 of them at a time."""
    while True:
        digits = secrets.token_hex(8 * 128)
        yield from (digits[start : start + 16] for start in range(0, len(digits), 16))


class AccessMiddleware:
    """Recognises the caller, enforces the limits, adds headers, logs and counts.

    Addresses under /v1 and /metrics need a token, which is checked before anything else: without
    one nobody learns anything, not even which addresses exist.
    """

    def __init__(
        self, app: ASGIApp, *, store: Store, settings: Settings, telemetry: Telemetry
    ) -> None:
        self.app, self.store, self.settings, self.telemetry = app, store, settings, telemetry
        self.tokens, self._ids = TokenCache.of(store), _request_ids()
        self.callers = Buckets(settings.rate, settings.burst)
        self.anonymous = Buckets(settings.anonymous_rate, settings.anonymous_burst)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status, request_id = time.perf_counter(), 0, next(self._ids)
        scope.setdefault("state", {})["caller"] = None

        async def respond(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = {**HEADERS, b"x-request-id": request_id.encode()}
                for name, _ in message["headers"]:
                    headers.pop(name.lower(), None)
                message = {**message, "headers": [*message["headers"], *headers.items()]}
            await send(message)

        try:
            scope["state"]["caller"] = await self._caller(scope)
            await self.app(scope, self._bounded(scope, receive), respond)
        except (LikewiseError, *UNAVAILABLE) as error:
            await error_response(error)(scope, receive, respond)
        except ClientDisconnect:
            status = DISCONNECTED
        except Exception:
            LOG.exception("A request failed.", extra={"said": {"request": request_id}})
            if status:
                raise  # the response has begun; the connection has to break
            sentence = f"Something failed here. Tell the operator this number: {request_id}."
            await problem("internal", 500, sentence)(scope, receive, respond)
        finally:
            self._log(scope, status, request_id, time.perf_counter() - began)

    async def _caller(self, scope: Scope) -> Identity | None:
        """Return the caller; refuse a request that needs a token and has no valid one."""
        path: str = scope["path"]
        address = (scope.get("client") or ("unknown",))[0]
        guessing = path.endswith("/sign-in") and scope["method"] == "POST"
        if path in PUBLIC or guessing or path.startswith("/console/sign-on"):
            self.anonymous.take(address)  # it reads the database; nobody may guess tokens
        if path == SCHEMA or not path.startswith(GUARDED):
            return None
        scheme, _, token = _header(scope, b"authorization").partition(" ")
        caller = None
        if scheme.lower() == "bearer":
            caller = self.tokens.get(token.strip())
            if caller is None:
                caller = await asyncio.to_thread(self.tokens.recognise, token.strip())
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
        """Return a receiver that refuses the body as soon as it is too large."""
        limit, read = self.settings.body_limit, 0
        length = _header(scope, b"content-length")
        if length.isdecimal() and int(length) > limit:
            raise too_large(limit)

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
        fields = {
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
        LOG.info("%s %s %s", method, path, status, extra={"said": fields})


def _header(scope: Scope, name: bytes) -> str:
    return next((str(v.decode("latin-1")) for k, v in scope["headers"] if k == name), "")
