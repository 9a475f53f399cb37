"""The ledger as files, from the dashboard."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from likewise.service.api.dependencies import Counter, DocketName
from likewise.service.api.routers.ledger import export_csv, export_jsonl
from likewise.service.web.dependencies import PageRoute, Visit, watcher

__all__ = ["router"]

router = APIRouter(prefix="/dashboard/{docket}", route_class=PageRoute, include_in_schema=False)


@router.get("/ledger.jsonl")
async def ledger_lines(visit: watcher, docket: DocketName) -> Response:
    """All records, one a line."""
    return _as_file(await export_jsonl(_counter(visit, docket)), f"{docket}-ledger.jsonl")


@router.get("/ledger.csv")
async def ledger_table(visit: watcher, docket: DocketName) -> Response:
    """All records as a table."""
    return _as_file(await export_csv(_counter(visit, docket)), f"{docket}-ledger.csv")


def _counter(visit: Visit, docket: str) -> Counter:
    return Counter(visit.session.identity, docket, visit.services)


def _as_file(answer: Response, name: str) -> Response:
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer
