"""The projection of a ledger: the view that is rebuilt from its records, one after another.

It holds what is open, and numbers. A round that has closed leaves memory; whoever asks for it gets
a fold over its own records from the archive.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import singledispatch
from typing import NamedTuple

from likewise.errors import LikewiseError
from likewise.fixed_point import ONE
from likewise.service.dockets.governance import Governance
from likewise.service.dockets.spec import DocketSpec
from likewise.service.dockets.views.archive import Archive, RememberedArchive
from likewise.service.dockets.views.figures import repeat_consistency
from likewise.service.dockets.views.round import Round
from likewise.service.dockets.views.round_fold import after
from likewise.service.dockets.views.series import Curves
from likewise.service.dockets.views.tallies import Tallies
from likewise.service.errors import ServiceError
from likewise.service.ledger import bodies
from likewise.service.ledger.bodies.evidence import EvidenceBody
from likewise.service.ledger.records import FORMAT, Head, LedgerBroken, Record

__all__ = ["Projection"]

# So many closed rounds are found at once.
PAGE = 200
_NUMBERED = re.compile(r"r([1-9][0-9]{0,17})\Z")


class Change(NamedTuple):
    """A round before a record, and after it."""

    before: Round
    now: Round


class Projection:
    """All that a docket's records say, as far as they have been taken in.

    ``counts`` has running numbers: rounds, people, each outcome, labels, overrides, ``missed``
    (labels that the decision contradicts) and ``distance`` (Σ |score − label|, in units).
    In an ``audit_only`` docket the institution decides; ``learner_from`` is the record that gave it
    a learner, if one did, and ``decided_elsewhere`` the number of rounds before that.
    ``named`` is the largest number in a round's id of the form r1, r2, ….
    """

    def __init__(
        self, name: str, archive: Archive | None = None, tallies: Tallies | None = None
    ) -> None:
        self.name = name
        self.archive = RememberedArchive() if archive is None else archive
        self.head, self.at = Head(), ""
        self.spec: DocketSpec | None = None
        self.commitment = ""
        self.members: list[str] = []
        self.rule = ""
        self.counts: Counter[str] = Counter()
        self.named = 0
        self.revealed: bodies.SeedRevealed | None = None
        self.governance = Governance()
        self.audit_only = False
        self.guidelines = ""
        self.learner_from, self.decided_elsewhere = 0, 0
        self.curves, self.tallies = Curves(), Tallies() if tallies is None else tallies
        self.opened: dict[str, Round] = {}

    @property
    def settings(self) -> DocketSpec:
        """The docket's settings."""
        if self.spec is None:
            raise ServiceError("no-docket", 404, f"There is no docket {self.name!r}.")
        return self.spec

    # ── Rounds: nothing else knows where they are kept ───────────────────────────────────────────

    def find(self, round_id: str) -> Round | None:
        """The round of that id, open or closed; None if there is none."""
        found = self.opened.get(round_id)
        return self.archive.find(round_id, self.head.seq) if found is None else found

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
        return list(self.opened.values())

    def history(self, after: int = 0) -> Iterator[Round]:
        """All rounds by number, from the one after some number on; closed ones page by page."""
        opened = iter([r for r in self.opened.values() if r.number > after])
        waiting, last = next(opened, None), self.counts["rounds"]
        while True:
            page = self.archive.numbered(after, PAGE, self.head.seq)
            for round_ in page:
                while waiting is not None and waiting.number < round_.number:
                    yield waiting
                    waiting = next(opened, None)
                if round_.number > last:
                    return
                yield round_
            if not page:
                break
            after = page[-1].number
        while waiting is not None:
            yield waiting
            waiting = next(opened, None)

    def free_name(self) -> str:
        """r1, r2, …; a number that a client has used by itself is passed over."""
        number = self.counts["rounds"] + 1
        while number <= self.named and self.find(f"r{number}") is not None:
            number += 1
        return f"r{number}"

    # ── Records ──────────────────────────────────────────────────────────────────────────────────

    def take(self, record: Record, body: bodies.Body, lam: float = 0.0) -> Round | None:
        """Take in the next record; the round that it is about, as it is now.

        ``lam`` is the multiplier now, for a round that opens.
        """
        try:
            round_id = getattr(body, "round", None)
            if round_id is None:
                _take(body, self, record)
                changed = None
            else:
                changed = self._take_round(round_id, record, body, lam)
        except LedgerBroken:
            raise
        except (LikewiseError, KeyError, ValueError) as error:
            why = f"{record.kind!r} does not follow from the records before it ({error})."
            raise LedgerBroken(self.name, record.seq, why) from error
        self.governance.take(record, body)
        self.head, self.at = record.head, record.at
        return changed

    def _take_round(self, round_id: str, record: Record, body: bodies.Body, lam: float) -> Round:
        before = self.opened.get(round_id)
        if before is None and isinstance(body, bodies.PeopleArrived):
            before = self._begin(round_id, record.at, lam)
        elif before is None:
            before = self.round(round_id)
        changed = after(body, before, record)
        _count(body, self, Change(before, changed))
        if changed.closed is None:
            self.opened[round_id] = changed
        else:
            self.opened.pop(round_id, None)
            self.archive.put(changed, closes=before.closed is None)
        return changed

    def _begin(self, round_id: str, at: str, lam: float) -> Round:
        self.counts["rounds"] += 1
        number = self.counts["rounds"]
        if match := _NUMBERED.match(round_id):
            self.named = max(self.named, int(match[1]))
        self.curves.begin(number, at, lam)
        self.tallies.begin(number, round_id)
        return Round(round_id, number, at, self.settings.sensitivity)


