"""A docket in numbers: reports, errors, gaps, and how its panel works."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import accumulate

import numpy as np

from likewise.auditing import (
    Consistency,
    MemberObjections,
    Objections,
    agreement,
    as_rule,
    consistency,
    decisive,
)
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
from likewise.service.dockets.projection import Projection
from likewise.service.dockets.round import Round
from likewise.service.dockets.worker import Worker

__all__ = ["measured", "thinned"]

WINDOW = 1000
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
    found, moment = worker.kept("metrics", lambda: _counted(docket)), docket.clock()
    opened = [round_.opened for round_ in docket.projection.open_rounds()]
    oldest = seconds_between(min(opened), moment) if opened else None
    found = replace(found, at=moment, oldest_open_seconds=oldest)
    if with_panel:
        return found
    return replace(found, agreement=None, consistency=None, members=None)


def _counted(docket: Docket) -> MetricsResponse:
    projection, state = docket.projection, docket.state
    counts, rounds = projection.counts, list(projection.history())
    labels, recent = counts["labels"], rounds[-WINDOW:]
    again = _consistency(projection)
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
        lam=state.lam,
        sensitivity=from_units(projection.settings.sensitivity),
        window=WINDOW,
        largest_gaps=_largest(recent),
        agreement=_agreement(recent),
        consistency=_pooled(one for some in again.values() for one in some),
        members=_members(projection, recent, again),
        series=_series(docket, rounds),
        recorded=projection.at,
        receipt=receipt_response(docket.receipt()),
    )


def _largest(rounds: Iterable[Round]) -> list[Gap]:
    """The largest gap of each of the rounds in which they were largest."""
    worst = sorted(rounds, key=lambda r: (-r.largest_gap, -r.number))[:LARGEST]
    tops = [(round_.id, pairs[0]) for round_ in worst if (pairs := round_.reportable())]
    return [Gap(name, over, under, from_units(gap)) for name, (over, under, gap) in tops]


def _shown(round_: Round) -> list[tuple[str, str]]:
    return [(over, under) for over, under, _ in round_.reportable()]


def _agreement(rounds: Iterable[Round]) -> AgreementResponse:
    """Among the members who had to name all of their pairs: whoever has a veto may stop at one."""
    judged = []
    for round_ in rounds:
        if round_.outcome in ("report", "quiet"):
            spoken = round_.spoken()
            veto = _veto(round_.rule, tuple(spoken.members))
            rest = {m: said for m, said in spoken.members.items() if m not in veto}
            if len(rest) > 1:
                judged.append((Objections(spoken.people, rest), _shown(round_)))
    return AgreementResponse(**vars(agreement(judged)))


def _veto(rule: str, members: tuple[str, ...]) -> set[str]:
    alone = as_rule(rule).fires(np.eye(len(members), dtype=np.bool_), members)
    return {member for member, fires in zip(members, alone.tolist(), strict=True) if fires}


def _consistency(projection: Projection) -> dict[str, list[Consistency]]:
    """Every round that a member has judged twice."""
    again: dict[str, list[Consistency]] = {}
    for (member, name), repeat in projection.repeats.items():
        if repeat.done:
            round_ = projection.round(name)
            first = MemberObjections(pairs=round_.objections.get(member, {}))
            now = MemberObjections(pairs=repeat.said)
            again.setdefault(member, []).append(consistency(first, now, _shown(round_)))
    return again


def _pooled(several: Iterable[Consistency]) -> ConsistencyResponse:
    """Several repeats together: every pair counts the same."""
    pooled = Consistency.pooled(several)
    return ConsistencyResponse(pooled.share, pooled.repeats, pooled.pairs, pooled.same)


def _members(
    projection: Projection, rounds: Sequence[Round], again: dict[str, list[Consistency]]
) -> list[MemberMetrics]:
    seats: Counter[tuple[str, str]] = Counter()
    objections: Counter[str] = Counter()
    decided: Counter[str] = Counter()
    for round_ in rounds:
        seats.update(round_.seats.items())
        objections.update({m: len(said) for m, said in round_.objections.items()})
        for pair in round_.pairs:
            decided.update(decisive(round_.rule, round_.spoken(), pair))
    names = dict.fromkeys([*projection.members, *(member for member, _ in seats), *again])
    pooled = {name: _pooled(again.get(name, [])) for name in names}
    return [
        MemberMetrics(
            member=name,
            sitting=name in projection.members,
            asked=sum(seats[name, seat] for seat in ("asked", "reviewed", "absent")),
            reviewed=seats[name, "reviewed"],
            absent=seats[name, "absent"],
            objections=objections[name],
            decisive=decided[name],
            repeats=pooled[name].repeats,
            consistency=pooled[name].share,
        )
        for name in names
    ]


def _series(docket: Docket, rounds: Sequence[Round]) -> Series:
    reports = list(accumulate(round_.outcome == "report" for round_ in rounds))
    labels = list(accumulate(len(round_.labels) for round_ in rounds))
    missed = list(accumulate(_missed(round_) for round_ in rounds))
    places = thinned(len(rounds), POINTS)
    return Series(
        number=[rounds[i].number for i in places],
        opened=[rounds[i].opened for i in places],
        reports=[int(reports[i]) for i in places],
        error=[missed[i] / labels[i] if labels[i] else None for i in places],
        largest_gap=[from_units(rounds[i].largest_gap) for i in places],
        lam=[docket.lams.get(rounds[i].id, 0.0) for i in places],
    )


def _missed(round_: Round) -> int:
    """Decisions that the known labels contradict."""
    return sum(
        round_.decisions[person].approved != bool(label) for person, label in round_.labels.items()
    )
