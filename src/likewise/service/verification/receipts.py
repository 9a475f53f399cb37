"""Receipts: is a ledger still the one whose head somebody was given, and everybody else?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from likewise.service.ledger.records import GENESIS, Receipt
from likewise.service.verification.evidence import Evidence, walked
from likewise.service.verification.known_keys import KnownKeys, Signature, keys_in

Finding = Literal["found", "rewritten", "too short", "another docket", "broken"]


@dataclass(frozen=True)
class Verified:
    """The verdict of a receipt on a ledger, in a word and in a sentence.

    ``signature`` says what the receipt itself is worth: one that is forged or of a foreign key
    proves nothing about anybody.
    """

    receipt: Receipt
    finding: Finding
    sentence: str
    signature: Signature = "not signed"

    @property
    def holds(self) -> bool:
        """Tell if the ledger up to the receipt is the one that it was given for."""
        return self.finding == "found"

    @property
    def counts(self) -> bool:
        """Tell if the receipt is one at all."""
        return self.signature in ("signed", "not signed")


def verify(evidence: Evidence, receipt: Receipt, keys: KnownKeys | None = None) -> Verified:
    """Check a ledger against a receipt; the chain up to it has to hold as well."""
    return verify_all(evidence, [receipt], keys)[0]


def verify_all(
    evidence: Evidence, receipts: Sequence[Receipt], keys: KnownKeys | None = None
) -> list[Verified]:
    """Check a ledger against any number of receipts, of any number of people.

    Signatures are judged by the keys that are named or, if none are, by those of the ledger.
    """
    keys = keys_in(evidence.records) if keys is None else keys
    last = max((receipt.head.seq for receipt in receipts), default=0)
    hashes, fault = [GENESIS], ""
    for record, difference in walked(evidence):
        if record.seq > last:
            break
        if difference is not None:
            fault = str(difference)
            break
        hashes.append(record.hash)
    return [
        Verified(receipt, *_finding(evidence, receipt, hashes, fault), keys.judge(receipt))
        for receipt in receipts
    ]


def _finding(
    evidence: Evidence, receipt: Receipt, hashes: Sequence[str], fault: str
) -> tuple[Finding, str]:
    """Return the verdict; ``hashes`` are those of the records up to the first fault, by number."""
    seq, docket = receipt.head.seq, evidence.docket
    if receipt.docket != docket:
        return (
            "another docket",
            f"The receipt is one of the docket {receipt.docket!r}; this is {docket!r}.",
        )
    if seq >= len(hashes) and fault:
        return "broken", f"The ledger was changed before the receipt's record {seq:,}. {fault}"
    if unreadable := [number for number in evidence.unreadable if number <= seq]:
        return "broken", f"Record {unreadable[0]:,} cannot be read; the ledger was changed."
    if seq >= len(hashes):
        return (
            "too short",
            f"The receipt is for {seq:,} records, but there are only {len(hashes) - 1:,}: records "
            f"have been removed, or this is an older copy.",
        )
    if hashes[seq] != receipt.head.hash:
        return (
            "rewritten",
            f"The ledger was rewritten: its record {seq:,} has the hash {hashes[seq][:16]}…, and "
            f"the receipt {receipt.head.hash[:16]}…. At least one record up to {seq:,} is not what "
            f"it was when the receipt was given.",
        )
    return (
        "found",
        f"The {seq:,} records up to the receipt are those that were there when it was given.",
    )


def contradictions(receipts: Sequence[Receipt]) -> list[tuple[Receipt, Receipt]]:
    """Return pairs of receipts of one number and two hashes: of two ledgers, for two people."""
    return [
        (first, second)
        for first, second in combinations(receipts, 2)
        if (first.docket, first.head.seq) == (second.docket, second.head.seq)
        and first.head.hash != second.head.hash
    ]
