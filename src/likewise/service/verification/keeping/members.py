"""Checks of members' own signatures: who signs says nothing without a signature."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from likewise.errors import LikewiseError
from likewise.service.ledger.bodies.evidence import MemberKeySet, Signed
from likewise.service.ledger.records import Record
from likewise.service.ledger.signing.member_statements import MemberStatement, possession
from likewise.service.ledger.signing.signatures import PublicKey
from likewise.service.verification.findings import Difference

__all__ = ["MemberChecks", "statement_of"]

# The record that has to follow a signature, for each act; a repeated round has one kind for all.
ACTS = {"flag": "flagged", "withdraw": "withdrawn", "finish": "finished", "reopen": "reopened"}
SAID = {"flagged", "withdrawn", "finished", "reopened", "repeated"}


def statement_of(docket: str, body: Signed) -> MemberStatement:
    """The statement that a record says was signed."""
    return MemberStatement(
        docket, body.member, body.review, body.act, body.pair, body.reason, body.at
    )


@dataclass
class MemberChecks:
    """Members' keys, and the signature that the next record has to fit.

    ``published`` are keys that members publish elsewhere, by name: a ledger that has another is
    one in which somebody speaks for them.
    """

    docket: str
    published: dict[str, str] = field(default_factory=dict)
    keys: dict[str, tuple[str, int]] = field(default_factory=dict)
    signed: int = 0
    _awaited: Signed | None = None
    _last: dict[str, str] = field(default_factory=dict)

    def silent(self, record: Record) -> bool:
        """Tell at a glance that no signature is to be looked at."""
        if self._awaited is not None:
            return False
        return record.kind not in SAID or str(record.body.get("member")) not in self.keys

    def take(self, record: Record, body: object) -> Iterator[Difference]:
        """The differences of one record; ``body`` is given for records about signatures."""

        def differs(recorded: str, expected: str) -> Difference:
            return Difference(record.seq, "signature", recorded, expected)

        before, self._awaited = self._awaited, None
        if before is not None and record.kind not in (ACTS[before.act], "repeated"):
            yield differs(f"It is {record.kind!r}.", f"{ACTS[before.act]!r}, which was signed.")
        if isinstance(body, MemberKeySet):
            why = self._key_fault(body)
            if why:
                yield differs(why, "a key that its owner took into use.")
            self.keys[body.member] = (body.key, record.seq)
        elif isinstance(body, Signed):
            why = self._fault(body)
            if why:
                yield differs(why, f"the signature of {body.member!r}.")
            self.signed += not why
            self._awaited = body
        elif record.kind in SAID:
            yield from self._said(record, before)

    def _said(self, record: Record, before: Signed | None) -> Iterator[Difference]:
        member = str(record.body.get("member"))
        if before is None and member in self.keys:
            since = self.keys[member][1]
            yield Difference(
                record.seq, "signature", f"{member!r} speaks without a signature.",
                f"one, since they sign from record {since:,} on.",
            )  # fmt: skip
        elif before is not None and before.member != member:
            yield Difference(
                record.seq, "signature", f"It is of {member!r}.", f"of {before.member!r}."
            )
        elif before is not None and record.kind == "flagged" and (
            before.reason != record.body.get("reason")
        ):  # fmt: skip
            yield Difference(record.seq, "signature", "Its reason is another.", "the signed one.")

    def _fault(self, body: Signed) -> str:
        known = self.keys.get(body.member)
        key = None if known is None else PublicKey(known[0])
        if key is None or key.id != body.key:
            return f"It is signed by {body.key}, which is not {body.member!r}'s key."
        if body.at <= self._last.get(body.member, ""):
            return f"It was signed at {body.at}, not after the one before: it is used again."
        self._last[body.member] = body.at
        if not statement_of(self.docket, body).signed_by(key, body.signature):
            return "The signature is not that of what is recorded."
        return ""

    def _key_fault(self, body: MemberKeySet) -> str:
        try:
            key = PublicKey(body.key)
        except LikewiseError as error:
            return str(error)
        content = possession(self.docket, body.member, key)
        if not key.verifies("member-key", content, body.proof):
            return "The new key did not sign that it is taken into use."
        published = self.published.get(body.member)
        if published is not None and published != body.key:
            return f"{body.member!r} publishes another key than {key.id}."
        known = self.keys.get(body.member)
        consents = known is None or (
            body.consent is not None
            and PublicKey(known[0]).verifies("member-key", content, body.consent)
        )
        return "" if consents else "The key before it did not agree."

    def shown(self) -> list[str]:
        """Sentences on all that is shown."""
        if not self.keys:
            return []
        listed = ", ".join(
            f"{member!r} with {PublicKey(key).id}" for member, (key, _) in sorted(self.keys.items())
        )
        checked = sorted(set(self.keys) & set(self.published))
        compared = f" Compared with what they publish: {', '.join(checked)}." if checked else ""
        rest = sorted(set(self.keys) - set(self.published))
        missing = (
            f" Compare the keys of {', '.join(rest)} with what they publish: --member-key."
            if rest
            else ""
        )
        return [
            f"{self.signed:,} acts were signed by members themselves, who sign with keys of their "
            f"own: {listed}.{compared}{missing}"
        ]

    def unshown(self) -> list[str]:
        """Sentences on all that is not shown."""
        return [
            f"That {member!r} said what the ledger has them say: they publish a key, and there is "
            f"none of theirs in it."
            for member in sorted(set(self.published) - set(self.keys))
        ]
