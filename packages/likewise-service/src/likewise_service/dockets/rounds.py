"""Open dockets and rounds: people arrive, are decided on, and rounds are sealed."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from likewise.learner import State, events, fold
from likewise.learner.settings import ALGORITHM
from likewise.numerics.fixed_point import ONE, to_units
from likewise.validation import within
from likewise_service.clock import due_after, now
from likewise_service.dockets.docket import Docket, UnitOfWork, command, numbers_of
from likewise_service.dockets.projection import Projection
from likewise_service.dockets.round import Round
from likewise_service.dockets.spec import DocketSpec, checked_docket_name, commitment
from likewise_service.errors import ServiceError
from likewise_service.ledger import kinds, notes, records
from likewise_service.ledger.store import Store, introductions, tokens_for


def open_docket(
    store: Store, name: str, spec: DocketSpec, seed: int | None = None
) -> notes.Checkpoint:
    """Open a docket: its first record holds all settings, and commits to the seed."""
    chosen = secrets.randbits(64) if seed is None else seed
    salt = secrets.token_bytes(16)
    store.keys.current()  # a store that has none gets one
    actor, at = kinds.current_actor(), now()
    with store.transaction(checked_docket_name(name)) as transaction:
        if transaction.head.seq:
            raise ServiceError("docket-exists", 409, f"There is a docket {name!r} already.")
        key = store.keys.locked(transaction.connection)
        transaction.keep_secret(chosen, salt)
        state = State.start(spec.make_learner(chosen))
        transaction.keep_numbers(numbers_of(Projection(name), state))
        opened = kinds.DocketOpened(
            spec.to_json(), commitment(chosen, salt), ALGORITHM, records.FORMAT, key.public.text
        )
        tokens = {token.actor: token for token in tokens_for(transaction.connection, name)}
        lacking = introductions(transaction.connection, actor, tokens, at)
        for body in (opened, *tokens.values(), *lacking):
            transaction.append(*kinds.write_body(body), at, actor.id)
        tree = transaction.tree
    return notes.Checkpoint.of(notes.origin_of(name, key.public), tree).signed(key)


@dataclass(frozen=True)
class Applicant:
    """Somebody to decide on: an id, and features by name.

    Where the institution decides, also its score in [0, 1] and its decision (by default, approval
    from one half on).
    """

    id: str
    features: Mapping[str, Any]
    score: float | None = None
    approved: bool | None = None


def open_round(
    docket: Docket, people: Sequence[Applicant], *, round_id: str | None = None,
    key: str | None = None, seal: bool = True,
) -> tuple[Round, notes.Checkpoint]:  # fmt: skip
    """Open a round and decide on its people; the same key and people get the same response."""
    with docket.unit_of_work() as work:
        name = work.projection.free_name() if round_id is None else round_id
        earlier = _earlier(work, name, key, people, round_id, seal)
        if earlier is not None:
            return earlier, docket.receipt()
        if round_id is not None and work.projection.find(name) is not None:
            sentence = f"There is a round {name!r} already; use another id."
            raise ServiceError("round-exists", 409, sentence)
        _arrive(work, name, people)
        if seal:
            _seal(work, name)
    return docket.projection.round(name), docket.receipt()


def add_people(
    docket: Docket, round_id: str, people: Sequence[Applicant], *, key: str | None = None
) -> tuple[Round, notes.Checkpoint]:
    """Add people to a round that is not sealed, and decide on them at once."""
    with docket.unit_of_work() as work:
        round_ = work.projection.round(round_id)
        earlier = _earlier(work, round_id, key, people, "add", round_id)
        if earlier is not None:
            return earlier, docket.receipt()
        if round_.sealed is not None:
            sentence = f"Round {round_id!r} is sealed; nobody can join it. Open another round."
            raise ServiceError("round-sealed", 409, sentence)
        _arrive(work, round_id, people)
    return docket.projection.round(round_id), docket.receipt()


def seal(docket: Docket, round_id: str) -> tuple[Round, notes.Checkpoint]:
    """Seal a round: nobody else joins it, and the panel is asked."""
    with docket.unit_of_work() as work:
        if work.projection.round(round_id).sealed is None:
            _seal(work, round_id)
    return docket.projection.round(round_id), docket.receipt()


def _earlier(
    work: UnitOfWork, name: str, key: str | None, people: Sequence[Applicant], *more: object
) -> Round | None:
    """Return the round of an earlier request with the same key and content; keep a new request."""
    if key is None:
        return None
    if not (isinstance(key, str) and 0 < len(key) <= 200 and key.isprintable()):
        sentence = "An idempotency key must be 1 to 200 printable characters."
        raise ServiceError("bad-key", 422, sentence)
    content = [[p.id, dict(p.features), p.score, p.approved] for p in people]
    row = work.earlier(key, name, [content, *more])
    if row is None:
        return None
    fingerprint, round_id = row
    if not fingerprint:
        fault = f"The request {key!r} was forgotten when something of {round_id!r} was erased."
        raise ServiceError("key-forgotten", 409, f"{fault} Read that round instead.")
    return work.projection.round(round_id)


def _arrive(work: UnitOfWork, round_id: str, people: Sequence[Applicant]) -> None:
    """Record who arrived, and decide on them with one draw of h."""
    if work.projection.revealed is not None:
        fault = f"The seed of {work.projection.name!r} has been published: draws can be predicted."
        raise ServiceError("seed-revealed", 409, f"{fault} Open a new docket.")
    _check_scores(people, expected=work.projection.audit_only)
    schema = work.state.learner.hypotheses.schema
    encoded = schema.people([dict(p.features) for p in people], [p.id for p in people])
    arrived = tuple(
        kinds.PersonArrived(name, work.keep(records.person_payload(row)))
        for name, row in zip(encoded.ids, encoded.x.tolist(), strict=True)
    )
    work.add(kinds.PeopleArrived(round_id, arrived))
    if work.projection.audit_only:
        work.add(kinds.Decided(round_id, tuple(map(_decided_elsewhere, people))))
    else:
        work.add(kinds.Decided(round_id, fold.decide(work.state, round_id).decisions))


def _check_scores(people: Sequence[Applicant], *, expected: bool) -> None:
    """Require scores where the institution decides, and refuse them elsewhere."""
    for person in people:
        if expected and person.score is None:
            remedy = f"send the score of {person.id!r}, in [0, 1]"
            sentence = f"This docket audits decisions that are taken elsewhere: {remedy}."
            raise ServiceError("no-score", 422, sentence)
        if not expected and (person.score is not None or person.approved is not None):
            sentence = f"A learner decides in this docket; leave out the score of {person.id!r}."
            raise ServiceError("score-given", 422, sentence)


def _decided_elsewhere(person: Applicant) -> events.Decision:
    remedy = f"It is the chance of approval of {person.id!r}."
    units = to_units(within("score", person.score, 0, 1, remedy))
    approved = units * 2 >= ONE if person.approved is None else person.approved
    return events.Decision(person.id, approved, units)


def _seal(work: UnitOfWork, round_id: str) -> None:
    """Fix the panel and what it is asked; where nobody looks, record the outcome at once."""
    projection, settings = work.projection, work.projection.settings
    members, number = tuple(projection.members), work.round(round_id).number
    panel = kinds.name_panel(members, projection.rule)
    asking = fold.asking(work.state, round_id, panel)
    due = due_after(work.at, settings.deadline)
    in_turn = bool(members) and asking.looked_at and settings.turns
    in_turn = in_turn and not work.docket.seating.key.together(number, settings.together_share)
    sealed = kinds.RoundSealed(round_id, members, projection.rule, asking, due, in_turn)
    work.add(sealed)
    work.ask_next(round_id)
    if not sealed.seated:
        work.add(kinds.Audited(round_id, "quiet" if asking.quiet else "unaudited"))
        work.close_if_done(round_id)


@command
def label(work: UnitOfWork, labels: Sequence[tuple[str, str, int]]) -> None:
    """Record labels (round, person, label): all of them, or none."""
    work.add(*(
        kinds.Labelled(round_id, person, int(value) if value in (0, 1) else value)
        for round_id, person, value in dict.fromkeys(labels)
        if work.projection.round(round_id).labels.get(person) != value
    ))  # fmt: skip
    for round_id in dict.fromkeys(name for name, _, _ in labels):
        work.close_if_done(round_id)


@command
def override(
    work: UnitOfWork, round_id: str, person: str, approved: bool, reason: str | None = None
) -> None:
    """Record that a human decided otherwise, and why, if they say so."""
    payload = work.reason(reason)
    round_ = work.projection.round(round_id)
    if round_.reconsidered(person) not in (None, approved):
        fault = f"{person!r} was decided on by appeal, which stands."
        raise ServiceError("appealed", 409, f"{fault} Open another appeal to change it.")
    if round_.overrides.get(person) is not approved:
        if payload is not None:
            work.add(kinds.OverrideExplained(round_id, person, work.keep(payload)))
        work.add(kinds.Overridden(round_id, person, approved))
        work.close_if_done(round_id)
    elif payload is not None:
        digest = round_.explanations.get(person)
        known = records.words_in(work.transaction.payloads([digest or ""]), digest)
        if known != payload.content["text"]:
            fault = f"The override of {person!r} is on record already, without this reason."
            remedy = "A reason comes with the override, and neither can be changed."
            raise ServiceError("overridden", 409, f"{fault} {remedy}")


@command
def close(work: UnitOfWork, round_id: str, *, unaudited: bool = False) -> None:
    """Close a round without the labels that are missing; ``unaudited`` ends an open audit too."""
    round_ = work.projection.round(round_id)
    if round_.closed is None:
        if round_.outcome is None:
            if not unaudited or round_.sealed is None:
                fault = f"Round {round_id!r} has not been audited. Seal it and wait for its panel,"
                remedy = "or let the operator close it as unaudited once it is sealed."
                raise ServiceError("not-audited", 409, f"{fault} {remedy}")
            work.add(kinds.Audited(round_id, "unaudited"))
        work.add(kinds.Closed(round_id))


@command
def give_learner(work: UnitOfWork, learner: Mapping[str, Any]) -> None:
    """Let a learner decide from the next record on."""
    work.add(kinds.LearnerGiven(dict(work.projection.with_learner(learner).learner)))
