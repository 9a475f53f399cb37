"""A round as its records describe it, and what its panel may report."""

from __future__ import annotations

import base64
import json
import zlib
from bisect import bisect
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from likewise.learner import Learner, State, attention, events, players
from likewise.learner.state import OpenRound
from likewise.numerics.fixed_point import ONE, FloatArray
from likewise.panel import MemberObjections, Objections, Pair, as_rule, reports, rules
from likewise.panel.turns import Turns, doubts_of, settled
from likewise_service.clock import due_after
from likewise_service.dockets.spec import DocketSpec
from likewise_service.errors import ServiceError
from likewise_service.ledger import kinds
from likewise_service.ledger.records import Record

# The doubts on record, or the inputs from which they are computed.
Doubts = tuple[int, ...] | FloatArray
# The turn of a member who is asked about all pairs, and of one who was not asked.
_WHOLE, _NO_TURN = kinds.Turn("", None, None), kinds.Turn("", None, frozenset())


@dataclass(frozen=True)
class Round:
    """All that the ledger says about one round; each record makes a new value.

    ``asking`` is what the panel is asked about, once the round is sealed. ``seats`` holds for every
    member ``unasked``, ``asked``, ``finished`` or ``absent``; where they are asked ``in_turn``,
    ``turns`` holds what each was asked about. ``objections`` are by member and pair; ``reasons``
    has every reason ever given, also for withdrawn objections. ``finish_records`` counts the
    records that a member wrote by finishing (the last member also ends the audit), and
    ``last_finish`` is the last of them: number, time, member. ``repeats`` are second reviews by
    member, ``explanations`` digests of the reasons for overrides, ``erased`` times of erasures by
    person, ``batches`` the number of people in each; ``appeals`` are by id, ``notices`` by person.
    """

    id: str
    number: int
    opened: str
    sensitivity: int
    people: Mapping[str, str | None] = field(default_factory=dict)
    decisions: Mapping[str, events.Decision] = field(default_factory=dict)
    sealed: str | None = None
    rule: str = ""
    asking: attention.Asking | None = None
    due: str | None = None
    in_turn: bool = False
    seats: Mapping[str, str] = field(default_factory=dict)
    turns: Mapping[str, kinds.Turn] = field(default_factory=dict)
    objections: Mapping[str, Mapping[Pair, kinds.Objection]] = field(default_factory=dict)
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
    repeats: Mapping[str, kinds.Repeated] = field(default_factory=dict)
    comments: tuple[kinds.Comment, ...] = ()
    closed: str | None = None
    batches: tuple[int, ...] = ()
    appeals: Mapping[str, kinds.Appeal] = field(default_factory=dict)
    notices: Mapping[str, tuple[kinds.NoticeGiven, ...]] = field(default_factory=dict)

    def changed(self, **changes: Any) -> Round:
        """Return the round with other values; every record passes here, so nothing is checked."""
        copy = object.__new__(Round)
        copy.__dict__.update(self.__dict__, **changes)
        if "decisions" in changes or "asking" in changes:
            for name in ("possible", "reportable", "compared"):
                copy.__dict__.pop(name, None)
        return copy

    @property
    def status(self) -> str:
        """``arriving``, ``in audit``, ``awaiting labels`` or ``closed``."""
        if self.closed:
            return "closed"
        if self.sealed is None:
            return "arriving"
        return "in audit" if self.outcome is None else "awaiting labels"

    @property
    def looked_at(self) -> bool:
        return bool(self.seats)

    @property
    def pairs_asked(self) -> int:
        return len(self.reportable) if self.seats else 0

    @cached_property
    def possible(self) -> list[tuple[str, str, int]]:
        """The pairs that could be violations, (over, under, gap), the largest gap first."""
        # Every view of a round asks for them, and they change with the decisions alone.
        ids = list(self.decisions)
        scores = np.array([decision.score for decision in self.decisions.values()], dtype=np.int64)
        gaps = scores[:, None] - scores
        places = np.argwhere(reports.exceeds(gaps, np.zeros_like(gaps), self.sensitivity)).tolist()
        pairs = [(ids[over], ids[under], int(gaps[over, under])) for over, under in places]
        return sorted(pairs, key=lambda pair: (-pair[2], pair[0], pair[1]))

    @cached_property
    def reportable(self) -> list[tuple[str, str, int]]:
        """The possible pairs that the panel is asked about, which it may report."""
        return [pair for pair in self.possible if self._asks(pair[:2])]

    def asked_of(self, member: str) -> list[tuple[str, str, int]]:
        """Return the pairs that a member is asked about, now or in an earlier turn."""
        pairs = self._turn(member).pairs
        if pairs is None:
            return self.reportable
        return [pair for pair in self.reportable if pair[:2] in pairs]

    def _turn(self, member: str) -> kinds.Turn:
        return self.turns.get(member, _NO_TURN) if self.in_turn else _WHOLE

    def shown(self, member: str) -> list[str]:
        """Return the people of the pairs that a member is asked about; without pairs, everybody."""
        pairs = self.asked_of(member)
        return self.compared if pairs is self.reportable else self._people(pairs)

    @cached_property
    def compared(self) -> list[str]:
        """The people whom a member sees if asked about all pairs."""
        return self._people(self.reportable)

    def _people(self, pairs: Sequence[tuple[str, str, int]]) -> list[str]:
        people = {person for pair in pairs for person in pair[:2]}
        return [person for person in self.decisions if person in people or not people]

    def _asks(self, pair: tuple[str, str]) -> bool:
        return self.asking is None or self.asking.asks(pair)

    def gap(self, pair: Pair) -> int:
        first, second = (self.decisions[person].score for person in pair)
        return abs(first - second)

    def can_report(self, pair: Pair, member: str) -> bool:
        """Tell if a pair's gap is large enough, and the member is asked about it."""
        pairs, favoured_first = self._turn(member).pairs, self.favoured_first(pair)
        in_turn = pairs is None or favoured_first in pairs
        large = bool(reports.exceeds(self.gap(pair), 0, self.sensitivity))
        return large and in_turn and self._asks(favoured_first)

    def favoured_first(self, pair: Pair) -> tuple[str, str]:
        over, under = sorted(pair, key=lambda person: -self.decisions[person].score)
        return over, under

    @property
    def largest_gap(self) -> int:
        scores = [decision.score for decision in self.decisions.values()]
        return max(scores) - min(scores) if scores else 0

    def panel_objections(self) -> Objections:
        """Return the panel's objections; members who have not finished count as absent."""
        panel = dict.fromkeys(self.seats, MemberObjections(present=False))
        for member, seat in self.seats.items():
            if seat == "finished":
                panel[member] = MemberObjections(pairs=self.objections.get(member, {}))
        return Objections(tuple(self.decisions), panel)

    def conclusion(self, quorum: int) -> kinds.Audited:
        """Return the audit's end: the rule over the objections of those present, given a quorum.

        A round in which nothing could be reported is quiet, although nobody looks. The docket
        records the outcome, and replay compares with it.
        """
        if self.asking is not None and self.asking.quiet:
            return kinds.Audited(self.id, "quiet")
        present = [member for member, seat in self.seats.items() if seat == "finished"]
        if not self.seats or len(present) < min(quorum, len(self.seats)):
            return kinds.Audited(self.id, "unaudited")
        if not any(self.objections.get(member) for member in present):
            return kinds.Audited(self.id, "quiet")  # every rule is silent when nobody objects
        scores = [decision.score for decision in self.decisions.values()]
        pairs = reports.report(self.rule, self.panel_objections(), scores).pairs
        limits = self._limits(present, pairs)
        return kinds.Audited(self.id, "report" if pairs else "quiet", pairs, limits)

    def _limits(
        self, present: Sequence[str], pairs: Sequence[tuple[str, str]]
    ) -> tuple[int | None, ...]:
        """Return the largest gaps that the panel would accept between the reported; () if unsaid.

        The rule reports a gap if it fires on the members whose limits the gap exceeds. An objection
        without a limit accepts every smaller gap; without an objection every gap is accepted.
        """
        named, rows, graded = [Pair(*pair) for pair in pairs], [], False
        for member in self.seats:
            own = self.objections.get(member, {}) if member in present else {}
            limits = [own[pair].limit if pair in own else ONE for pair in named]
            graded |= any(pair in own and own[pair].limit is not None for pair in named)
            rows.append([
                self.gap(pair) - 1 if limit is None else limit
                for pair, limit in zip(named, limits, strict=True)
            ])  # fmt: skip
        if not graded:
            return ()
        pivots, _ = as_rule(self.rule).pivot(np.array(rows, dtype=np.int64), tuple(self.seats))
        return tuple(pivots.tolist())

    def next_asked(
        self, turns: Turns, sitting: Collection[str], settings: DocketSpec, at: str, doubts: Doubts
    ) -> kinds.MemberAsked | None:
        """Return whose turn is next in an audit; None if nobody's is, or somebody is asked.

        The next member is asked about the pairs whose outcome another vote could change; without
        any, but short of a quorum, about all pairs. Members who are not ``sitting`` on the panel
        any more count as absent. ``doubts`` are those on record, or the inputs of which they come.
        """
        if not self.in_turn or "asked" in self.seats.values():
            return None
        waiting = [m for m, seat in self.seats.items() if seat == "unasked" and m in sitting]
        finished = sum(seat == "finished" for seat in self.seats.values())
        votes, heard = self.words_heard(waiting)
        rule, members = as_rule(self.rule), tuple(self.seats)
        done, _ = settled(rule, votes, heard, members)
        if not waiting or (done.all() and finished >= min(settings.quorum, len(self.seats))):
            return None
        if not isinstance(doubts, tuple):
            doubts = doubts_of(rule, members, turns.chances(members, doubts), votes, heard)
        member = next(m for m in turns.order(members, doubts) if m in waiting)
        listed = zip(self.reportable, done.tolist(), strict=True)
        disputed = tuple(pair[:2] for pair, decided in listed if not decided)
        whole = not disputed or len(disputed) == len(self.reportable)
        due = due_after(at, settings.deadline)
        return kinds.MemberAsked(self.id, member, None if whole else disputed, doubts, due)

    def words_heard(self, waiting: Collection[str]) -> tuple[rules.BoolArray, rules.BoolArray]:
        """Return votes by member and reportable pair, and which of them will not change any more.

        The votes of those ``waiting`` may still change; a member who is absent objects to nothing.
        """
        pairs, members = [pair[:2] for pair in self.reportable], tuple(self.seats)
        shape = (len(members), len(pairs))
        votes, heard = np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.bool_)
        for row, member in enumerate(members):
            finished = self.seats[member] == "finished"
            asked = {pair[:2] for pair in self.asked_of(member)} if finished else set(pairs)
            heard[row] = [member not in waiting and pair in asked for pair in pairs]
            if finished:
                objected = self.objections.get(member, {})
                votes[row] = [Pair(*pair) in objected for pair in pairs]
        return votes, heard

    def inputs(self, state: State) -> FloatArray:
        """Return the inputs of members' models for the reportable pairs of an open round."""
        people = state.open[self.id].people
        places = {person.id: place for place, person in enumerate(people)}
        rows = [(places[over], places[under], gap) for over, under, gap in self.reportable]
        over, under, gaps = np.array(rows, dtype=np.int64).reshape(-1, 3).T
        schema = state.learner.hypotheses.schema
        return attention.Possible(schema, people, over, under, gaps, self.sensitivity).inputs

    def batch_of(self, person: str) -> int:
        """Return the number of batches that were decided on before a person's."""
        return bisect(list(accumulate(self.batches)), list(self.decisions).index(person))

    def appeals_of(self, person: str) -> list[kinds.Appeal]:
        return [appeal for appeal in self.appeals.values() if appeal.person == person]

    def check_person(self, person: str) -> None:
        if person not in self.people:
            sentence = f"Round {self.id!r} has nobody named {person!r}."
            raise ServiceError("no-person", 404, sentence)

    def check_no_appeal(self, person: str) -> None:
        if appeal := self.open_appeal(person):
            fault = f"The appeal {appeal.id} of {person!r} is not decided yet."
            remedy = "Decide on it first, or record that it was withdrawn."
            raise ServiceError("appeal-open", 409, f"{fault} {remedy}")

    def open_appeal(self, person: str) -> kinds.Appeal | None:
        """Return the appeal of a person that has not ended; there is at most one."""
        return next((a for a in self.appeals_of(person) if a.ended is None), None)

    def reconsidered(self, person: str) -> bool | None:
        """Return what was decided on a person's last appeal, None where none was decided."""
        decided = [a.approved for a in self.appeals_of(person) if a.approved is not None]
        return decided[-1] if decided else None

    def stands(self, person: str) -> bool:
        """Return the decision that stands: that on appeal, an override, or the first one."""
        reconsidered = self.reconsidered(person)
        first = self.overrides.get(person, self.decisions[person].approved)
        return first if reconsidered is None else reconsidered

    def words_for(self, person: str) -> list[str]:
        """Return the digests of what a person asked for and was told."""
        appeals = [(a.content, a.reason) for a in self.appeals_of(person)]
        words = [digest for pair in appeals for digest in pair if digest is not None]
        return [*words, *(notice.digest for notice in self.notices.get(person, ()))]

    def reasons_about(self, person: str | None = None) -> list[str]:
        """Return the digests of reasons about a person, or all, also of objections withdrawn.

        Comments are among them, which may be about anybody in the round.
        """
        reasons = [*self.reasons.items()]
        for repeat in self.repeats.values():
            reasons += [(o.reason, Pair.of(o.pair)) for o in repeat.objections if o.reason]
        told = [reason for reason, pair in reasons if person is None or person in pair]
        told += [why for who, why in self.explanations.items() if person in (None, who)]
        return [*told, *(comment.digest for comment in self.comments)]

    @property
    def ended_by(self) -> str:
        """The member whose finishing ended the audit, if one did."""
        _, at, member = self.last_finish
        return member if self.audited == at else ""

    def finished_by(self, member: str, record: Record, count: int = 1) -> Round:
        """Keep the last of the ``count`` records by which a member has finished."""
        return self.changed(
            finish_records={**self.finish_records, member: count},
            last_finish=(record.seq, record.at, member),
        )

    def still_finished_by(self, record: Record) -> Round:
        """Count a record of the same command: one that follows the finish at once."""
        seq, at, member = self.last_finish
        if not member or (seq + 1, at) != (record.seq, record.at):
            return self
        return self.finished_by(member, record, self.finish_records.get(member, 0) + 1)


