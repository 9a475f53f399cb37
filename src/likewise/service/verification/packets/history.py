"""The records of one decision, with the learner as it was at that moment."""

from __future__ import annotations

from dataclasses import dataclass

from likewise.errors import LikewiseError
from likewise.service.dockets.learner import State, advance, start, surrogates_in
from likewise.service.dockets.views.projection import Projection
from likewise.service.dockets.views.round import Round
from likewise.service.errors import ServiceError
from likewise.service.ledger.bodies import Body, Decided, read_body
from likewise.service.ledger.payloads import Payload
from likewise.service.ledger.records import Record
from likewise.service.verification.evidence import Evidence


@dataclass(frozen=True)
class DecisionHistory:
    """All records that led to the decision on one person, and what followed from it.

    ``state`` is the learner's just before the decision, None where it cannot be rebuilt; ``before``
    counts what it had learned from by then. ``elsewhere`` says that the institution decided.
    """

    evidence: Evidence
    round_id: str
    person: str
    projection: Projection
    records: list[Record]
    decided: Record
    state: State | None
    before: dict[str, int]
    elsewhere: bool

    @property
    def round(self) -> Round:
        """The round of the decision."""
        return self.projection.round(self.round_id)

    @property
    def payload(self) -> Payload | None:
        """The person's features, unless they were erased."""
        digest = None if self.person in self.round.erased else self.round.people[self.person]
        return (self.evidence.payloads or {}).get(digest or "")


def history_of(evidence: Evidence, round_id: str, person: str) -> DecisionHistory:
    """Find a decision in a ledger, and fold everything up to it."""
    projection, records, moment = Projection(evidence.docket), list[Record](), None
    bodies = [read_body(record) for record in evidence.records]
    learner = _LearnerFold(evidence, bodies)
    for record, body in zip(evidence.records, bodies, strict=True):
        concerned = getattr(body, "round", None) == round_id
        if concerned and isinstance(body, Decided) and person in {d.person for d in body.decisions}:
            moment = (record, learner.state, dict(projection.counts), projection.audit_only)
        projection.take(record, body)
        learner.take(projection, body)
        if concerned:
            records.append(record)
    if moment is None:
        raise ServiceError("no-person", 404, f"Round {round_id!r} has nobody named {person!r}.")
    return DecisionHistory(evidence, round_id, person, projection, records, *moment)


class _LearnerFold:
    """The learner along a ledger, as far as the seed and the features are there."""

    def __init__(self, evidence: Evidence, bodies: list[Body]) -> None:
        self.secret, self.surrogates = evidence.secret, surrogates_in(bodies)
        payloads = evidence.payloads or {}
        self.contents = {d: p.content for d, p in payloads.items() if p.digest == d}
        self.state: State | None = None

    def take(self, projection: Projection, body: Body) -> None:
        if self.secret is None:
            return
        try:
            state = start(projection.settings, self.secret[0]) if self.state is None else self.state
            self.state = advance(state, body, self.contents, self.surrogates)
        except LikewiseError:
            # Somebody's features are gone: from here on nothing can be recomputed.
            self.state = self.secret = None
