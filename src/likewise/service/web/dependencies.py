"""Dependencies of the pages: who is reading, and if a form is theirs.

A page is refused as a page: somebody who is not signed in is sent to the sign-in page, and what is
refused is said in a sentence with a way out.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar
from urllib.parse import urlsplit

from fastapi import Depends, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from likewise.errors import LikewiseError
from likewise.service.api.dependencies import AppContext
from likewise.service.api.errors import problem
from likewise.service.auth.sign_ins import Session, check_csrf, find_session
from likewise.service.auth.tokens import Role
from likewise.service.dockets.worker import Worker
from likewise.service.errors import ServiceError
from likewise.service.ledger.actors import done_by
from likewise.service.web.error_pages import error_page
from likewise.service.web.rendering import PageContext, html, render

__all__ = [
    "PRE",
    "SESSION",
    "Auditor",
    "PageRequest",
    "PageRoute",
    "Supervisor",
    "check_form",
    "context_of",
    "cookies",
    "fresh_form",
    "same_site",
    "session_cookie",
    "wants_json",
]

T = TypeVar("T")
SESSION, PRE = "likewise_session", "likewise_form"


def context_of(request: Request) -> AppContext:
    """All that the routes of the app share."""
    found: AppContext = request.app.state.context
    return found


def cookies(request: Request) -> dict[str, Any]:
    """How cookies are set: for this site, hidden from scripts, encrypted where the page is."""
    public = urlsplit(context_of(request).settings.public_url).scheme
    secure = "https" in (request.url.scheme, public)
    return {"httponly": True, "samesite": "strict", "secure": secure, "path": "/"}


def session_cookie(request: Request) -> str:
    """The value of the session's cookie, or nothing."""
    return request.cookies.get(SESSION, "")


class SignedOut(LikewiseError):  # noqa: N818 - the sentence reads better
    """Nobody is signed in; the page is behind the sign-in page."""


@dataclass(frozen=True)
class PageRequest:
    """A request for a page of one docket, by somebody who is signed in."""

    request: Request
    app: AppContext
    session: Session
    docket: str
    base: str

    @property
    def reader(self) -> str:
        """The name of whoever is signed in."""
        return self.session.identity.name

    async def run(self, task: Callable[[Worker], T]) -> T:
        """Do something in the docket's thread."""
        return await self.app.workers.run(self.docket, done_by(self.session.actor, task))

    async def show(self, template: str, values: Callable[[Worker], dict[str, Any]]) -> Response:
        """A page of the docket, with values that are found in its thread."""

        def task(worker: Worker) -> str:
            docket = worker.docket
            found = values(worker)
            page = self.page(docket.projection.settings.title, str(docket.receipt()))
            return render(template, page, **found)

        return html(await self.run(task))

    async def form(self) -> dict[str, str]:
        """The fields of a form, once it is known to be of this session."""
        fields = {k: v for k, v in (await self.request.form()).items() if isinstance(v, str)}
        same_site(self.request)
        check_csrf(self.session, fields.get("csrf", ""))
        return fields

    def page(self, title: str = "Likewise", receipt: str = "") -> PageContext:
        """The context of a page."""
        return PageContext(self.base, self.session.csrf, title, self.reader, receipt)

    def go(self, path: str) -> RedirectResponse:
        """On to another page, after a form."""
        return RedirectResponse(f"{self.base}{path}", 303)


def same_site(request: Request) -> None:
    """Refuse a form that another site sent; browsers say where a form comes from.

    An origin without a host, such as ``null``, is that of a page which hides where it is.
    """
    public = urlsplit(context_of(request).settings.public_url).netloc
    origin = request.headers.get("origin")
    ours = {name for name in (request.headers.get("host", ""), public) if name}
    if origin is not None and urlsplit(origin).netloc not in ours:
        raise ServiceError("wrong-form", 403, "This form was sent from another site. Open ours.")


class SignedIn:
    """Lets in sessions of some roles; the others are told why not."""

    def __init__(self, base: str, *roles: Role) -> None:
        self.base, self.roles = base, roles

    async def __call__(self, request: Request) -> PageRequest:
        """The request of somebody who may see the page."""
        app = context_of(request)
        session = await asyncio.to_thread(find_session, app.store, session_cookie(request))
        if session is None:
            raise SignedOut("Sign in first.")
        identity = session.identity
        request.state.caller = identity  # for the log
        app.page_limits.take(identity.id)
        if identity.role not in self.roles:
            raise ServiceError(
                "wrong-role", 403,
                f"This page is for {' and '.join(self.roles)}s; you are signed in as "
                f"{identity.role}. Sign in with another token.",
            )  # fmt: skip
        docket = request.path_params.get("docket") or identity.docket or ""
        if docket and not identity.concerns(docket):
            raise ServiceError("other-docket", 403, "Your token is for another docket.")
        base = self.base.format(docket=docket).rstrip("/")
        return PageRequest(request, app, session, docket, base)


Auditor = Annotated[PageRequest, Depends(SignedIn("/console", "auditor"))]
Supervisor = Annotated[
    PageRequest, Depends(SignedIn("/dashboard/{docket}", "operator", "regulator"))
]


class PageRoute(APIRoute):
    """A route whose refusals are pages; the page's own script gets them as JSON."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, with refusals said on a page."""
        handle = super().get_route_handler()

        async def handled(request: Request) -> Response:
            try:
                return await handle(request)
            except SignedOut:
                if wants_json(request):
                    return problem("signed-out", 401, "You are signed out. Sign in again.")
                return RedirectResponse("/console/sign-in", 303)
            except ServiceError as error:
                return _refusal(request, error.status, error.sentence, error.code)
            except RequestValidationError:
                return _refusal(request, 422, "This page was asked for in a way it does not know.")
            except HTTPException as error:
                return _refusal(request, error.status_code, "There is no such page.")
            except LikewiseError as error:
                return _refusal(request, 422, str(error))

        return handled


def wants_json(request: Request) -> bool:
    """Tell if the page's script asks, and not a browser that shows the response."""
    return request.headers.get("accept", "") == "application/json"


def _refusal(request: Request, status: int, sentence: str, code: str = "refused") -> Response:
    """A page that says what went wrong and what to do."""
    if wants_json(request):
        response = problem(code, status, sentence)
        if status in (429, 503):
            response.headers["Retry-After"] = "1"
        return response
    return html(error_page(request.url.path, status, sentence), status)


def fresh_form(request: Request) -> str:
    """For a form of somebody who is not signed in: what the cookie and the form must share."""
    known = request.cookies.get(PRE, "")
    return known if len(known) == 43 else secrets.token_urlsafe(32)


def check_form(request: Request, given: str) -> None:
    """Refuse a sign-in form that this browser did not get from us."""
    known = request.cookies.get(PRE, "")
    if not known or not hmac.compare_digest(known.encode(), given.encode(errors="replace")):
        raise ServiceError("wrong-form", 403, "This form has expired. Load the page again.")
