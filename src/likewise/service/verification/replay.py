"""Replay: the learner is rebuilt from the ledger, and all that follows from it is derived anew.

The chain, the payloads' digests and the seed's commitment are checked; every decision, every draw
of the lottery, every panel and every outcome is computed again and compared. Differences are
gathered, each with its place. After one, the fold goes on with what should have been.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from likewise.errors import LikewiseError
from likewise.learning import State, apply, decide
from likewise.service.dockets.commands.rounds import commitment
from likewise.service.dockets.learner import advance, surrogates
from likewise.service.dockets.projection import Projection
from likewise.service.ledger.payloads import Payload
from likewise.service.ledger.records import Head, Receipt, Record
from likewise.service.ledger.store import Store
from likewise.service.verification.checks import RECHECKS, Recheck
from likewise.service.verification.evidence import Evidence, evidence_of, walked
from likewise.service.verification.findings import Difference, Replayed

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


def replay_evidence(evidence: Evidence) -> Replayed:
    """Replay what was found."""
    return _Replay(evidence).run()


class _Replay:
    """One replay: the projection as it was recorded, the learner as it should have been."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.projection = Projection(evidence.docket)
        self.found = Replayed(Receipt(evidence.docket, Head()))
        self.replaced = surrogates(r for r in evidence.records if _is_erasure(r))
        payloads = evidence.payloads or {}
        self.contents = {digest: payload.content for digest, payload in payloads.items()}
        self.state: State | None = None
        self.recheck = Recheck(self.projection, self.found, evidence.payloads, self.replaced)

    def run(self) -> Replayed:
        """Every record in turn."""
        found = self.found
        for seq, why in self.evidence.unreadable.items():
            found.differences.append(Difference(seq, "chain", f"It cannot be read: {why}", "JSON."))
        self._check_payloads()
        for record, fault in walked(self.evidence):
            if fault is not None:
                found.differences.append(fault)
            if record.seq > found.receipt.head.seq:
                self._take(record)
                found.receipt = Receipt(self.evidence.docket, record.head)
        if not self.evidence.records:
            found.differences.append(Difference(1, "chain", "There is none.", "docket-opened."))
        self.recheck.finish()
        found.rounds, found.state = len(self.projection.rounds), self.state
        # What was changed comes before what follows from it.
        found.differences.sort(key=lambda d: (d.about != "chain", d.seq))
        return found

    def _check_payloads(self) -> None:
        """A payload that was changed is as good as none; its record says so."""
        for digest, payload in (self.evidence.payloads or {}).items():
            if payload.digest == digest:
                self.found.payloads += 1
            else:
                self.contents.pop(digest, None)
                self.recheck.changed.add(digest)

    def _take(self, record: Record) -> None:
        try:
            self.recheck.order(record)
            RECHECKS.get(record.kind, Recheck.nothing)(self.recheck, record)
            if record.kind == "decided":
                self._decide_again(record)
            self.projection.take(record)
        except _BROKEN as error:
            self._differs(record, "order", f"{record.kind!r} cannot stand here ({error})")
            return
        if record.kind == "docket-opened":
            self._start(record)
        elif record.kind != "decided":
            self._fold(record)

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
            learner = self.projection.settings.make_learner(secret[0])
            self.recheck.learner = learner
            self.state = State.start(learner) if self.evidence.payloads is not None else None

    def _revealed(self) -> tuple[int, bytes] | None:
        for record in self.evidence.records:
            if record.kind == "seed-revealed":
                try:
                    return int(record.body["seed"]), bytes.fromhex(record.body["salt"])
                except _BROKEN:
                    return None
        return None

    def _decide_again(self, record: Record) -> None:
        """Every decision is taken again; the fold goes on with what should have been."""
        listed = record.body["decisions"]
        if self.state is None:
            self.found.skipped += len(listed)
            return
        should = decide(self.state, record.body["round"])
        self.state = apply(self.state, should)
        self.found.decisions += len(listed)
        self.recheck.decisions(record, should.decisions)

    def _fold(self, record: Record) -> None:
        """The learner takes the record in, unless somebody's features are gone."""
        if self.state is None:
            return
        try:
            if record.kind == "arrived" and not self.recheck.complete(record, self.contents):
                self.state = None
                return
            self.state = advance(self.state, record, self.contents, self.replaced)
        except _BROKEN as error:
            self._differs(record, "learner", f"The learner refuses it ({error})", "accepted by it.")

    def _differs(self, record: Record, about: str, recorded: str, expected: str = "") -> None:
        should = expected or "a record that follows from those before it."
        self.found.differences.append(Difference(record.seq, about, recorded + ".", should))


def _is_erasure(record: Record) -> bool:
    wanted = {"round", "person", "digest"}
    return record.kind == "erased" and wanted <= set(record.body)
