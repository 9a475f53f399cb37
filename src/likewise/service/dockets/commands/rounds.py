"""Dockets begin, people arrive and are decided on, rounds are sealed."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from likewise.learning import decide, drawn_for_audit
from likewise.learning.learner import ALGORITHM
from likewise.service.dockets.docket import Docket, UnitOfWork
from likewise.service.dockets.projection import Round, instant
from likewise.service.dockets.spec import DocketSpec, checked_docket_name
from likewise.service.errors import ServiceError
from likewise.service.ledger.payloads import person_payload
from likewise.service.ledger.records import FORMAT, Receipt, canonical
from likewise.service.ledger.store import Store, now

__all__ = [
    "Applicant",
    "add_people",
    "commitment",
    "due_after",
    "open_docket",
    "open_round",
    "seal",
]


def commitment(seed: int, salt: bytes) -> str:
    """What a docket's first record says of its seed: SHA-256(salt ‖ seed)."""
    return hashlib.sha256(salt + str(seed).encode()).hexdigest()


def open_docket(store: Store, name: str, spec: DocketSpec, seed: int | None = None) -> Receipt:
    """Begin a docket: its first record holds all settings, and commits to the seed."""
    chosen = secrets.randbits(64) if seed is None else seed
    salt = secrets.token_bytes(16)
    with store.transaction(checked_docket_name(name)) as transaction:
        if transaction.head.seq:
            raise ServiceError("docket-exists", 409, f"There is a docket {name!r} already.")
        transaction.keep_secret(chosen, salt)
        transaction.append(
            "docket-opened",
            {
                "spec": spec.to_json(),
                "seed_commitment": commitment(chosen, salt),
                "algorithm": ALGORITHM,
                "format": FORMAT,
            },
            now(),
        )
        return Receipt(name, transaction.head)


@dataclass(frozen=True)
class Applicant:
    """Somebody as a client sends them: an id, and features by name."""

    id: str
    features: Mapping[str, Any]


def open_round(
    docket: Docket,
    people: Sequence[Applicant],
    *,
    round_id: str | None = None,
    key: str | None = None,
    seal: bool = True,
) -> tuple[Round, Receipt]:
    """People arrive and are decided on at once; unless told otherwise the round is sealed.

    A request that is sent again with the same key and the same people gets the same answer.
    """
    with docket.unit_of_work() as work:
        fingerprint, known = _known(work, key, people, [round_id, seal])
        if known is not None:
            return known, docket.receipt()
        name = _free_name(work) if round_id is None else round_id
        if name in work.projection.rounds:
            raise ServiceError(
                "round-exists", 409, f"There is a round {name!r} already; use another id."
            )
        if key is not None:
            work.transaction.keep_request(key, fingerprint, name)
        _arrive(work, name, people)
        if seal:
            _seal(work, name)
    return docket.projection.round(name), docket.receipt()


def add_people(
    docket: Docket, round_id: str, people: Sequence[Applicant], *, key: str | None = None
) -> tuple[Round, Receipt]:
    """More people join a round that is not sealed; they are decided on at once."""
    with docket.unit_of_work() as work:
        round_ = work.projection.round(round_id)
        fingerprint, known = _known(work, key, people, ["add", round_id])
        if known is not None:
            return known, docket.receipt()
        if round_.sealed is not None:
            raise ServiceError(
                "round-sealed", 409,
                f"Round {round_id!r} is sealed; nobody can join it. Let them arrive in a new one.",
            )  # fmt: skip
        if key is not None:
            work.transaction.keep_request(key, fingerprint, round_id)
        _arrive(work, round_id, people)
    return docket.projection.round(round_id), docket.receipt()


def seal(docket: Docket, round_id: str) -> tuple[Round, Receipt]:
    """Nobody else will join; the panel is asked."""
    with docket.unit_of_work() as work:
        if work.projection.round(round_id).sealed is None:
            _seal(work, round_id)
    return docket.projection.round(round_id), docket.receipt()


def _known(
    work: UnitOfWork, key: str | None, people: Sequence[Applicant], more: list[Any]
) -> tuple[str, Round | None]:
    """The fingerprint of a request, and the round that it made if it came before."""
    if key is None:
        return "", None
    _check_key(key)
    asked = canonical([[[p.id, dict(p.features)] for p in people], *more])
    fingerprint = hmac.new(work.docket.salt, asked, "sha256").hexdigest()
    known = work.transaction.request(key)
    if known is None:
        return fingerprint, None
    if not known[0]:
        raise ServiceError(
            "key-forgotten", 409,
            f"Somebody in round {known[1]!r} was erased, so nothing is left to recognise the "
            f"request {key!r} by. Read that round instead.",
        )  # fmt: skip
    if known[0] != fingerprint:
        raise ServiceError(
            "key-reused", 409,
            f"The idempotency key {key!r} came with another request before. Use a new key for "
            f"every request.",
        )  # fmt: skip
    return fingerprint, work.projection.round(known[1])


def _free_name(work: UnitOfWork) -> str:
    """r1, r2, …; a number that a client has used by itself is passed over."""
    number = len(work.projection.rounds) + 1
    while f"r{number}" in work.projection.rounds:
        number += 1
    return f"r{number}"


def _check_key(key: str) -> None:
    if not (isinstance(key, str) and 0 < len(key) <= 200 and key.isprintable()):
        raise ServiceError(
            "bad-key", 422, "An idempotency key must be 1 to 200 printable characters."
        )


def _arrive(work: UnitOfWork, round_id: str, people: Sequence[Applicant]) -> None:
    """Record who arrived, and decide on them with one draw of h."""
    if work.projection.revealed is not None:
        raise ServiceError(
            "seed-revealed", 409,
            f"The seed of {work.projection.name!r} has been published: whoever knows it knows the "
            f"draws, so nothing is decided any more. Open a new docket.",
        )  # fmt: skip
    schema = work.state.learner.hypotheses.schema
    encoded = schema.people([dict(p.features) for p in people], [p.id for p in people])
    listed = [
        {"id": name, "digest": work.keep(person_payload(row))}
        for name, row in zip(encoded.ids, encoded.x.tolist(), strict=True)
    ]
    work.add("arrived", {"round": round_id, "people": listed})
    decided = decide(work.state, round_id)
    work.add("decided", {"round": round_id, "decisions": [asdict(d) for d in decided.decisions]})


def due_after(at: str, deadline: float | None) -> str | None:
    """When a panel that was asked at some time has to be done.

    >>> due_after("2026-03-01T12:00:00.000000Z", 60)
    '2026-03-01T12:01:00.000000Z'
    """
    if deadline is None:
        return None
    moment = instant(at) + timedelta(seconds=deadline)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _seal(work: UnitOfWork, round_id: str) -> None:
    """Fix the panel; if nobody is to look at the round, say so at once."""
    settings = work.projection.settings
    drawn = drawn_for_audit(work.state, round_id)
    due = due_after(work.at, settings.deadline)
    asked = list(work.projection.members) if drawn else []
    work.add(
        "sealed",
        {
            "round": round_id,
            "members": asked,
            "rule": work.projection.rule,
            "drawn": drawn,
            "due": due,
        },
    )
    if not asked:
        work.add("audited", {"round": round_id, "outcome": "unaudited", "pairs": []})
