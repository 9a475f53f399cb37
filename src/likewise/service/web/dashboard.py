"""The operator's dashboard: how a docket stands, and its numbers as JSON."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import JSONResponse, RedirectResponse, Response

from likewise.service.answers_review import MetricsAnswer
from likewise.service.api.access import DocketName
from likewise.service.console import Frame
from likewise.service.console.rendering import render
from likewise.service.dashboard import (
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
from likewise.service.measures import measure
from likewise.service.offices import Office
from likewise.service.views import awaited
from likewise.service.web.doors import PageRoute, Visit, page, watcher

__all__ = ["router"]

router = APIRouter(prefix="/dashboard", route_class=PageRoute, include_in_schema=False)

SHOWN = 100


@router.get("/")
async def dockets(visit: watcher) -> Response:
    """The dockets that there are; with one alone, that one."""
    mine = visit.session.identity.docket
    names = (mine,) if mine else await visit.services.offices.dockets()
    if len(names) == 1:
        return RedirectResponse(f"/dashboard/{names[0]}/", 303)
    frame = Frame(
        base="/dashboard", static="/static", csrf=visit.session.csrf, docket="Likewise",
        now=visit.frame("").now, who=visit.session.identity.name,
    )  # fmt: skip
    return page(render("dashboard/dockets.html", frame=frame, names=names))


@router.get("/{docket}/")
async def dashboard(visit: watcher, docket: DocketName) -> Response:  # noqa: ARG001
    """How the docket stands."""
    return page(await visit.run(lambda office: render_dashboard(_model(visit, office))))


@router.get("/{docket}/data")
async def data(visit: watcher, docket: DocketName) -> Response:  # noqa: ARG001
    """The same numbers, for the page that asks again and again."""
    return JSONResponse(await visit.run(lambda office: live(_model(visit, office))))


def _model(visit: Visit, office: Office) -> Dashboard:
    desk = office.desk
    book = desk.book
    found = office.kept("metrics", lambda: measure(desk))
    last = desk.store.records(book.docket, after=book.head.seq - 1)
    members = found.members or []
    repeats = sum(member.repeats for member in members)
    shares = [
        (m.consistency, m.repeats) for m in members if m.consistency is not None and m.repeats
    ]
    return Dashboard(
        frame=visit.frame(book.settings.title),
        standing=Standing(
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
            consistency=sum(s * n for s, n in shares) / repeats if shares else None,
            repeats=repeats,
        ),
        head=Head(book.head.seq, str(desk.receipt()), last[0].at if last else ""),
        rule=book.rule,
        data_url=f"{visit.base}/data",
        series=_series(found),
        members=tuple(
            MemberRow(
                m.member, m.asked, m.absent, m.objections, m.decisive, m.consistency, m.sitting
            )
            for m in members
        ),
        open_rounds=tuple(
            OpenRound(
                title=round_.id,
                people=len(round_.people),
                opened=round_.opened,
                closes=round_.due or "",
                seats=len(round_.seats),
                done=sum(seat == "reviewed" for seat in round_.seats.values()),
                missing_labels=len(awaited(desk, round_)),
            )
            for round_ in list(book.open_rounds())[:SHOWN]
        ),
        exports=(
            Export("Ledger as JSON lines", f"{visit.base}/ledger.jsonl", "for likewise verify"),
            Export("Ledger as CSV", f"{visit.base}/ledger.csv", "for a spreadsheet"),
        ),
    )


def _series(found: MetricsAnswer) -> Series:
    series = found.series
    return Series(
        tuple(series.number), tuple(series.reports), tuple(series.error), tuple(series.lam),
        tuple(series.largest_gap),
    )  # fmt: skip
