"""A docket in numbers: reports, errors, gaps, and how its panel works."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import accumulate

import numpy as np

from likewise.auditing import (
    Agreement,
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
    Gap,
    MemberMetrics,
    MetricsResponse,
    Series,
)
from likewise.service.api.serializers import receipt_response
from likewise.service.dockets.docket import Docket
from likewise.service.dockets.projection import Projection, Round, instant

__all__ = ["aged", "measure", "thinned"]

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


def aged(found: MetricsResponse, moment: str) -> MetricsResponse:
    """Numbers that still hold at a later moment: only what is open has become older."""
    if found.oldest_open_seconds is None:
        return replace(found, at=moment)
    passed = (instant(moment) - instant(found.at)).total_seconds()
    return replace(found, at=moment, oldest_open_seconds=found.oldest_open_seconds + passed)


def measure(docket: Docket) -> MetricsResponse:
    """All numbers of a docket."""
    projection, state = docket.projection, docket.state
    rounds = list(projection.rounds.values())
    recent = rounds[-WINDOW:]
    known = [_misses(round_) for round_ in rounds]
    labels = sum(count for count, _, _ in known)
    opened = [instant(round_.opened) for round_ in projection.open_rounds()]
    moment = docket.clock()
    outcomes = Counter(round_.outcome for round_ in rounds)
    return MetricsResponse(
        docket=projection.name,
        at=moment,
        shadow=projection.settings.shadow,
        rounds=len(rounds),
        people=sum(len(round_.people) for round_ in rounds),
        open=len(opened),
        in_audit=sum(round_.status == "in audit" for round_ in rounds),
        oldest_open_seconds=(instant(moment) - min(opened)).total_seconds() if opened else None,
        reports=outcomes["report"],
        quiet=outcomes["quiet"],
        unaudited=outcomes["unaudited"],
        labels=labels,
        missing=state.missing,
        overrides=sum(len(round_.overrides) for round_ in rounds),
        error=sum(missed for _, missed, _ in known) / labels if labels else None,
        score_error=sum(far for _, _, far in known) / labels if labels else None,
        lam=state.lam,
        sensitivity=from_units(state.learner.sensitivity),
        window=WINDOW,
        largest_gaps=_largest(recent, state.learner.sensitivity),
        agreement=_agreement(recent, state.learner.sensitivity),
        members=_members(projection, recent, state.learner.sensitivity),
        series=_series(docket, rounds, known),
        receipt=receipt_response(docket.receipt()),
    )


def _misses(round_: Round) -> tuple[int, int, float]:
    """Labels that are known, decisions that they contradict, and how far off the chances were."""
    decided = [(round_.decisions[person], label) for person, label in round_.labels.items()]
    return (
        len(decided),
        sum(d.approved != bool(label) for d, label in decided),
        sum(abs(from_units(d.score) - label) for d, label in decided),
    )


def _gap(round_: Round) -> int:
    scores = [decision.score for decision in round_.decisions.values()]
    return max(scores) - min(scores) if scores else 0


def _largest(rounds: Iterable[Round], sensitivity: int) -> list[Gap]:
    """The largest gap of each of the rounds in which they were largest."""
    worst = sorted(rounds, key=lambda r: (-_gap(r), -r.number))[:LARGEST]
    tops = [(round_.id, pairs[0]) for round_ in worst if (pairs := round_.askable(sensitivity))]
    return [Gap(name, over, under, from_units(gap)) for name, (over, under, gap) in tops]


def _agreement(rounds: Iterable[Round], sensitivity: int) -> AgreementResponse:
    """Among the members who had to name all of their pairs: whoever has a veto may stop at one."""
    judged = []
    for round_ in rounds:
        if round_.outcome in ("report", "quiet"):
            spoken = round_.spoken()
            veto = _veto(round_.rule, tuple(spoken.members))
            rest = {m: said for m, said in spoken.members.items() if m not in veto}
            if len(rest) > 1:
                shown = [(over, under) for over, under, _ in round_.askable(sensitivity)]
                judged.append((Objections(spoken.people, rest), shown))
    found: Agreement = agreement(judged)
    return AgreementResponse(
        found.alpha, found.units, found.pairable, found.judgements, found.objections
    )


def _veto(rule: str, members: tuple[str, ...]) -> set[str]:
    alone = as_rule(rule).fires(np.eye(len(members), dtype=np.bool_), members)
    return {member for member, fires in zip(members, alone.tolist(), strict=True) if fires}


def _members(
    projection: Projection, rounds: Sequence[Round], sensitivity: int
) -> list[MemberMetrics]:
    seats: Counter[tuple[str, str]] = Counter()
    objections: Counter[str] = Counter()
    decided: Counter[str] = Counter()
    for round_ in rounds:
        seats.update(round_.seats.items())
        objections.update({m: len(said) for m, said in round_.objections.items()})
        for pair in round_.pairs:
            decided.update(decisive(round_.rule, round_.spoken(), pair))
    again: dict[str, list[Consistency]] = {}
    for (member, name), said in projection.repeats.items():
        if said.done:
            round_ = projection.rounds[name]
            first = MemberObjections(pairs=round_.objections.get(member, {}))
            shown = [(over, under) for over, under, _ in round_.askable(sensitivity)]
            now = MemberObjections(pairs=said.pairs)
            again.setdefault(member, []).append(consistency(first, now, shown))
    names = dict.fromkeys([*projection.members, *(member for member, _ in seats), *again])
    pooled = {name: Consistency.pooled(again.get(name, [])) for name in names}
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


def _series(
    docket: Docket, rounds: Sequence[Round], known: Sequence[tuple[int, int, float]]
) -> Series:
    reports = list(accumulate(round_.outcome == "report" for round_ in rounds))
    labels = list(accumulate(count for count, _, _ in known))
    missed = list(accumulate(wrong for _, wrong, _ in known))
    places = thinned(len(rounds), POINTS)
    return Series(
        number=[rounds[i].number for i in places],
        opened=[rounds[i].opened for i in places],
        reports=[int(reports[i]) for i in places],
        error=[missed[i] / labels[i] if labels[i] else None for i in places],
        largest_gap=[from_units(_gap(rounds[i])) for i in places],
        lam=[docket.lams.get(rounds[i].id, 0.0) for i in places],
    )
