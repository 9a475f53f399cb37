"""Responses to requests that are refused or fail: a code, and a sentence that says what to do."""

from collections.abc import Mapping
from typing import Any, TypeVar

import sqlalchemy as sa
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.types import Receive, Scope, Send

from likewise.errors import LikewiseError
from likewise_client.responses import ReceiptResponse, Response
from likewise_service.auth.tokens import TooMany
from likewise_service.errors import LOG, ServiceError, StoreError, store_unavailable
from likewise_service.ledger.notes import Checkpoint
from likewise_service.ledger.records import LedgerBroken

T = TypeVar("T", bound=Response)


class ErrorBody(Response):
    code: str
    message: str


class ErrorResponse(Response):
    """The response to every request that was refused, or failed."""

    error: ErrorBody


def fill(kind: type[T], source: object, **values: Any) -> T:
    """Build a response from the attributes of an object; ``values`` are the fields it has not."""
    names = [name for name in kind.__dataclass_fields__ if name not in values]
    return kind(**{name: getattr(source, name) for name in names}, **values)


def receipt_response(receipt: Checkpoint) -> ReceiptResponse:
    return ReceiptResponse(receipt.docket, receipt.size, receipt.root.hex(), str(receipt))


class Written(Response):
    receipt: ReceiptResponse


# Errors of a database that is gone, locked for too long, or has no connection left.
UNAVAILABLE = (sa.exc.OperationalError, sa.exc.TimeoutError)
# Errors that have a response: whoever sent the request can do something about it.
EXPECTED = (LikewiseError, RequestValidationError, AnyHTTPException, *UNAVAILABLE)
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
    413: ("too-large", ""),
    405: ("wrong-method", "This address takes other methods; the header Allow names them."),
}


class Problem(JSONResponse):
    """An error: JSON for programs, and a page where a browser asks for one."""

    def __init__(
        self, code: str, status: int, sentence: str, headers: Mapping[str, str] | None = None
    ) -> None:
        # Text from a request may hold characters that UTF-8 cannot encode.
        self.code, self.sentence = code, sentence.encode("utf-8", "replace").decode()
        super().__init__({"error": {"code": code, "message": self.sentence}}, status, headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        page = scope["app"].state.error_page(scope, self)
        await (super().__call__ if page is None else page)(scope, receive, send)


def error_response(error: Exception) -> Problem:
    """Return the response to an error that is expected: a refusal, or a database that is gone."""
    match error:
        case ServiceError():
            return Problem(error.code, error.status, error.sentence, _headers(error))
        case LedgerBroken() | StoreError():
            LOG.error("The store cannot be used.", exc_info=error)
            sentence = "The ledger cannot be read or signed. Tell the operator; the log says why."
            return Problem("store-broken", 500, sentence)
        case LikewiseError():
            return Problem("refused", 422, str(error))
        case RequestValidationError():
            return Problem("invalid", 422, _faults(error))
        case AnyHTTPException():
            code, sentence = _HTTP_ERRORS.get(error.status_code, ("refused", ""))
            sentence = sentence or str(error.detail)
            return Problem(code, error.status_code, sentence, error.headers)
        case _:
            LOG.error("The database cannot be reached.", exc_info=error)
            return error_response(store_unavailable())


def _headers(error: ServiceError) -> dict[str, str]:
    if isinstance(error, TooMany):
        return {"Retry-After": str(error.wait)}
    if error.status == 503:
        return {"Retry-After": "1"}
    if error.status == 405:  # where one only reads
        return {"Allow": "GET, HEAD"}
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
