"""Receipts: is a ledger still the one whose head somebody was given?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from likewise.service.ledger.records import GENESIS, Receipt
from likewise.service.verification.evidence import Evidence, walked

__all__ = ["Verified", "verify"]

Finding = Literal["found", "rewritten", "too short", "another docket", "broken"]


@dataclass(frozen=True)
class Verified:
    """The verdict of a receipt on a ledger, in a word and in a sentence."""

    receipt: Receipt
    finding: Finding
    sentence: str

    @property
    def holds(self) -> bool:
        """Tell if the ledger up to the receipt is the one that was seen."""
        return self.finding == "found"


def verify(evidence: Evidence, receipt: Receipt) -> Verified:
    """Check a ledger against a receipt; the chain up to it has to hold as well."""
    seq, docket = receipt.head.seq, evidence.docket
    if receipt.docket != docket:
        return Verified(
            receipt, "another docket",
            f"The receipt is one of the docket {receipt.docket!r}; this is {docket!r}.",
        )  # fmt: skip
    last, found = 0, GENESIS if seq == 0 else None
    for record, fault in walked(evidence):
        if record.seq > seq:
            break
        if fault is not None:
            return Verified(
                receipt, "broken",
                f"The ledger was changed before the receipt's record {seq:,}. {fault}",
            )  # fmt: skip
        last = record.seq
        found = record.hash if last == seq else found
    if unreadable := [number for number in evidence.unreadable if number <= seq]:
        return Verified(
            receipt, "broken", f"Record {unreadable[0]:,} cannot be read; the ledger was changed."
        )
    if found is None:
        return Verified(
            receipt, "too short",
            f"The receipt is for {seq:,} records, but there are only {last:,}: records have been "
            f"removed, or this is an older copy.",
        )  # fmt: skip
    if found != receipt.head.hash:
        return Verified(
            receipt, "rewritten",
            f"The ledger was rewritten: its record {seq:,} has the hash {found[:16]}…, and the "
            f"receipt {receipt.head.hash[:16]}…. At least one record up to {seq:,} is not what it "
            f"was when the receipt was given.",
        )  # fmt: skip
    return Verified(
        receipt, "found",
        f"The {seq:,} records up to the receipt are those that were there when it was given.",
    )  # fmt: skip
