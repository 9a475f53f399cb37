"""Signing in with a token, signing on by the organisation's provider, and signing out."""

import asyncio
import hmac
import re
import secrets
from contextlib import suppress
from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response

from likewise_service import language
from likewise_service.api.dependencies import App, AppContext
from likewise_service.auth import sign_ins
from likewise_service.errors import ServiceError
from likewise_service.language import N_
from likewise_service.web import dependencies, rendering

router = APIRouter(include_in_schema=False)

HOMES = {"auditor": "/console/", "operator": "/dashboard/", "regulator": "/dashboard/"}
FORM, ATTEMPT = "likewise_form", "likewise_sign_on"
SIGN_IN, SIGN_ON = "/console/sign-in", "/console/sign-on"
YEAR = 365 * 86_400

Short = Annotated[str, Form(max_length=200)]
Long = Annotated[str, Query(max_length=4000)]


def _cookies(request: Request, app: AppContext) -> dict[str, Any]:
    """Return how cookies are set: for this site, hidden from scripts, encrypted where it is."""
    secure = "https" in (request.url.scheme, urlsplit(app.settings.public_url).scheme)
    return {"httponly": True, "samesite": "strict", "secure": secure, "path": "/"}


async def _begin(
    request: Request, app: AppContext, response: Response, cookie: str, owner: str
) -> Response:
    """Set the session's cookie; whoever was signed in here before is signed out.

    From now on pages are in the language that the ``owner`` of the token has chosen.
    """
    if (tongue := await asyncio.to_thread(language.kept, app.store, owner)) is not None:
        _speak(request, app, response, tongue)
    await asyncio.to_thread(sign_ins.end_session, app.store, dependencies.session_cookie(request))
    seconds = int(app.settings.session_seconds)
    response.set_cookie(dependencies.SESSION, cookie, max_age=seconds, **_cookies(request, app))
    response.delete_cookie(dependencies.RETURN, path="/console")
    return response


def _speak(request: Request, app: AppContext, response: Response, tongue: str) -> None:
    options = {**_cookies(request, app), "samesite": "lax"}
    response.set_cookie(language.COOKIE, tongue, max_age=YEAR, **options)


@router.post("/language")
async def choose_language(
    request: Request, app: App, tongue: Annotated[str, Form(alias="language", max_length=20)] = "",
    back: Annotated[str, Form(max_length=4000)] = "", csrf: Short = "",
) -> Response:  # fmt: skip
    """Show the pages in another language from now on; for those signed in it is kept."""
    dependencies.check_origin(request, app)
    if tongue not in language.LANGUAGES:
        raise ServiceError("no-language", 422, N_("There is no such language here."))
    cookie = dependencies.session_cookie(request)
    session = await asyncio.to_thread(sign_ins.find_session, app.store, cookie)
    if session is not None:
        dependencies.check_secret(session, csrf)
        await asyncio.to_thread(language.keep, app.store, session.identity.id, tongue)
    ours = re.fullmatch(r"/(console|dashboard)/[^\\\s]*", back)
    response = RedirectResponse(back if ours else "/", 303)
    _speak(request, app, response, tongue)
    return response


@router.get("/")
async def front() -> RedirectResponse:
    return RedirectResponse(SIGN_IN, 303)


@router.get("/console")
@router.get("/dashboard")
@router.get("/dashboard/{docket}")
async def with_slash(request: Request) -> RedirectResponse:
    return RedirectResponse(f"{request.url.path}/", 308)


@router.get(SIGN_IN)
async def sign_in_page(request: Request, app: App) -> Response:
    return _sign_in(request, app)


def _sign_in(request: Request, app: AppContext, problem: str = "", status: int = 200) -> Response:
    secret = request.cookies.get(FORM, "")
    page = _page(request, secret if len(secret) == 43 else secrets.token_urlsafe(32))
    sign_on = app.provider is not None
    response = rendering.html("sign_in.html", page, status, problem=problem, sign_on=sign_on)
    response.set_cookie(FORM, page.csrf, max_age=3600, **_cookies(request, app))
    return response


@router.post(SIGN_IN)
async def sign_in(request: Request, app: App, token: Short = "", csrf: Short = "") -> Response:
    dependencies.check_origin(request, app)
    secret = request.cookies.get(FORM, "")
    if not secret or not dependencies.same_secret(secret, csrf):
        raise ServiceError("wrong-form", 403, "This form has expired. Load the page again.")
    seconds = app.settings.session_seconds
    try:
        cookie, session = await asyncio.to_thread(
            sign_ins.begin_session, app.store, token.strip(), seconds
        )
    except ServiceError as error:
        problem = dependencies.told(error, dependencies.asked_language(request))
        return _sign_in(request, app, problem, error.status)
    address = dependencies.return_address(request, HOMES[session.identity.role])
    redirect = RedirectResponse(address, 303)
    response = await _begin(request, app, redirect, cookie, session.identity.id)
    response.delete_cookie(FORM, path="/")
    return response


