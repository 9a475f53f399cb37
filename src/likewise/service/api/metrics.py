"""A docket in numbers: reports, errors, gaps, and how its panel works."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from likewise.auditing import Agreement, Consistency
from likewise.fixed_point import from_units
from likewise.service.api.review_responses import (
    AgreementResponse,
    ConsistencyResponse,
    Gap,
    MemberMetrics,
    MetricsResponse,
    Series,
)
from likewise.service.api.serializers import receipt_response
from likewise.service.clock import seconds_between
from likewise.service.dockets.docket import Docket
from likewise.service.dockets.views.figures import RoundFigures
from likewise.service.dockets.views.projection import Projection
from likewise.service.dockets.views.series import Curves
from likewise.service.dockets.views.tallies import WINDOW, summed
from likewise.service.dockets.worker import Worker

__all__ = ["measured", "thinned"]

POINTS = 400
LARGEST = 10


def thinned(count: int, points: int) -> list[int]:
    """At most so many places of a list, evenly spread, with the first and the last.

    >>> thinned(10, 4), thinned(3, 4)
    ([0, 3, 6, 9], [0, 1, 2])
    """
    if count <= points:
        return list(range(count))
    return [place * (count - 1) // (points - 1) for place in range(points)]


def measured(worker: Worker, *, with_panel: bool) -> MetricsResponse:
    """All numbers of a docket, now; how its panel works is not for everybody.

    They are counted when the ledger has grown. What becomes older by itself is told anew.
    """
    docket = worker.docket
    found, moment = worker.cached("metrics", lambda: _counted(docket)), docket.moment()
    opened = [round_.opened for round_ in docket.projection.open_rounds()]
    oldest = seconds_between(min(opened), moment) if opened else None
    found = replace(found, at=moment, oldest_open_seconds=oldest)
    if with_panel:
        return found
    return replace(found, agreement=None, consistency=None, members=None)


def _counted(docket: Docket) -> MetricsResponse:
    projection, state = docket.projection, docket.state
    counts, labels = projection.counts, projection.counts["labels"]
    recent = projection.tallies.latest(projection.opened)
    again = projection.tallies.consistency
    opened = projection.open_rounds()
    return MetricsResponse(
        docket=docket.name,
        at=projection.at,
        shadow=projection.settings.shadow,
        rounds=counts["rounds"],
        people=counts["people"],
        open=len(opened),
        in_audit=sum(round_.status == "in audit" for round_ in opened),
        oldest_open_seconds=None,
        reports=counts["report"],
        quiet=counts["quiet"],
        unaudited=counts["unaudited"],
        labels=labels,
        missing=state.missing,
        overrides=counts["overrides"],
        error=counts["missed"] / labels if labels else None,
        score_error=from_units(counts["distance"]) / labels if labels else None,
        lam=0.0 if projection.audit_only else state.lam,
        sensitivity=from_units(projection.settings.sensitivity),
        window=WINDOW,
        largest_gaps=_largest(recent),
        agreement=_agreement(summed(recent)),
        consistency=_pooled(again.values()),
        members=_members(projection, recent, again),
        series=_series(projection.curves),
        recorded=projection.at,
        receipt=receipt_response(docket.receipt()),
    )


def _largest(rounds: Iterable[RoundFigures]) -> list[Gap]:
    """The largest gap of each of the rounds in which they were largest."""
    gaps = [(one.gap, one) for one in rounds if one.gap is not None]
    worst = sorted(gaps, key=lambda found: (-found[0][2], -found[1].number))[:LARGEST]
    return [Gap(one.id, over, under, from_units(gap)) for (over, under, gap), one in worst]


def _agreement(agreement: Agreement) -> AgreementResponse:
    return AgreementResponse(
        alpha=agreement.alpha,
        units=agreement.units,
        pairable=agreement.pairable,
        judgements=agreement.judgements,
        objections=agreement.objections,
    )


def _pooled(several: Iterable[Consistency]) -> ConsistencyResponse:
    """Several repeats together: every pair counts the same."""
    pooled = sum(several, Consistency())
    return ConsistencyResponse(pooled.share, pooled.repeats, pooled.pairs, pooled.same)


def _members(
    projection: Projection, rounds: Sequence[RoundFigures], again: dict[str, Consistency]
) -> list[MemberMetrics]:
    seats: Counter[tuple[str, str]] = Counter()
    objections: Counter[str] = Counter()
    decided: Counter[str] = Counter()
    for one in rounds:
        seats.update(one.seats.items())
        objections.update(one.objections)
        decided.update(one.decisive)
    names = dict.fromkeys([*projection.members, *(member for member, _ in seats), *again])
    pooled = {name: _pooled([again.get(name, Consistency())]) for name in names}
    return [
        MemberMetrics(
            member=name,
            sitting=name in projection.members,
            asked=sum(seats[name, seat] for seat in ("asked", "finished", "absent")),
            finished=seats[name, "finished"],
            absent=seats[name, "absent"],
            objections=objections[name],
            decisive=decided[name],
            repeats=pooled[name].repeats,
            consistency=pooled[name].share,
        )
        for name in names
    ]


def _series(curves: Curves) -> Series:
    points = list(curves.cumulative())
    chosen = [points[place] for place in thinned(len(points), POINTS)]
    return Series(
        number=[one.number for one in chosen],
        opened=[one.opened for one in chosen],
        reports=[one.reports for one in chosen],
        error=[one.missed / one.labels if one.labels else None for one in chosen],
        largest_gap=[from_units(one.gap) for one in chosen],
        lam=[one.lam for one in chosen],
    )
