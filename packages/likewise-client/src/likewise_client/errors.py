"""Errors of the client: what went wrong, and what to do."""

from __future__ import annotations

import httpx


class ApiError(Exception):
    """The server refused a request; ``code`` is for programs, the message for people."""

    def __init__(self, code: str, status: int, message: str) -> None:
        super().__init__(message)
        self.code, self.status = code, status


class NotAllowed(ApiError):
    """The token is unknown, or of another role or docket."""


class NotFound(ApiError):
    """The server has nothing at that address."""


class Conflict(ApiError):
    """The request contradicts what is recorded."""


class Refused(ApiError):
    """The request is not valid."""


class TooMuch(ApiError):
    """The request is too large, or requests come too fast."""


class Failed(ApiError):
    """The server could not respond."""


class Unreachable(ApiError):
    """The server could not be reached."""


class LedgerBroken(ApiError):
    """A record is not as it was hashed, or the records are not those of the receipt."""


_KINDS: dict[int, type[ApiError]] = {
    400: Refused, 401: NotAllowed, 403: NotAllowed, 404: NotFound, 409: Conflict, 413: TooMuch,
    422: Refused, 429: TooMuch,
}  # fmt: skip


def error_of(response: httpx.Response) -> ApiError:
    status = response.status_code
    kind = _KINDS.get(status, Failed)
    try:
        error = response.json()["error"]
        return kind(str(error["code"]), status, str(error["message"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        # A proxy before the server responds in a format of its own.
        return kind("unknown", status, f"The response was {status}: {response.text[:200]}")
