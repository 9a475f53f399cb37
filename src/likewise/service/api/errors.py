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
LISTED = 5

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


def problem(
    code: str, status: int, sentence: str, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """Return the JSON of an error."""
    # Text from a request may hold characters that UTF-8 cannot encode.
    plain = sentence.encode("utf-8", "replace").decode()
    return JSONResponse({"error": {"code": code, "message": plain}}, status, headers)


def error_response(error: Exception) -> JSONResponse:
    """Return the response to an error that is expected: a refusal, or a database that is gone."""
    match error:
        case ServiceError():
            return problem(error.code, error.status, error.sentence, _headers(error))
        case LedgerBroken() | StoreError():
            LOG.error("The store cannot be used.", exc_info=error)
            sentence = "The ledger cannot be read. Tell the operator; the log says why."
            return problem("store-broken", 500, sentence)
        case LikewiseError():
            return problem("refused", 422, str(error))
        case RequestValidationError():
            return problem("invalid", 422, _faults(error))
        case BodyTooLarge():
            return error_response(too_large(error.limit))
        case AnyHTTPException():
            code, sentence = _HTTP_ERRORS.get(error.status_code, ("refused", str(error.detail)))
            return problem(code, error.status_code, sentence, error.headers)
        case _:
            LOG.error("The database cannot be reached.", exc_info=error)
            return error_response(store_unavailable())


def _headers(error: ServiceError) -> dict[str, str]:
    if isinstance(error, TooMany):
        return {"Retry-After": str(error.wait)}
    if error.status == 503:
        return {"Retry-After": "1"}
    return {"WWW-Authenticate": "Bearer"} if error.status == 401 else {}


def _faults(error: RequestValidationError) -> str:
    """Say what is wrong where in a request, such as body.people.0.id."""
    faults = []
    for fault in error.errors():
        field = ".".join(str(part) for part in fault.get("loc", ())) or "body"
        faults.append(f"{field}: {fault['msg'].removeprefix('Value error, ')}")
    more = f" (and {len(faults) - LISTED} more)" if len(faults) > LISTED else ""
    listed = "; ".join(faults[:LISTED])
    return f"The request does not fit: {listed}{more}. Correct it and send it again."


async def _handle(_: Request, error: Exception) -> JSONResponse:
    return error_response(error)


def install_handlers(app: FastAPI) -> None:
    """Let the app respond to errors in this way."""
    for kind in (LikewiseError, RequestValidationError, AnyHTTPException, *UNAVAILABLE):
        app.add_exception_handler(kind, _handle)
