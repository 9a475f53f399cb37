"""Receipts to keep: what a member has said, as the installation acknowledges it."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response

from likewise.service.api.review_serializers import review_response
from likewise.service.dockets.reviews.board import ENDED, OPEN
from likewise.service.dockets.worker import Worker
from likewise.service.verification.acknowledgements import acknowledge
from likewise.service.web.dependencies import Auditor, PageRoute

__all__ = ["router"]

router = APIRouter(prefix="/console", route_class=PageRoute, include_in_schema=False)

# So many reviews are acknowledged at once, the latest of those that have ended.
LISTED = 500


@router.get("/receipts.json")
async def receipts(request: Auditor) -> Response:
    """A file with all that the member has said, signed, and a receipt of the ledger."""

    def task(worker: Worker) -> dict[str, Any]:
        docket, board = worker.docket, worker.board
        found = [
            *board.listed(request.reader, OPEN, LISTED),
            *board.listed(request.reader, ENDED, LISTED),
        ]
        said = []
        for review in found:
            shown = review_response(docket, review)
            objections = [asdict(one) for one in shown.objections]
            said.append({"review": review.id, "status": review.status, "objections": objections})
        return acknowledge(request.reader, said, docket.receipt(), worker.store.keys.current())

    made = await request.run(task)
    text = json.dumps(made, ensure_ascii=False, indent=2) + "\n"
    name = f"{request.docket}-receipts.json"
    return Response(
        text, media_type="application/json",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )  # fmt: skip
