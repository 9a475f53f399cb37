"""The projection of a ledger: the view that is rebuilt from its records, one after another.

It holds what is open, and numbers. A round that has closed leaves memory; the archive folds its
records again for whoever asks for it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from likewise.errors import LikewiseError
from likewise.fixed_point import ONE
from likewise.service.dockets.governance import Governance
from likewise.service.dockets.spec import DocketSpec
from likewise.service.dockets.views.archive import Archive
from likewise.service.dockets.views.figures import repeat_consistency
from likewise.service.dockets.views.round import Round
from likewise.service.dockets.views.round_fold import after
from likewise.service.dockets.views.series import Curves
from likewise.service.dockets.views.tallies import Tallies
from likewise.service.errors import ServiceError
from likewise.service.ledger import bodies
from likewise.service.ledger.records import FORMAT, Head, LedgerBroken, Record

# The number of closed rounds in a page of the history.
PAGE = 200
_NUMBERED = re.compile(r"r([1-9][0-9]{0,17})\Z")


@dataclass(kw_only=True, eq=False)
class Standing:
    """What a snapshot keeps of a projection.

    ``counts`` has running numbers: rounds, people, each outcome, labels, overrides, ``missed``
    (labels that the decision contradicts) and ``distance`` (Σ |score − label|, in units).
    ``learner_from`` is the record that gave an audit-only docket its learner, if one did, and
    ``decided_elsewhere`` the number of rounds before it. ``largest_name`` is the largest number
    in a round's id of the form r1, r2, ….
    """

    at: str = ""
    members: list[str] = field(default_factory=list)
    rule: str = ""
    guidelines: str = ""
    counts: Counter[str] = field(default_factory=Counter)
    largest_name: int = 0
    revealed: bodies.SeedRevealed | None = None
    learner_from: int = 0
    decided_elsewhere: int = 0
    curves: Curves = field(default_factory=Curves)
    tallies: Tallies = field(default_factory=Tallies)
    governance: Governance = field(default_factory=Governance)


class Projection(Standing):
    """All that a docket's records say, up to the record ``head``.

    In an ``audit_only`` docket the institution decides.
    """

    def __init__(
        self, name: str, archive: Archive | None = None, tallies: Tallies | None = None
    ) -> None:
        super().__init__(tallies=Tallies() if tallies is None else tallies)
        self.name = name
        self.archive = Archive() if archive is None else archive
        self.head = Head()
        self.spec: DocketSpec | None = None
        self.commitment = ""
        self.audit_only = False
        self.opened: dict[str, Round] = {}

    @property
    def settings(self) -> DocketSpec:
        """The docket's settings."""
        if self.spec is None:
            raise ServiceError("no-docket", 404, f"There is no docket {self.name!r}.")
        return self.spec

    # ── Rounds ───────────────────────────────────────────────────────────────────────────────────

    def find(self, round_id: str) -> Round | None:
        """Return the round of that id, open or closed, or None."""
        return self.opened.get(round_id) or self.archive.find(round_id, self.head.seq)

    def round(self, round_id: str) -> Round:
        """Return the round of that id, which has to exist."""
        round_ = self.find(round_id)
        if round_ is None:
            raise ServiceError(
                "no-round", 404,
                f"The docket {self.name!r} has no round {round_id!r}. Its rounds are listed at "
                f"/v1/dockets/{self.name}/rounds.",
            )  # fmt: skip
        return round_

    def open_rounds(self) -> list[Round]:
        """Return the rounds that are not closed, the oldest first."""
        return list(self.opened.values())

    def history(self, after: int = 0) -> Iterator[Round]:
        """Yield all rounds with numbers above ``after``, in order; closed ones page by page."""
        opened = [round_ for round_ in self.opened.values() if round_.number > after]
        for closed in self._closed(after):
            while opened and opened[0].number < closed.number:
                yield opened.pop(0)
            yield closed
        yield from opened

    def _closed(self, after: int) -> Iterator[Round]:
        last = self.counts["rounds"]
        while page := self.archive.numbered(after, PAGE, self.head.seq):
            yield from (round_ for round_ in page if round_.number <= last)
            after = page[-1].number

    def free_name(self) -> str:
        """Return r1, r2, …; a number that a client has used by itself is skipped."""
        number = self.counts["rounds"] + 1
        while number <= self.largest_name and self.find(f"r{number}") is not None:
            number += 1
        return f"r{number}"

    # ── Records ──────────────────────────────────────────────────────────────────────────────────

    def take(self, record: Record, body: bodies.Body, lam: float = 0.0) -> Round | None:
        """Take in the next record; return the round that it is about, as it is now.

        ``lam`` is the multiplier now, for a round that opens.
        """
        try:
            round_id = getattr(body, "round", None)
            if round_id is None:
                self._take_docket(record, body)
                round_ = None
            else:
                round_ = self._take_round(round_id, record, body, lam)
        except LedgerBroken:
            raise
        except (LikewiseError, KeyError, ValueError) as error:
            message = f"{record.kind!r} does not follow from the records before it ({error})."
            raise LedgerBroken(self.name, record.seq, message) from error
        self.governance.take(record, body)
        self.head, self.at = record.head, record.at
        return round_

    def _take_docket(self, record: Record, body: bodies.Body) -> None:
        """Take in a record about the docket; those of evidence concern the governance alone."""
        match body:
            case bodies.DocketOpened():
                if body.format != FORMAT:
                    message = f"it has the format {body.format!r}, not {FORMAT!r}."
                    raise LedgerBroken(self.name, record.seq, message)
                self.spec = spec = DocketSpec.from_json(body.spec)
                self.commitment = body.seed_commitment
                self.members, self.rule = list(spec.members), spec.rule
                self.audit_only = spec.audit_only
            case bodies.MemberLeft():
                self.members.remove(body.member)
            case bodies.MemberJoined():
                self.members.append(body.member)
            case bodies.RuleChanged():
                self.rule = body.rule
            case bodies.GuidelinesSet():
                self.guidelines = body.text
            case bodies.SeedRevealed():
                self.revealed = body
            case bodies.LearnerGiven():
                self.spec = replace(self.settings, learner=body.learner, audit_only=False)
                self.audit_only = False
                self.learner_from, self.decided_elsewhere = record.seq, self.counts["rounds"]

    def _take_round(self, round_id: str, record: Record, body: bodies.Body, lam: float) -> Round:
        before = self.opened.get(round_id)
        if before is None and isinstance(body, bodies.PeopleArrived):
            before = self._begin(round_id, record.at, lam)
        elif before is None:
            before = self.round(round_id)
        round_ = after(body, before, record)
        self._count(body, before, round_)
        if round_.closed is None:
            self.opened[round_id] = round_
        else:
            self.opened.pop(round_id, None)
            self.archive.put(round_, closes=before.closed is None)
        return round_

    def _count(self, body: bodies.Body, before: Round, now: Round) -> None:
        """Count a record about a round."""
        match body:
            case bodies.PeopleArrived():
                self.counts["people"] += len(now.people) - len(before.people)
            case bodies.Decided():
                self.curves.set_gap(now.number, now.largest_gap)
            case bodies.Audited():
                self.counts[body.outcome] += 1
                self.curves.add(now.number, reports=body.outcome == "report")
                self.tallies.audited(now)
            case bodies.Labelled():
                decision = now.decisions[body.person]
                missed = decision.approved != bool(body.label)
                self.counts["labels"] += 1
                self.counts["missed"] += missed
                self.counts["distance"] += abs(decision.score - body.label * ONE)
                self.curves.add(now.number, labels=1, missed=missed)
            case bodies.Overridden():
                self.counts["overrides"] += 1
            case bodies.Repeated():
                first, second = (repeat_consistency(r, body.member) for r in (before, now))
                self.tallies.repeated(body.member, first, second)

    def _begin(self, round_id: str, at: str, lam: float) -> Round:
        self.counts["rounds"] += 1
        number = self.counts["rounds"]
        if match := _NUMBERED.match(round_id):
            self.largest_name = max(self.largest_name, int(match[1]))
        self.curves.begin(number, at, lam)
        self.tallies.begin(number, round_id)
        return Round(round_id, number, at, self.settings.sensitivity)
