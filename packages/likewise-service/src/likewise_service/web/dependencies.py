"""Dependencies of the pages: who is signed in, and whether a form is theirs."""

import asyncio
import hmac
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar
from urllib.parse import quote, unquote, urlsplit

from fastapi import Depends, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response
from pydantic import BaseModel, ValidationError
from starlette.datastructures import Headers
from starlette.types import Scope

from likewise_service import language
from likewise_service.api import dependencies as api
from likewise_service.api.errors import Problem
from likewise_service.auth import sign_ins, tokens
from likewise_service.dockets.worker import Worker
from likewise_service.errors import ServiceError
from likewise_service.language import N_, _
from likewise_service.ledger.kinds import MAY, Actor, Body
from likewise_service.web.rendering import PageContext, html

SESSION, RETURN = "likewise_session", "likewise_return"
# Headers of a refusal that its page keeps.
HEADERS = ("retry-after", "www-authenticate", "allow")
T = TypeVar("T")
B = TypeVar("B", bound=BaseModel)


def session_cookie(request: Request) -> str:
    return request.cookies.get(SESSION, "")


def file_response(response: Response, name: str) -> Response:
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@dataclass(frozen=True)
class PageRequest(api.Access):
    """A request for a page of one docket, by somebody who is signed in.

    ``shown`` is what a page with a form says after the form was sent: what was refused, and why.
    """

    request: Request
    session: sign_ins.Session
    base: str
    shown: Mapping[str, Any] = field(default_factory=dict)

    @property
    def language(self) -> str:
        return asked_language(self.request)

    async def run(self, task: Callable[[Worker], T], key: str | None = None) -> T:
        """Run a task in the docket's thread, in the name and the language of the reader."""
        return await super().run(language.spoken(self.language, task), key)

    @property
    def actor(self) -> Actor:
        return self.session.actor

    @property
    def cookie(self) -> str:
        return session_cookie(self.request)

    async def show(self, template: str, values: Callable[[Worker], dict[str, Any]]) -> Response:
        """Render a page of the docket, with values (also ``status``) computed in its thread."""

        def task(worker: Worker) -> Response:
            docket = worker.docket
            page = self.page(docket.projection.settings.title, str(docket.receipt()))
            blank: dict[str, Any] = {"problem": "", "form": {}, "made": None}
            return html(template, page, **{**blank, **values(worker), **self.shown})

        return await self.run(task)

    async def form(self) -> dict[str, str]:
        """Return the fields of a form, which must be of this session."""
        fields = {k: v for k, v in (await self.request.form()).items() if isinstance(v, str)}
        check_origin(self.request, self.app)
        check_secret(self.session, fields.get("csrf", ""))
        return fields

    def page(self, title: str = "Likewise", receipt: str = "") -> PageContext:
        caller = self.caller
        may = frozenset(kind for kind, roles in MAY.items() if caller.role in roles)
        url = self.request.url
        address = f"{url.path}?{url.query}" if url.query else url.path
        return PageContext(
            self.base, self.session.csrf, title, caller.name, receipt, caller.id, self.language,
            address if self.request.method == "GET" else f"{self.base}/", may,
        )  # fmt: skip

    def go(self, path: str) -> RedirectResponse:
        return RedirectResponse(f"{self.base}{path}", 303)


def read_form(kind: type[B], fields: Mapping[str, str], **more: Any) -> B:
    """Return the request body of a form, without what is left empty."""
    filled = {name: text.strip() for name, text in fields.items() if name in kind.model_fields}
    try:
        return kind(**{name: text for name, text in filled.items() if text}, **more)
    except ValidationError as error:
        sentence = N_(
            "That does not fit: it is missing or too long, has a character that nobody sees, or is "
            "no id of what it should be. Type it anew, and send it."
        )
        raise ServiceError("bad-field", 422, sentence) from error


def asked_language(request: Request) -> str:
    return language.chosen(request.cookies, request.headers.get("accept-language", ""))


