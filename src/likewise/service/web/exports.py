"""The ledger as files, from the dashboard."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from likewise.service.api.dependencies import Counter, DocketName
from likewise.service.api.routers.ledger import export_csv, export_jsonl
from likewise.service.web.dependencies import PageRequest, PageRoute, watcher

__all__ = ["router"]

router = APIRouter(prefix="/dashboard/{docket}", route_class=PageRoute, include_in_schema=False)


@router.get("/ledger.jsonl")
async def ledger_lines(request_: watcher, docket: DocketName) -> Response:
    """All records, one a line."""
    return _as_file(await export_jsonl(_counter(request_, docket)), f"{docket}-ledger.jsonl")


@router.get("/ledger.csv")
async def ledger_table(request_: watcher, docket: DocketName) -> Response:
    """All records as a table."""
    return _as_file(await export_csv(_counter(request_, docket)), f"{docket}-ledger.csv")


def _counter(request_: PageRequest, docket: str) -> Counter:
    return Counter(request_.session.identity, docket, request_.services)


def _as_file(answer: Response, name: str) -> Response:
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer
