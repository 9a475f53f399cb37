"""The body of every kind of record: what a ledger may say, and nothing else.

The kinds that are events of the learner have the events themselves as bodies.
"""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter, ValidationError

from likewise.errors import LikewiseError
from likewise.events import Audited, Closed, Decided, Labelled, Overridden
from likewise.service.ledger.bodies.evidence import EVIDENCE_KINDS
from likewise.service.ledger.bodies.own import OwnBody
from likewise.service.ledger.records import FORMAT, LedgerBroken, Record

__all__ = [
    "Absent",
    "Audited",
    "Body",
    "Closed",
    "Decided",
    "DocketOpened",
    "Erased",
    "Finished",
    "Flagged",
    "GuidelinesSet",
    "Labelled",
    "LearnerGiven",
    "MemberJoined",
    "MemberLeft",
    "Overridden",
    "OverrideExplained",
    "PeopleArrived",
    "PersonArrived",
    "Reopened",
    "Repeated",
    "RepeatedObjection",
    "RoundSealed",
    "RuleChanged",
    "SeedRevealed",
    "Withdrawn",
    "read_body",
    "readable",
    "write_body",
]


class DocketOpened(OwnBody):
    """A docket begins: all of its settings, a commitment to the seed, and the key of its receipts.

    ``key`` is the public half; dockets that began before receipts were signed have none.
    """

    spec: dict[str, Any]
    seed_commitment: str
    algorithm: str
    format: str
    key: str = ""


class MemberJoined(OwnBody):
    """Somebody joins the panel."""

    member: str


class MemberLeft(MemberJoined):
    """Somebody leaves the panel."""


class RuleChanged(OwnBody):
    """The panel has another rule."""

    rule: str


class PersonArrived(OwnBody):
    """Somebody who arrived, and the digest of their features."""

    id: str
    digest: str


class PeopleArrived(OwnBody):
    """A batch of people arrives; the first of a round opens it."""

    round: str
    people: tuple[PersonArrived, ...]


class RoundSealed(OwnBody):
    """Nobody else will arrive; the lottery, the panel, its rule and its time are fixed."""

    round: str
    members: tuple[str, ...]
    rule: str
    drawn: bool
    due: str | None


class Finished(OwnBody):
    """A member finishes the review of a round."""

    round: str
    member: str


class Reopened(Finished):
    """A member takes a review back."""


class Absent(Finished):
    """A member did not review a round in time."""


class Withdrawn(OwnBody):
    """A member takes an objection back."""

    round: str
    member: str
    pair: tuple[str, str]


class Flagged(Withdrawn):
    """A member flags a pair; ``reason`` is the digest of the words, if there are any."""

    reason: str | None


class RepeatedObjection(OwnBody):
    """An objection to a pair of a round that is shown again."""

    pair: tuple[str, str]
    reason: str | None


class Repeated(OwnBody):
    """All that a member says so far of a round that is shown again, and if they have finished."""

    member: str
    round: str
    objections: tuple[RepeatedObjection, ...]
    finished: bool


class OverrideExplained(OwnBody):
    """The reason of the override in the next record; ``reason`` is the digest of its words."""

    round: str
    person: str
    reason: str


class Erased(OwnBody):
    """Somebody was erased; ``digest`` is that of a surrogate, if anything remains."""

    round: str
    person: str
    digest: str | None


class SeedRevealed(OwnBody):
    """The seed is published, with the salt of its commitment."""

    seed: str
    salt: str


class LearnerGiven(OwnBody):
    """An audit-only docket gets a learner, which decides from the next record on."""

    learner: dict[str, Any]


class GuidelinesSet(OwnBody):
    """Words for the panel's members about what to look for, from now on."""

    text: str


Body = OwnBody | Decided | Audited | Labelled | Overridden | Closed

KINDS: dict[str, type[Any]] = {
    "docket-opened": DocketOpened,
    "member-joined": MemberJoined,
    "member-left": MemberLeft,
    "rule-changed": RuleChanged,
    "arrived": PeopleArrived,
    "decided": Decided,
    "sealed": RoundSealed,
    "flagged": Flagged,
    "withdrawn": Withdrawn,
    "finished": Finished,
    "reopened": Reopened,
    "absent": Absent,
    "audited": Audited,
    "labelled": Labelled,
    "overridden": Overridden,
    "closed": Closed,
    "repeated": Repeated,
    "override-explained": OverrideExplained,
    "erased": Erased,
    "seed-revealed": SeedRevealed,
    "learner-given": LearnerGiven,
    "guidelines-set": GuidelinesSet,
    **EVIDENCE_KINDS,
}
_NAMES = {body: kind for kind, body in KINDS.items()}
_ADAPTERS: dict[str, TypeAdapter[Any]] = {kind: TypeAdapter(of) for kind, of in KINDS.items()}
_VALIDATORS = {kind: adapter.validator for kind, adapter in _ADAPTERS.items()}


def read_body(record: Record) -> Body:
    """The body of a record; one that says more, less or something else is a broken ledger."""
    validator = _VALIDATORS.get(record.kind)
    if validator is None:
        why = f"{record.kind!r} is no kind of record that {FORMAT} has."
        raise LedgerBroken(record.docket, record.seq, why)
    try:
        # As JSON, in which a tuple is a list; nothing is converted, and nothing is passed over.
        body: Body = validator.validate_json(record.body_text, strict=True, extra="forbid")
        if record.body.get("key") == "":
            raise LedgerBroken(record.docket, record.seq, f"key of {record.kind!r} is empty.")
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "its body"
        why = f"{place} of {record.kind!r}: {first['msg']}."
        raise LedgerBroken(record.docket, record.seq, why) from error
    except LikewiseError as error:
        raise LedgerBroken(record.docket, record.seq, str(error)) from error
    return body


def readable(record: Record) -> Body | LedgerBroken:
    """The body of a record, or why it cannot be read: for whoever goes on after that."""
    try:
        return read_body(record)
    except LedgerBroken as error:
        return error


def write_body(body: Body) -> tuple[str, dict[str, Any]]:
    """The kind of a body, and its JSON.

    >>> write_body(Labelled("r1", "ann", 1))
    ('labelled', {'round': 'r1', 'person': 'ann', 'label': 1})
    """
    kind = _NAMES[type(body)]
    plain: dict[str, Any] = _ADAPTERS[kind].dump_python(body, mode="json")
    if plain.get("key") == "":
        del plain["key"]  # a docket of before receipts were signed
    for decision in plain.get("decisions", ()):
        if decision["experts"] is None:  # as ever, for players that are no mixture
            del decision["experts"]
    return kind, plain
