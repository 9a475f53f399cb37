"""Responses to requests that are refused or fail: a code, and a sentence that says what to do."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException as AnyHTTPException

from likewise.errors import LikewiseError
from likewise.service.api.responses import ErrorResponse
from likewise.service.auth.rate_limits import TooMany, too_large
from likewise.service.errors import ServiceError, StoreError, store_unavailable
from likewise.service.ledger.records import LedgerBroken

LOG = logging.getLogger("likewise.service")

# Errors of a database that is gone, locked for too long, or has no connection left.
UNAVAILABLE = (sa.exc.OperationalError, sa.exc.TimeoutError)

_MEANINGS = {
    400: "The body cannot be read at all.",
    401: "No token, or one that is not known.",
    403: "A token of another role or docket.",
    404: "There is no such thing.",
    405: "This address takes other methods.",
    409: "It contradicts what is recorded.",
    413: "The body is too large.",
    422: "The request does not fit the model, or was refused.",
    429: "Requests come too fast; Retry-After says when to come again.",
    503: "Too many wait already, or the database is out of reach; send it again.",
}
DOCUMENTED: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorResponse, "description": text} for status, text in _MEANINGS.items()
}

_HTTP_ERRORS = {
    400: ("bad-request", "The request cannot be read. Send JSON in UTF-8."),
    404: ("not-found", "There is nothing at this address. /v1/openapi.json lists what there is."),
    405: ("wrong-method", "This address takes other methods; the header Allow names them."),
}


class BodyTooLarge(HTTPException):
    """A body that grew too large while it was read; FastAPI lets this kind of error through."""

    def __init__(self, limit: int) -> None:
        super().__init__(413)
        self.limit = limit


def problem(code: str, status: int, sentence: str) -> JSONResponse:
    """Return the JSON of an error."""
    # Text from a request may hold what UTF-8 cannot say.
    plain = sentence.encode("utf-8", "replace").decode()
    return JSONResponse({"error": {"code": code, "message": plain}}, status)


def error_response(error: LikewiseError) -> JSONResponse:
    """Return the response to a refusal of Likewise."""
    if isinstance(error, ServiceError):
        response = problem(error.code, error.status, error.sentence)
        if isinstance(error, TooMany):
            response.headers["Retry-After"] = str(error.wait)
        elif error.status == 503:
            response.headers["Retry-After"] = "1"
        elif error.status == 401:
            response.headers["WWW-Authenticate"] = "Bearer"
        return response
    if isinstance(error, (LedgerBroken, StoreError)):
        LOG.error("The store cannot be used.", exc_info=error)
        return problem(
            "store-broken", 500, "The ledger cannot be read. Tell the operator; the log says why."
        )
    return problem("refused", 422, str(error))


def _fault(error: Mapping[str, Any]) -> str:
    """Say what is wrong where in a request, such as body.people.0.id."""
    field = ".".join(str(part) for part in error.get("loc", ())) or "body"
    return f"{field}: {error['msg'].removeprefix('Value error, ')}"


async def _refused(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, LikewiseError)  # noqa: S101 - that is what it is registered for
    return error_response(error)


async def _invalid(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for it
    errors = error.errors()
    listed = "; ".join(map(_fault, errors[:5]))
    more = f" (and {len(errors) - 5} more)" if len(errors) > 5 else ""
    return problem(
        "invalid", 422, f"The request does not fit: {listed}{more}. Correct it and send it again."
    )


async def _http(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, AnyHTTPException)  # noqa: S101 - registered for it
    if isinstance(error, BodyTooLarge):
        return error_response(too_large(error.limit))
    code, sentence = _HTTP_ERRORS.get(error.status_code, ("refused", str(error.detail)))
    response = problem(code, error.status_code, sentence)
    response.headers.update(error.headers or {})
    return response


def unavailable(error: Exception) -> JSONResponse:
    """Return the response while the database cannot be used."""
    LOG.error("The database cannot be reached.", exc_info=error)
    return error_response(store_unavailable())


async def _unreachable(_: Request, error: Exception) -> JSONResponse:
    return unavailable(error)


def install_handlers(app: FastAPI) -> None:
    """Let the app respond to errors in this way."""
    app.add_exception_handler(LikewiseError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(AnyHTTPException, _http)
    for kind in UNAVAILABLE:
        app.add_exception_handler(kind, _unreachable)
