"""Appeals: an applicant corrects data and asks a person to reconsider, in time and with reasons.

The first decision stays on record, and what the person decides is beside it. Corrected features are
never given to the learner: its past stays what it was, and a second draw would reward whoever
appeals most often. The policy of that round and its one draw say what they would have made of them,
for the reviewer to know; the reviewer decides.
"""

import hmac
import secrets
from collections.abc import Mapping
from typing import Any

from likewise_service.dockets.docket import Docket, UnitOfWork, command
from likewise_service.dockets.explanations import PastPolicy
from likewise_service.dockets.round import KeptPolicy, Round
from likewise_service.errors import ServiceError, later, passed
from likewise_service.language import N_
from likewise_service.ledger import kinds
from likewise_service.ledger.notes import Checkpoint
from likewise_service.ledger.records import Payload, canonical, features_of, person_payload

DAY = 86_400.0


def open_appeal(
    docket: Docket, round_id: str, person: str, text: str | None = None,
    corrections: Mapping[str, Any] | None = None, key: str | None = None,
) -> tuple[kinds.Appeal, Checkpoint]:  # fmt: skip
    """Open an appeal with an applicant's words, with values that correct their features, or both.

    A request that is sent again with the same ``key`` gets the same appeal.
    """
    with docket.unit_of_work() as work:
        round_ = decided_round(work, round_id, person)
        name = _name(work, key, round_id, person)
        content = _content(work, round_, person, text, corrections)
        if name in round_.appeals:
            _check_same(work, round_.appeals[name], content)
        else:
            _open(work, round_, person, name, content)
    return docket.projection.round(round_id).appeals[name], docket.receipt()


def decided_round(work: UnitOfWork, round_id: str, person: str) -> Round:
    """Return the round in which somebody was decided on; one who was erased is refused."""
    round_ = work.projection.round(round_id)
    if person not in round_.decisions:
        raise ServiceError("no-person", 404, f"Round {round_id!r} has nobody named {person!r}.")
    if person in round_.erased:
        raise ServiceError(
            "erased", 409,
            f"{person!r} was erased, so nothing is left to go by. Let them apply again.",
        )  # fmt: skip
    return round_


def _name(work: UnitOfWork, key: str | None, *names: str) -> str:
    if key is None:
        return secrets.token_hex(6)
    return hmac.new(work.docket.salt, canonical([key, *names]), "sha256").hexdigest()[:12]


def _check_same(work: UnitOfWork, appeal: kinds.Appeal, content: Payload) -> None:
    if work.transaction.payloads([appeal.content])[appeal.content].content != content.content:
        raise ServiceError(
            "key-reused", 409,
            f"The appeal {appeal.id} came with the same idempotency key and asks for something "
            f"else. Use a new key for every request.",
        )  # fmt: skip


def _content(
    work: UnitOfWork, round_: Round, person: str, text: str | None,
    corrections: Mapping[str, Any] | None,
) -> Payload:  # fmt: skip
    """Return what somebody asks: their words, and all of their features as they should be."""
    words = work.reason(text)
    if words is None and not corrections:
        raise ServiceError(
            "empty-appeal", 422, "Say what is to be corrected, or why to reconsider: send a text."
        )
    content: dict[str, Any] = {} if words is None else dict(words.content)
    if corrections:
        stored = work.transaction.payloads([round_.people[person] or ""])
        features = list(features_of(stored[round_.people[person] or ""].content))
        schema = work.docket.schema
        for name, value in corrections.items():
            features[schema.place(name)] = schema[name].encode(value, person)
        content |= person_payload(features).content
        content["corrected"] = sorted(corrections)
    return Payload.fresh(content)


def _open(work: UnitOfWork, round_: Round, person: str, name: str, content: Payload) -> None:
    if pending := round_.open_appeal(person):
        raise ServiceError(
            "appeal-open", 409,
            f"The appeal {pending.id} of {person!r} is not decided yet. Wait for it, or withdraw "
            f"it first.",
        )  # fmt: skip
    corrects, again = "features" in content.content, None
    kept = work.transaction.policy(round_.id)
    if corrects and kept is not None:
        policy = PastPolicy.of(round_, person, KeptPolicy.parse(kept), work.state.learner)
        again = policy.decide(features_of(content.content))
    due = later(work.at, DAY * work.projection.appeal_days)
    digest = work.keep(content)
    work.add(kinds.AppealOpened(round_.id, person, name, digest, corrects, again, due))


def _appeal(work: UnitOfWork, name: str) -> kinds.Appeal:
    appeal = work.projection.appeals.get(name)
    if appeal is None:
        raise ServiceError(
            "no-appeal", 404, f"There is no open appeal {name!r}. It may be decided, or withdrawn."
        )
    return appeal


def _named(appeal: kinds.Appeal) -> tuple[str, str, str]:
    return appeal.round, appeal.person, appeal.id


@command
def assign_appeal(work: UnitOfWork, name: str, reviewer: str) -> None:
    """Let a person reconsider; it may become another one until it is decided."""
    appeal = _appeal(work, name)
    if appeal.reviewer != reviewer:
        work.add(kinds.AppealAssigned(*_named(appeal), reviewer))


@command
def decide_appeal(
    work: UnitOfWork, name: str, reviewer: str, approved: bool, reason: str, *,
    accepted: bool = False,
) -> None:  # fmt: skip
    """Record what the reviewer decides and why; ``accepted`` says that the corrections are right.

    While the round is open, the learner is told that somebody decided otherwise: then it takes the
    person's label, and charges nothing for it.
    """
    appeal = _appeal(work, name)
    _check_reviewer(work, appeal, reviewer)
    words = work.reason(reason)
    if words is None:
        raise ServiceError(
            "no-reason", 422, N_("Say why: the applicant has a right to the reasons.")
        )
    if accepted and not appeal.corrects:
        raise ServiceError("no-corrections", 422, N_("This appeal corrects nothing to accept."))
    named, digest = _named(appeal), work.keep(words)
    work.add(kinds.AppealDecided(*named, reviewer, approved, accepted, digest))
    round_ = work.projection.round(appeal.round)
    settled = appeal.person in round_.overrides or appeal.person in round_.labels
    differs = round_.decisions[appeal.person].approved is not approved
    if round_.closed is None and differs and not settled:
        work.add(kinds.Overridden(appeal.round, appeal.person, approved))
        work.close_if_done(appeal.round)


def _check_reviewer(work: UnitOfWork, appeal: kinds.Appeal, reviewer: str) -> None:
    """Only whom it was assigned to decides, and nobody who is signed in as somebody else."""
    roles = {body.role: body.name for body in work.actor.introduction}
    operator = roles.get("operator", reviewer)
    if appeal.reviewer is None or appeal.reviewer != reviewer or operator != reviewer:
        raise ServiceError(
            "not-assigned", 409,
            f"The appeal {appeal.id} is assigned to {appeal.reviewer or 'nobody'}, who has to "
            f"decide in their own name. Assign it to whoever decides.",
        )  # fmt: skip


@command
def withdraw_appeal(work: UnitOfWork, name: str) -> None:
    """Record that the applicant takes the appeal back."""
    work.add(kinds.AppealWithdrawn(*_named(_appeal(work, name))))


def mark_overdue(docket: Docket) -> int:
    """Record the appeals that nobody has decided in time, each once; return how many."""
    with docket.unit_of_work() as work:
        late = [a for a in work.projection.appeals.values() if not a.overdue]
        late = [appeal for appeal in late if passed(appeal.due, work.at)]
        for appeal in late:
            work.add(kinds.AppealOverdue(*_named(appeal)))
    return len(late)
