"""The records of one decision: found in a ledger, with the learner as it was at that moment."""

from __future__ import annotations

from dataclasses import dataclass

from likewise.errors import LikewiseError
from likewise.service.dockets.learner import State, advance, start, surrogates_in
from likewise.service.dockets.views.projection import Projection
from likewise.service.dockets.views.round import Round
from likewise.service.errors import ServiceError
from likewise.service.ledger import bodies
from likewise.service.ledger.payloads import Payload
from likewise.service.ledger.records import Record
from likewise.service.verification.evidence import Evidence

__all__ = ["DecisionHistory", "history_of"]


@dataclass(frozen=True)
class DecisionHistory:
    """All records that led to the decision on one person, and what followed from it.

    ``state`` is the learner's just before the decision, None where it cannot be rebuilt; ``before``
    counts what it had learned from by then. ``elsewhere`` says that the institution decided.
    """

    projection: Projection
    round: Round
    person: str
    arrived: Record
    decided: Record
    records: tuple[Record, ...]
    payload: Payload | None
    state: State | None
    before: dict[str, int]
    elsewhere: bool


class _Fold:
    """The learner along a ledger, as far as the features are there."""

    def __init__(self, evidence: Evidence, known: list[bodies.Body]) -> None:
        self.evidence = evidence
        self.surrogates = surrogates_in(known)
        held = evidence.payloads or {}
        self.contents = {d: p.content for d, p in held.items() if p.digest == d}
        self.lost = evidence.secret is None
        self.state: State | None = None

    def take(self, projection: Projection, body: bodies.Body) -> None:
        if self.lost or self.evidence.secret is None:
            return
        try:
            if self.state is None:
                self.state = start(projection.settings, self.evidence.secret[0])
            self.state = advance(self.state, body, self.contents, self.surrogates)
        except LikewiseError:
            # Somebody's features are gone: from here on nothing can be recomputed.
            self.state, self.lost = None, True


def _decided_on(body: bodies.Decided) -> set[str]:
    return {decision.person for decision in body.decisions}


def history_of(evidence: Evidence, round_id: str, person: str) -> DecisionHistory:
    """Find a decision in a ledger, and fold everything up to it."""
    read = [(record, bodies.read_body(record)) for record in evidence.records]
    fold, projection = _Fold(evidence, [body for _, body in read]), Projection(evidence.docket)
    arrived = decided = None
    state, before, mine, elsewhere = None, dict[str, int](), list[Record](), False
    for record, body in read:
        concerns = getattr(body, "round", None) == round_id
        if isinstance(body, bodies.PeopleArrived) and concerns:
            arrived = record if person in {p.id for p in body.people} else arrived
        if isinstance(body, bodies.Decided) and person in _decided_on(body) and concerns:
            decided, state, before = record, fold.state, dict(projection.counts)
            elsewhere = projection.audit_only
        projection.take(record, body)
        fold.take(projection, body)
        if concerns:
            mine.append(record)
    if arrived is None or decided is None:
        raise ServiceError("no-person", 404, f"Round {round_id!r} has nobody named {person!r}.")
    round_ = projection.round(round_id)
    digest = None if person in round_.erased else round_.people[person]
    payload = (evidence.payloads or {}).get(digest or "")
    return DecisionHistory(
        projection, round_, person, arrived, decided, tuple(mine), payload, state, before, elsewhere
    )
