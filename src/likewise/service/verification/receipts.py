"""Receipts: is a ledger still the one whose head somebody was given, and everybody else?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from likewise.service.ledger.records import GENESIS, Receipt
from likewise.service.verification.evidence import Evidence, walked
from likewise.service.verification.findings import Difference
from likewise.service.verification.known_keys import KnownKeys, Signature, keys_in

__all__ = ["Verified", "contradictions", "verify", "verify_all"]

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
        """Tell if the ledger up to the receipt is the one that was seen."""
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
    known = keys_in(evidence.records) if keys is None else keys
    wanted = {receipt.head.seq for receipt in receipts}
    hashes: dict[int, str] = {0: GENESIS}
    last, fault = 0, None
    for record, wrong in walked(evidence):
        if record.seq > max(wanted, default=0):
            break
        if wrong is not None:
            fault = wrong
            break
        last = record.seq
        if last in wanted:
            hashes[last] = record.hash
    seen = _Seen(evidence, hashes, last, fault)
    return [_verdict(seen, receipt, known.judge(receipt)) for receipt in receipts]


@dataclass(frozen=True)
class _Seen:
    evidence: Evidence
    hashes: dict[int, str]
    last: int
    fault: Difference | None


def _verdict(seen: _Seen, receipt: Receipt, signature: Signature) -> Verified:
    def verdict(finding: Finding, sentence: str) -> Verified:
        return Verified(receipt, finding, sentence, signature)

    seq, docket, found = receipt.head.seq, seen.evidence.docket, seen.hashes.get(receipt.head.seq)
    if receipt.docket != docket:
        return verdict(
            "another docket",
            f"The receipt is one of the docket {receipt.docket!r}; this is {docket!r}.",
        )
    if found is None and seen.fault is not None:
        return verdict(
            "broken", f"The ledger was changed before the receipt's record {seq:,}. {seen.fault}"
        )
    if unreadable := [number for number in seen.evidence.unreadable if number <= seq]:
        return verdict(
            "broken", f"Record {unreadable[0]:,} cannot be read; the ledger was changed."
        )
    if found is None:
        return verdict(
            "too short",
            f"The receipt is for {seq:,} records, but there are only {seen.last:,}: records have "
            f"been removed, or this is an older copy.",
        )
    if found != receipt.head.hash:
        return verdict(
            "rewritten",
            f"The ledger was rewritten: its record {seq:,} has the hash {found[:16]}…, and the "
            f"receipt {receipt.head.hash[:16]}…. At least one record up to {seq:,} is not what it "
            f"was when the receipt was given.",
        )
    return verdict(
        "found",
        f"The {seq:,} records up to the receipt are those that were there when it was given.",
    )


def contradictions(receipts: Sequence[Receipt]) -> list[tuple[Receipt, Receipt]]:
    """Receipts of one number and two hashes: of two ledgers that were shown to two people."""
    return [
        (one, other)
        for one, other in combinations(receipts, 2)
        if (one.docket, one.head.seq) == (other.docket, other.head.seq)
        and one.head.hash != other.head.hash
    ]
