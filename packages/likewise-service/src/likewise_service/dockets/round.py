"""A round as its records describe it, and what its panel may report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from likewise.learner import events
from likewise.panel.objections import MemberObjections, Objections, Pair
from likewise.panel.reports import exceeds, report
from likewise_service.ledger import kinds
from likewise_service.ledger.records import LedgerBroken, Record


@dataclass(frozen=True)
class Repeat:
    """A member's second review of a round: the pairs, with the digest of each reason.

    Until it is ``finished`` the member may still change it.
    """

    objections: Mapping[Pair, str | None] = field(default_factory=dict)
    finished: bool = False


@dataclass(frozen=True)
class Round:
    """All that the ledger says about one round; each record makes a new value.

    ``seats`` holds for every member ``asked``, ``finished`` or ``absent``; ``objections`` holds
    the digest of each reason, if there is one; ``reasons`` has every reason ever given, also for
    objections that were withdrawn. ``finish_records`` counts the records that a member wrote by
    finishing: the last member also ends the audit. ``last_finish`` is the last such record,
    (number, time, member). ``repeats`` are second reviews by member. ``explanations`` are the
    digests of the reasons of overrides, ``erased`` the times of erasures by person.
    """

    id: str
    number: int
    opened: str
    sensitivity: int
    people: Mapping[str, str | None] = field(default_factory=dict)
    decisions: Mapping[str, events.Decision] = field(default_factory=dict)
    sealed: str | None = None
    rule: str = ""
    drawn: bool = False
    due: str | None = None
    seats: Mapping[str, str] = field(default_factory=dict)
    objections: Mapping[str, Mapping[Pair, str | None]] = field(default_factory=dict)
    reasons: Mapping[str, Pair] = field(default_factory=dict)
    finish_records: Mapping[str, int] = field(default_factory=dict)
    last_finish: tuple[int, str, str] = (0, "", "")
    outcome: events.Outcome | None = None
    pairs: tuple[tuple[str, str], ...] = ()
    audited: str | None = None
    labels: Mapping[str, int] = field(default_factory=dict)
    overrides: Mapping[str, bool] = field(default_factory=dict)
    explanations: Mapping[str, str] = field(default_factory=dict)
    erased: Mapping[str, str] = field(default_factory=dict)
    repeats: Mapping[str, Repeat] = field(default_factory=dict)
    closed: str | None = None

    def changed(self, **changes: Any) -> Round:
        """Return the round with other values; every record passes here, so nothing is checked."""
        copy = object.__new__(Round)
        copy.__dict__.update(self.__dict__, **changes)
        if "decisions" in changes:
            copy.__dict__.pop("_reportable", None)
        return copy

    @property
    def status(self) -> str:
        """``arriving``, ``in audit``, ``awaiting labels`` or ``closed``."""
        if self.closed:
            return "closed"
        if self.sealed is None:
            return "arriving"
        return "in audit" if self.outcome is None else "awaiting labels"

    def reportable(self) -> list[tuple[str, str, int]]:
        """Return the pairs that could be reported, (over, under, gap), the largest gap first."""
        # Every view of a round asks for them, and they change with the decisions alone.
        pairs: list[tuple[str, str, int]] | None = self.__dict__.get("_reportable")
        if pairs is None:
            pairs = self.__dict__["_reportable"] = self._ranked_pairs()
        return pairs

    def _ranked_pairs(self) -> list[tuple[str, str, int]]:
        ids = list(self.decisions)
        scores = np.array([decision.score for decision in self.decisions.values()], dtype=np.int64)
        gaps = scores[:, None] - scores
        places = np.argwhere(exceeds(gaps, 0, self.sensitivity)).tolist()
        pairs = [(ids[over], ids[under], int(gaps[over, under])) for over, under in places]
        return sorted(pairs, key=lambda pair: (-pair[2], pair[0], pair[1]))

    def can_report(self, pair: Pair) -> bool:
        """Tell if a pair of the round could be reported."""
        first, second = (self.decisions[person].score for person in pair)
        return bool(exceeds(abs(first - second), 0, self.sensitivity))

    def favoured_first(self, pair: Pair) -> tuple[str, str]:
        """Return the person with the higher score, then the other."""
        over, under = sorted(pair, key=lambda person: -self.decisions[person].score)
        return over, under

    @property
    def largest_gap(self) -> int:
        """The largest difference between two scores."""
        scores = [decision.score for decision in self.decisions.values()]
        return max(scores) - min(scores) if scores else 0

    def panel_objections(self, seats: Mapping[str, str] | None = None) -> Objections:
        """Return the panel's objections; members who have not finished count as absent."""
        return Objections(
            tuple(self.decisions),
            {
                member: MemberObjections(pairs=self.objections.get(member, {}))
                if seat == "finished"
                else MemberObjections(present=False)
                for member, seat in (self.seats if seats is None else seats).items()
            },
        )

    def conclusion(self, quorum: int, seats: Mapping[str, str] | None = None) -> events.Audited:
        """Return the audit's end: the rule over the objections of those present, given a quorum.

        The docket records it, and replay compares with it.
        """
        seats = self.seats if seats is None else seats
        present = [member for member, seat in seats.items() if seat == "finished"]
        if not seats or len(present) < min(quorum, len(seats)):
            return events.Audited(self.id, "unaudited")
        if not any(self.objections.get(member) for member in present):
            return events.Audited(self.id, "quiet")  # every rule is silent when nobody objects
        scores = [decision.score for decision in self.decisions.values()]
        pairs = report(self.rule, self.panel_objections(seats), scores).pairs
        return events.Audited(self.id, "report" if pairs else "quiet", pairs)


