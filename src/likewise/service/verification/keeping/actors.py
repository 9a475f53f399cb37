"""Checks of actors: every record names somebody whom the ledger introduces, and who may add it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from likewise.service.ledger.bodies.evidence import SignedIn, SignedOut, TokenEnded, TokenIssued
from likewise.service.ledger.bodies.own import KINDS, ROLES, MemberAct
from likewise.service.ledger.records import Record
from likewise.service.verification.findings import Difference

# Kinds of record that a member adds for themselves.
MEMBER_ACTS = frozenset(
    kind for kind, body in KINDS.items() if issubclass(body, MemberAct) and "auditor" in ROLES[kind]
)


@dataclass
class _Introduced:
    """Somebody as the ledger introduced them, in record ``seq`` by the actor ``by``."""

    role: str
    name: str
    seq: int
    by: str
    token: str
    until: str | None = None
    ended: bool = False


@dataclass
class ActorChecks:
    """All who were introduced, and who did what."""

    introduced: dict[str, _Introduced] = field(default_factory=dict)
    machine: int = 0
    _passed: dict[tuple[str, str], _Introduced] = field(default_factory=dict)

    def passes(self, record: Record) -> bool:
        """Tell at once that somebody does what they have done before, with nothing changed."""
        actor = self._passed.get((record.actor, record.kind))
        if actor is None or (actor.until is not None and record.at > actor.until):
            return False
        return record.kind not in MEMBER_ACTS or record.body.get("member") == actor.name

    def take(self, record: Record, body: object) -> Iterator[Difference]:
        """Yield the differences of one record; ``body`` is there for records about actors."""
        # An introduction comes before whoever it introduces has done anything else.
        if isinstance(body, (TokenIssued, SignedIn)):
            token, name, until = f"token:{body.token}", f"token:{body.token}", None
            if isinstance(body, SignedIn):
                name, until = f"sign-in:{body.sign_in}", body.until
            actor = _Introduced(body.role, body.name, record.seq, record.actor, token, until)
            self.introduced.setdefault(name, actor)
        for recorded, expected in self._check(record):
            yield Difference(record.seq, "actor", recorded, expected)
        if isinstance(body, TokenEnded):
            self._end(f"token:{body.token}")
        elif isinstance(body, SignedOut):
            self._end(f"sign-in:{body.sign_in}")

    def _end(self, name: str) -> None:
        self._passed.clear()
        if name in self.introduced:
            self.introduced[name].ended = True

    def _check(self, record: Record) -> Iterator[tuple[str, str]]:
        name = record.actor
        if name in ("machine", "service"):
            self.machine += name == "machine" and record.kind in MEMBER_ACTS
            return
        actor = self.introduced.get(name)
        if actor is None:
            yield f"{name or 'Nobody'} acted.", "somebody whose token or sign-in the ledger has."
            return
        ended = actor.ended or self.introduced.get(actor.token, actor).ended
        if ended:
            yield f"{name} acted after its end.", "nobody, once a token has ended."
        if actor.until is not None and record.at > actor.until:
            yield f"{name} acted at {record.at}.", f"until {actor.until}."
        if actor.role not in ROLES.get(record.kind, ()):
            yield f"{name}, a {actor.role}, acted.", f"another role for {record.kind!r}."
        elif record.kind in MEMBER_ACTS and record.body.get("member") != actor.name:
            member = record.body.get("member")
            yield f"{actor.name!r} spoke for {member!r}.", f"{member!r} themselves."
        elif not ended:
            self._passed[name, record.kind] = actor

    def proved(self) -> list[str]:
        """Return sentences on all that is proved."""
        sentences = [
            f"Every record says who acted, by {len(self.introduced):,} tokens and sign-ins that "
            f"the ledger itself introduces."
        ]
        tokens: dict[str, list[str]] = {}
        for name, actor in self.introduced.items():
            if actor.role == "auditor" and name == actor.token:
                introduction = f"{name} (record {actor.seq:,}, by {actor.by})"
                tokens.setdefault(actor.name, []).append(introduction)
        for member, listed in sorted(tokens.items()):
            if len(listed) > 1:
                sentences.append(
                    f"{member!r} has had {len(listed)} tokens: {', '.join(listed)}. Ask them for "
                    f"each."
                )
        return sentences

    def unproved(self) -> list[str]:
        """Return sentences on all that is not proved."""
        if not self.machine:
            return []
        return [
            f"That members said what {self.machine:,} records have them say: they were entered at "
            f"the machine, with no token of theirs."
        ]