def folded(round_: Round, records: Iterable[Record]) -> Round:
    for record in records:
        body = kinds.read_body(record)
        assert isinstance(body, kinds.RoundBody)  # noqa: S101 - the index finds no others
        round_ = body.after(round_, record)
    return round_


# The most bytes of a policy that are kept with its round.
LARGEST_POLICY = 16_384


@dataclass(frozen=True)
class KeptPolicy:
    """A round's policy, so that its decisions can be explained when the learner has moved on.

    ``draws`` are those of the round; ``labels`` and ``reports`` were known when it opened, and
    ``elsewhere`` counts the rounds that the institution had decided before there was a learner.
    """

    costs: str
    shape: tuple[int, ...]
    scales: tuple[float, ...]
    incurred: tuple[int, ...]
    draws: int
    labels: int
    reports: int
    elsewhere: int

    @classmethod
    def of(cls, opened: OpenRound, counts: Mapping[str, int]) -> KeptPolicy:
        """Return what is kept of a round that has opened; ``counts`` are the docket's before it."""
        frozen = opened.policy
        costs = base64.b64encode(frozen.costs.astype("<i8").tobytes()).decode()
        return cls(
            costs, frozen.costs.shape, tuple(frozen.scales.tolist()), frozen.incurred,
            opened.draws, counts.get("labels", 0), counts.get("report", 0),
            counts.get("rounds", 0) + 1 - opened.number,
        )  # fmt: skip

    def frozen(self, number: int, learner: Learner) -> players.Frozen:
        costs = np.frombuffer(base64.b64decode(self.costs), dtype="<i8").astype(np.int64)
        scales = np.array(self.scales)
        return players.Frozen(
            number, learner.seed, costs.reshape(self.shape), scales, learner.copies, self.incurred
        )

    def dump(self) -> bytes:
        return zlib.compress(json.dumps(vars(self), separators=(",", ":")).encode(), 1)

    @classmethod
    def parse(cls, content: bytes) -> KeptPolicy:
        return _POLICY.validate_python(json.loads(zlib.decompress(content)))


_POLICY = TypeAdapter(KeptPolicy)
