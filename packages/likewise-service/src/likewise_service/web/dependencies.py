"""Dependencies of the pages: who is signed in, and whether a form is theirs."""

import asyncio
import hmac
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import quote, unquote, urlsplit

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response
from starlette.datastructures import Headers
from starlette.types import Scope

from likewise_service.api.dependencies import DOCKET_NAME, AppContext, DocketAccess, app_context
from likewise_service.api.errors import Problem
from likewise_service.auth import sign_ins, tokens
from likewise_service.dockets.worker import Worker
from likewise_service.errors import ServiceError
from likewise_service.ledger.kinds import MAY, Actor, Body
from likewise_service.web.rendering import PageContext, html

SESSION, RETURN = "likewise_session", "likewise_return"


def session_cookie(request: Request) -> str:
    return request.cookies.get(SESSION, "")


def file_response(response: Response, name: str) -> Response:
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@dataclass(frozen=True)
class PageRequest(DocketAccess):
    """A request for a page of one docket, by somebody who is signed in."""

    request: Request
    session: sign_ins.Session
    base: str

    @property
    def actor(self) -> Actor:
        return self.session.actor

    @property
    def wants_json(self) -> bool:
        """Tell whether the page's own script asks."""
        return self.request.headers.get("accept", "") == "application/json"

    @property
    def cookie(self) -> str:
        return session_cookie(self.request)

    async def show(self, template: str, values: Callable[[Worker], dict[str, Any]]) -> Response:
        """Render a page of the docket, with values (also ``status``) computed in its thread."""

        def task(worker: Worker) -> Response:
            docket = worker.docket
            page = self.page(docket.projection.settings.title, str(docket.receipt()))
            return html(template, page, **values(worker))

        return await self.run(task)

    async def form(self) -> dict[str, str]:
        """Return the fields of a form, which must be of this session."""
        fields = {k: v for k, v in (await self.request.form()).items() if isinstance(v, str)}
        check_origin(self.request, self.app)
        if not same_secret(self.session.csrf, fields.get("csrf", "")):
            raise ServiceError(
                "wrong-form", 403, "This form is not of your session. Load the page again."
            )
        return fields

    def page(self, title: str = "Likewise", receipt: str = "") -> PageContext:
        caller = self.caller
        may = frozenset(kind for kind, roles in MAY.items() if caller.role in roles)
        return PageContext(
            self.base, self.session.csrf, title, caller.name, receipt, caller.id, may=may
        )

    def go(self, path: str) -> RedirectResponse:
        return RedirectResponse(f"{self.base}{path}", 303)


def same_secret(secret: str, text: str) -> bool:
    """Compare a secret with what a browser sent, in constant time."""
    return hmac.compare_digest(secret.encode(), text.encode(errors="replace"))


def check_origin(request: Request, app: AppContext) -> None:
    """Refuse a form that another site sent; browsers say where a form comes from.

    An origin without a host, such as ``null``, is that of a page which hides where it is.
    """
    public = urlsplit(app.settings.public_url).netloc
    hosts = {name for name in (request.headers.get("host", ""), public) if name}
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc not in hosts:
        raise ServiceError("wrong-form", 403, "This form was sent from another site. Open ours.")


def _signed_in(path: str, *roles: tokens.Role) -> Callable[[Request], Awaitable[PageRequest]]:
    """Admit sessions of certain roles; others are told why not."""

    async def check(request: Request) -> PageRequest:
        app = await app_context(request)
        session = await asyncio.to_thread(sign_ins.find_session, app.store, session_cookie(request))
        if session is None:
            raise ServiceError("signed-out", 401, "You are signed out. Sign in again.")
        identity = session.identity
        request.state.caller = identity  # for the log
        app.page_limits.take(identity.id)
        if identity.role not in roles:
            raise ServiceError(
                "wrong-role", 403,
                f"This page is for {' and '.join(roles)}s; you are signed in as "
                f"{identity.role}. Sign in with another token.",
            )  # fmt: skip
        docket = request.path_params.get("docket") or identity.docket or ""
        if docket and not re.fullmatch(DOCKET_NAME, docket):
            raise ServiceError("no-docket", 404, "There is no such docket.")
        if docket and not identity.concerns(docket):
            raise ServiceError("other-docket", 403, "Your token is for another docket.")
        base = path.format(docket=docket).rstrip("/")
        return PageRequest(identity, docket, app, request, session, base)

    return check


Reader = Annotated[PageRequest, Depends(_signed_in("/console", *sign_ins.PEOPLE))]
Auditor = Annotated[PageRequest, Depends(_signed_in("/console", "auditor"))]
Supervisor = Annotated[
    PageRequest, Depends(_signed_in("/dashboard/{docket}", "operator", "regulator"))
]


def acts(kind: type[Body], path: str = "/dashboard/{docket}") -> Any:
    """Admit those who may add that kind of record, as the API does."""
    roles = (role for role in sign_ins.PEOPLE if role in MAY[kind.kind])
    return Depends(_signed_in(path, *roles))


def page_router(prefix: str = "") -> APIRouter:
    return APIRouter(prefix=prefix, include_in_schema=False)


TITLES = {
    401: "Sign in", 403: "Not for you", 404: "Not found", 409: "Too late", 413: "Too large",
    429: "Too fast", 503: "Not now",
}  # fmt: skip
# The API's own sentences about these are for programs.
FOR_PEOPLE = {
    "not-found": "There is nothing at this address. It may have been mistyped, or has moved.",
    "wrong-method": "This address cannot be opened like that. Go back, and use the buttons there.",
    "invalid": "This page was asked for in a way it does not know.",
    "bad-request": "The browser sent something that cannot be read. Go back, and try again.",
}


def _to_sign_in(scope: Scope) -> Response:
    """Redirect to the sign-in, which leads back to the page that was asked for."""
    response = RedirectResponse("/console/sign-in", 303)
    path, query = scope["path"], scope["query_string"].decode("latin-1")
    if scope["method"] == "GET" and "." not in path:  # a file is no page
        response.set_cookie(
            RETURN, quote(f"{path}?{query}" if query else path), max_age=3600, httponly=True,
            samesite="lax", secure=scope["scheme"] == "https", path="/console",
        )  # fmt: skip
    return response


def return_address(request: Request, home: str) -> str:
    """Return the page that somebody asked for before they signed in, if it is under ``home``."""
    address = unquote(request.cookies.get(RETURN, ""))
    return address if address.startswith(home) else home


def error_page(scope: Scope, problem: Problem) -> Response | None:
    """Render a page that says what went wrong and what to do; None for programs and scripts."""
    path, accept = scope["path"], Headers(scope=scope).get("accept", "")
    if path.startswith(("/console", "/dashboard")):
        for_people = accept != "application/json"
    else:
        for_people = not path.startswith("/v1/") and "text/html" in accept
    if not for_people:
        return None
    if problem.code == "signed-out":
        return _to_sign_in(scope)
    base = "/dashboard" if path.startswith("/dashboard") else "/console"
    way_out, label = f"{base}/", "Back to the beginning"
    if problem.status_code == 403:
        way_out, label = "/console/sign-in", "Sign in with another token"
    page = html(
        "problem.html", PageContext(base), problem.status_code, way_out=way_out, label=label,
        title=TITLES.get(problem.status_code, "That did not work"),
        sentence=FOR_PEOPLE.get(problem.code, problem.sentence),
    )  # fmt: skip
    for name, value in problem.headers.items():
        page.headers.setdefault(name, value)
    return page
