"""Checks of replay: what holds for records of all kinds, and where differences are noted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from likewise.auditing import Pair
from likewise.events import Decision
from likewise.service.clock import passed
from likewise.service.dockets.learner import Contents, Learner, Surrogates
from likewise.service.dockets.views.projection import Projection
from likewise.service.dockets.views.round import Round
from likewise.service.ledger import bodies
from likewise.service.ledger.payloads import Payload
from likewise.service.ledger.records import Record
from likewise.service.verification.findings import Difference, Replayed

__all__ = ["Checks"]


class Checks:
    """Compares each record with what the projection says before it, and notes what differs."""

    def __init__(
        self, projection: Projection, found: Replayed, payloads: Mapping[str, Payload] | None,
        surrogates: Surrogates,
    ) -> None:  # fmt: skip
        self.projection, self.found = projection, found
        self.payloads, self.surrogates = payloads, surrogates
        self.learner: Learner | None = None
        self.changed: set[str] = set()
        self.owed: tuple[str, str] | None = None
        self.reasons: dict[str, Record] = {}
        self.reasonless: set[str] = set()
        self._last = 0

    def differ(self, record: Record, about: str, recorded: object, expected: object) -> None:
        """Note a difference."""
        self.found.differences.append(Difference(record.seq, about, f"{recorded}.", f"{expected}."))

    def order(self, record: Record, body: bodies.Body) -> None:
        """The docket opens once, time never goes back, and what is due comes at once."""
        if (self.projection.spec is None) != isinstance(body, bodies.DocketOpened):
            self.differ(record, "order", f"It is {record.kind!r}", "docket-opened first, and once")
        if record.at < self.projection.at:
            expected = f"{self.projection.at} or later"
            self.differ(record, "order", f"It has the time {record.at}", expected)
        mine = (record.kind, getattr(body, "round", ""))
        if self.owed is not None and mine != self.owed:
            kind, round_id = self.owed
            self.differ(record, "order", f"It is {record.kind!r}", f"{kind!r} of round {round_id}")
        self.owed, self._last = None, record.seq

    def finish(self) -> None:
        """Nothing may be due at the end, and objections that stand have their reasons."""
        for round_ in self.projection.history():
            if round_.id in self.reasonless:
                continue
            for said in round_.objections.values():
                for pair, reason in said.items():
                    gone = any((round_.id, person) in self.surrogates for person in pair)
                    if reason is not None and not gone:
                        self.payload(self.reasons[reason], reason, "The words of a reason")
        if self.owed is not None:
            kind, round_id = self.owed
            self.found.differences.append(
                Difference(self._last + 1, "order", "There is none.", f"{kind} of {round_id}.")
            )

    def payload(self, record: Record, digest: str, what: str) -> None:
        """Something personal is there, and what was recorded."""
        if self.payloads is None:
            return
        if digest in self.changed:
            self.differ(record, "payload", f"{what} were changed", f"those of {digest[:16]}…")
        elif digest not in self.payloads:
            self.differ(record, "payload", f"{what} are missing", f"those of {digest[:16]}…")

    def complete(self, body: bodies.PeopleArrived, contents: Contents) -> bool:
        """Tell if everybody who arrived has features, or those of a surrogate."""
        digests = [self.surrogates.get((body.round, p.id), p.digest) for p in body.people]
        return all(digest is not None and digest in contents for digest in digests)

    def decisions(
        self, record: Record, recorded: Sequence[Decision], should: Sequence[Decision]
    ) -> None:
        """Score, decision and inverse chance of everybody are those that follow."""
        if [d.person for d in recorded] != [d.person for d in should]:
            who = f"Decisions are on {[d.person for d in recorded]}"
            self.differ(record, "decision", who, [d.person for d in should])
            return
        for one, other in zip(recorded, should, strict=True):
            if one != other:
                self.differ(record, "decision", f"{one.person!r}: {_words(one)}", _words(other))

    def pair(self, record: Record, round_: Round, pair: Pair) -> None:
        """Objections are to pairs that can be reported."""
        if not round_.can_report(pair):
            self.differ(record, "panel", f"An objection to {list(pair)}", "a pair to ask about")

    def in_audit(self, body: bodies.Finished | bodies.Withdrawn, record: Record) -> Round:
        """The round of which a member speaks: seated, in time, and before the end."""
        round_, member = self.projection.round(body.round), body.member
        if member not in round_.seats:
            self.differ(record, "panel", f"{member!r} speaks", "a member of the round's panel")
        if passed(round_.due, record.at) and not isinstance(body, bodies.Absent):
            self.differ(record, "panel", f"{member!r} speaks at {record.at}", f"by {round_.due}")
        if round_.outcome is not None:
            self.differ(record, "panel", f"{member!r} speaks after the audit", "nobody")
        return round_


def _words(decision: Decision) -> str:
    said = "approved" if decision.approved else "rejected"
    chance = "" if decision.inverse_chance is None else f", J {decision.inverse_chance / 2**20:.6f}"
    return f"{said}, score {decision.score / 2**20:.4f} ({decision.score} of 2^20){chance}"
