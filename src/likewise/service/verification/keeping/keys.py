"""Checks of the installation's keys: each is named by the one before it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from likewise.errors import LikewiseError
from likewise.service.ledger.bodies import DocketOpened
from likewise.service.ledger.bodies.evidence import KeyPublished
from likewise.service.ledger.records import Record
from likewise.service.ledger.signing.keys import succession
from likewise.service.ledger.signing.signatures import PublicKey
from likewise.service.verification.findings import Difference


@dataclass
class KeyChecks:
    """The key of a ledger's receipts, and how often it was changed."""

    key: PublicKey | None = None
    changes: int = 0
    compromised: int = 0

    def take(self, record: Record, body: object) -> Iterator[Difference]:
        """Yield the differences of one record; ``body`` is there for records about keys."""
        if not isinstance(body, (DocketOpened, KeyPublished)):
            return
        before = self.key
        try:
            self.key = PublicKey(body.key)
        except LikewiseError as error:
            yield Difference(record.seq, "signature", str(error), "a public key.")
        if isinstance(body, KeyPublished) and before is not None:
            fault = self._fault(before, body)
            if fault:
                yield Difference(record.seq, "signature", fault, "a key that the one before names.")

    def _fault(self, before: PublicKey, body: KeyPublished) -> str:
        self.changes += 1
        if body.replaces != before.id:
            return f"It replaces {body.replaces}, and the key was {before.id}."
        if body.compromised:
            self.compromised += 1
            return ""
        signed = body.signature is not None and before.verifies(
            "succession", succession(PublicKey(body.key)), body.signature
        )
        return "" if signed else f"The key {before.id} did not sign it."

    def proved(self) -> list[str]:
        """Return sentences on all that is proved."""
        if self.key is None:
            return []
        changed = f" (changed {self.changes} times, each time by the key before)"
        return [
            f"Receipts are signed by the key {self.key.id}{changed if self.changes else ''}: "
            f"{self.key.text}. Compare it with the address where it is published."
        ]

    def unproved(self) -> list[str]:
        """Return sentences on all that is not proved."""
        if not self.compromised:
            return []
        return [
            f"That {self.compromised} changes of keys are by whoever had the key before: it had "
            f"fallen into other hands."
        ]
