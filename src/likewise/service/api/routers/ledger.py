"""The ledger: receipts, exports, and the docket in numbers."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from collections.abc import AsyncIterator, Callable
from typing import Annotated

from fastapi import Query
from fastapi.responses import Response, StreamingResponse

from likewise.service.api.agreement import agreement_table
from likewise.service.api.dependencies import (
    DocketAccess,
    Everybody,
    Inspecting,
    Reading,
    api_router,
)
from likewise.service.api.metrics import measured
from likewise.service.api.requests import ReceiptBody
from likewise.service.api.responses import ReceiptCheck, ReceiptResponse
from likewise.service.api.review_responses import MetricsResponse
from likewise.service.api.serializers import receipt_response
from likewise.service.ledger.records import Receipt, Record
from likewise.service.verification.known_keys import KnownKeys

__all__ = ["router"]

router = api_router("/v1/dockets/{docket}", "ledger")

PAGE = 1000
COLUMNS = ("docket", "seq", "at", "kind", "body", "nonce", "prev", "hash", "actor")

After = Annotated[int, Query(ge=0, le=2**53, description="Records with numbers above this.")]


@router.get("/receipt")
async def get_receipt(at: Everybody) -> ReceiptResponse:
    """The ledger's head. Whoever keeps it can tell later whether anything was rewritten."""
    return await at.run(lambda worker: receipt_response(worker.docket.receipt()))


@router.post("/receipt/check")
async def check_receipt(body: ReceiptBody, at: Everybody) -> ReceiptCheck:
    """Tell if a receipt that you kept is of this ledger."""
    receipt = Receipt.parse(body.receipt)
    head = receipt.head
    if receipt.docket != at.docket:
        return ReceiptCheck(False, f"This receipt is of the docket {receipt.docket!r}.")
    known = KnownKeys.installed(await asyncio.to_thread(at.app.store.keys.listed))
    if known.judge(receipt) not in ("signed", "not signed"):
        return ReceiptCheck(False, known.sentence(receipt))
    if head.seq > 2**62:
        return ReceiptCheck(False, "The ledger has no record of that number.")
    store = at.app.store
    found = await asyncio.to_thread(store.records, at.docket, head.seq - 1, head.seq)
    if head.seq < 1 or not found:
        return ReceiptCheck(False, f"The ledger has no record {head.seq}; it was cut, or restored.")
    if head.hash not in (found[0].hash, found[0].content_hash) or (
        found[0].hash != found[0].content_hash
    ):
        return ReceiptCheck(
            False, f"Record {head.seq} is not what it was when this receipt was given."
        )
    return ReceiptCheck(
        True,
        f"Record {head.seq} is what it was when this receipt was given. That all before it is so "
        f"too is shown by: likewise verify RECEIPT.",
    )


@router.get("/metrics")
async def get_metrics(at: Reading) -> MetricsResponse:
    """Reports, errors, gaps, what is open or missing; and how the panel works."""
    return await at.run(lambda w: measured(w, with_panel=at.sees_panel))


@router.get(
    "/agreement.csv",
    response_class=Response,
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}},
)
async def get_agreement(at: Inspecting) -> Response:
    """Agreement and disagreement by member and month, as a table."""
    text = await at.run(lambda w: agreement_table(w.docket.projection))
    return Response(text, media_type="text/csv")


async def _lines(
    at: DocketAccess, after: int, until: int, write: Callable[[Record], str], first: str = ""
) -> AsyncIterator[str]:
    """The records up to one, page by page, so that a long ledger is never in memory."""
    if first:
        yield first
    while after < until:
        upto = min(after + PAGE, until)
        page = await asyncio.to_thread(at.app.store.records, at.docket, after, upto)
        yield "".join(write(record) for record in page)
        after = upto


async def _until(at: DocketAccess) -> int:
    return await at.run(lambda worker: worker.docket.projection.head.seq)


@router.get(
    "/ledger.jsonl",
    response_class=StreamingResponse,
    responses={200: {"content": {"application/jsonl": {"schema": {"type": "string"}}}}},
)
async def export_jsonl(at: Inspecting, after: After = 0) -> StreamingResponse:
    """All records, one a line, written as they were hashed."""
    lines = _lines(at, after, await _until(at), lambda record: record.line().decode() + "\n")
    return StreamingResponse(lines, media_type="application/jsonl")


def _row(record: Record) -> str:
    plain = {**record.to_json(), "actor": record.actor}
    plain["body"] = json.dumps(plain["body"], ensure_ascii=False, sort_keys=True)
    return _written([plain[name] for name in COLUMNS])


def _written(values: list[object]) -> str:
    text = io.StringIO()
    csv.writer(text).writerow(values)
    return text.getvalue()


@router.get(
    "/ledger.csv",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}},
)
async def export_csv(at: Inspecting, after: After = 0) -> StreamingResponse:
    """All records as a table; the body is JSON. Verify the other export: it has the exact bytes."""
    lines = _lines(at, after, await _until(at), _row, _written(list(COLUMNS)))
    return StreamingResponse(lines, media_type="text/csv")
