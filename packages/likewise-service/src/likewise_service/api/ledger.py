"""The ledger: receipts, exports, and the docket in numbers."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Annotated, Any

from fastapi import Query
from fastapi.responses import Response, StreamingResponse
from pydantic import Field

from likewise_client.responses import ReceiptCheck, ReceiptResponse
from likewise_service.api.dependencies import (
    LARGEST,
    AnyAccess,
    Body,
    DocketAccess,
    ReadAccess,
    SupervisorAccess,
    api_router,
)
from likewise_service.api.errors import receipt_response
from likewise_service.api.metrics import MetricsResponse, agreement_rows, measure
from likewise_service.ledger.records import Receipt, Record
from likewise_service.verify.receipts import KnownKeys

router = api_router("/v1/dockets/{docket}", "ledger")

PAGE = 1000
COLUMNS = ("docket", "seq", "at", "kind", "body", "nonce", "prev", "hash", "actor")

After = Annotated[int, Query(ge=0, le=LARGEST, description="Records with numbers above this.")]


class ReceiptBody(Body):
    """A receipt as it was printed."""

    receipt: Annotated[str, Field(min_length=1, max_length=400)]


@router.get("/receipt")
async def get_receipt(access: AnyAccess) -> ReceiptResponse:
    """Return the head of the ledger, by which you can tell later whether it was rewritten."""
    return await access.run(lambda worker: receipt_response(worker.docket.receipt()))


@router.post("/receipt/check")
async def check_receipt(body: ReceiptBody, access: AnyAccess) -> ReceiptCheck:
    """Check whether a receipt belongs to this ledger as it is now."""
    receipt = Receipt.parse(body.receipt)
    seq = receipt.head.seq
    fault = await asyncio.to_thread(_fault, receipt, access)
    if fault is not None:
        return ReceiptCheck(False, fault)
    return ReceiptCheck(
        True,
        f"Record {seq} is what it was when this receipt was given. That all before it is so too "
        f"is shown by: likewise verify RECEIPT.",
    )


def _fault(receipt: Receipt, access: DocketAccess) -> str | None:
    """Return why a receipt does not belong to the ledger; None if it does."""
    store, head = access.app.store, receipt.head
    if receipt.docket != access.docket:
        return f"This receipt is of the docket {receipt.docket!r}."
    keys = KnownKeys.installed(store.keys.listed())
    if keys.judge(receipt) not in ("signed", "not signed"):
        return keys.sentence(receipt)
    if head.seq > 2**62:
        return "The ledger has no record of that number."
    records = store.records(access.docket, head.seq - 1, head.seq) if head.seq > 0 else []
    if not records:
        return f"The ledger has no record {head.seq}; it was cut, or restored."
    if not head.hash == records[0].hash == records[0].content_hash:
        return f"Record {head.seq} is not what it was when this receipt was given."
    return None


@router.get("/metrics")
async def get_metrics(access: ReadAccess) -> MetricsResponse:
    """Return reports, errors, gaps, what is open or missing; and how the panel works."""
    return await access.run(lambda w: measure(w, with_panel=access.sees_panel))


def _documented(media_type: str) -> dict[int | str, dict[str, Any]]:
    return {200: {"content": {media_type: {"schema": {"type": "string"}}}}}


@router.get("/agreement.csv", response_class=Response, responses=_documented("text/csv"))
async def get_agreement(access: SupervisorAccess) -> Response:
    """Return agreement and disagreement by member and month, as a table."""
    rows = await access.run(lambda w: agreement_rows(w.docket.projection))
    return Response("".join(map(_csv_line, rows)), media_type="text/csv")


async def _export(
    access: DocketAccess, after: int, line: Callable[[Record], str], media_type: str, head: str = ""
) -> StreamingResponse:
    """Stream the records page by page, so that a long ledger is never in memory."""
    last = await access.run(lambda worker: worker.docket.projection.head.seq)

    async def pages() -> AsyncIterator[str]:
        yield head
        for start in range(after, last, PAGE):
            end = min(start + PAGE, last)
            page = await asyncio.to_thread(access.app.store.records, access.docket, start, end)
            yield "".join(map(line, page))

    return StreamingResponse(pages(), media_type=media_type)


@router.get(
    "/ledger.jsonl",
    response_class=StreamingResponse,
    responses=_documented("application/jsonl"),
)
async def export_jsonl(access: SupervisorAccess, after: After = 0) -> StreamingResponse:
    """Stream all records, one a line, exactly as they were hashed."""
    return await _export(
        access, after, lambda record: record.line().decode() + "\n", "application/jsonl"
    )


def _csv_line(values: Iterable[object]) -> str:
    text = io.StringIO()
    csv.writer(text).writerow(values)
    return text.getvalue()


def _row(record: Record) -> str:
    fields = {**record.to_json(), "actor": record.actor}
    fields["body"] = json.dumps(fields["body"], ensure_ascii=False, sort_keys=True)
    return _csv_line(fields[name] for name in COLUMNS)


@router.get("/ledger.csv", response_class=StreamingResponse, responses=_documented("text/csv"))
async def export_csv(access: SupervisorAccess, after: After = 0) -> StreamingResponse:
    """Stream all records as a table. Verify the other export: it has the exact bytes."""
    return await _export(access, after, _row, "text/csv", _csv_line(COLUMNS))
