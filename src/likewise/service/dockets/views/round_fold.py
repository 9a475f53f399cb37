"""A round is a fold over its own records."""

from __future__ import annotations

from collections.abc import Iterable
from functools import singledispatch

from likewise.auditing import Pair
from likewise.service.dockets.views.round import Repeat, Round
from likewise.service.ledger import bodies
from likewise.service.ledger.records import LedgerBroken, Record


def folded(round_: Round, records: Iterable[Record]) -> Round:
    """Return the round after some of its records, in their order."""
    for record in records:
        round_ = after(bodies.read_body(record), round_, record)
    return round_


@singledispatch
def after(body: object, round_: Round, record: Record) -> Round:
    """Return the round after one of its records."""
    message = f"{type(body).__name__} says nothing about the round {round_.id!r}."
    raise LedgerBroken(record.docket, record.seq, message)


@after.register
def _arrived(body: bodies.PeopleArrived, round_: Round, _: Record) -> Round:
    people = {**round_.people, **{person.id: person.digest for person in body.people}}
    return round_.changed(people=people)


@after.register
def _decided(body: bodies.Decided, round_: Round, _: Record) -> Round:
    fresh = {decision.person: decision for decision in body.decisions}
    return round_.changed(decisions={**round_.decisions, **fresh})


@after.register
def _sealed(body: bodies.RoundSealed, round_: Round, record: Record) -> Round:
    return round_.changed(
        sealed=record.at, rule=body.rule, due=body.due, drawn=body.drawn,
        seats=dict.fromkeys(body.members, "asked"),
    )  # fmt: skip


@after.register
def _objected(body: bodies.Objected, round_: Round, _: Record) -> Round:
    pair = Pair.of(body.pair)
    pairs = {**round_.objections.get(body.member, {}), pair: body.reason}
    reason = {} if body.reason is None else {body.reason: pair}
    return round_.changed(
        objections={**round_.objections, body.member: pairs}, reasons={**round_.reasons, **reason}
    )


@after.register
def _withdrawn(body: bodies.Withdrawn, round_: Round, _: Record) -> Round:
    pairs = dict(round_.objections[body.member])
    del pairs[Pair.of(body.pair)]
    return round_.changed(objections={**round_.objections, body.member: pairs})


@after.register(bodies.Reviewed)
@after.register(bodies.Reopened)
@after.register(bodies.Absent)
def _seated(body: bodies.Reviewed, round_: Round, record: Record) -> Round:
    seat = "asked" if record.kind == "reopened" else record.kind
    changed = round_.changed(seats={**round_.seats, body.member: seat})
    return _count_finish(changed, record, body.member) if seat == "reviewed" else changed


@after.register
def _audited(body: bodies.Audited, round_: Round, record: Record) -> Round:
    ended = round_.changed(outcome=body.outcome, pairs=body.pairs, audited=record.at)
    return _count_finish(ended, record)


@after.register
def _labelled(body: bodies.Labelled, round_: Round, _: Record) -> Round:
    return round_.changed(labels={**round_.labels, body.person: body.label})


@after.register
def _overridden(body: bodies.Overridden, round_: Round, _: Record) -> Round:
    return round_.changed(overrides={**round_.overrides, body.person: body.approved})


@after.register
def _explained(body: bodies.OverrideExplained, round_: Round, _: Record) -> Round:
    return round_.changed(explanations={**round_.explanations, body.person: body.reason})


@after.register
def _closed(_: bodies.Closed, round_: Round, record: Record) -> Round:
    return _count_finish(round_.changed(closed=record.at), record)


@after.register
def _repeated(body: bodies.Repeated, round_: Round, _: Record) -> Round:
    repeat = Repeat({Pair.of(said.pair): said.reason for said in body.said}, body.done)
    return round_.changed(repeats={**round_.repeats, body.member: repeat})


@after.register
def _erased(body: bodies.Erased, round_: Round, record: Record) -> Round:
    return round_.changed(
        people={**round_.people, body.person: body.digest},
        erased={**round_.erased, body.person: record.at},
    )


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
