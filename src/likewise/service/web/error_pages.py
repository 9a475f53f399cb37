"""Errors in a browser are pages: the sentence that the API would send as JSON."""

from __future__ import annotations

import json

from starlette.datastructures import Headers
from fastapi.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from likewise.service.web.rendering import PageContext, html, render

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


def error_page(path: str, status: int, sentence: str) -> str:
    """Render a page that says what went wrong and what to do."""
    base = "/dashboard" if path.startswith("/dashboard") else "/console"
    way_out, label = f"{base}/", "Back to the beginning"
    if status == 403:
        way_out, label = "/console/sign-in", "Sign in with another token"
    return render(
        "problem.html", PageContext(base), status=status, sentence=sentence, way_out=way_out,
        title=TITLES.get(status, "That did not work"), label=label,
    )  # fmt: skip


class ErrorPages:
    """Turns JSON errors into pages for browsers; programs and the pages' scripts get the JSON."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http" or not _wants_page(scope):
            await self.app(scope, receive, send)
            return
        start: Message | None = None
        content = b""

        async def respond(message: Message) -> None:
            nonlocal start, content
            if message["type"] == "http.response.start" and _is_problem(message):
                start = message
                return
            if start is None:
                await send(message)
                return
            content += message.get("body", b"")
            if not message.get("more_body"):
                await _page(scope["path"], start, content)(scope, receive, send)

        await self.app(scope, receive, respond)


def _wants_page(scope: Scope) -> bool:
    path, accept = scope["path"], Headers(scope=scope).get("accept", "")
    if path.startswith(("/console", "/dashboard")):
        return accept != "application/json"
    return not path.startswith("/v1/") and "text/html" in accept


def _is_problem(message: Message) -> bool:
    kind = Headers(raw=message.get("headers", [])).get("content-type", "")
    return bool(message["status"] >= 400 and kind.startswith("application/json"))


def _page(path: str, start: Message, content: bytes) -> Response:
    """Return the page of an error, with the headers of its response."""
    error = json.loads(content)["error"]
    if error["code"] == "signed-out":
        return RedirectResponse("/console/sign-in", 303)
    sentence = FOR_PEOPLE.get(error["code"], str(error["message"]))
    response = html(error_page(path, start["status"], sentence), start["status"])
    for name, value in Headers(raw=start["headers"]).items():
        response.headers.setdefault(name, value)
    return response