def folded(round_: Round, records: Iterable[Record]) -> Round:
    """Return the round after some of its records, in their order."""
    for record in records:
        round_ = after(kinds.read_body(record), round_, record)
    return round_


def after(body: object, round_: Round, record: Record) -> Round:
    """Return the round after one of its records."""
    match body:
        case kinds.PeopleArrived():
            people = {person.id: person.digest for person in body.people}
            return round_.changed(people={**round_.people, **people})
        case events.Decided():
            decisions = {decision.person: decision for decision in body.decisions}
            return round_.changed(decisions={**round_.decisions, **decisions})
        case kinds.RoundSealed():
            seats = dict.fromkeys(body.members, "asked")
            return round_.changed(
                sealed=record.at, rule=body.rule, due=body.due, drawn=body.drawn, seats=seats
            )
        case events.Labelled():
            return round_.changed(labels={**round_.labels, body.person: body.label})
        case events.Overridden():
            return round_.changed(overrides={**round_.overrides, body.person: body.approved})
        case kinds.OverrideExplained():
            return round_.changed(explanations={**round_.explanations, body.person: body.reason})
        case kinds.Erased():
            return round_.changed(
                people={**round_.people, body.person: body.digest},
                erased={**round_.erased, body.person: record.at},
            )
        case events.Closed():
            return _count_finish(round_.changed(closed=record.at), record)
    return _after_review(body, round_, record)


def _after_review(body: object, round_: Round, record: Record) -> Round:
    """Return the round after a record of its panel."""
    match body:
        case kinds.Flagged():
            pair = Pair.of(body.pair)
            reasons = {} if body.reason is None else {body.reason: pair}
            pairs = {**round_.objections.get(body.member, {}), pair: body.reason}
            return round_.changed(
                objections={**round_.objections, body.member: pairs},
                reasons={**round_.reasons, **reasons},
            )
        case kinds.Withdrawn():
            pairs = dict(round_.objections[body.member])
            del pairs[Pair.of(body.pair)]
            return round_.changed(objections={**round_.objections, body.member: pairs})
        case kinds.Reopened():
            return round_.changed(seats={**round_.seats, body.member: "asked"})
        case kinds.Absent():
            return round_.changed(seats={**round_.seats, body.member: "absent"})
        case kinds.Finished():
            changed = round_.changed(seats={**round_.seats, body.member: "finished"})
            return _count_finish(changed, record, body.member)
        case kinds.Repeated():
            objections = {Pair.of(item.pair): item.reason for item in body.objections}
            repeat = Repeat(objections, body.finished)
            return round_.changed(repeats={**round_.repeats, body.member: repeat})
        case events.Audited():
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