def same_secret(secret: str, text: str) -> bool:
    """Compare a secret with what a browser sent, in constant time."""
    return hmac.compare_digest(secret.encode(), text.encode(errors="replace"))


def check_secret(session: sign_ins.Session, text: str) -> None:
    if not same_secret(session.csrf, text):
        sentence = "This form is not of your session. Load the page again."
        raise ServiceError("wrong-form", 403, sentence)


def check_origin(request: Request, app: api.AppContext) -> None:
    """Refuse a form from another site, or from a page that hides its origin (``null``)."""
    public = urlsplit(app.settings.public_url).netloc
    hosts = {name for name in (request.headers.get("host", ""), public) if name}
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc not in hosts:
        raise ServiceError("wrong-form", 403, "This form was sent from another site. Open ours.")


def _signed_in(path: str, *roles: tokens.Role) -> Callable[[Request], Awaitable[PageRequest]]:
    """Admit sessions of certain roles; others are told why not."""

    async def check(request: Request) -> PageRequest:
        app = await api.app_context(request)
        session = await asyncio.to_thread(sign_ins.find_session, app.store, session_cookie(request))
        if session is None:
            raise ServiceError("signed-out", 401, "You are signed out. Sign in again.")
        identity = session.identity
        request.state.caller = identity  # for the log
        app.page_limits.take(identity.id)
        if identity.role not in roles:
            readers = " and ".join(f"{role}s" for role in roles)
            fault = f"This page is for {readers}; you are signed in as {identity.role}."
            raise ServiceError("wrong-role", 403, f"{fault} Sign in with another token.")
        docket = request.path_params.get("docket") or identity.docket or ""
        if docket and not re.fullmatch(api.DOCKET_NAME, docket):
            raise ServiceError("no-docket", 404, "There is no such docket.")
        if docket and not identity.concerns(docket):
            raise ServiceError("other-docket", 403, "Your token is for another docket.")
        base = path.format(docket=docket).rstrip("/")
        writes = request.method not in api.SAFE
        return PageRequest(identity, app, docket, writes, request, session, base)

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


