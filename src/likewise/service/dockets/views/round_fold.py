"""A round is a fold over its own records."""

from __future__ import annotations

from collections.abc import Iterable

from likewise.auditing import Pair
from likewise.service.dockets.views.round import Repeat, Round
from likewise.service.ledger import bodies
from likewise.service.ledger.records import LedgerBroken, Record


def folded(round_: Round, records: Iterable[Record]) -> Round:
    """Return the round after some of its records, in their order."""
    for record in records:
        round_ = after(bodies.read_body(record), round_, record)
    return round_


def after(body: object, round_: Round, record: Record) -> Round:
    """Return the round after one of its records."""
    match body:
        case bodies.PeopleArrived():
            people = {person.id: person.digest for person in body.people}
            return round_.changed(people={**round_.people, **people})
        case bodies.Decided():
            decisions = {decision.person: decision for decision in body.decisions}
            return round_.changed(decisions={**round_.decisions, **decisions})
        case bodies.RoundSealed():
            seats = dict.fromkeys(body.members, "asked")
            return round_.changed(
                sealed=record.at, rule=body.rule, due=body.due, drawn=body.drawn, seats=seats
            )
        case bodies.Labelled():
            return round_.changed(labels={**round_.labels, body.person: body.label})
        case bodies.Overridden():
            return round_.changed(overrides={**round_.overrides, body.person: body.approved})
        case bodies.OverrideExplained():
            return round_.changed(explanations={**round_.explanations, body.person: body.reason})
        case bodies.Erased():
            return round_.changed(
                people={**round_.people, body.person: body.digest},
                erased={**round_.erased, body.person: record.at},
            )
        case bodies.Closed():
            return _count_finish(round_.changed(closed=record.at), record)
    return _after_review(body, round_, record)


def _after_review(body: object, round_: Round, record: Record) -> Round:
    """Return the round after a record of its panel."""
    match body:
        case bodies.Flagged():
            pair = Pair.of(body.pair)
            reasons = {} if body.reason is None else {body.reason: pair}
            pairs = {**round_.objections.get(body.member, {}), pair: body.reason}
            return round_.changed(
                objections={**round_.objections, body.member: pairs},
                reasons={**round_.reasons, **reasons},
            )
        case bodies.Withdrawn():
            pairs = dict(round_.objections[body.member])
            del pairs[Pair.of(body.pair)]
            return round_.changed(objections={**round_.objections, body.member: pairs})
        case bodies.Reopened():
            return round_.changed(seats={**round_.seats, body.member: "asked"})
        case bodies.Absent():
            return round_.changed(seats={**round_.seats, body.member: "absent"})
        case bodies.Finished():
            changed = round_.changed(seats={**round_.seats, body.member: "finished"})
            return _count_finish(changed, record, body.member)
        case bodies.Repeated():
            objections = {Pair.of(item.pair): item.reason for item in body.objections}
            repeat = Repeat(objections, body.finished)
            return round_.changed(repeats={**round_.repeats, body.member: repeat})
        case bodies.Audited():
            ended = round_.changed(outcome=body.outcome, pairs=body.pairs, audited=record.at)
            return _count_finish(ended, record)
    message = f"{type(body).__name__} says nothing about the round {round_.id!r}."
    raise LedgerBroken(record.docket, record.seq, message)


def _count_finish(round_: Round, record: Record, member: str = "") -> Round:
    """Count the records that a member wrote by finishing.

    With a ``member`` the record is the first of them; later records belong to the same command
    if they follow it at once.
    """
    seq, at, last_member = round_.last_finish
    if not member and (not last_member or (seq + 1, at) != (record.seq, record.at)):
        return round_
    count = 1 if member else round_.finish_records.get(last_member, 0) + 1
    member = member or last_member
    return round_.changed(
        finish_records={**round_.finish_records, member: count},
        last_finish=(record.seq, record.at, member),
    )
