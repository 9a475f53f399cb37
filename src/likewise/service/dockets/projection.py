"""The projection of a ledger: the view that is rebuilt from its records, one after another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import singledispatch
from itertools import islice
from typing import Any

from likewise.auditing import Pair
from likewise.errors import LikewiseError
from likewise.fixed_point import ONE
from likewise.service.dockets.governance import Governance
from likewise.service.dockets.round import Repeat, Round
from likewise.service.dockets.spec import DocketSpec
from likewise.service.errors import ServiceError
from likewise.service.ledger import bodies
from likewise.service.ledger.evidence_bodies import EvidenceBody
from likewise.service.ledger.records import FORMAT, Head, LedgerBroken, Record

__all__ = ["Projection"]


class Projection:
    """All that a docket's records say, as far as they have been taken in.

    ``counts`` has running numbers: rounds, people, each outcome, labels, overrides, ``missed``
    (labels that the decision contradicts) and ``distance`` (Σ |score − label|, in units).
    ``panels`` lists when rounds were sealed and audited, in the order of the ledger.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.head, self.at = Head(), ""
        self.spec: DocketSpec | None = None
        self.commitment = ""
        self.members: list[str] = []
        self.rule = ""
        self.counts: Counter[str] = Counter()
        self.repeats: dict[tuple[str, str], Repeat] = {}
        self.panels: list[tuple[str, str]] = []
        self.audits: list[str] = []
        self.revealed: bodies.SeedRevealed | None = None
        self.governance = Governance()
        self._finishing: tuple[int, str, str] = (0, "", "")
        self._rounds: dict[str, Round] = {}
        self._open: dict[str, Round] = {}

    @property
    def settings(self) -> DocketSpec:
        """The docket's settings."""
        if self.spec is None:
            raise ServiceError("no-docket", 404, f"There is no docket {self.name!r}.")
        return self.spec

    # ── Rounds: nothing else knows where they are kept ───────────────────────────────────────────

    def find(self, round_id: str) -> Round | None:
        """The round of that id, open or closed; None if there is none."""
        return self._rounds.get(round_id)

    def round(self, round_id: str) -> Round:
        """The round of that id, which has to be there."""
        found = self.find(round_id)
        if found is None:
            raise ServiceError(
                "no-round", 404,
                f"The docket {self.name!r} has no round {round_id!r}. Its rounds are listed at "
                f"/v1/dockets/{self.name}/rounds.",
            )  # fmt: skip
        return found

    def open_rounds(self) -> list[Round]:
        """Rounds that are not closed, the oldest first."""
        return list(self._open.values())

    def history(self, after: int = 0) -> Iterator[Round]:
        """All rounds by number, from the one after some number on."""
        return islice(self._rounds.values(), after, None)

    # ── Records ──────────────────────────────────────────────────────────────────────────────────

    def take(self, record: Record, body: bodies.Body) -> None:
        """Take in the next record."""
        try:
            _take(body, self, record)
        except LedgerBroken:
            raise
        except (LikewiseError, KeyError, ValueError) as error:
            why = f"{record.kind!r} does not follow from the records before it ({error})."
            raise LedgerBroken(self.name, record.seq, why) from error
        self.governance.take(record, body)
        self.head, self.at = record.head, record.at

    def change(self, round_id: str, **changes: Any) -> Round:
        """Put another value of a round in its place; who holds the old one sees no change."""
        changed = self._rounds[round_id].changed(**changes)
        self._put(changed)
        return changed

    def _put(self, round_: Round) -> None:
        self._rounds[round_.id] = round_
        if round_.closed is None:
            self._open[round_.id] = round_
        else:
            self._open.pop(round_.id, None)

    def finish(self, round_: Round, record: Record, member: str = "") -> dict[str, int]:
        """The records that members wrote by being done, with one more of the same command.

        ``member`` begins one; later records are of the same if they follow at once.
        """
        seq, at, last = self._finishing
        if member or (last and (seq + 1, at) == (record.seq, record.at)):
            self._finishing = (record.seq, record.at, member or last)
            count = 1 if member else round_.finished.get(last, 0) + 1
            return {**round_.finished, member or last: count}
        return dict(round_.finished)

    def begin(self, round_id: str, at: str) -> Round:
        """The round of that id; a new one, if there is none."""
        if round_id not in self._rounds:
            self.counts["rounds"] += 1
            number = self.counts["rounds"]
            self._put(Round(round_id, number, at, self.settings.sensitivity))
        return self._rounds[round_id]


@singledispatch
def _take(body: object, projection: Projection, record: Record) -> None:
    why = f"{type(body).__name__} is no body that {projection.name!r} can take in."
    raise LedgerBroken(projection.name, record.seq, why)


@_take.register
def _opened(body: bodies.DocketOpened, projection: Projection, record: Record) -> None:
    if body.format != FORMAT:
        why = f"it has the format {body.format!r}, not {FORMAT!r}."
        raise LedgerBroken(projection.name, record.seq, why)
    projection.spec = spec = DocketSpec.from_stored(body.spec)
    projection.commitment = body.seed_commitment
    projection.governance.key = body.key
    projection.members, projection.rule = list(spec.members), spec.rule