# ── Records about the docket ─────────────────────────────────────────────────────────────────────


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
    projection.audit_only = spec.audit_only


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
def _learner_given(body: bodies.LearnerGiven, projection: Projection, record: Record) -> None:
    projection.spec = replace(projection.settings, learner=body.learner, audit_only=False)
    projection.audit_only = False
    projection.learner_from, projection.decided_elsewhere = record.seq, projection.counts["rounds"]


@_take.register
def _guided(body: bodies.GuidelinesSet, projection: Projection, _: Record) -> None:
    projection.guidelines = body.text


@_take.register
def _revealed(body: bodies.SeedRevealed, projection: Projection, _: Record) -> None:
    projection.revealed = body


# ── Numbers that records about rounds change ─────────────────────────────────────────────────────


@singledispatch
def _count(body: object, projection: Projection, change: Change) -> None:
    """Count a record; most of them change no number."""


@_count.register
def _arrived(_: bodies.PeopleArrived, projection: Projection, change: Change) -> None:
    projection.counts["people"] += len(change.now.people) - len(change.before.people)


@_count.register
def _decided(_: bodies.Decided, projection: Projection, change: Change) -> None:
    projection.curves.widen(change.now.number, change.now.largest_gap)


@_count.register
def _audited(body: bodies.Audited, projection: Projection, change: Change) -> None:
    projection.counts[body.outcome] += 1
    projection.curves.add(change.now.number, reports=body.outcome == "report")
    projection.tallies.audited(change.now)


@_count.register
def _labelled(body: bodies.Labelled, projection: Projection, change: Change) -> None:
    decision = change.now.decisions[body.person]
    missed = decision.approved != bool(body.label)
    projection.counts["labels"] += 1
    projection.counts["missed"] += missed
    projection.counts["distance"] += abs(decision.score - body.label * ONE)
    projection.curves.add(change.now.number, labels=1, missed=missed)


@_count.register
def _overridden(_: bodies.Overridden, projection: Projection, change: Change) -> None:  # noqa: ARG001
    projection.counts["overrides"] += 1


@_count.register
def _repeated(body: bodies.Repeated, projection: Projection, change: Change) -> None:
    was, is_ = (repeat_consistency(round_, body.member) for round_ in change)
    projection.tallies.repeated(body.member, was, is_)
