"""Errors of a client: what did not go as asked, and what to do."""

from __future__ import annotations

import httpx

from likewise.errors import LikewiseError

__all__ = [
    "ApiError",
    "Conflict",
    "Failed",
    "NotAllowed",
    "NotFound",
    "Refused",
    "TooMuch",
    "Unreachable",
    "error_of",
]


class ApiError(LikewiseError):
    """The server said no; ``code`` is for programs, and the message for people."""

    def __init__(self, code: str, status: int, message: str) -> None:
        super().__init__(message)
        self.code, self.status = code, status


class NotAllowed(ApiError):  # noqa: N818 - these read better
    """The token is unknown, or of another role or docket."""


class NotFound(ApiError):  # noqa: N818
    """There is no such thing."""


class Conflict(ApiError):  # noqa: N818
    """It contradicts what is recorded."""


class Refused(ApiError):  # noqa: N818
    """The request does not fit."""


class TooMuch(ApiError):  # noqa: N818
    """The request is too large, or requests come too fast."""


class Failed(ApiError):  # noqa: N818
    """The server could not respond."""


class Unreachable(ApiError):  # noqa: N818
    """The server could not be reached."""

    def __init__(self, address: str, error: Exception) -> None:
        super().__init__(
            "unreachable", 0,
            f"{address} cannot be reached ({type(error).__name__}: {error}). Is it running, and "
            f"is the address right?",
        )  # fmt: skip


_KINDS: dict[int, type[ApiError]] = {
    400: Refused, 401: NotAllowed, 403: NotAllowed, 404: NotFound, 409: Conflict, 413: TooMuch,
    422: Refused, 429: TooMuch,
}  # fmt: skip


def error_of(response: httpx.Response) -> ApiError:
    """The error that a response stands for."""
    status = response.status_code
    kind = _KINDS.get(status, Failed)
    try:
        said = response.json()["error"]
        return kind(str(said["code"]), status, str(said["message"]))
    except (ValueError, KeyError, TypeError):
        # Something between us and the server spoke in words of its own.
        return kind("unknown", status, f"The response was {status}: {response.text[:200]}")
