"""The operator's dashboard: how a docket stands, and its numbers as JSON."""

from __future__ import annotations

from itertools import islice

from fastapi import APIRouter
from fastapi.responses import JSONResponse, RedirectResponse, Response

from likewise.service.api.dependencies import DocketName
from likewise.service.api.metrics import measure
from likewise.service.api.review_responses import MetricsResponse
from likewise.service.api.serializers import awaited
from likewise.service.dockets.docket import Docket
from likewise.service.dockets.projection import Round
from likewise.service.dockets.worker import Worker
from likewise.service.web.dependencies import PageRequest, PageRoute, page, watcher
from likewise.service.web.member_pages import Frame
from likewise.service.web.operator_pages import (
    Dashboard,
    Export,
    Head,
    MemberRow,
    OpenRound,
    Series,
    Standing,
    live,
    render_dashboard,
)
from likewise.service.web.rendering import render

__all__ = ["router"]

router = APIRouter(prefix="/dashboard", route_class=PageRoute, include_in_schema=False)

SHOWN = 100


@router.get("/")
async def dockets(request_: watcher) -> Response:
    """The dockets that there are; with one alone, that one."""
    mine = request_.session.identity.docket
    names = (mine,) if mine else await request_.services.workers.dockets()
    if len(names) == 1:
        return RedirectResponse(f"/dashboard/{names[0]}/", 303)
    frame = Frame(
        base="/dashboard", static="/static", csrf=request_.session.csrf, docket="Likewise",
        now=request_.frame("").now, who=request_.session.identity.name,
    )  # fmt: skip
    return page(render("dashboard/dockets.html", frame=frame, names=names))


@router.get("/{docket}/")
async def dashboard(request_: watcher, docket: DocketName) -> Response:  # noqa: ARG001
    """How the docket stands."""
    return page(await request_.run(lambda worker: render_dashboard(_model(request_, worker))))


@router.get("/{docket}/data")
async def data(request_: watcher, docket: DocketName) -> Response:  # noqa: ARG001
    """The same numbers, for the page that asks again and again."""
    return JSONResponse(await request_.run(lambda worker: live(_model(request_, worker))))


def _model(request_: PageRequest, worker: Worker) -> Dashboard:
    docket, projection = worker.docket, worker.docket.projection
    found = worker.kept("metrics", lambda: measure(docket))
    return Dashboard(
        frame=request_.frame(projection.settings.title),
        standing=_standing(found),
        head=Head(projection.head.seq, str(docket.receipt()), projection.at),
        rule=projection.rule,
        data_url=f"{request_.base}/data",
        series=_series(found),
        members=tuple(
            MemberRow(
                m.member, m.asked, m.absent, m.objections, m.decisive, m.consistency, m.sitting
            )
            for m in found.members or []
        ),
        open_rounds=tuple(_open_round(docket, r) for r in islice(projection.open_rounds(), SHOWN)),
        exports=(
            Export("Ledger as JSON lines", f"{request_.base}/ledger.jsonl", "for likewise verify"),
            Export("Ledger as CSV", f"{request_.base}/ledger.csv", "for a spreadsheet"),
        ),
    )


def _standing(found: MetricsResponse) -> Standing:
    shown_again = [m for m in found.members or [] if m.consistency is not None]
    repeats = sum(m.repeats for m in shown_again)
    same = sum((m.consistency or 0.0) * m.repeats for m in shown_again)
    return Standing(
        rounds=found.rounds,
        reports=found.reports,
        error=found.error,
        labels=found.labels,
        missing_labels=found.missing,
        lam=found.lam,
        open_rounds=found.open,
        oldest_open=found.oldest_open_seconds,
        overrides=found.overrides,
        agreement=found.agreement.alpha if found.agreement else None,
        consistency=same / repeats if repeats else None,
        repeats=repeats,
    )


def _open_round(docket: Docket, round_: Round) -> OpenRound:
    return OpenRound(
        title=round_.id,
        people=len(round_.people),
        opened=round_.opened,
        closes=round_.due or "",
        seats=len(round_.seats),
        done=sum(seat == "reviewed" for seat in round_.seats.values()),
        missing_labels=len(awaited(docket, round_)),
    )


def _series(found: MetricsResponse) -> Series:
    series = found.series
    return Series(
        tuple(series.number), tuple(series.reports), tuple(series.error), tuple(series.lam),
        tuple(series.largest_gap),
    )  # fmt: skip
