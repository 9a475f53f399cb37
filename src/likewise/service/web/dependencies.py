"""Sessions at the door of a page: who is reading, and whether a form is theirs.

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
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from likewise.errors import LikewiseError
from likewise.service.api.dependencies import AppContext
from likewise.service.auth.sign_ins import Session, check_csrf, find_session
from likewise.service.auth.tokens import Role
from likewise.service.dockets.worker import Worker
from likewise.service.errors import ServiceError
from likewise.service.ledger.store import now
from likewise.service.web.member_pages import Frame, Problem, render_problem

__all__ = [
    "POLICY",
    "PRE",
    "PageRequest",
    "PageRoute",
    "SignedIn",
    "auditor",
    "cookies",
    "page",
    "watcher",
]

T = TypeVar("T")

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SESSION, PRE = "likewise_session", "likewise_form"


def page(html: str, status: int = 200) -> HTMLResponse:
    """A page under the strict policy."""
    return HTMLResponse(html, status, headers={"Content-Security-Policy": POLICY})


def cookies(request: Request) -> dict[str, Any]:
    """How cookies are set: for this site, hidden from scripts, encrypted where the page is."""
    services: AppContext = request.app.state.services
    secure = "https" in (request.url.scheme, urlsplit(services.settings.public_url).scheme)
    return {"httponly": True, "samesite": "strict", "secure": secure, "path": "/"}


def session_cookie(request: Request) -> str:
    """The value of the session's cookie, or nothing."""
    return request.cookies.get(SESSION, "")


class SignedOut(LikewiseError):  # noqa: N818 - the sentence reads better
    """Nobody is signed in; the page is behind the sign-in page."""


@dataclass(frozen=True)
class PageRequest:
    """Somebody who is signed in, reading pages of one docket."""

    request: Request
    services: AppContext
    session: Session
    docket: str
    base: str

    async def run(self, task: Callable[[Worker], T]) -> T:
        """Do something in the docket's thread."""
        return await self.services.workers.run(self.docket, task)

    async def form(self) -> dict[str, str]:
        """The fields of a form, once it is known to be of this session."""
        fields = {k: v for k, v in (await self.request.form()).items() if isinstance(v, str)}
        same_site(self.request)
        check_csrf(self.session, fields.get("csrf", ""))
        return fields

    def frame(self, title: str, receipt: str = "") -> Frame:
        """What every page needs."""
        return Frame(
            base=self.base, static="/static", csrf=self.session.csrf, docket=title, now=now(),
            who=self.session.identity.name, receipt=receipt,
        )  # fmt: skip

    def go(self, path: str) -> RedirectResponse:
        """On to another page, after a form."""
        return RedirectResponse(f"{self.base}{path}", 303)


def same_site(request: Request) -> None:
    """Refuse a form that another site sent; browsers say where a form comes from."""
    services: AppContext = request.app.state.services
    ours = (request.headers.get("host", ""), urlsplit(services.settings.public_url).netloc)
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc not in ours:
        raise ServiceError("wrong-form", 403, "This form was sent from another site. Open ours.")


class SignedIn:
    """Lets in sessions of some roles; the others are told why not."""

    def __init__(self, base: str, *roles: Role) -> None:
        self.base, self.roles = base, roles

    async def __call__(self, request: Request) -> PageRequest:
        """The request_ of somebody who may come in."""
        services: AppContext = request.app.state.services
        session = await asyncio.to_thread(find_session, services.store, session_cookie(request))
        if session is None:
            raise SignedOut("Sign in first.")
        request.state.caller = session.identity  # for the log
        request.app.state.page_buckets.take(session.identity.id)
        if session.identity.role not in self.roles:
            raise ServiceError(
                "wrong-role", 403,
                f"This page is for {' and '.join(self.roles)}s; you are signed in as "
                f"{session.identity.role}. Sign in with another token.",
            )  # fmt: skip
        docket = request.path_params.get("docket") or session.identity.docket or ""
        if docket and not session.identity.concerns(docket):
            raise ServiceError("other-docket", 403, "Your token is for another docket.")
        return PageRequest(request, services, session, docket, self.base.format(docket=docket))


auditor = Annotated[PageRequest, Depends(SignedIn("/console", "auditor"))]
watcher = Annotated[PageRequest, Depends(SignedIn("/dashboard/{docket}", "operator", "regulator"))]


class PageRoute(APIRoute):
    """A route whose refusals are pages."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, with refusals said on a page."""
        handle = super().get_route_handler()

        async def handled(request: Request) -> Response:
            try:
                return await handle(request)
            except SignedOut:
                return RedirectResponse("/console/sign-in", 303)
            except ServiceError as error:
                return refusal(request, error.status, error.sentence)
            except RequestValidationError:
                return refusal(request, 422, "This page was asked for in a way it does not know.")
            except HTTPException as error:
                return refusal(request, error.status_code, "There is no such page.")
            except LikewiseError as error:
                return refusal(request, 422, str(error))

        return handled


TITLES = {401: "Sign in", 403: "Not for you", 404: "Not found", 409: "Too late", 429: "Too fast"}


def refusal(request: Request, status: int, sentence: str) -> HTMLResponse:
    """A page that says what went wrong and what to do."""
    base = "/dashboard" if request.url.path.startswith("/dashboard") else "/console"
    frame = Frame(base=base, static="/static", csrf="", docket="Likewise", now=now())
    title = TITLES.get(status, "That did not work")
    way_out, label = f"{base}/", "Back to the beginning"
    if status == 403:
        way_out, label = "/console/sign-in", "Sign in with another token"
    shown = Problem(frame, status, title, sentence, way_out, label)
    return page(render_problem(shown), status)


def fresh_form(request: Request) -> str:
    """For a form of somebody who is not signed in: what the cookie and the form must share."""
    known = request.cookies.get(PRE, "")
    return known if len(known) == 43 else secrets.token_urlsafe(32)


def check_form(request: Request, given: str) -> None:
    """Refuse a sign-in form that this browser did not get from us."""
    known = request.cookies.get(PRE, "")
    if not known or not hmac.compare_digest(known.encode(), given.encode(errors="replace")):
        raise ServiceError("wrong-form", 403, "This form has expired. Load the page again.")
