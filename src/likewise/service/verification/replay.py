"""Replay: the learner is rebuilt from the ledger, and all that follows from it is derived anew.

The chain, the payloads' digests and the seed's commitment are checked; every decision, every draw
of the lottery, every panel and every outcome is computed again and compared. Differences are
gathered, each with its place. After one, the fold goes on with what should have been.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from likewise.errors import LikewiseError
from likewise.service.dockets.learner import State, advance, decide, start, surrogates_in
from likewise.service.dockets.reviews.lottery import ReviewKey
from likewise.service.dockets.reviews.seating import Seating
from likewise.service.dockets.reviews.targets import Seat
from likewise.service.dockets.spec import commitment
from likewise.service.dockets.views.projection import Projection
from likewise.service.dockets.views.round import Round
from likewise.service.dockets.views.tallies import Untallied
from likewise.service.ledger.bodies import (
    Body,
    Decided,
    DocketOpened,
    LearnerGiven,
    PeopleArrived,
    Repeated,
    SeedRevealed,
    readable,
)
from likewise.service.ledger.payloads import Payload
from likewise.service.ledger.records import Head, LedgerBroken, Receipt, Record
from likewise.service.ledger.store import Store
from likewise.service.verification.checks import Checks
from likewise.service.verification.evidence import Evidence, evidence_of, walked
from likewise.service.verification.findings import Difference, Replayed
from likewise.service.verification.keeping.reviews import ReviewChecks
from likewise.service.verification.keeping.witnesses import Trusted, Witnesses
from likewise.service.verification.kind_checks import check_kind

__all__ = ["replay", "replay_evidence", "replay_store"]

_BROKEN = (LikewiseError, KeyError, TypeError, ValueError, AttributeError, OverflowError)


def replay(
    records: Sequence[Record],
    payloads: Mapping[str, Payload] | None,
    secret: tuple[int, bytes] | None,
) -> Replayed:
    """Replay a ledger; ``payloads`` are by digest, ``secret`` is the seed and its salt."""
    docket = records[0].docket if records else ""
    return replay_evidence(Evidence(docket, records, payloads, secret))


def replay_store(store: Store, docket: str) -> Replayed:
    """Replay a docket of a store."""
    return replay_evidence(evidence_of(store, docket))


def replay_evidence(evidence: Evidence, trusted: Trusted | None = None) -> Replayed:
    """Replay what was found; ``trusted`` is what the verifier has from elsewhere."""
    return _Replay(evidence, trusted).run()


class _Replay:
    """One replay: the projection as it was recorded, the learner as it should have been."""

    def __init__(self, evidence: Evidence, trusted: Trusted | None) -> None:
        self.evidence, self.witnesses = evidence, Witnesses(evidence, trusted)
        self.projection = Projection(evidence.docket, tallies=Untallied())
        self.found = Replayed(Receipt(evidence.docket, Head()))
        self.bodies = [readable(record) for record in evidence.records]
        self.known = [body for body in self.bodies if not isinstance(body, LedgerBroken)]
        self.surrogates = surrogates_in(self.known)
        payloads = evidence.payloads or {}
        self.contents = {digest: payload.content for digest, payload in payloads.items()}
        self.state: State | None = None
        self.seating: Seating | None = None
        self._repeated: tuple[int, str, Body] | None = None
        self.checks = Checks(self.projection, self.found, evidence.payloads, self.surrogates)
        secret = evidence.secret or self._revealed()
        self.review_key = None if secret is None else ReviewKey(*secret)
        self.reviews = ReviewChecks(self.projection, self.review_key)

    def run(self) -> Replayed:
        """Every record in turn."""
        found = self.found
        for seq, why in self.evidence.unreadable.items():
            found.differences.append(Difference(seq, "chain", f"It cannot be read: {why}", "JSON."))
        self._check_payloads()
        for (record, fault), body in zip(walked(self.evidence), self.bodies, strict=True):
            if fault is not None:
                found.differences.append(fault)
            if record.seq > found.receipt.head.seq:
                found.differences += self.witnesses.take(record, body)
                found.differences += self.reviews.take(record, body)
                self._take(record, body)
                found.receipt = Receipt(self.evidence.docket, record.head)
        if not self.evidence.records:
            found.differences.append(Difference(1, "chain", "There is none.", "docket-opened."))
        self.checks.finish()
        self._check_receipt()
        found.kept, found.unkept = self.witnesses.shown(), self.witnesses.unshown()
        found.rounds, found.state = self.projection.counts["rounds"], self.state
        # What was changed comes before what follows from it.
        found.differences.sort(key=lambda d: (d.about != "chain", d.seq))
        return found

    def _check_receipt(self) -> None:
        """The receipt that lies beside an export is that of its last record."""
        given = self.evidence.receipt
        if given is not None and given != self.found.receipt:
            last = max(given.head.seq, self.found.receipt.head.seq)
            recorded = f"The export's own receipt is {given}."
            self.found.differences.append(
                Difference(last, "receipt", recorded, f"{self.found.receipt}, its last record.")
            )

    def _check_payloads(self) -> None:
        """A payload that was changed is as good as none; its record says so."""
        for digest, payload in (self.evidence.payloads or {}).items():
            if payload.digest == digest:
                self.found.payloads += 1
            else:
                self.contents.pop(digest, None)
                self.checks.changed.add(digest)

    def _take(self, record: Record, body: Body | LedgerBroken) -> None:
        try:
            if isinstance(body, LedgerBroken):
                raise body
            self.checks.order(record, body)
            check_kind(body, self.checks, record)
            if isinstance(body, Decided):
                self._decide_again(record, body)
            self._draw_again(record, body)
            round_ = self.projection.take(record, body)
        except _BROKEN as error:
            self._differs(record, "order", f"{record.kind!r} cannot stand here ({error})")
            return
        self._seat(record, body, round_)
        if isinstance(body, DocketOpened):
            self._start(record)
        elif not isinstance(body, Decided):
            self._fold(record, body)
        if isinstance(body, LearnerGiven) and self.checks.learner is not None:
            self.checks.learner = self.projection.settings.make_learner(self.checks.learner.seed)

    def _draw_again(self, record: Record, body: Body) -> None:
        """Whoever judged a round again was shown it by the lottery of hidden repeats."""
        if self.seating is None or not isinstance(body, Repeated):
            return
        # Who is done writes as many records as the first time, of which the first may end it.
        same = self._repeated == (record.seq - 1, record.at, body)
        drawn = same or self.seating.drawn(Seat(body.round, body.member, again=record.at))
        self._repeated = (record.seq, record.at, body)
        if drawn:
            self.found.repeats += 1
        else:
            who = f"{body.member!r} judged round {body.round} again"
            self.checks.differ(record, "lottery", who, "a round that the lottery shows again")

    def _seat(self, record: Record, body: Body, round_: Round | None) -> None:
        """Reviews that are asked for and end; after a fault nobody can say any more which."""
        if self.seating is None:
            return
        try:
            self.seating.take(record, body, round_)
        except _BROKEN as error:
            self.seating = None
            if self.found.holds:
                self._differs(record, "lottery", f"Reviews cannot be followed ({error})")

    def _start(self, record: Record) -> None:
        """The learner at its beginning, if the seed is known and the one committed to."""
        secret, self.found.seed = self.evidence.secret, "held"
        if secret is None:
            secret, self.found.seed = self._revealed(), "revealed"
        if secret is None:
            self.found.seed = "unknown"
        elif commitment(*secret) != self.projection.commitment:
            self.found.seed = "wrong"
            self._differs(record, "seed", "The seed is not the one committed to", "that one.")
        else:
            state = start(self.projection.settings, secret[0])
            self.checks.learner = state.learner
            self.seating = Seating(self.review_key or ReviewKey(*secret), self.projection)
            self.state = state if self.evidence.payloads is not None else None

    def _revealed(self) -> tuple[int, bytes] | None:
        for body in self.known:
            if isinstance(body, SeedRevealed):
                try:
                    return int(body.seed), bytes.fromhex(body.salt)
                except ValueError:
                    return None
        return None

    def _decide_again(self, record: Record, body: Decided) -> None:
        """Every decision is taken again; the fold goes on with what should have been."""
        if self.projection.audit_only:
            self.found.elsewhere += len(body.decisions)
            if self.state is not None:
                self.state = advance(self.state, body)
            return
        if self.state is None:
            self.found.skipped += len(body.decisions)
            return
        should = decide(self.state, body.round)
        self.state = advance(self.state, should)
        self.found.decisions += len(body.decisions)
        self.checks.decisions(record, body.decisions, should.decisions)

    def _fold(self, record: Record, body: Body) -> None:
        """The learner takes the record in, unless somebody's features are gone."""
        if self.state is None:
            return
        try:
            if isinstance(body, PeopleArrived) and not self.checks.complete(body, self.contents):
                self.state = None
                return
            self.state = advance(self.state, body, self.contents, self.surrogates)
        except _BROKEN as error:
            self._differs(record, "learner", f"The learner refuses it ({error})", "accepted by it.")

    def _differs(self, record: Record, about: str, recorded: str, expected: str = "") -> None:
        should = expected or "a record that follows from those before it."
        self.found.differences.append(Difference(record.seq, about, recorded + ".", should))
