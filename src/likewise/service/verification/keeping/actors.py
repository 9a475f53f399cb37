"""Checks of who acted: every record names somebody whom the ledger knows, and who may do that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from likewise.service.ledger.bodies.evidence import SignedIn, SignedOut, TokenEnded, TokenIssued
from likewise.service.ledger.records import Record
from likewise.service.verification.findings import Difference

__all__ = ["ActorChecks"]

# What each role may do; the service and whoever is at the machine may do all of it.
MEMBERS = frozenset({"flagged", "withdrawn", "finished", "reopened", "repeated", "member-key-set"})
ROLES = {
    "operator": {
        "docket-opened", "member-joined", "member-left", "rule-changed", "arrived", "decided",
        "sealed", "audited", "labelled", "overridden", "closed", "erased", "seed-revealed",
        "key-published", "token-issued", "token-ended", "retention-set", "hold-placed",
        "hold-lifted", "override-explained", "packet-given", "signed-in", "signed-out",
        "reasons-erased",
    },
    "client": {
        "arrived", "decided", "sealed", "audited", "labelled", "overridden", "closed",
        "override-explained", "packet-given", "key-published", "token-issued",
    },
    "auditor": {
        *MEMBERS, "signed", "audited", "closed", "key-published", "token-issued", "signed-in",
        "signed-out",
    },
    "regulator": {"signed-in", "signed-out", "token-issued", "key-published", "packet-given"},
}  # fmt: skip
# A sign-in is introduced by the record that it is itself the actor of.
OWN = (TokenIssued, SignedIn)


@dataclass
class _Known:
    """Somebody as the ledger introduced them."""

    role: str
    name: str
    seq: int
    by: str
    token: str
    until: str | None = None
    ended: int | None = None


@dataclass
class ActorChecks:
    """All who were introduced, and who did what."""

    known: dict[str, _Known] = field(default_factory=dict)
    unnamed: int = 0
    machine: int = 0
    _named: bool = False
    _fine: dict[tuple[str, str], _Known] = field(default_factory=dict)

    def fits(self, record: Record) -> bool:
        """Tell at a glance that somebody does what they have done before, with nothing changed."""
        known = self._fine.get((record.actor, record.kind))
        if known is None or (known.until is not None and record.at > known.until):
            return False
        return record.kind not in MEMBERS or record.body.get("member") == known.name

    def take(self, record: Record, body: object) -> Iterator[Difference]:
        """The differences of one record; ``body`` is given for records about actors."""
        # An introduction comes before whoever it introduces has done anything else.
        if isinstance(body, OWN):
            self._introduce(record, body)
        yield from self._check(record)
        if isinstance(body, TokenEnded):
            self._end(f"token:{body.token}", record)
        elif isinstance(body, SignedOut):
            self._end(f"sign-in:{body.sign_in}", record)

    def _introduce(self, record: Record, body: TokenIssued | SignedIn) -> None:
        if isinstance(body, TokenIssued):
            name, until = f"token:{body.token}", None
        else:
            name, until = f"sign-in:{body.sign_in}", body.until
        token = f"token:{body.token}"
        self.known.setdefault(
            name, _Known(body.role, body.name, record.seq, record.actor, token, until)
        )

    def _end(self, name: str, record: Record) -> None:
        self._fine.clear()
        if name in self.known:
            self.known[name].ended = record.seq

    def _check(self, record: Record) -> Iterator[Difference]:
        def differs(recorded: str, expected: str) -> Difference:
            return Difference(record.seq, "actor", recorded, expected)

        actor = record.actor
        if not actor:
            self.unnamed += 1
            if self._named:
                yield differs("It does not say who acted.", "somebody, as in the records before.")
            return
        self._named = True
        if actor in ("machine", "service"):
            self.machine += actor == "machine" and record.kind in MEMBERS
            return
        found = self.known.get(actor)
        if found is None:
            yield differs(f"{actor} acted.", "somebody whose token or sign-in the ledger has.")
            return
        token = self.known.get(found.token, found)
        if found.ended is not None or token.ended is not None:
            yield differs(f"{actor} acted after its end.", "nobody, once a token has ended.")
        if found.until is not None and record.at > found.until:
            yield differs(f"{actor} acted at {record.at}.", f"until {found.until}.")
        if record.kind not in ROLES.get(found.role, ()):
            yield differs(f"{actor}, a {found.role}, acted.", f"another role for {record.kind!r}.")
        elif record.kind in MEMBERS and record.body.get("member") != found.name:
            member = record.body.get("member")
            yield differs(f"{found.name!r} spoke for {member!r}.", f"{member!r} themselves.")
        elif found.ended is None and token.ended is None:
            self._fine[actor, record.kind] = found

    def shown(self) -> list[str]:
        """Sentences on all that is shown."""
        if not self._named:
            return []
        count = len(self.known)
        found = [
            f"Every record from {self.unnamed + 1:,} on says who acted, by {count:,} tokens and "
            f"sign-ins that the ledger itself introduces."
        ]
        for name, tokens in sorted(self._auditors().items()):
            if len(tokens) > 1:
                listed = ", ".join(f"{t} (record {k.seq:,}, by {k.by})" for t, k in tokens)
                found.append(f"{name!r} has had {len(tokens)} tokens: {listed}. Ask them for each.")
        return found

    def _auditors(self) -> dict[str, list[tuple[str, _Known]]]:
        seats: dict[str, list[tuple[str, _Known]]] = {}
        for name, known in self.known.items():
            if known.role == "auditor" and name == known.token:
                seats.setdefault(known.name, []).append((name, known))
        return seats

    def unshown(self) -> list[str]:
        """Sentences on all that is not shown."""
        found = []
        if self.unnamed:
            found.append(
                f"Who acted in {self.unnamed:,} records: they were written before records said so."
            )
        if self.machine:
            found.append(
                f"That members said what {self.machine:,} records have them say: they were entered "
                f"at the machine, with no token of theirs."
            )
        return found