TITLES = {
    401: N_("Sign in"), 403: N_("Not for you"), 404: N_("Not found"), 409: N_("Too late"),
    413: N_("Too large"), 429: N_("Too fast"), 503: N_("Not now"),
}  # fmt: skip
# The API's own sentences about these are for programs.
FOR_PEOPLE = {
    "key-reused": N_("This page has sent something else. Load it again, and send this anew."),
    "not-found": N_("There is nothing at this address. It may have been mistyped, or has moved."),
    "wrong-method": N_(
        "This address cannot be opened like that. Go back, and use the buttons there."
    ),
    "invalid": N_("This page was asked for in a way it does not know."),
    "bad-request": N_("The browser sent something that cannot be read. Go back, and try again."),
    "bad-practice": N_(
        "Give the two different chances, and say in at most 400 characters what is right, and why."
    ),
    "no-docket": N_("There is no such docket."),
    "no-round": N_("There is no such round in this docket. Copy its id from the page of rounds."),
}
# The API's sentences are English; in other languages these stand for those that name values.
BY_CODE = FOR_PEOPLE | {
    "appeal-open": N_(
        "An appeal is not decided yet. Decide on it first, or record that it was withdrawn."
    ),
    "no-appeal": N_("There is no such open appeal. It may be decided, or withdrawn."),
    "no-certificate": N_("Nothing is certified here."),
    "no-key": N_("You have no such key. Take one from your list."),
    "not-assigned": N_("The appeal is assigned to somebody else, who has to decide."),
    "salt-used": N_("These words were signed before. Sign them again."),
    "signature-late": N_(
        "This was signed at another time. Sign again; if that fails, set your clock."
    ),
    "no-gold": N_("Members do not practise with that pair any more."),
    "bad-key": N_("This form was sent in a way that is not known. Load the page again."),
    "bad-signature": N_("The signature does not fit what was sent. Load the page again, and sign."),
    "busy": N_("Too many wait here already. Wait a second, and send it again."),
    "internal": N_("Something failed here. Tell the operator when it was."),
    "limit-kept": N_("The two are no further apart than that limit allows. Give a lower one."),
    "loading": N_("The docket is being loaded. Ask again in a while."),
    "no-hold": N_("There is no such hold. It may be over."),
    "no-member": N_("Nobody of that name sits on the panel. Add them first, or correct the name."),
    "no-pair": N_("This form names no pair. Load the page again."),
    "no-person": N_("There is nobody of that id in this round."),
    "no-role": N_("Your organisation gives you no role here. Ask it to."),
    "no-token": N_("There is no such token."),
    "not-seated": N_("You are not asked about this round."),
    "on-hold": N_("A legal hold keeps this from being erased."),
    "other-docket": N_("Your token is for another docket."),
    "provider-unreachable": N_("Your organisation’s sign-on does not respond. Try again later."),
    "read-only": N_("This server only reads. Do that where it writes."),
    "refused": N_("That was refused. Correct it, and send it again."),
    "sign-on-refused": N_("Your organisation’s sign-on did not let you in. Begin again here."),
    "signature-needed": N_(
        "You sign what you say, so nothing is taken without a signature. Sign in the browser that "
        "has the key, or make another under “Your signature”. Signing needs JavaScript."
    ),
    "signed-out": N_("You are signed out. Sign in again."),
    "store-broken": N_("The ledger cannot be read or signed. Tell the operator."),
    "store-busy": N_("The database is busy. Try again in a while."),
    "store-unavailable": N_("The database does not respond. Try again in a while."),
    "too-large": N_("That is too large. Send less of it."),
    "too-long": N_("What you wrote is too long. Shorten it."),
    "too-many": N_("No more of these are taken."),
    "too-many-requests": N_("Too many requests. Wait a moment, and send it again."),
    "unauthorised": N_("Your token was revoked. Ask the operator for another."),
    "wrong-form": N_("This form is not of your session. Load the page again."),
    "wrong-role": N_("This page is for others. Sign in with another token."),
}


def told(error: ServiceError | Problem, tongue: str) -> str:
    """Return what a page says of an error, in a language: its own sentence, where that is known."""
    words = FOR_PEOPLE if tongue == "en" else BY_CODE
    with language.speaking(tongue):
        own = language.gettext(error.sentence)
        return own if own != error.sentence else language.gettext(words.get(error.code, own))


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
    of_pages = path.startswith(("/console", "/dashboard", "/language"))
    if not of_pages and (path.startswith("/v1/") or "text/html" not in accept):
        return None
    tongue, script = asked_language(Request(scope)), accept == "application/json"
    if problem.code == "signed-out" and not script:
        return _to_sign_in(scope)
    sentence = told(problem, tongue)
    if script:
        content = {"code": problem.code, "message": sentence}
        page: Response = JSONResponse({"error": content}, problem.status_code)
    else:
        page = _error_html(path, problem.status_code, sentence, tongue)
    for name in HEADERS:
        if name in problem.headers:
            page.headers.setdefault(name, problem.headers[name])
    return page


FAILED = N_("That did not work")


def _error_html(path: str, status: int, sentence: str, tongue: str) -> Response:
    base = "/dashboard" if path.startswith("/dashboard") else "/console"
    with language.speaking(tongue):
        way_out, label = f"{base}/", _("Back to the beginning")
        if status == 403:
            way_out, label = "/console/sign-in", _("Sign in with another token")
        title = _(TITLES.get(status, FAILED))
    page = PageContext(base, language=tongue, address=f"{base}/")
    words = {"way_out": way_out, "label": label, "title": title, "sentence": sentence}
    return html("problem.html", page, status, **words)
