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

__all__ = ["KeyChecks"]


@dataclass
class KeyChecks:
    """The key of a ledger's receipts, and how often it was changed."""

    key: PublicKey | None = None
    since: int = 0
    changes: int = 0
    lost: int = 0

    def take(self, record: Record, body: object) -> Iterator[Difference]:
        """The differences of one record; ``body`` is given for records about keys."""
        if isinstance(body, DocketOpened) and body.key:
            yield from self._use(record, body.key)
        elif isinstance(body, KeyPublished):
            before = self.key
            yield from self._use(record, body.key)
            why = self._fault(before, body)
            if why:
                yield Difference(record.seq, "signature", why, "a key that the one before names.")

    def _use(self, record: Record, text: str) -> Iterator[Difference]:
        try:
            self.key = PublicKey(text)
        except LikewiseError as error:
            yield Difference(record.seq, "signature", str(error), "a public key.")
            return
        self.since = self.since or record.seq

    def _fault(self, before: PublicKey | None, body: KeyPublished) -> str:
        if before is None:
            return "" if body.replaces is None else f"It replaces {body.replaces}."
        self.changes += 1
        if body.replaces != before.id:
            return f"It replaces {body.replaces}, and the key was {before.id}."
        if body.compromised:
            self.lost += 1
            return ""
        signed = body.signature is not None and before.verifies(
            "succession", succession(PublicKey(body.key)), body.signature
        )
        return "" if signed else f"The key {before.id} did not sign it."

    def shown(self) -> list[str]:
        """Sentences on all that is shown."""
        if self.key is None:
            return []
        changed = f", changed {self.changes} times, each time by the key before" * bool(
            self.changes
        )
        return [
            f"Receipts are signed by the key {self.key.id} (named in record {self.since:,}"
            f"{changed}): {self.key.text}. Compare it with the address where it is published."
        ]

    def unshown(self) -> list[str]:
        """Sentences on all that is not shown."""
        if self.key is None:
            return ["That receipts are this server's: they are not signed, as the ledger was "
                    "written before they were."]  # fmt: skip
        if self.lost:
            return [f"That {self.lost} changes of keys are by whoever had the key before: it had "
                    f"fallen into other hands."]  # fmt: skip
        return []
