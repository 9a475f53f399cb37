"""Checks of members' own signatures: a member who signs says nothing without a signature."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from likewise.service.ledger.bodies.evidence import MemberKeySet, Signed
from likewise.service.ledger.records import Record
from likewise.service.ledger.signing.member_statements import MemberStatement, possession
from likewise.service.ledger.signing.signatures import PublicKey
from likewise.service.verification.findings import Difference
from likewise.service.verification.keeping.actors import MEMBER_ACTS

# The record that has to follow a signature, for each act; a repeated round has one kind for all.
ACTS = {"flag": "flagged", "withdraw": "withdrawn", "finish": "finished", "reopen": "reopened"}
STATEMENTS = MEMBER_ACTS - {"member-key-set"}


@dataclass
class MemberChecks:
    """Members' keys, and the signature that the next record has to fit.

    ``published`` are keys that members publish elsewhere, by name: in a ledger that has another
    one, somebody speaks for them.
    """

    docket: str
    published: dict[str, str] = field(default_factory=dict)
    keys: dict[str, tuple[PublicKey, int]] = field(default_factory=dict)
    signed: int = 0
    _pending: Signed | None = None
    _last: dict[str, str] = field(default_factory=dict)

    def passes(self, record: Record) -> bool:
        """Tell at once that the record needs no signature, and none waits for it."""
        if self._pending is not None:
            return False
        return record.kind not in STATEMENTS or str(record.body.get("member")) not in self.keys

    def take(self, record: Record, body: object) -> Iterator[Difference]:
        """Yield the differences of one record; ``body`` is there for records about signatures."""
        for recorded, expected in self._check(record, body):
            yield Difference(record.seq, "signature", recorded, expected)

    def _check(self, record: Record, body: object) -> Iterator[tuple[str, str]]:
        signed, self._pending = self._pending, None
        if signed is not None and record.kind not in (ACTS[signed.act], "repeated"):
            yield f"It is {record.kind!r}.", f"{ACTS[signed.act]!r}, which was signed."
        if isinstance(body, MemberKeySet):
            key = PublicKey(body.key)
            fault = self._key_fault(body, key)
            if fault:
                yield fault, "a key that its owner took into use."
            self.keys[body.member] = (key, record.seq)
        elif isinstance(body, Signed):
            fault = self._fault(body)
            if fault:
                yield fault, f"the signature of {body.member!r}."
            self.signed += not fault
            self._pending = body
        elif record.kind in STATEMENTS:
            yield from self._statement(record, signed)

    def _statement(self, record: Record, signed: Signed | None) -> Iterator[tuple[str, str]]:
        member = str(record.body.get("member"))
        if signed is None and member in self.keys:
            since = f"one, since they sign from record {self.keys[member][1]:,} on."
            yield f"{member!r} speaks without a signature.", since
        elif signed is not None and signed.member != member:
            yield f"It is of {member!r}.", f"of {signed.member!r}."
        elif signed is not None and record.kind == "flagged" and (
            signed.reason != record.body.get("reason")
        ):  # fmt: skip
            yield "Its reason is another.", "the signed one."

    def _fault(self, body: Signed) -> str:
        key = self.keys[body.member][0] if body.member in self.keys else None
        if key is None or key.id != body.key:
            return f"It is signed by {body.key}, which is not {body.member!r}'s key."
        if body.at <= self._last.get(body.member, ""):
            return f"It was signed at {body.at}, not after the one before: it is used again."
        self._last[body.member] = body.at
        statement = MemberStatement(
            self.docket, body.member, body.review, body.act, body.pair, body.reason, body.at
        )
        if not statement.signed_by(key, body.signature):
            return "The signature is not that of what is recorded."
        return ""

    def _key_fault(self, body: MemberKeySet, key: PublicKey) -> str:
        content = possession(self.docket, body.member, key)
        if not key.verifies("member-key", content, body.proof):
            return "The new key did not sign that it is taken into use."
        if self.published.get(body.member, body.key) != body.key:
            return f"{body.member!r} publishes another key than {key.id}."
        if body.member not in self.keys:
            return ""
        before = self.keys[body.member][0]
        agreed = before.verifies("member-key", content, body.consent or "")
        return "" if agreed else "The key before it did not agree."

    def proved(self) -> list[str]:
        """Return sentences on all that is proved."""
        if not self.keys:
            return []
        listed = ", ".join(f"{name!r} with {self.keys[name][0].id}" for name in sorted(self.keys))
        compared = ", ".join(sorted(set(self.keys) & set(self.published)))
        rest = ", ".join(sorted(set(self.keys) - set(self.published)))
        return [
            f"{self.signed:,} acts were signed by members themselves, who sign with keys of their "
            f"own: {listed}."
            + (f" Compared with what they publish: {compared}." if compared else "")
            + (f" Compare the keys of {rest} with what they publish: --member-key." if rest else "")
        ]

    def unproved(self) -> list[str]:
        """Return sentences on all that is not proved."""
        return [
            f"That {member!r} said what the ledger has them say: they publish a key, and there is "
            f"none of theirs in it."
            for member in sorted(set(self.published) - set(self.keys))
        ]