@_take.register
def _evidence(body: EvidenceBody, projection: Projection, record: Record) -> None:
    """Records about the docket's keeping change nothing else."""


@_take.register
def _joined(body: bodies.MemberJoined, projection: Projection, _: Record) -> None:
    projection.members.append(body.member)


@_take.register
def _left(body: bodies.MemberLeft, projection: Projection, _: Record) -> None:
    projection.members.remove(body.member)


@_take.register
def _rule_changed(body: bodies.RuleChanged, projection: Projection, _: Record) -> None:
    projection.rule = body.rule


@_take.register
def _arrived(body: bodies.PeopleArrived, projection: Projection, record: Record) -> None:
    round_ = projection.begin(body.round, record.at)
    people = {**round_.people, **{person.id: person.digest for person in body.people}}
    projection.counts["people"] += len(people) - len(round_.people)
    projection.change(body.round, people=people)


@_take.register
def _decided(body: bodies.Decided, projection: Projection, _: Record) -> None:
    fresh = {decision.person: decision for decision in body.decisions}
    known = projection.round(body.round).decisions
    projection.change(body.round, decisions={**known, **fresh})


@_take.register
def _sealed(body: bodies.RoundSealed, projection: Projection, record: Record) -> None:
    projection.change(
        body.round, sealed=record.at, rule=body.rule, due=body.due, drawn=body.drawn,
        seats=dict.fromkeys(body.members, "asked"),
    )  # fmt: skip
    projection.panels.append(("sealed", body.round))


@_take.register
def _objected(body: bodies.Objected, projection: Projection, _: Record) -> None:
    round_, pair = projection.round(body.round), Pair.of(body.pair)
    mine = {**round_.objections.get(body.member, {}), pair: body.reason}
    given = {} if body.reason is None else {body.reason: pair}
    projection.change(
        body.round, objections={**round_.objections, body.member: mine},
        reasons={**round_.reasons, **given},
    )  # fmt: skip


@_take.register
def _withdrawn(body: bodies.Withdrawn, projection: Projection, _: Record) -> None:
    said = projection.round(body.round).objections
    mine = dict(said[body.member])
    del mine[Pair.of(body.pair)]
    projection.change(body.round, objections={**said, body.member: mine})


@_take.register(bodies.Reviewed)
@_take.register(bodies.Reopened)
@_take.register(bodies.Absent)
def _seated(body: bodies.Reviewed, projection: Projection, record: Record) -> None:
    seat = "asked" if record.kind == "reopened" else record.kind
    round_ = projection.round(body.round)
    done = projection.finish(round_, record, body.member) if seat == "reviewed" else round_.finished
    projection.change(body.round, seats={**round_.seats, body.member: seat}, finished=done)


@_take.register
def _audited(body: bodies.Audited, projection: Projection, record: Record) -> None:
    done = projection.finish(projection.round(body.round), record)
    projection.change(
        body.round, outcome=body.outcome, pairs=body.pairs, audited=record.at, finished=done
    )
    projection.counts[body.outcome] += 1
    projection.panels.append(("audited", body.round))
    projection.audits.append(body.round)


@_take.register
def _labelled(body: bodies.Labelled, projection: Projection, _: Record) -> None:
    round_ = projection.round(body.round)
    decision = round_.decisions[body.person]
    projection.counts["labels"] += 1
    projection.counts["missed"] += decision.approved != bool(body.label)
    projection.counts["distance"] += abs(decision.score - body.label * ONE)
    projection.change(body.round, labels={**round_.labels, body.person: body.label})


@_take.register
def _overridden(body: bodies.Overridden, projection: Projection, _: Record) -> None:
    known = projection.round(body.round).overrides
    projection.counts["overrides"] += 1
    projection.change(body.round, overrides={**known, body.person: body.approved})


@_take.register
def _explained(body: bodies.OverrideExplained, projection: Projection, _: Record) -> None:
    known = projection.round(body.round).explanations
    projection.change(body.round, explanations={**known, body.person: body.reason})


@_take.register
def _closed(body: bodies.Closed, projection: Projection, record: Record) -> None:
    done = projection.finish(projection.round(body.round), record)
    projection.change(body.round, closed=record.at, finished=done)


@_take.register
def _repeated(body: bodies.Repeated, projection: Projection, record: Record) -> None:
    said = {Pair.of(one.pair): one.reason for one in body.said}
    projection.repeats[body.member, body.round] = Repeat(
        said, body.done, len(projection.audits), record.at
    )


@_take.register
def _erased(body: bodies.Erased, projection: Projection, record: Record) -> None:
    round_ = projection.round(body.round)
    projection.change(
        body.round, people={**round_.people, body.person: body.digest},
        erased={**round_.erased, body.person: record.at},
    )  # fmt: skip


@_take.register
def _revealed(body: bodies.SeedRevealed, projection: Projection, _: Record) -> None:
    projection.revealed = body