def _page(request: Request, csrf: str = "") -> rendering.PageContext:
    """Return the context of a page on the way in or out."""
    tongue = dependencies.asked_language(request)
    return rendering.PageContext("/console", csrf, language=tongue, address=SIGN_IN)


def _provider(app: AppContext) -> sign_ins.Provider:
    if app.provider is None:
        sentence = N_("There is no sign-on here. Sign in with the token that you have.")
        raise ServiceError("no-sign-on", 404, sentence)
    return app.provider


def _public_url(request: Request, app: AppContext, path: str) -> str:
    return (app.settings.public_url or str(request.base_url)).rstrip("/") + path


@router.get(SIGN_ON)
async def sign_on(request: Request, app: App) -> Response:
    """Redirect to the provider, with an attempt that only this browser can complete."""
    attempt = sign_ins.Attempt(*(secrets.token_urlsafe(32) for _ in range(3)))
    back = _public_url(request, app, f"{SIGN_ON}/return")
    address = await asyncio.to_thread(_provider(app).address, attempt, back)
    response = RedirectResponse(address, 303)
    # Lax: the browser comes back from another site, and has to bring it.
    options = {**_cookies(request, app), "samesite": "lax", "path": SIGN_ON}
    response.set_cookie(ATTEMPT, ".".join(attempt), max_age=600, **options)
    return response


@router.get(f"{SIGN_ON}/return")
async def returned(
    request: Request, app: App, state: Long = "", code: Long = "", error: Long = ""
) -> Response:
    """Sign in whoever comes back from the provider, if they began in this browser."""
    provider, attempt = _provider(app), sign_ins.Attempt.read(request.cookies.get(ATTEMPT, ""))
    if attempt is None or not hmac.compare_digest(attempt.state.encode(), state.encode()):
        sentence = "This sign-on was not begun in this browser. Begin again here."
        raise ServiceError("sign-on-refused", 401, sentence)
    if error or not code:
        reason = "".join(c for c in error if c.isalnum() or c == "_")[:50] or "no code"
        raise ServiceError("sign-on-refused", 401, f"The provider says no ({reason}). Begin again.")
    back = _public_url(request, app, f"{SIGN_ON}/return")
    claims = await asyncio.to_thread(provider.claims, attempt, code, back)
    _, _, docket = sign_ins.identity_claims(app.settings, claims)
    members: tuple[str, ...] = ()
    if docket is not None:
        members = await app.workers.run(docket, lambda w: tuple(w.docket.projection.members))
    cookie, session = await asyncio.to_thread(
        sign_ins.begin_sign_on, app.store, app.settings, claims, members
    )
    # A page, not a redirect: strict cookies are not sent on the way back from another site.
    page, identity = _page(request), session.identity
    where = dependencies.return_address(request, HOMES[identity.role])
    signed_on = rendering.html("signed_on.html", page, where=where, name=identity.name)
    response = await _begin(request, app, signed_on, cookie, identity.id)
    response.delete_cookie(ATTEMPT, path=SIGN_ON)
    return response


@router.post(f"{SIGN_ON}/logout")
async def logged_out(
    app: App, logout_token: Annotated[str, Form(max_length=10_000)] = ""
) -> Response:
    """Sign out somebody who signed out at the provider."""
    claims = await asyncio.to_thread(_provider(app).logged_out, logout_token)
    names = (str(claims["iss"]), str(claims.get("sub", "")), str(claims.get("sid", "")))
    await asyncio.to_thread(sign_ins.end_sign_on, app.store, *names)
    return Response(status_code=200)


@router.post("/console/sign-out")
@router.post("/dashboard/{docket}/sign-out")
@router.post("/dashboard/sign-out")
async def sign_out(request: dependencies.Reader) -> Response:
    """End the session; somebody who signed on by a provider leaves everywhere."""
    await request.form()
    session, app, provider_page = request.session, request.app, None
    await asyncio.to_thread(sign_ins.end_session, app.store, request.cookie)
    if session.issuer:
        await asyncio.to_thread(sign_ins.end_sign_on, app.store, session.issuer, session.subject)
        if app.provider is not None and app.provider.issuer == session.issuer:
            back = _public_url(request.request, app, SIGN_IN)
            with suppress(ServiceError):  # they have left here, whether it responds or not
                provider_page = await asyncio.to_thread(app.provider.end_address, back)
    # Forms may lead to this site alone, so the way to the provider is a page of its own.
    response: Response = RedirectResponse(SIGN_IN, 303)
    if provider_page is not None:
        page = _page(request.request)
        response = rendering.html("signed_out.html", page, where=provider_page)
    response.delete_cookie(dependencies.SESSION, path="/")
    return response
