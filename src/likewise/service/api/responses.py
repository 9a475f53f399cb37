"""Responses of the server: the client's classes, filled from the objects of a docket."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from likewise.service.ledger.payloads import Payload
from likewise.service.ledger.records import Receipt
from likewise_client.responses import ReceiptResponse, Response, Written

T = TypeVar("T", bound=Response)


class ErrorBody(Response):
    """A code for programs, and a sentence that says what to do."""

    code: str
    message: str


class ErrorResponse(Response):
    """The response to every request that was refused, or failed."""

    error: ErrorBody


def fill(kind: type[T], source: object, **values: Any) -> T:
    """Build a response from the attributes of an object; ``values`` are the fields it has not."""
    names = [name for name in kind.__dataclass_fields__ if name not in values]
    return kind(**{name: getattr(source, name) for name in names}, **values)


def receipt_response(receipt: Receipt) -> ReceiptResponse:
    """Return a receipt, with the line to keep."""
    return ReceiptResponse(receipt.docket, receipt.head.seq, receipt.head.hash, str(receipt))


def written(receipt: Receipt) -> Written:
    """Return the response to a command that returns nothing but its receipt."""
    return Written(receipt_response(receipt))


def reason_text(payloads: Mapping[str, Payload], digest: str | None) -> str | None:
    """Return the text of a reason; None if there was none, or it was erased."""
    payload = None if digest is None else payloads.get(digest)
    return None if payload is None else str(payload.content["text"])
