"""Errors in a browser are pages: what the API would say as JSON, said to a person."""

from __future__ import annotations

import json

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from likewise.service.web.rendering import POLICY, PageContext, render

__all__ = ["ErrorPages", "error_page", "wants_page"]

TITLES = {
    401: "Sign in", 403: "Not for you", 404: "Not found", 409: "Too late", 413: "Too large",
    429: "Too fast", 503: "Not now",
}  # fmt: skip
# What the API says of these is for programs.
FOR_PEOPLE = {
    "not-found": "There is nothing at this address. It may have been mistyped, or has moved.",
    "wrong-method": "This address cannot be opened like that. Go back, and use the buttons there.",
    "bad-request": "The browser sent something that cannot be read. Go back, and try again.",
}


def wants_page(headers: Headers) -> bool:
    """Tell if somebody looks at the response in a browser."""
    return "text/html" in headers.get("accept", "")


def error_page(path: str, status: int, sentence: str) -> str:
    """A page that says what went wrong and what to do."""
    base = "/dashboard" if path.startswith("/dashboard") else "/console"
    way_out, label = f"{base}/", "Back to the beginning"
    if status == 403:
        way_out, label = "/console/sign-in", "Sign in with another token"
    return render(
        "problem.html", PageContext(base), status=status, sentence=sentence, way_out=way_out,
        title=TITLES.get(status, "That did not work"), label=label,
    )  # fmt: skip


class ErrorPages:
    """Turns refusals into pages for those who look at them in a browser; the API stays as it is."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http" or not self._concerned(scope):
            await self.app(scope, receive, send)
            return
        begun: Message | None = None
        content = b""

        async def respond(message: Message) -> None:
            nonlocal begun, content
            if message["type"] == "http.response.start" and _is_problem(message):
                begun = message
                return
            if begun is None:
                await send(message)
                return
            content += message.get("body", b"")
            if not message.get("more_body"):
                await _send_page(scope["path"], begun, content, send)

        await self.app(scope, receive, respond)

    def _concerned(self, scope: Scope) -> bool:
        path: str = scope["path"]
        return not path.startswith("/v1/") and wants_page(Headers(scope=scope))


def _is_problem(message: Message) -> bool:
    kind = Headers(raw=message.get("headers", [])).get("content-type", "")
    return bool(message["status"] >= 400 and kind.startswith("application/json"))


async def _send_page(path: str, begun: Message, content: bytes, send: Send) -> None:
    error = json.loads(content)["error"]
    sentence = FOR_PEOPLE.get(error["code"], str(error["message"]))
    page = error_page(path, begun["status"], sentence).encode()
    headers = MutableHeaders(raw=list(begun["headers"]))
    headers["content-type"] = "text/html; charset=utf-8"
    headers["content-length"] = str(len(page))
    headers["content-security-policy"] = POLICY
    await send({**begun, "headers": headers.raw})
    await send({"type": "http.response.body", "body": page})
